// The views of a model, of training and serving, and of a profile, in a browser.
import assert from 'node:assert/strict';
import path from 'node:path';
import {browserTest as test, copied, drop, open, root, sample, verdict, withBrowser} from './browser.mjs';

withBrowser();

test('a model by its name, and a layer as an operation', async () => {
  const {page, errors, close} = await open('#1/model?model.model=llama-3.1-70b&model.seq=4096');
  await verdict(page, 'llama-3.1-70b');
  // 70,553,706,496 parameters, as the publisher counts them.
  assert.match(await page.getByRole('button', {name: 'parameters: 70.6 G'}).first().getAttribute('title'),
    /70553706496/);
  await page.locator('.plot svg').waitFor();
  await page.getByRole('button', {name: 'Operations of layer 3'}).click();
  await verdict(page, 'bound');
  const chosen = await page.getByLabel('Program').evaluate((area) => area.value.slice(area.selectionStart,
    area.selectionEnd));
  assert.match(chosen, /^repeat L \{/);
  assert.deepEqual(errors, []);
  await close();
});

test('a model that does not exist is refused at its field', async () => {
  const {page, close} = await open('#1/model');
  await verdict(page, 'llama-3.1-8b');
  await page.getByLabel('Model', {exact: true}).fill('llama-3.1-7b');
  await page.locator('.field', {hasText: 'did you mean `llama-2-7b`?'}).waitFor();
  assert.equal(await page.getByLabel('Model', {exact: true}).inputValue(), 'llama-3.1-7b');
  await close();
});

test('slices stand side by side, each number with the constants of its machine', async () => {
  const {page, errors, close} = await open('#1/train?train.on=h100-sxm%3A8&train.on=tpu-v5p%3A2x2x2');
  await verdict(page, '2 slices');
  await page.getByRole('button', {name: /^lower on tpu-v5p:2x2x2/}).click();
  // The figures of the TPU: 459 TFLOP/s, not 989 as of the H100.
  const said = page.locator('dialog');
  await said.getByText('459 TFLOP/s').first().waitFor();
  await said.locator('pre', {hasText: 'lower = '}).waitFor();
  assert.doesNotMatch(await said.innerText(), /989/);
  assert.match(await said.innerText(), /--on tpu-v5p:2x2x2/);
  await said.getByRole('button', {name: 'Close'}).click();
  assert.equal(await page.getByText('Time line of a step').isVisible(), false);
  await page.locator('.menu summary').click();
  await page.getByRole('button', {name: 'SVG', exact: true}).click();
  await page.getByRole('button', {name: 'There is no SVG here'}).waitFor();
  await page.getByText('Constants of h100-sxm5:8 and their sources').waitFor();
  assert.deepEqual(errors, []);
  await close();
});

const config = sample('hf_configs', 'meta-llama__Meta-Llama-3.1-70B.json');
test('a configuration is dropped, and travels in the link', {skip: config ? false : 'no ../shared/samples'},
  async () => {
  const first = await open();
  await verdict(first.page, 'HBM-bound');
  await drop(first.page, config);
  await first.page.getByRole('button', {name: 'parameters: 70.6 G'}).first().waitFor();
  const link = first.page.url();
  assert.match(link, /file%3A/);
  await first.page.getByRole('button', {name: 'Train it'}).click();
  await verdict(first.page, 'Does not fit');
  await first.close();
  const second = await open(link.slice(link.indexOf('#')));
  await second.page.getByRole('button', {name: 'parameters: 70.6 G'}).first().waitFor();
  assert.deepEqual(second.errors, []);
  await second.close();
});

const header = sample('safetensors', 'llama_3_1_8b.header_only.safetensors');
const gguf = sample('safetensors', 'llama_3_1_8b_q4_k_m.header_only.gguf');
test('headers of weights are dropped', {skip: header && gguf ? false : 'no ../shared/samples'}, async () => {
  const {page, errors, close} = await open('#1/model');
  await verdict(page, 'llama-3.1-8b');
  await page.getByRole('button', {name: 'Train it'}).waitFor();
  await drop(page, header);
  await page.getByRole('button', {name: 'bytes of all tensors: 16.1 GB'}).waitFor();
  // Weights alone do not say how the model uses them.
  await page.getByRole('button', {name: 'Train it'}).waitFor({state: 'hidden'});
  await drop(page, gguf);
  // The file has 4,920,739,232 bytes, of which the header and padding are about 8 MB.
  await page.getByRole('button', {name: 'bytes of all tensors: 4.91 GB'}).waitFor();
  assert.deepEqual(errors, []);
  await close();
});

test('a file whose name is markup is shown as text', async () => {
  const {page, close} = await open('#1/profile');
  const name = '<b onmouseover=alert(1)>.hlo';
  await drop(page, [name, Buffer.from('HloModule nothing')]);
  await page.locator('.trouble').waitFor();
  assert.equal(await page.locator('#question code').first().innerText(), name);
  assert.equal(await page.locator('b').count(), 0);
  await close();
});

test('a training step, and a plan that does not divide the chips', async () => {
  const {page, errors, close} = await open('#1/train');
  await verdict(page, 'Compute-bound');
  // 2 bytes for each of 8,030,261,248 parameters, over 8 chips.
  assert.match(await page.getByRole('button', {name: 'memory for parameters'}).getAttribute('title'), /2007565312 B/);
  await page.locator('.plot svg').waitFor();
  await page.getByLabel('Plan', {exact: true}).fill('fsdp=9');
  await page.locator('.field', {hasText: 'fsdp=9 needs 9 chips'}).waitFor();
  assert.equal(await page.getByLabel('Plan', {exact: true}).inputValue(), 'fsdp=9');
  await page.getByLabel('Plan', {exact: true}).fill('fsdp=8');
  await page.getByLabel('Model', {exact: true}).fill('llama-3.1-405b');
  await verdict(page, 'Does not fit');
  assert.deepEqual(errors, []);
  await close();
});

test('a search for a plan runs, is stopped, and is used', async () => {
  const {page, errors, close} = await open('#1/train?model.model=llama-3.2-1b&train.on=h100-sxm%3A2&train.mesh=fsdp%3D2'
    + '&train.batch-tokens=32Ki');
  await verdict(page, 'bound');
  await page.getByRole('button', {name: 'Search the best plan'}).click();
  await page.getByRole('progressbar').waitFor();
  await page.locator('.searching', {hasText: /\d of [\d,]+ plans, .*; the best so far: [\d.]+ m?s/}).waitFor();
  const [value, max] = await page.getByRole('progressbar').evaluate((bar) => [bar.value, bar.max]);
  assert.ok(value > 0 && value <= max, `${value} of ${max}`);
  await page.getByRole('button', {name: 'Stop the search'}).click();
  await page.getByRole('status').filter({hasText: 'stopped'}).waitFor();
  // A search that was stopped does not touch the page: it still answers.
  await page.getByLabel('Sequence').fill('2048');
  await page.locator('.plot svg', {hasText: 'T = 2048'}).waitFor();
  await page.getByLabel('Without').fill('pipeline,context,sequence,tensor,expert');
  await page.getByRole('button', {name: 'Search the best plan'}).click();
  await page.getByRole('region', {name: 'Plans, best first'}).waitFor({timeout: 120000});
  await page.getByRole('button', {name: 'Use the best plan'}).click();
  assert.match(await copied(page, 'Command line'), /--mesh (data|fsdp)=2.* --remat /);
  await verdict(page, 'bound');
  assert.deepEqual(errors, []);
  await close();
});

test('serving a model', async () => {
  const {page, errors, close} = await open('#1/serve');
  await verdict(page, 'Decoding: HBM-bound');
  // 2 bytes for each of 8,030,261,248 parameters, over 2 chips.
  assert.match(await page.getByRole('button', {name: 'memory for weights'}).getAttribute('title'), /80\d{8} B/);
  await page.locator('.plot svg').waitFor();
  await page.getByRole('button', {name: 'Use batch 64'}).click();
  await page.locator('#answer', {hasText: 'A decode iteration'}).waitFor();
  assert.equal(await page.getByLabel('Sequences at once', {exact: true}).inputValue(), '64');
  await page.getByLabel('Plan', {exact: true}).fill('tensor=3');
  await page.locator('.field', {hasText: 'tensor=3 needs 3 chips'}).waitFor();
  assert.deepEqual(errors, []);
  await close();
});

test('the best set-up is searched and used', async () => {
  const {page, errors, close} = await open('#1/serve?model.model=llama-3.2-1b&serve.on=h100-sxm%3A1'
    + '&serve.mesh=data%3D1&serve.output=32');
  await verdict(page, 'Decoding');
  await page.getByRole('button', {name: 'Search the best set-up'}).click();
  await page.getByRole('region', {name: 'The best set-ups with different servers'}).waitFor({timeout: 120000});
  await page.getByRole('button', {name: 'Use the best set-up'}).click();
  await page.locator('#answer', {hasText: 'A simulated load'}).waitFor({timeout: 60000});
  assert.deepEqual(errors, []);
  await close();
});

test('a module is dropped', async () => {
  const {page, errors, close} = await open('#1/profile');
  await verdict(page, 'Drop a module');
  await drop(page, path.join(root, 'docs/examples/mlp.hlo'));
  // It is said at the field of machines, and there is no answer before that could be shown.
  await page.locator('fieldset', {hasText: 'Machines'}).locator('.problem', {hasText: 'is for 4 devices'}).waitFor();
  assert.equal(await page.getByText('What is shown below').count(), 0);
  await page.getByRole('button', {name: 'Use h100-sxm:4'}).click();
  await verdict(page, 'Compute-bound');
  // Eight layers of two matmuls of 4096 x 4096 x 4096.
  assert.match(await page.getByRole('button', {name: 'FLOPs in matmuls'}).getAttribute('title'),
    new RegExp(String(8 * 2 * 2 * 4096 ** 3)));
  await page.getByRole('region', {name: 'Top kernels (6)'}).waitFor();
  await page.locator('.tree', {hasText: 'jit(loss)'}).first().waitFor();
  assert.match(await copied(page, 'Command line'), /^roofline hlo mlp\.hlo --on h100-sxm:4$/);
  assert.deepEqual(errors, []);
  await close();
});

/// A trace of two steps of the module, with the times of its instructions in us.
function traceOf(instructions) {
  const events = [{ph: 'M', pid: 1, name: 'process_name', args: {name: '/device:GPU:0'}},
    {ph: 'M', pid: 1, tid: 1, name: 'thread_name', args: {name: 'Stream #20(Compute)'}}];
  let at = 100;
  for (const [name, dur] of [...instructions, ...instructions]) {
    events.push({ph: 'X', pid: 1, tid: 1, ts: at, dur, name: `${name}_kernel`,
      args: {hlo_module: 'jit_loss', hlo_op: name}});
    at += dur + 2;
  }
  return Buffer.from(JSON.stringify({traceEvents: events}));
}

test('a module and a profile of its run are dropped together', async () => {
  const {page, errors, close} = await open('#1/profile?profile.on=h100-sxm%3A4');
  await verdict(page, 'Drop a module');
  await drop(page, ['run.trace.json', traceOf([['dot.in', 180], ['sum.out', 150]])],
    path.join(root, 'docs/examples/mlp.hlo'));
  // Twice 180 us and twice 150 us, in one step: the trace has no boundaries of steps.
  await page.getByRole('button', {name: 'measured of dot: 360 us'}).waitFor();
  await page.getByRole('button', {name: 'measured of all-reduce: 300 us'}).waitFor();
  assert.match(await copied(page, 'Command line'), /^roofline hlo mlp\.hlo --trace run\.trace\.json --on h100-sxm:4$/);
  await page.getByLabel('Measured by the profile').selectOption('');
  await page.getByRole('button', {name: /^measured of/}).first().waitFor({state: 'detached'});
  await page.getByLabel('It is').selectOption('trace');
  assert.deepEqual(errors, []);
  await close();
});

test('a trace is dropped', async () => {
  const {page, errors, close} = await open();
  await verdict(page, 'HBM-bound');
  await drop(page, path.join(root, 'docs/examples/step.json'));
  await verdict(page, 'PyTorch: step.json');
  // Steps of 2.2735 and 2.207 ms, without the one that is warm-up.
  assert.match(await page.getByRole('button', {name: 'measured step: 2.24 ms'}).getAttribute('title'),
    /0\.00224025 s/);
  // What-ifs of the machine: with an eighth of the bandwidth a kernel that memory bounds takes eight times as long.
  await page.getByRole('button', {name: 'lower of aten::add: 60.1 us'}).waitFor();
  const slider = page.getByRole('slider', {name: 'hbm.bandwidth, factor'});
  await slider.focus();
  await slider.press('Home');
  await page.getByRole('button', {name: 'lower of aten::add: 481 us'}).waitFor();
  await slider.press('End');
  await page.goBack();
  await page.getByRole('button', {name: 'As published'}).click();
  await page.getByRole('button', {name: 'lower of aten::add: 60.1 us'}).waitFor();
  await page.getByLabel('Picture of a profile').selectOption('timeline');
  await page.locator('.plot svg', {hasText: 'kernels'}).waitFor();
  assert.match(await copied(page, 'Python'), /rl\.trace\("step\.json"/);
  assert.deepEqual(errors, []);
  await close();
});

for (const [kind, name, on] of [['hlo', 'hlo_llama31_8b_bf16_1x8.hlo.gz', 'h100-sxm:8'], ['traces',
  'hta_alexnet_a100.json.gz', 'a100-sxm4-80']]) {
  const file = sample(kind, name);
  test(`a real file: ${name}`, {skip: file ? false : 'no ../shared/samples'}, async () => {
    const {page, errors, close} = await open(`#1/profile?profile.on=${encodeURIComponent(on)}`);
    await verdict(page, 'Drop a module');
    await drop(page, file);
    await page.getByRole('region', {name: /Top kernels/}).waitFor({timeout: 60000});
    assert.deepEqual(errors, []);
    await close();
  });
}
