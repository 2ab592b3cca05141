// The core as WebAssembly (page/core.mjs): what it is given, what it refuses, and that it goes on after a failure. What
// it answers is compared with the program in parity.test.mjs.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'node:test';
import {fileURLToPath} from 'node:url';
import {gzipSync} from 'node:zlib';

import {start} from '../../page/core.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const wasm = readFileSync(process.env.RL_CORE ?? join(root, 'build/page/core.wasm'));
const core = await start({wasm});
const bytes = (text) => new TextEncoder().encode(text);
const product = ['op', 'bf16[B, D] * bf16[D, F] -> bf16[B, F]', '--dims', 'B=256,D=8k,F=8k', '--on', 'tpu-v5e'];

/** Asserts that the core answers as it should after whatever came before. */
function stillAnswers() {
  const {code, out, err} = core.ask([...product, '--json']);
  assert.deepEqual({code, err}, {code: 0, err: ''});
  // 2 * 256 * 8000 * 8000
  assert.equal(JSON.parse(out).flops, 32_768_000_000);
}

test('an answer, and one after it', () => {
  stillAnswers();
  stillAnswers();
});

test('the words of a question may be any text', () => {
  const {code, err} = core.ask(['op', 'bf16[\u{1F600}]']);
  assert.equal(code, 2);
  assert.match(err, /^error: /);
  assert.equal(core.ask([]).code, 0);
  assert.equal(core.ask(['']).code, 2);
});

test('options that are wrong are errors with a hint, and the core goes on', () => {
  const {code, out, err} = core.ask(['op', 'bf16[B]', '--dimms', 'B=2']);
  assert.deepEqual({code, out}, {code: 2, out: ''});
  assert.match(err, /no option `--dimms`\nhint: did you mean `--dims`\?/);
  stillAnswers();
  const json = core.ask(['op', 'bf16[B]', '--dimms', 'B=2', '--json']);
  assert.equal(JSON.parse(json.out).error.message, 'no option `--dimms`');
  stillAnswers();
});

test('an option whose value CLI11 refuses', () => {
  const {code, err} = core.ask([...product, '--color', 'loud']);
  assert.equal(code, 2);
  assert.match(err, /--color/);
  stillAnswers();
});

test('a machine from a file that is given', () => {
  const toml = readFileSync(join(root, 'docs/examples/mychip.toml'));
  const words = ['op', product[1], '--dims', 'B=64,D=8192,F=8192', '--on', 'chips/my.toml'];
  const {code, out} = core.ask(words, {'chips/my.toml': toml});
  assert.equal(code, 0, out);
});

test('a file of one question is not there in the next', () => {
  const words = ['op', 'one.roof', '--on', 'tpu-v5e'];
  assert.equal(core.ask(words, {'one.roof': bytes('Y : bf16[A=8] = exp(bf16[A])')}).code, 0);
  const {code, err} = core.ask(words);
  assert.equal(code, 2);
  assert.equal(err, 'error: cannot open one.roof: No such file or directory\nhint: check the path\n');
});

test('standard input is a file named -', () => {
  const text = bytes('Y : bf16[A=8] = exp(bf16[A])');
  assert.equal(core.ask(['op', '-', '--on', 'tpu-v5e'], {'-': text}).code, 0);
  assert.equal(core.ask(['op', '-', '--on', 'tpu-v5e']).code, 2);
});

test('a picture is written, and a PNG is refused', () => {
  const {code, written} = core.ask([...product, '--svg', 'a.svg']);
  assert.equal(code, 0);
  assert.match(written['a.svg'], /^<svg[\s\S]*<\/svg>\s*$/);
  const png = core.ask([...product, '--png', 'a.png']);
  assert.equal(png.code, 1);
  assert.match(png.err, /PNG/);
});

