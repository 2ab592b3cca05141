// Modules of the page that need no browser.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {root} from './browser.mjs';
import {Cancelled, Core, Superseded} from '../../page/client.mjs';
import {completions, offsetOf} from '../../page/editor.mjs';
import {nearestStop, pairsOf, pairsText, stops} from '../../page/fields.mjs';
import {kindOf, largest, read} from '../../page/files.mjs';
import {exact, shown} from '../../page/format.mjs';
import {blockOf} from '../../page/model.mjs';
import {dtypes, functions} from '../../page/names.mjs';
import {passages} from '../../page/number.mjs';
import {fieldsOfCommand} from '../../page/plan.mjs';
import {commandLine, defaults, python, words} from '../../page/schema.mjs';
import {decode, encode} from '../../page/state.mjs';

test('the editor knows the functions and dtypes of the reference, and no others', () => {
  const text = fs.readFileSync(path.join(root, 'docs/reference/notation.md'), 'utf8');
  const names = (section, next) => [...text.slice(text.indexOf(section),
    text.indexOf(next)).matchAll(/^\| `([a-z_0-9]+)` \|/gm)]
    .map((match) => match[1]);
  assert.deepEqual([...functions].sort(), names('## Functions', '- *map*').sort());
  assert.deepEqual([...dtypes].sort(), names('## Dtypes', '**The dtype of the arithmetic**').sort());
});

test('a link gives back what it was made of', () => {
  const fields = {...defaults(), 'op.program': 'bf16[B, D]\n# <&?=+%> \u00e9', 'op.on': ['h100-sxm', 'tpu-v5e:4x4'],
    'op.set': [],
    'op.all-roofs': true, 'train.mesh': ''};
  const read = decode(encode({view: 'train', fields, texts: {'config.json': '{"a":1}'}}));
  assert.deepEqual(read, {view: 'train', fields, texts: {'config.json': '{"a":1}'}, trouble: []});
  assert.equal(encode({view: 'op', fields: defaults(), texts: {}}), '#1/op');
});

test('links from elsewhere are told apart and never throw', () => {
  const trouble = (fragment) => decode(fragment).trouble.join(' ');
  assert.match(trouble('#2/op?op.dims=B=1'), /newer version/);
  assert.match(trouble('#0/op'), /not known/);
  assert.match(trouble('#hello'), /not made by this page/);
  assert.match(trouble('#1/nowhere'), /no view/);
  assert.match(trouble('#1/op?op.colour=red'), /op\.colour.*not known/);
  assert.match(trouble('#1/op?op.dims=B%3D1&op.dims=B%3D2'), /twice/);
  assert.match(trouble(`#1/op?op.dims=${'x'.repeat(30000)}`), /too long/);
  assert.match(trouble(`#1/op?op.dims=${'x'.repeat(300000)}`), /longer than any/);
  assert.match(trouble('#1/op?file:..%2Fa=1'), /left out/);
  assert.equal(trouble('#1/op?op.dims=%'), '');
  assert.equal(decode('#1/op?__proto__=1&constructor=2').trouble.length, 2);
});

test('an error stands at its place, whose columns are bytes', () => {
  assert.equal(offsetOf('ab\ncd', 2, 2), 4);
  assert.equal(offsetOf('\u00d7\u00b7x', 1, 5), 2);
  assert.equal(offsetOf('a', 9, 1), 1);
});

test('names are completed where one types them', () => {
  assert.deepEqual(completions('softm', 5), {from: 0, words: ['softmax']});
  assert.deepEqual(completions('Wgate : bf16[D]\nWg', 18), {from: 16, words: ['Wgate']});
  assert.deepEqual(completions('bf16[Heads, D] * bf16[H', 23).words, ['Heads']);
  assert.deepEqual(completions('b', 1).words, []);
});

test('sizes are pairs, whose values may be expressions', () => {
  assert.deepEqual(pairsOf('B=64, C=round_up(B*2, 128),D=F=8k'), [['B', '64'], ['C', 'round_up(B*2, 128)'],
    ['D=F', '8k']]);
  assert.equal(pairsText([['B', '64'], ['C', '']]), 'B=64');
  const list = stops(0, 10);
  assert.equal(list[nearestStop(list, '1k')], 1024);
  assert.equal(list[nearestStop(list, '0.5Ki')], 512);
  assert.equal(nearestStop(list, 'B*2'), null);
});

test('numbers have units, and their exact value beside', () => {
  assert.equal(shown(8.450063003663004e-05, 's'), '84.5 us');
  assert.equal(shown(0.0009996, 's'), '1 ms');
  assert.equal(shown(3.9e6, 's'), '45.1 days');
  assert.equal(shown(69206016, 'B'), '69.2 MB');
  assert.equal(shown(999.6e9, 'FLOP'), '1 TFLOP');
  assert.equal(shown(0.516, 'fraction'), '51.6 %');
  assert.equal(shown(null, 's'), '\u2013');
  assert.equal(exact(8.450063003663004e-05, 's'), '8.450063003663004e-5 s');
});

