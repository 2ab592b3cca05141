// The view of an operation, in a browser.
import assert from 'node:assert/strict';
import {browserTest as test, copied, open, verdict, withBrowser} from './browser.mjs';

withBrowser();

test('the list of completions does not cover the error', async () => {
  const {page, close} = await open();
  await verdict(page, 'HBM-bound');
  const program = page.getByLabel('Program', {exact: true});
  await program.fill('bf16[B, D] * bf16[D, F] -> bf16[B, F');
  await page.locator('.program .problem', {hasText: 'line 1'}).waitFor();
  await program.press('End');
  await program.pressSequentially('] + so');
  await page.getByRole('listbox').waitFor();
  await page.locator('.program .problem').waitFor();
  const [list, error] = await page.evaluate(() => ['.complete', '.program .problem'].map((selector) =>
    document.querySelector(selector).getBoundingClientRect()).map(({top, bottom}) => ({top, bottom})));
  assert.ok(error.bottom > error.top && list.top >= error.bottom, JSON.stringify({list, error}));
  await close();
});


const matmul = 'bf16[B, D] * int8[D, F] -> bf16[B, F]';

test('the first answer, its numbers and where they come from', async () => {
  const {page, errors, close} = await open();
  await verdict(page, 'HBM-bound');
  // 2 * 64 * 8192 + 8192^2 + 2 * 64 * 8192 = 69,206,016 bytes over 819 GB/s are 84.5 us.
  const lower = page.getByRole('button', {name: 'lower bound: 84.5 us'});
  assert.match(await lower.getAttribute('title'), /8\.450063003663004e-5 s/);
  await page.getByRole('button', {name: 'HBM time: 84.5 us'}).click();
  const why = page.locator('dialog[open]');
  await why.getByText('T_HBM = (2BD + DF + 2BF) / W').waitFor();
  const said = await why.innerText();
  for (const part of [/69,206,016 B/, /2\*B\*D \+ D\*F \+ 2\*B\*F/, /B = 64/, /Google Cloud TPU documentation/,
    /time_s\.hbm/]) {
    assert.match(said, part);
  }
  assert.doesNotMatch(said, /matmul\.bf16/);
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('dialog[open]').count(), 0);
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'HBM time: 84.5 us');
  assert.deepEqual(errors, []);
  await close();
});

test('a slider moves B until the bound flips', async () => {
  const {page, close} = await open();
  await verdict(page, 'HBM-bound');
  const slider = page.getByLabel('B, slider');
  await slider.focus();
  // The times cross at B = 127.77: 120 rows are too few, 128 are enough.
  for (let size = await page.getByLabel('B', {exact: true}).inputValue(); Number(size) < 120;) {
    await page.keyboard.press('ArrowRight');
    size = await page.getByLabel('B', {exact: true}).inputValue();
  }
  assert.equal(await page.getByLabel('B', {exact: true}).inputValue(), '120');
  await page.locator('.plot svg', {hasText: 'B = 120'}).waitFor();
  await verdict(page, 'HBM-bound');
  await page.keyboard.press('ArrowRight');
  await verdict(page, 'Compute-bound');
  assert.match(page.url(), /B%3D128/);
  await close();
});

test('what if the memory were twice as fast', async () => {
  const {page, close} = await open();
  await verdict(page, 'HBM-bound');
  await page.getByLabel('hbm.bandwidth, factor').fill('9');
  await verdict(page, 'Compute-bound');
  await page.locator('.notes', {hasText: 'what if: hbm.bandwidth = 1.64 TB/s'}).waitFor();
  assert.match(await copied(page, 'Command line'), /^roofline op 'bf16\[B, D\].*--set 'hbm\.bandwidth=\*2'$/);
  await page.getByRole('button', {name: 'As published'}).click();
  await verdict(page, 'HBM-bound');
  await close();
});

test('an error stands at its place and loses nothing', async () => {
  const {page, errors, close} = await open();
  await verdict(page, 'HBM-bound');
  const area = page.getByLabel('Program');
  const wrong = 'bf16[B, D] * itn8[D, F] -> bf16[B, F]';
  await area.fill(wrong);
  await page.getByText('line 1, column 14: there is no dtype `itn8`').waitFor();
  await page.locator('.field.program', {hasText: 'did you mean `int8`?'}).waitFor();
  assert.equal(await page.locator('.editor-back mark').innerText(), 'itn8');
  assert.equal(await area.getAttribute('aria-invalid'), 'true');
  assert.equal(await area.inputValue(), wrong);
  await page.getByText('What is shown below is the last answer.').waitFor();
  await area.fill(matmul);
  await verdict(page, 'HBM-bound');
  assert.equal(await area.getAttribute('aria-invalid'), 'false');
  await page.getByLabel('F', {exact: true}).fill('8k8');
  await page.locator('.size', {hasText: 'unknown multiplier `k8`'}).waitFor();
  await page.getByLabel('F', {exact: true}).fill('8192');
  await page.getByLabel('Machine', {exact: true}).fill('tpu-v5');
  await page.locator('fieldset', {hasText: 'matches 2 machines'}).waitFor();
  await area.fill('');
  await page.getByText('There is no operation yet.').first().waitFor();
  assert.deepEqual(errors, []);
  await close();
});

test('names are completed with the keyboard', async () => {
  const {page, close} = await open();
  await verdict(page, 'HBM-bound');
  const area = page.getByLabel('Program');
  await area.fill('');
  await area.pressSequentially('X : bf16[B, D]\nY = softm');
  await page.getByRole('option', {name: 'softmax', exact: true}).waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await area.inputValue(), 'X : bf16[B, D]\nY = softmax');
  await area.pressSequentially('[D](X)');
  await verdict(page, 'HBM-bound');
  // F is no longer in the program: its size is kept, and left out of the question.
  await page.getByText('Kept sizes that are not in the program: F').waitFor();
  assert.match(await copied(page, 'Command line'), /--dims B=64,D=8192 --on/);
  await close();
});

