// Model: where parameters, FLOPs, bytes and cache of a model go, or what files of weights hold.
import {announce, button, el} from './dom.mjs';
import {shown} from './format.mjs';
import {numbers} from './number.mjs';
import {facts, factsWith, headline} from './parts.mjs';
import {modelField} from './plan.mjs';
import {frame} from './plot.mjs';
import {words} from './schema.mjs';
import {bar, table} from './table.mjs';
import {ask, askDrawn, draw, fieldsOf, form, notes, refill, refused, trouble} from './view.mjs';

export function modelView(app) {
  const {state} = app;
  const fields = fieldsOf(app, 'model', ['model']);
  const model = modelField(app);
  fields.set('model', model);
  const [main] = form('model', fields, ['seq', 'kv-dtype', 'weights']);
  const uses = el('div', {class: 'stack'}, button('Price it as an operation', () => open(null)), el('div',
    {class: 'row'}, button('Train it', () => state.set({}, {view: 'train'}), {class: 'quiet'}),
    button('Serve it', () => state.set({}, {view: 'serve'}), {class: 'quiet'})));
  const question = el('form', {on: {submit: (event) => event.preventDefault()}}, model.node, el('div',
    {class: 'columns'}, main),
    uses);
  const head = el('div', {class: 'slot head', tabindex: '-1'});
  const picture = frame('model', {ratio: 'short'});
  const body = el('div', {class: 'slot'});
  const second = el('div', {class: 'slot'});
  const answer = el('div', {}, head, picture.node, body, second);
  let turn = 0;

  async function refresh() {
    const now = ++turn;
    const at = state.fields;
    for (const each of fields.values()) each.show(at);
    const said = words('model', at, {extra: ['--json']});
    const options = {group: 'model', files: app.filesOf('model')};
    const current = () => now === turn;
    // A file of weights has no picture; with one a GGUF file is read as the configuration that it holds.
    const drawn = /\.(safetensors|gguf)$|\.safetensors\.index\.json$/.test(at['model.model']) ? []
      : ['--svg', 'plot.svg'];
    const got = await askDrawn(app, said, drawn, options, current);
    if (!got) return;
    const {json} = got;
    if (refused(json.error, {fields, answer, head})) return;
    app.answered({json: got.answer.out, svg: picture.svg});
    picture.node.hidden = !got.answer.written['plot.svg'];
    draw(picture, got);
    const num = numbers({words: words('model', at), dims: json.dims, sources: []});
    refill(second);
    uses.hidden = Boolean(json.checkpoint) && json.format !== 'gguf'; // weights alone do not say how they are used
    if (!json.checkpoint) {
      counted(json, num, head, body);
      return;
    }
    files(json, num);
    if (json.format !== 'gguf') return;
    const inside = await askDrawn(app, said, ['--svg', 'plot.svg'], options, current);
    if (!inside || inside.json.error || inside.json.checkpoint) return;
    picture.node.hidden = false;
    draw(picture, inside);
    const top = el('div', {});
    const rest = el('div', {class: 'slot'});
    counted(inside.json, numbers({words: words('model', at), dims: inside.json.dims, sources: []}), top, rest);
    refill(second, el('h2', {text: 'The model that it describes'}), top, rest);
  }

  function counted(json, num, top, rest) {
    const about = (label, key, path) => ({label, key, path});
    refill(top, headline('', json.model, [
      ['parameters', num(json.params, 'count', about('parameters', 'params', 'params'))],
      json.params_active !== json.params && ['active', num(json.params_active, 'count', about('active parameters',
        'params_active', 'params_active'))],
      ['FLOPs per token', num(json.flops_per_token.forward, 'FLOP', about('forward FLOPs per token',
        'flops_per_token', 'flops_per_token.forward'))],
      ['KV cache per token', num(json.kv_bytes_per_token, 'B', about('KV cache per token', 'kv_bytes',
        'kv_bytes_per_token'))],
      ['weights', num(json.weight_bytes, 'B', about('bytes of the weights', 'weight_bytes', 'weight_bytes')),
        json.weights?.scheme],
    ]));
    announce(`${json.model}: ${shown(json.params, 'count')} parameters`);
    const row = factsWith(num);
    const parts = Object.keys(json.params_by).filter((part) => json.params_by[part] || json.flops_by[part]);
    refill(rest, el('div', {class: 'two'}, table('Parts', [{label: 'Part', cell: (part) => part, sort: (part) =>
      part},
      {label: 'parameters', number: true, sort: (part) => json.params_by[part], cell: (part) =>
        num(json.params_by[part] ?? null, 'count',
        about(`parameters of ${part}`, 'params_by', `params_by.${part}`))},
      {label: 'share', cell: (part) => bar(json.params_by[part] ?? 0, json.params,
        {label: `share of ${part} in the parameters`})},
      {label: 'FLOP per token', number: true, sort: (part) => json.flops_by[part], cell: (part) =>
        num(json.flops_by[part] ?? null, 'FLOP',
        about(`FLOPs per token of ${part}`, 'flops_per_token', `flops_by.${part}`))}], parts),
    facts('Per token and sequence', [
      row('forward', json.flops_per_token.forward, 'FLOP', 'flops_per_token', 'flops_per_token.forward',
        'matmuls with parameters'),
      row('forward, attention', json.flops_per_token.attention, 'FLOP', 'flops_per_token',
        'flops_per_token.attention', `at ${json.seq} tokens`),
      row('training', json.flops_per_token.train, 'FLOP', 'flops_per_token', 'flops_per_token.train'),
      row('training, attention', json.flops_per_token.attention_train, 'FLOP', 'flops_per_token',
        'flops_per_token.attention_train'),
      row('KV cache of a sequence', json.kv_bytes_sequence, 'B', 'kv_bytes', 'kv_bytes_sequence',
        `${json.seq} tokens, ${json.kv_dtype}`),
      row('state', json.state_bytes || null, 'B', 'state_bytes', 'state_bytes'),
      row('activations kept, everything', json.activation_bytes_per_token?.none, 'B', 'activation_bytes',
        'activation_bytes_per_token.none', 'per token'),
      row('activations kept, matmuls', json.activation_bytes_per_token?.products, 'B', 'activation_bytes',
        'activation_bytes_per_token.products'),
      row('activations kept, residual stream', json.activation_bytes_per_token?.full, 'B', 'activation_bytes',
        'activation_bytes_per_token.full'),
      row('attention overtakes the MLP at', json.attention_overtakes_mlp_at, 'number', 'overtakes',
        'attention_overtakes_mlp_at', 'tokens'),
      ['read as', el('span', {text: `${json.model_type}, ${json.architecture}`})]])),
    layers(json, num), notes(json.notes));
  }

  function layers(json, num) {
    if (!json.layers?.length) return null;
    const cell = (label, get, unit, key, path) => ({label, number: true, sort: get, cell: (row) => num(get(row), unit,
      {label: `${label} of layer ${row.layer}`, key, path: `layers[${row.layer}].${path}`})});
    return table(`Layers (${json.layers.length}); press a name to see its operations`, [
      {label: 'Layer', sort: (row) => row.layer, cell: (row) => button(`${row.layer}`, () => open(row), {class: 'num',
        'aria-label': `Operations of layer ${row.layer}`})},
      {label: 'kind', cell: (row) => row.kind, sort: (row) => row.kind},
      cell('parameters', (row) => row.params, 'count', 'params', 'params'),
      cell('active', (row) => row.params_active, 'count', 'params_active', 'params_active'),
      cell('forward', (row) => row.flops_per_token.forward, 'FLOP', 'flops_per_token', 'flops_per_token.forward'),
      cell('attention', (row) => row.flops_per_token.attention, 'FLOP', 'flops_per_token',
        'flops_per_token.attention'),
      cell('KV per token', (row) => row.kv_bytes_per_token, 'B', 'kv_bytes', 'kv_bytes_per_token')], json.layers,
        {most: 12});
  }

  function files(json, num) {
    refill(head, headline('', json.checkpoint, [
      ['parameters', num(json.params, 'count', {label: 'parameters', key: 'params', path: 'params'})],
      ['bytes', num(json.bytes, 'B', {label: 'bytes of all tensors', key: 'weight_bytes', path: 'bytes'})],
      ['tensors', num(json.tensors, 'count', {label: 'tensors', path: 'tensors'})]]));
    announce(`${json.checkpoint}: ${shown(json.bytes, 'B')}`);
    const by = (caption, group, path) => (group ? table(caption, [{label: caption.slice(3), cell: (row) => row[0]},
      ...[['tensors', 'count'], ['elements', 'count'], ['params', 'count'], ['bytes', 'B']].map(([key, unit]) =>
        ({label: key, number: true,
        sort: (row) => row[1][key], cell: (row) => num(row[1][key] ?? null, unit, {label: `${key} of ${row[0]}`,
          path: `${path}["${row[0]}"].${key}`})}))],
    entries(group), {most: 20}) : null);
    refill(body, by('By dtype', json.by_dtype, 'by_dtype'), by('By part', json.by_part, 'by_part'),
      by('By layer', json.by_layer, 'by_layer'));
  }

  /// The program of the model becomes the operation; the layers' part of it is selected.
  async function open(layer) {
    const got = await ask(app, words('model', state.fields, {extra: ['--program']}), {files: app.filesOf('model')});
    if (!got || got.cancelled) return;
    if (got.answer?.code !== 0) {
      refill(head, trouble({message: got.answer?.err.trim() ?? 'There is no program of it.', hint: ''}, false));
      return;
    }
    const text = got.answer.out.trimEnd();
    state.set({'op.program': text, 'op.dims': '', 'op.mesh': '', 'op.set': [], 'op.sweep': '', 'op.tile': '',
      'op.plot': 'roofline'}, {view: 'op'});
    if (layer) app.made.op.select(...blockOf(text, layer, state));
  }

  return {question, answer, head, refresh};
}

const entries = (group) => (Array.isArray(group) ? group.map((each) =>
  [String(each.name ?? each.layer ?? each.part ?? ''), each])
  : Object.entries(group));

/// Where the block of a layer stands in the program: the `repeat` in whose range it is.
export function blockOf(text, layer) {
  const sizes = new Map([...text.matchAll(/([A-Za-z][A-Za-z0-9]*)=(\d+)/g)].map((match) => [match[1],
    Number(match[2])]));
  const blocks = [...text.matchAll(/^repeat (\S+) \{[\s\S]*?^\}/gm)];
  let first = 0;
  for (const block of blocks) {
    const count = sizes.get(block[1]) ?? Number(block[1]);
    if (layer.layer < first + count) return [block.index, block.index + block[0].length];
    first += count;
  }
  return [0, 0];
}
