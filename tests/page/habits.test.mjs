// A person's habits: screen reader, keyboard, phone, print, no network; and how fast the page is, which is printed and
// not asserted.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {browserTest as test, modules, open, openAt, pageUrl, verdict, withBrowser} from './browser.mjs';

withBrowser();

const views = [['op', 'bound'], ['model', 'llama'], ['train', 'bound'], ['serve', 'Decoding'], ['profile',
  'Drop a module']];

for (const scheme of ['light', 'dark']) {
  for (const [view, said] of views) {
    test(`axe finds nothing in ${view}, ${scheme}`, async () => {
      const {page, close} = await open(`#1/${view}`, {scheme});
      await verdict(page, said);
      if (view !== 'profile') await page.locator('.plot svg').waitFor();
      await page.evaluate(() => document.querySelectorAll('details').forEach((each) => { each.open = true; }));
      await page.waitForTimeout(300);
      await page.evaluate(fs.readFileSync(modules.resolve('axe-core/axe.min.js'), 'utf8'));
      const found = await page.evaluate(() => globalThis.axe.run(document, {resultTypes: ['violations']}));
      const told = found.violations.map((each) =>
        `${each.id}: ${each.help}: ${each.nodes.slice(0, 3).map((node) => node.html.slice(0, 160))
        .join(' | ')}`);
      assert.deepEqual(told, []);
      await close();
    });
  }
}

for (const [view, said] of views) {
  test(`${view} fits a phone of 360 pixels and does not move`, async (t) => {
    const {page, close} = await open(`#1/${view}`, {width: 360, height: 740, init: () => {
      globalThis.moved = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.moved += entry.value;
      }).observe({type: 'layout-shift', buffered: true});
    }});
    await verdict(page, said);
    await page.waitForTimeout(500);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
    const moved = await page.evaluate(() => globalThis.moved);
    t.diagnostic(`note layout shift of ${view} on a phone: ${moved.toFixed(3)}`);
    assert.ok(moved < 0.1, `layout shift ${moved}`);
    await close();
  });
}

/// The box of the first element in pixels of the window.
const boxOf = (page, selector) => page.locator(selector).first().evaluate((node) => {
  const {left, right, top, bottom} = node.getBoundingClientRect();
  return {left, right, top, bottom};
});

for (const [view, said] of views.filter(([name]) => name !== 'profile')) {
  test(`on a phone the answer of ${view} stays in sight, and its picture is not cut`, async () => {
    const {page, close} = await open(`#1/${view}`, {width: 390, height: 800});
    await verdict(page, said);
    await page.locator('.plot svg').first().waitFor();
    for (const part of [0, 0.5, 1]) {
      await page.evaluate((to) => window.scrollTo(0, to * document.body.scrollHeight), part);
      const head = await boxOf(page, '#answer .verdict');
      assert.ok(head.top >= 0 && head.bottom <= 200, `the verdict is at ${head.top} to ${head.bottom}`);
    }
    await page.evaluate(() => window.scrollTo(0, 0));
    const box = await boxOf(page, '.plot svg');
    if (view === 'train') return close(); // its picture is a list of lines, which scrolls in its box
    assert.ok(box.left >= 0 && box.right <= 390, `the picture is ${box.left} to ${box.right}`);
    assert.ok(box.bottom <= 800, `the picture ends at ${box.bottom}`);
    await page.getByRole('button', {name: 'Larger'}).first().click();
    assert.ok((await boxOf(page, '.plot svg')).right > 390);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
    return close();
  });
}

test('the answer does not move while a slider is dragged', async () => {
  const {page, close} = await open();
  await verdict(page, 'HBM-bound');
  const top = () => page.locator('.plot svg').evaluate((svg) => svg.getBoundingClientRect().top);
  await page.locator('.plot svg').waitFor();
  const before = await top();
  for (const size of ['100', '1000', '100000']) {
    await page.getByLabel('B', {exact: true}).fill(size);
    await page.locator('.plot svg', {hasText: `B = ${size}`}).waitFor();
    assert.equal(await top(), before);
  }
  await close();
});

test('the keyboard reaches everything in order', async () => {
  const {page, close} = await open();
  await verdict(page, 'HBM-bound');
  const seen = [];
  for (let press = 0; press < 70; ++press) {
    await page.keyboard.press('Tab');
    seen.push(await page.evaluate(() => {
      const node = document.activeElement;
      return node.getAttribute('aria-label') ?? node.labels?.[0]?.textContent ?? node.textContent.slice(0, 40);
    }));
  }
  const order = ['To the answer', 'Operation', 'Model', 'Copy as', 'Program', 'Examples', 'B', 'B, slider', 'Machine',
    'hbm.bandwidth, factor', 'lower bound: 84.5 us', 'Times', 'math time: 43.6 us', 'Work'];
  let from = 0;
  for (const name of order) {
    const at = seen.indexOf(name, from);
    assert.ok(at >= 0, `${name} is not reached after ${seen[from]}: ${seen.join(' / ')}`);
    from = at;
  }
  await page.getByRole('button', {name: 'math time: 43.6 us'}).focus();
  await page.keyboard.press('ArrowDown');
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'HBM time: 84.5 us');
  await page.keyboard.press('Enter');
  await page.locator('dialog[open]').waitFor();
  await close();
});