test('a question becomes words, a command line and Python', () => {
  const state = {...defaults(), 'op.set': ['hbm.bandwidth=*2'], 'op.textbook': true};
  const said = words('op', state);
  assert.deepEqual(said, ['op', 'bf16[B, D] * int8[D, F] -> bf16[B, F]', '--dims', 'B=64,D=8192,F=8192', '--on',
    'tpu-v5e', '--set',
    'hbm.bandwidth=*2', '--textbook']);
  assert.equal(commandLine(['op', 'it\'s', '--on', 'tpu-v5e:4x4']), 'roofline op \'it\'\\\'\'s\' --on tpu-v5e:4x4');
  assert.match(python(said, 'op'),
    /^answer = rl\.op\("bf16\[B.*", dims="B=64,D=8192,F=8192", on="tpu-v5e", .*, textbook=True\)$/m);
  assert.match(python(words('train', state, {search: true}), 'plan.train'), /rl\.plan\.train\("llama-3\.1-8b", on=/);
});

test('a plan that was found becomes the question', () => {
  const {patch, lost} = fieldsOfCommand('serve',
    'roofline serve llama-3.1-8b --on h100-sxm:1 --mesh data=1 --concurrency 34 --mystery 3');
  assert.equal(patch['serve.concurrency'], '34');
  assert.equal(patch['serve.batch'], '');
  assert.deepEqual(patch['serve.on'], ['h100-sxm:1']);
  assert.deepEqual(lost, ['--mystery']);
});

test('passages of a derivation keep the lines below that belong to them', () => {
  const text = 'Costs\n  T_HBM = a\n        = b\n    W = c\n  T_math = d\n\nBounds\n  lower = e';
  assert.deepEqual(passages(text, [/^\s*T_HBM/]), ['  T_HBM = a', '        = b', '    W = c']);
  assert.deepEqual(passages(text, [/^\s*lower = /]), ['  lower = e']);
});

test('a layer is found in the program of its model', () => {
  const text = 'L=2, M=3\nX : bf16[D]\nrepeat L {\n    a\n}\nrepeat M {\n    b\n}\n';
  assert.equal(text.slice(...blockOf(text, {layer: 1})), 'repeat L {\n    a\n}');
  assert.equal(text.slice(...blockOf(text, {layer: 2})), 'repeat M {\n    b\n}');
});

test('files are told apart by their name and how they begin', () => {
  const kind = (name, text) => kindOf(name, new TextEncoder().encode(text));
  assert.equal(kind('config.json', '{"model_type": "llama"}'), 'model');
  assert.equal(kind('a.txt', 'HloModule jit_f'), 'hlo');
  assert.equal(kind('graph.json', '{"roofline": "torch graph"}'), 'hlo');
  assert.equal(kind('t.json', '{"schemaVersion":1,"traceEvents":[]}'), 'trace');
  assert.equal(kind('step.hlo.gz', '\x1f'), 'hlo');
  assert.equal(kind('x.roof', 'B=1'), 'program');
});

test('a file that is too large is refused, and of weights the header is read', async () => {
  const huge = {name: 'step.hlo', size: largest + 1, slice: () => assert.fail('it was read')};
  await assert.rejects(read(huge), /step\.hlo has 256 MiB; the page reads files of up to 256 MiB/);
  const header = new TextEncoder().encode('{"a":1}');
  const file = new Blob([new BigUint64Array([BigInt(header.length)]), header, new Uint8Array(1000)]);
  const weights = (blob) => ({name: 'm.safetensors', size: blob.size, slice: (...range) => blob.slice(...range)});
  assert.equal((await read(weights(file))).bytes.length, 8 + header.length);
  await assert.rejects(read(weights(new Blob([new BigUint64Array([2n ** 60n])]))), /its header would have/);
  await assert.rejects(read(weights(new Blob(['x']))), /too short/);
});

/// Workers that answer when they are told to.
function fakes() {
  const made = [];
  const make = () => {
    const worker = {sent: [], terminated: false, postMessage: (data) => worker.sent.push(data),
      terminate: () => { worker.terminated = true; }};
    made.push(worker);
    return worker;
  };
  const reply = (worker, out) => worker.onmessage({data: {id: worker.sent.at(-1).id, answer: {out}}});
  return {made, make, reply};
}

test('of questions that wait the newest of a group is asked', async () => {
  const {made, make, reply} = fakes();
  const core = new Core(make);
  const first = core.ask(['1'], {group: 'g'});
  const second = assert.rejects(core.ask(['2'], {group: 'g'}), Superseded);
  const third = core.ask(['3'], {group: 'g'});
  reply(made[0], 'one');
  assert.equal((await first).out, 'one');
  reply(made[0], 'three');
  assert.equal((await third).out, 'three');
  await second;
  assert.deepEqual(made[0].sent.map((each) => each.words[0]), ['1', '3']);
});

test('a question is ended with its worker, and the next one has another', async () => {
  const {made, make, reply} = fakes();
  const core = new Core(make);
  const ended = assert.rejects(core.ask(['long']), Cancelled);
  core.cancel();
  await ended;
  assert.equal(made[0].terminated, true);
  const next = core.ask(['next']);
  reply(made[1], 'ok');
  assert.equal((await next).out, 'ok');
});

test('a question that takes too long gives way to a newer one', async () => {
  const {made, make, reply} = fakes();
  const core = new Core(make, {patience: 10});
  const old = assert.rejects(core.ask(['old'], {group: 'g'}), Superseded);
  const next = core.ask(['new'], {group: 'g'});
  await old;
  reply(made[1], 'new');
  assert.equal((await next).out, 'new');
});
