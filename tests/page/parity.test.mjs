// The core as WebAssembly answers as the program does, byte for byte: all questions of the documentation's transcripts,
// as they stand and with --json; searches for plans only with RL_PLANS=1. RL_PROGRAM and RL_CORE are the paths of the
// program and of core.wasm; without them those of the build folder.
import assert from 'node:assert/strict';
import {execFileSync, spawnSync} from 'node:child_process';
import {cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync} from 'node:fs';
import {availableParallelism, tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'node:test';
import {fileURLToPath} from 'node:url';
import {Worker, isMainThread, parentPort, workerData} from 'node:worker_threads';

import {start} from '../../page/core.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const program = process.env.RL_PROGRAM ?? join(root, 'build/roofline');
const wasm = process.env.RL_CORE ?? join(root, 'build/page/core.wasm');
const formats = ['--json', '--csv', '--md', '--program', '--emit'];

// Numbers at the limits of what is read: libc++ has no std::from_chars for double (page/src/double_from_chars.cpp).
const numbers = `1e309 1e-400 .5 5. 1e 0x10 inf nan -0 -1 1${'0'.repeat(400)} 0.${'0'.repeat(400)}1 1e+3 1E3 +2 1,5 ..5
  123456789012345678901234567890 9007199254740993 2.2250738585072011e-308 4.9e-324 1.7976931348623158e308 0.1e-7 1e5000
  1e-5000 1_000 infinity 1.5e3.5 0.30000000000000004 8.2e11 1e23`.split(/\s+/);
const product = ['op', 'bf16[B, D] * bf16[D, F] -> bf16[B, F]', '--dims', 'B=64,D=8k,F=8k', '--on', 'tpu-v5e'];

// On processors with fused multiply-add glibc takes other versions of exp, log and pow, some of whose results have
// another last bit than on processors without it. WebAssembly has none.
const unfused = 'glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2';

/** Runs the program in a folder. Returns the answer in the form of the core's. */
function native(folder, words) {
  const environment = {PATH: process.env.PATH, HOME: folder, LC_ALL: 'C.UTF-8', NO_COLOR: '1', GLIBC_TUNABLES: unfused};
  const options = {cwd: folder, env: environment, maxBuffer: 2 ** 28, stdio: ['ignore', 'pipe', 'pipe']};
  const done = spawnSync(program, words, options);
  return {code: done.status, out: done.stdout.toString(), err: done.stderr.toString()};
}

/** Returns the files of a folder that words name, and those of folders that they name. */
function filesFor(folder, words) {
  const files = {'-': new Uint8Array()}; // the program's standard input is empty
  for (const name of readdirSync(folder, {recursive: true})) {
    const path = join(folder, name);
    if (statSync(path).isFile() && words.some((word) => word.includes(name))) files[name] = readFileSync(path);
  }
  return files;
}

/** An answer without what differs from run to run: the seconds that a search took. */
function timeless(text) {
  return text.replace(/"search_s":[0-9.e+-]+/g, '"search_s":0').replace(/, in [0-9.]+ (?:ms|us|s|min)\b/g, ', in 0 s');
}

/** Whether the answer is about the disk: a folder, or a file that cannot be written. The page has no disk. */
const ofDisk = ({err, out}) => /cannot write|Is a directory/.test(err + out);

/** Asks both. Returns what differs, or an empty list. */
function differences(core, folder, words) {
  const files = filesFor(folder, words);
  const expected = native(folder, words);
  if (ofDisk(expected)) return [];
  const got = core.ask(words, files);
  const found = [];
  for (const part of ['code', 'out', 'err']) {
    const [a, b] = [expected[part], got[part]].map((each) => timeless(String(each)));
    if (a !== b) found.push(`${part}: ${firstDifference(a, b)}`);
  }
  for (const [name, text] of Object.entries(got.written)) {
    const path = join(folder, name);
    const written = existsSync(path) && statSync(path).isFile() ? readFileSync(path, 'utf8') : 'nothing';
    if (timeless(written) !== timeless(text)) found.push(`${name}: ${firstDifference(written, text)}`);
  }
  return found;
}

function firstDifference(a, b) {
  let at = 0;
  while (at < a.length && a[at] === b[at]) ++at;
  const from = Math.max(0, at - 60);
  return `program …${JSON.stringify(a.slice(from, at + 60))}, core …${JSON.stringify(b.slice(from, at + 60))}`;
}

/** Asks the questions of files, which come one after the other. */
async function work() {
  const core = await start({wasm: workerData.module});
  parentPort.on('message', ({file, asked}) => {
    const folder = mkdtempSync(join(tmpdir(), 'roofline-page-'));
    for (const from of ['tests/golden/files', 'docs/examples']) cpSync(join(root, from), folder, {recursive: true});
    const outcome = {file, asked: 0, wrong: []};
    for (const {line, words} of asked) {
      if (words[0] === 'plan' && !process.env.RL_PLANS) continue; // searches take minutes
      const variants = formats.some((format) => words.includes(format)) ? [words] : [words, [...words, '--json']];
      for (const each of variants) {
        ++outcome.asked;
        const found = differences(core, folder, each);
        const place = `${file}:${line}: roofline ${each.join(' ')}`;
        if (found.length > 0) outcome.wrong.push([place, ...found].join('\n  '));
      }
    }
    rmSync(folder, {recursive: true});
    parentPort.postMessage(outcome);
  });
}

/** Lets workers ask all questions. Returns their outcomes. */
async function outcomes(questions, module) {
  const waiting = [...questions].sort((a, b) => b.asked.length - a.asked.length);
  const done = [];
  await Promise.all(Array.from({length: availableParallelism()}, () => new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), {workerData: {module}});
    const next = () => {
      const question = waiting.shift();
      if (question) worker.postMessage(question);
      else resolve(worker.terminate());
    };
    worker.on('message', (outcome) => {
      done.push(outcome);
      next();
    });
    worker.on('error', reject);
    next();
  })));
  return done;
}

if (isMainThread) {
  const listed = execFileSync('python3', ['-B', join(root, 'tests/page/questions.py')], {maxBuffer: 2 ** 26});
  const asked = numbers.map((number) => ({line: 0, words: [...product, '--set', `hbm.bandwidth=${number}B/s`]}));
  const questions = [...JSON.parse(listed), {file: 'numbers', asked}];
  const module = await WebAssembly.compile(readFileSync(wasm));
  const done = await outcomes(questions, module);
  for (const {file, asked, wrong} of done) {
    test(`${file}: ${asked} answers`, () => assert.equal(wrong.length, 0, `\n${wrong.join('\n')}`));
  }
} else {
  await work();
}
