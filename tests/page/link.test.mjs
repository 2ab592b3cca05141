// The URL is the question: sharing, going back, and links that this page did not make.
import assert from 'node:assert/strict';
import {browserTest as test, open, pageUrl, verdict, withBrowser} from './browser.mjs';

withBrowser();

test('a link shows a colleague the same answer', async () => {
  const mine = await open();
  await verdict(mine.page, 'HBM-bound');
  await mine.page.getByLabel('B', {exact: true}).fill('200');
  await verdict(mine.page, 'Compute-bound');
  const work = '26.8 GFLOP'; // 2 * 200 * 8192 * 8192; tables follow the verdict by a frame
  await mine.page.getByText(work).first().waitFor();
  const link = mine.page.url();
  const shown = await mine.page.locator('#answer').innerText();
  await mine.close();
  const theirs = await open(link.slice(pageUrl.length));
  await verdict(theirs.page, 'Compute-bound');
  await theirs.page.getByText(work).first().waitFor();
  await theirs.page.locator('.plot svg').waitFor();
  assert.equal(await theirs.page.locator('#answer').innerText(), shown);
  assert.equal(theirs.page.url(), link);
  await theirs.close();
});

test('back undoes a change, forward does it again', async () => {
  const {page, errors, close} = await open();
  await verdict(page, 'HBM-bound');
  const size = page.getByLabel('B', {exact: true});
  await size.fill('130');
  await size.blur();
  await verdict(page, 'Compute-bound');
  await page.getByLabel('Machine', {exact: true}).fill('h100-sxm');
  await page.getByLabel('Machine', {exact: true}).blur();
  await verdict(page, 'HBM-bound');
  await page.getByRole('link', {name: 'Model'}).click();
  await verdict(page, 'llama-3.1-8b');
  await page.goBack();
  await verdict(page, 'HBM-bound');
  assert.equal(await page.getByLabel('Machine', {exact: true}).inputValue(), 'h100-sxm');
  await page.goBack();
  await verdict(page, 'Compute-bound');
  assert.equal(await page.getByLabel('Machine', {exact: true}).inputValue(), 'tpu-v5e');
  await page.goBack();
  await verdict(page, 'HBM-bound');
  assert.equal(await size.inputValue(), '64');
  await page.goForward();
  await verdict(page, 'Compute-bound');
  assert.deepEqual(errors, []);
  await close();
});

test('a drag is one step back', async () => {
  const {page, close} = await open();
  await verdict(page, 'HBM-bound');
  const before = await page.evaluate(() => history.length);
  await page.getByLabel('B, slider').evaluate((slider) => {
    for (const at of ['30', '40', '50', '60']) {
      slider.value = at;
      slider.dispatchEvent(new Event('input', {bubbles: true}));
    }
    slider.dispatchEvent(new Event('change', {bubbles: true}));
  });
  assert.equal(await page.evaluate(() => history.length), before + 1);
  await page.goBack();
  await verdict(page, 'HBM-bound');
  assert.equal(await page.getByLabel('B', {exact: true}).inputValue(), '64');
  await close();
});

for (const [name, fragment, said] of [
  ['a newer version', '#7/op?op.dims=B%3D1', /newer version of this page/],
  ['an unknown view', '#1/chess', /no view .chess./],
  ['an unknown field', '#1/op?op.colour=red', /op\.colour. in the link is not known/],
  ['nonsense', '#%E0%A4%A', /not made by this page/],
]) {
  test(`a link with ${name} is said to be one`, async () => {
    const {page, errors, close} = await open(fragment);
    await verdict(page, 'HBM-bound');
    assert.match(await page.locator('#link-trouble').innerText(), said);
    assert.deepEqual(errors, []);
    await close();
  });
}

test('what a link says is text, never HTML or an option', async () => {
  const evil = '<img src=x onerror=document.title=1>';
  const {page, errors, close} = await open(`#1/model?model.model=${encodeURIComponent(evil)}`);
  await page.getByText(evil, {exact: false}).first().waitFor();
  assert.equal(await page.locator('img').count(), 0);
  await page.goto(`${pageUrl}#1/op?op.program=${encodeURIComponent('--svg')}&op.on=${encodeURIComponent(evil)}`);
  await page.locator('.trouble').first().waitFor();
  assert.equal(await page.locator('img').count(), 0);
  assert.notEqual(await page.title(), '1');
  assert.deepEqual(errors, []);
  await close();
});