test('an answer is said to a screen reader', async () => {
  const {page, close} = await open();
  await page.locator('#live', {hasText: 'HBM-bound, at least 84.5 us'}).waitFor({state: 'attached'});
  await page.getByLabel('B', {exact: true}).fill('512');
  await page.locator('#live', {hasText: 'Compute-bound (math), at least 349 us'}).waitFor({state: 'attached'});
  await close();
});

test('it prints the answer without the form, in dark ink', async () => {
  const {page, close} = await open('', {scheme: 'dark'});
  await verdict(page, 'HBM-bound');
  await page.emulateMedia({media: 'print', colorScheme: 'dark'});
  assert.equal(await page.locator('#question').isVisible(), false);
  assert.equal(await page.locator('#answer').isVisible(), true);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  assert.equal(await page.locator('.plot svg .paper').evaluate((node) => getComputedStyle(node).fill),
    'rgb(255, 255, 255)');
  await close();
});

test('the theme of the page is that of its pictures', async () => {
  const {page, close} = await open('', {scheme: 'dark'});
  await verdict(page, 'HBM-bound');
  const paper = () => page.locator('.plot svg .paper').evaluate((node) => getComputedStyle(node).fill);
  assert.equal(await paper(), 'rgb(20, 24, 29)');
  await page.getByRole('button', {name: /^Theme/}).click();
  assert.equal(await paper(), 'rgb(255, 255, 255)');
  await close();
});

test('nothing leaves the browser', {skip: pageUrl.startsWith('file:') ? false : 'only of the page in one file'},
  async () => {
  const {page, requests, close} = await open();
  await verdict(page, 'HBM-bound');
  for (const [view, said] of views) {
    await page.evaluate((to) => { location.hash = to; }, `#1/${view}`);
    await verdict(page, said);
  }
  const outside = requests.filter((url) => !url.startsWith(pageUrl.split('#')[0]) && !/^(blob|data):/.test(url));
  assert.deepEqual(outside, []);
  const refused = await page.evaluate(() => fetch('https://example.com/').then(() => 'sent', () => 'refused'));
  assert.equal(refused, 'refused');
  const policy = await page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute('content');
  assert.match(policy, /connect-src 'none'/);
  assert.doesNotMatch(policy, /unsafe-eval(?<!wasm-unsafe-eval)|unsafe-inline/);
  await close();
});

for (const [name, init] of [['WebAssembly', () => { delete globalThis.WebAssembly; }], ['Web Workers',
  () => { delete globalThis.Worker; }]]) {
  test(`without ${name} the page says so`, async () => {
    const {page, close} = await open('', {init});
    await page.getByText(`This browser has no ${name}`).waitFor();
    await close();
  });
}

test('a damaged file says so', {skip: pageUrl.startsWith('file:') ? false : 'only of the page in one file'}, async () => {
  const html = fs.readFileSync(fileURLToPath(pageUrl), 'utf8');
  const at = html.indexOf('class="core">') + 100_000;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'roofline-page-'));
  const file = path.join(folder, 'damaged.html');
  fs.writeFileSync(file, html.slice(0, at) + 'A'.repeat(400) + html.slice(at + 400));
  const {page, close} = await openAt(pathToFileURL(file).href);
  await page.getByText('the core cannot be started: this file is damaged').waitFor();
  await close();
  fs.rmSync(folder, {recursive: true});
});

test('paper says what was asked', async () => {
  const {page, close} = await open();
  await verdict(page, 'HBM-bound');
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  await page.emulateMedia({media: 'print'});
  assert.match(await page.locator('#asked').innerText(), /^roofline op 'bf16\[B, D\].* --dims B=64,D=8192,F=8192/);
  await close();
});

test('how fast it is', async (t) => {
  const start = performance.now();
  const {page, close} = await open();
  await verdict(page, 'HBM-bound');
  const first = performance.now() - start;
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
  const answer = await page.evaluate(() => performance.now());
  const redraw = (label, values) => page.evaluate(async ([name, list]) => {
    const slider = document.querySelector(`[aria-label="${name}, slider"]`);
    const answerNode = document.querySelector('#answer');
    const computed = [];
    const times = [];
    for (const value of list) {
      const since = performance.now();
      const done = new Promise((resolve) => {
        const watch = new MutationObserver(() => {
          watch.disconnect();
          computed.push(performance.now() - since);
          requestAnimationFrame(() => resolve());
        });
        watch.observe(answerNode, {subtree: true, childList: true});
      });
      slider.value = value;
      slider.dispatchEvent(new Event('input', {bubbles: true}));
      await done;
      times.push(performance.now() - since);
    }
    const median = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)].toFixed(1);
    return `${median(computed)} ms, ${median(times)} ms with the wait for the next frame`;
  }, [label, values]);
  const operation = await redraw('B', ['20', '30', '40', '50', '60', '70', '80']);
  await page.evaluate(() => {
    location.hash = '#1/train?model.model=llama-3.1-70b&train.on=h100-sxm%3A8x8&train.mesh=fsdp%3D64'
      + '&train.batch-tokens=1Mi';
  });
  await page.locator('#question input[list="model-names"]').waitFor();
  await verdict(page, 'bound');
  await page.locator('.plot svg', {hasText: '70b'}).waitFor();
  const step = await redraw('Tokens per step', ['50', '56', '64', '72']);
  t.diagnostic(`time first paint ${paint?.toFixed(0)} ms, first answer ${answer.toFixed(0)} ms after the page began `
    + `(${first.toFixed(0)} ms with the window), `
    + `slider to new answer ${operation}, for an operation; ${step}, for a 70B training step`);
  await close();
});
