// The page as `roofline page` serves it: files of the directory are there to choose, and nothing else is reached.
import assert from 'node:assert/strict';
import {spawn, spawnSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {after, before} from 'node:test';
import {fileURLToPath} from 'node:url';
import {browserTest, openAt, pageUrl, root, verdict, withBrowser} from './browser.mjs';

const program = process.env.RL_PROGRAM ?? path.join(root, 'build/roofline');
const built = pageUrl.startsWith('file:') ? fileURLToPath(pageUrl) : null;
const folder = path.join(root, 'docs/examples');

const absent = (() => {
  if (!built) return 'only of the page in one file';
  if (!fs.existsSync(program)) return 'needs the program';
  // Without its module the server ends at once, and says why.
  const {stderr} = spawnSync(program, ['page', '--no-open', '--file', built], {encoding: 'utf8', timeout: 1000});
  return /HTTP server/.test(stderr) ? 'needs libcpp-httplib-dev where the program is built' : false;
})();
const test = (name, run) => browserTest(name, {skip: absent}, run);

withBrowser();
let server = null;
let address = '';

before(async () => {
  if (absent) return;
  server = spawn(program, ['page', '--no-open', '--file', built], {cwd: folder, stdio: ['ignore', 'pipe', 'inherit']});
  address = await new Promise((resolve, reject) => {
    server.stdout.once('data', (text) => resolve(String(text).split('\n')[0]));
    server.once('exit', () => reject(new Error('the server ended')));
  });
});
after(() => server?.kill('SIGINT'));

test('a file of the directory is chosen', async () => {
  const {page, errors, close} = await openAt(`${address}#1/profile?profile.on=h100-sxm%3A4`);
  await verdict(page, 'Drop a module');
  const pick = page.getByLabel('A module or a profile, of the directory');
  await pick.locator('option', {hasText: 'mlp.hlo'}).waitFor({state: 'attached'});
  await pick.selectOption('mlp.hlo');
  await verdict(page, 'Compute-bound');
  assert.deepEqual(errors, []);
  await close();
});

test('a link that names a file of the directory opens it', async () => {
  const {page, errors, close} = await openAt(
    `${address}#1/profile?profile.file=mlp.hlo&profile.kind=hlo&profile.on=h100-sxm%3A4`);
  await verdict(page, 'Compute-bound');
  assert.deepEqual(errors, []);
  await close();
});

test('nothing else is asked for', async () => {
  const {page, requests, close} = await openAt(address);
  await verdict(page, 'HBM-bound');
  const outside = requests.filter((url) => !url.startsWith(address) && !/^(blob|data):/.test(url));
  assert.deepEqual(outside, []);
  for (const url of ['https://example.com/', address, `${address}index.html`, 'http://127.0.0.1:1/']) {
    const tried = await page.evaluate((to) => fetch(to).then(() => 'sent', () => 'refused'), url);
    assert.equal(tried, 'refused', url);
  }
  assert.equal(await page.evaluate(() => fetch('files/mlp.hlo').then((answer) => answer.status)), 200);
  await close();
});
