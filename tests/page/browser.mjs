// What the tests of the page share: a browser, the page in it, and what it logs and asks for.
import {createRequire} from 'node:module';
import fs from 'node:fs';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {fileURLToPath, pathToFileURL} from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const build = process.env.ROOFLINE_BUILD ?? path.join(root, 'build');

/// ROOFLINE_PAGE is another address of the page, CHROMIUM another browser.
export const pageUrl = process.env.ROOFLINE_PAGE ?? pathToFileURL(path.join(build, 'page', 'index.html')).href;
const chromiumPath = process.env.CHROMIUM ?? '/usr/bin/chromium';

/// Packages of npm for the tests are installed into the build folder.
export const modules = createRequire(path.join(build, 'page_tests', 'index.js'));
const samples = path.join(root, '..', 'shared', 'samples');

/// What is missing for a test in a browser, and how to get it; false if nothing is.
export const missing = (() => {
  const has = (name) => {
    try {
      return Boolean(modules.resolve(name));
    } catch {
      return false;
    }
  };
  if (!fs.existsSync(chromiumPath)) return 'needs Chromium: apt-get install chromium, or CHROMIUM=its path';
  if (!has('playwright-core') || !has('axe-core/axe.min.js')) {
    return 'needs packages of npm: npm install --prefix build/page_tests playwright-core axe-core';
  }
  if (pageUrl.startsWith('file:') && !fs.existsSync(fileURLToPath(pageUrl))) return 'needs the page: ./dev page';
  return false;
})();

/// A test in a browser, which is skipped, saying why, where something is missing.
export function browserTest(name, ...rest) {
  const [options, run] = rest.length > 1 ? rest : [{}, rest[0]];
  test(name, {...options, skip: missing || options.skip || false}, run);
}

/// A file of the shared samples, or null where they are not there.
export function sample(...names) {
  const file = path.join(samples, ...names);
  return fs.existsSync(file) ? file : null;
}

let browser = null;

/// Call it once in a file of tests: starts a browser before them and ends it after them.
export function withBrowser() {
  before(async () => {
    if (missing) return;
    const {chromium} = modules('playwright-core');
    browser = await chromium.launch({executablePath: chromiumPath, args: ['--no-sandbox']});
  });
  after(() => browser?.close());
}

/// The page in a window of its own: {page, errors, requests, close}. `fragment` is what the link says after #.
export const open = (fragment = '', options = {}) => openAt(pageUrl + fragment, options);

/// The same at another address.
export async function openAt(url, {width = 1280, height = 900, scheme = 'light', offline = true, init = null} = {}) {
  const context = await browser.newContext({viewport: {width, height}, colorScheme: scheme});
  await context.addInitScript(() => {
    globalThis.copied = [];
    const clipboard = {writeText: async (text) => { globalThis.copied.push(text); }};
    Object.defineProperty(navigator, 'clipboard', {value: clipboard, configurable: true});
  });
  if (init) await context.addInitScript(init);
  const page = await context.newPage();
  page.setDefaultTimeout(15000);
  const errors = [];
  const requests = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) errors.push(message.text());
  });
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('request', (request) => requests.push(request.url()));
  if (offline && url.startsWith('file:')) await context.setOffline(true);
  await page.goto(url);
  return {page, context, errors, requests, close: () => context.close()};
}

/// Waits until the answer says `text`.
export async function verdict(page, text) {
  await page.locator('#answer .verdict', {hasText: text}).first().waitFor({timeout: 15000});
}

/// Drops files on the page: [name, bytes] or paths.
export async function drop(page, ...files) {
  const list = files.map((file) => (typeof file === 'string' ? [path.basename(file), fs.readFileSync(file)] : file))
    .map(([name, bytes]) => [name, Buffer.from(bytes).toString('base64')]);
  const data = await page.evaluateHandle((all) => {
    const transfer = new DataTransfer();
    for (const [name, packed] of all) {
      transfer.items.add(new File([Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0))], name));
    }
    return transfer;
  }, list);
  await page.dispatchEvent('body', 'drop', {dataTransfer: data});
}

/// Presses an entry of the menu `Copy as` and gives what was copied.
export async function copied(page, entry) {
  await page.locator('.menu summary').click();
  await page.getByRole('button', {name: entry, exact: true}).click();
  await page.keyboard.press('Escape');
  return page.evaluate(() => globalThis.copied.at(-1));
}