test('a sweep, a mesh and a time line are pictures with tables', async () => {
  const {page, errors, close} = await open();
  await verdict(page, 'HBM-bound');
  await page.getByRole('radio', {name: 'Sweep'}).check({force: true});
  await page.locator('.plot svg title', {hasText: ''}).first().waitFor({state: 'attached'});
  await page.getByText('As a table').click();
  // The times cross at B = 127.77.
  await page.locator('.twin', {hasText: 'compute-bound from B = 128'}).waitFor();
  await page.getByLabel('Examples').selectOption({label: 'A sharded MLP on 16 chips'});
  await verdict(page, 'Compute-bound');
  await page.getByRole('region', {name: 'What a chip holds'}).waitFor();
  // A quarter of Win's 16384 columns and all of its 8192 rows, in bf16: 64 MiB.
  await page.getByRole('button', {name: 'bytes of Win on a chip: 67.1 MB'}).waitFor();
  await page.getByRole('radio', {name: 'Mesh'}).check({force: true});
  await page.locator('.twin', {hasText: 'F over Y, 4096 of 16384 each'}).waitFor();
  // Each kind of picture brings its own style, without which all areas are black.
  const fills = await page.locator('.plot svg rect').evaluateAll((all) => all.map((each) =>
    getComputedStyle(each).fill));
  assert.ok(!fills.includes('rgb(0, 0, 0)'), fills.join(' '));
  await page.getByRole('radio', {name: 'Time line'}).check({force: true});
  await page.locator('.twin', {hasText: 'H = gelu(In * Win)'}).waitFor();
  assert.deepEqual(errors, []);
  await close();
});

test('a picture that cannot be had leaves the answer', async () => {
  const {page, close} = await open('#1/op?op.plot=mesh');
  await verdict(page, 'HBM-bound');
  await page.getByText('No picture: there is no mesh to draw').waitFor();
  await close();
});

test('without sizes the answer is formulas', async () => {
  const {page, close} = await open('#1/op?op.dims=');
  await verdict(page, 'No numbers yet: B, D, F without a size');
  await page.locator('.times', {hasText: '(2*B*D*F) / 1.97e14'}).waitFor();
  await close();
});

test('machines stand side by side', async () => {
  const {page, close} = await open();
  await verdict(page, 'HBM-bound');
  await page.getByRole('button', {name: '+ another machine'}).click();
  await page.getByLabel('Machine 2', {exact: true}).fill('h100-sxm');
  await verdict(page, '2 machines');
  await page.getByRole('columnheader', {name: 'h100-sxm5'}).waitFor();
  // Their picture is a sweep; that of one machine cannot be chosen.
  await page.locator('.plot svg', {hasText: 'H100 SXM5'}).waitFor();
  assert.equal(await page.getByRole('radio', {name: 'Roofline'}).isDisabled(), true);
  await page.getByLabel('Machine 2', {exact: true}).fill('nothing');
  await page.locator('fieldset', {hasText: 'no machine `nothing`'}).waitFor();
  await close();
});

test('an answer is copied in every form', async () => {
  const {page, close} = await open();
  await verdict(page, 'HBM-bound');
  assert.equal(await copied(page, 'Command line'), `roofline op '${matmul}' --dims B=64,D=8192,F=8192 --on tpu-v5e`);
  assert.match(await copied(page, 'Python'), /answer = rl\.op\("bf16\[B, D\]/);
  assert.equal(JSON.parse(await copied(page, 'JSON')).flops, 2 * 64 * 8192 * 8192);
  assert.match(await copied(page, 'SVG'), /^<svg xmlns/);
  assert.match(await copied(page, 'Link'), /^(file|http)/);
  await close();
});