test('packed files are unpacked', () => {
  const module = readFileSync(join(root, 'docs/examples/mlp.hlo'));
  const plain = core.ask(['hlo', 'mlp.hlo', '--on', 'h100-sxm', '--json'], {'mlp.hlo': module});
  assert.equal(plain.code, 0, plain.out);
  const packed = core.ask(['hlo', 'mlp.hlo.gz', '--on', 'h100-sxm', '--json'], {'mlp.hlo.gz': gzipSync(module)});
  assert.equal(packed.code, 0, packed.out);
  assert.equal(packed.out.replaceAll('mlp.hlo.gz', 'mlp.hlo'), plain.out);
  const damaged = core.ask(['hlo', 'mlp.hlo.gz', '--cost', 'xla'], {'mlp.hlo.gz': gzipSync(module).subarray(0, 300)});
  assert.equal(damaged.code, 2);
  assert.match(damaged.err, /ends before its gzip data do/);
});

test('a search for plans tells how far it has come', () => {
  const seen = [];
  const words = ['plan', 'train', 'llama-3.2-1b', '--on', 'h100-sxm:2', '--batch-tokens', '32Ki', '--seq', '2048',
    '--without', 'pipeline,context,sequence', '--json'];
  const {code, out} = core.ask(words, {}, (far) => seen.push(far));
  assert.equal(code, 0, out);
  const {searched, plans} = JSON.parse(out);
  assert.equal(seen.at(-1).plans, searched);
  assert.equal(seen.at(-1).lookedAt, searched);
  assert.ok(seen.every((far, at) => at === 0 || far.lookedAt > seen[at - 1].lookedAt));
  assert.equal(seen.at(-1).best, Math.min(...plans.map((plan) => plan.step_s)));
  stillAnswers();
});

test('bytes that are no text', () => {
  const noise = Uint8Array.from({length: 4096}, (_, i) => (i * 7919) % 251);
  for (const command of ['hlo x', 'op x.roof', 'trace x --on h100-sxm', 'validate x', 'model x.json']) {
    const words = command.split(' ');
    const {code, err} = core.ask(words, {[words[1]]: noise});
    assert.equal(code, 2, words.join(' '));
    assert.match(err, /^error: /);
  }
  stillAnswers();
});

test('a question that nests deeply is refused, and the core goes on', () => {
  for (const opening of ['(', '-', 'exp(']) {
    const {code} = core.ask(['op', `${opening.repeat(100_000)}bf16[B]`, '--on', 'tpu-v5e']);
    assert.notEqual(code, 0);
    stillAnswers();
  }
});

test('what measures or runs here is refused', () => {
  for (const words of [['measure'], ['run', 'f32[A=4] * f32[A] -> f32[]'], ['op', product[1], '--on', 'this']]) {
    const {code, err} = core.ask(words);
    assert.ok(code === 3 || code === 2, `${words}: ${code}`);
    assert.match(err, /hint: /);
  }
});

test('a fleet needs the solver, which is named', () => {
  const fleet = readFileSync(join(root, 'docs/examples/fleet.toml'));
  const {code, err} = core.ask(['plan', 'fleet', 'fleet.toml'], {'fleet.toml': fleet});
  assert.notEqual(code, 0);
  assert.match(err, /solver of integer programs/);
});

test('more memory than there is ends the question, not the core', () => {
  const sizes = ['--dims', 'F=8k', '--sweep', 'B=1..100000', '--sweep', 'D=1..100000'];
  const words = ['op', product[1], ...sizes, '--on', 'tpu-v5e', '--json'];
  const {code, out} = core.ask(words);
  assert.notEqual(code, 0);
  assert.ok(JSON.parse(out).error.message.length > 0);
  stillAnswers();
});

test('a large file', () => {
  const lines = 'a line of text that is no module\n'.repeat(3_000_000); // 99 MB
  const {code} = core.ask(['hlo', 'large.hlo'], {'large.hlo': bytes(lines)});
  assert.equal(code, 2);
  stillAnswers();
});

test('the module starts anew without compiling', async () => {
  const again = await start({wasm: core.module});
  assert.equal(again.module, core.module);
  assert.equal(again.ask([...product, '--json']).out, core.ask([...product, '--json']).out);
});
