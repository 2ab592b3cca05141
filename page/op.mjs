// Operation: what bounds a program on one or several machines, and from which size on that changes.
import {announce, button, el} from './dom.mjs';
import {editor} from './editor.mjs';
import {pairsOf, pairsText, sizeField} from './fields.mjs';
import {boundWords, resource, shown} from './format.mjs';
import {constants, numbers} from './number.mjs';
import {collectives, constantsOfEach, expectedRemark, facts, headline, numbersOfEach, sideBySide, sliceOf, timePatterns,
  times} from './parts.mjs';
import {frame} from './plot.mjs';
import {words} from './schema.mjs';
import {table} from './table.mjs';
import {afterFrame, ask, askDrawn, derivation, derivationFold, draw, fieldsOf, form, missingMachines, notes,
  refill, refused, trouble} from './view.mjs';

const plots = [['roofline', 'Roofline'], ['sweep', 'Sweep'], ['mesh', 'Mesh'], ['timeline', 'Time line']];

const examples = [
  ['A matmul with eight-bit weights', 'bf16[B, D] * int8[D, F] -> bf16[B, F]', 'B=64,D=8192,F=8192', ['tpu-v5e'], ''],
  ['A gated MLP', 'X : bf16[B, D]\nparam Wg : bf16[D, F]\nparam Wu : bf16[D, F]\nparam Wd : bf16[F, D]\n'
    + 'H : bf16[B, F] = silu(X * Wg) * (X * Wu)\nOut : bf16[B, D] = H * Wd', 'B=512,D=4096,F=14336', ['h100-sxm'],
      ''],
  ['Fused attention', 'Q : bf16[B, T, K, G, H]\nKs : bf16[B, S, K, H]\nVs : bf16[B, S, K, H]\nfuse {\n'
    + '    P : bf16[B, K, G, T, S] = softmax[S](causal[T,S](Q * Ks))\n    O : bf16[B, T, K, G, H] = P * Vs\n}',
  'B=8,T=4096,S=4096,K=8,G=8,H=128', ['h100-sxm'], ''],
  ['A sharded MLP on 16 chips', 'In : bf16[B_X, D]\nWin : bf16[D, F_Y]\nWout : bf16[F_Y, D]\n'
    + 'H : bf16[B_X, F_Y] = gelu(In * Win)\nOut : bf16[B_X, D] = H * Wout', 'B=4096,D=8192,F=16384', ['tpu-v5e:4x4'],
      'X=4,Y=4'],
];

const bounds = (machine, answer) => [
  ['lower_s', 'lower', 'if everything overlaps', [/^\s*lower = /]],
  ['sequential_s', 'sequential', 'if only the work inside each kernel overlaps', [/^\s*sequential = /]],
  ['exposed_s', 'exposed', 'if collectives do not overlap with computation', [/^\s*exposed = /]],
  ['expected_s', 'expected', expectedRemark(answer, machine), [/expected/i]],
  ['upper_s', 'no overlap', 'without any overlap, at published rates', [/^\s*no overlap = /]],
];

export function opView(app) {
  const state = app.state;
  const program = editor({changed: (text, gesture) => state.set({'op.program': text}, {gesture}), settled: () =>
    state.settle()});
  const fields = fieldsOf(app, 'op', ['program', 'dims']);
  fields.set('program', {key: 'program', node: program.node, show: (all) => program.set(all['op.program']),
    problem: (error) => program.problem(error)});
  const sizes = sizesField(app);
  fields.set('dims', sizes);
  const pick = el('select', {'aria-label': 'Examples', on: {change: () => {
    const [, text, dims, on, mesh] = examples[pick.value];
    pick.value = '';
    state.set({'op.program': text, 'op.dims': dims, 'op.on': on, 'op.mesh': mesh, 'op.set': [], 'op.plot': 'roofline',
      'op.sweep': '', 'op.tile': ''});
  }}}, el('option', {value: '', text: 'Examples …'}), examples.map(([name], at) => el('option',
    {value: at, text: name})));
  const [main, more] = form('op', fields, ['on', 'mesh']);
  const question = el('form', {on: {submit: (event) => event.preventDefault()}}, program.node, pick, sizes.node, main,
    more, fields.get('set').node);

  const head = el('div', {class: 'slot head', tabindex: '-1'});
  const picture = frame('roofline');
  const kinds = radio('Picture', plots, (kind) => state.set({'op.plot': kind,
    ...(kind === 'sweep' && !state.fields['op.sweep']
    ? {'op.sweep': firstSweep(state.fields, sizes.names())} : {})}));
  const sweep = el('input', {type: 'text', 'aria-label': 'Sweep', placeholder: 'B=1..4096*2', spellcheck: 'false',
    autocomplete: 'off', on: {input: () => state.set({'op.sweep': sweep.value}, {gesture: 'sweep'}), change: () =>
      state.settle()}});
  const roofs = el('input', {type: 'checkbox', id: 'all-roofs', on: {change: () =>
    state.set({'op.all-roofs': roofs.checked})}});
  const roofsLabel = el('label', {class: 'flag'}, roofs, 'all roofs');
  const tools = el('div', {class: 'row plot-kinds'}, kinds.node, sweep, roofsLabel);
  const body = el('div', {class: 'slot'});
  const answer = el('div', {}, head, tools, picture.node, body);
  let turn = 0;
  let last = state.fields;
  // The tables come after the picture and the answer in short, so that these follow a slider.
  const later = afterFrame();

  async function refresh() {
    const now = ++turn;
    const at = state.fields;
    for (const each of fields.values()) each.show(at);
    // Several machines are compared in a sweep; the other pictures are of one machine.
    const several = at['op.on'].filter(Boolean).length > 1;
    const plot = several ? 'sweep' : at['op.plot'];
    const swept = at['op.sweep'].trim() || firstSweep(at, sizes.names());
    kinds.show(plot, several ? [plot] : null);
    picture.free(['mesh', 'timeline'].includes(plot));
    sweep.hidden = plot !== 'sweep';
    if (sweep.value !== at['op.sweep']) sweep.value = at['op.sweep'];
    sweep.placeholder = swept;
    roofs.checked = at['op.all-roofs'];
    roofsLabel.hidden = plot !== 'roofline';
    if (!at['op.program'].trim()) {
      const error = {message: 'There is no operation yet.',
        hint: 'For example: bf16[B, D] * bf16[D, F] -> bf16[B, F]'};
      program.problem(error);
      refill(head, trouble(error, true));
      return;
    }
    const asked = {...at, 'op.program': at['op.program'].startsWith('-') ? ` ${at['op.program']}` : at['op.program']};
    const said = words('op', asked, {extra: ['--json']});
    const plain = ['roofline', 'mesh', 'timeline'].includes(plot);
    const drawn = plain ? ['--svg', 'plot.svg', '--plot', plot,
      ...(at['op.all-roofs'] && plot === 'roofline' ? ['--all-roofs'] : [])] : [];
    const current = () => now === turn;
    let got = await askDrawn(app, said, drawn, {group: 'op'}, current);
    if (!got) return;
    // Sizes of dimensions that the program no longer has are kept, and left out of the question.
    const spare = sizes.spare(got.json.error);
    if (spare.length) {
      asked['op.dims'] = pairsText(pairsOf(asked['op.dims']).filter(([name]) => !spare.includes(name)));
      got = await askDrawn(app, words('op', asked, {extra: ['--json']}), drawn, {group: 'op'}, current);
      if (!got) return;
    }
    sizes.left(spare);
    last = asked;
    show(got, asked);
    if (plot === 'sweep' && !got.json.error) await drawSweep(asked, swept, now);
  }

  async function drawSweep(at, swept, now) {
    const names = pairsOf(swept).flatMap(([name]) => name.split('='));
    const dims = pairsText(pairsOf(at['op.dims']).filter(([name]) => !names.includes(name)));
    const said = words('op', {...at, 'op.dims': dims}, {extra: ['--sweep', swept, '--json', '--plot', 'sweep',
      '--svg', 'plot.svg']});
    const got = await ask(app, said, {group: 'sweep'});
    if (!got || got.cancelled || now !== turn) return;
    const error = got.json.error;
    if (error) sweep.setAttribute('aria-invalid', 'true');
    else sweep.removeAttribute('aria-invalid');
    if (error) picture.fail(`${error.message}. ${error.hint ?? ''}`);
    else picture.show(got.answer.written['plot.svg']);
  }

  function show(all, at) {
    const {answer: got, json} = all;
    if (refused(json.error, {fields, answer, head})) return;
    app.answered({view: 'op', json: got.out, svg: picture.svg});
    draw(picture, all);
    const context = Object.assign(derivation(app, 'op', at), {words: words('op', at), sources: json.sources,
      dims: json.dims});
    if (json.machines) {
      const dims = json.machines[0]?.dims ?? {};
      sizes.names(Object.keys(dims), dims);
      fields.get('set').figures(json.machines.flatMap((each) => each.sources ?? []));
      several(json, numbersOfEach(app, 'op', at, 'op.on'));
    } else {
      sizes.names(Object.keys(json.dims), json.dims);
      fields.get('set').figures(json.sources);
      single(json, context);
    }
  }

  function single(json, context) {
    const num = numbers(context);
    const verdict = json.bound_by ? boundWords(json.bound_by)
      : `No numbers yet: ${unsized(json.dims).join(', ')} without a size`;
    refill(head, headline(json.bound_by ?? 'open', verdict, [
      ['lower', num(json.lower_s, 's', {label: 'lower bound', key: 'lower_s', path: 'lower_s',
        find: [/^\s*lower = /]})],
      ['expected', num(json.expected_s, 's', {label: 'expected time', key: 'expected_s', path: 'expected_s',
        find: [/expected/]}),
        json.expected_s === null ? null : `± ${shown(json.expected_error, 'fraction')}`],
      ['of peak', num(json.peak_fraction, 'fraction', {label: 'fraction of peak', key: 'peak_fraction',
        path: 'peak_fraction',
        find: [/fraction of peak/]})],
      ['intensity', num(Object.values(json.intensity)[0] ?? null, 'FLOP/B', {label: 'intensity', key: 'intensity',
        path: 'intensity', formula: json.formulas.intensity, find: [/^\s*I_/]}),
      json.ridge ? `ridge ${shown(Object.values(json.ridge)[0], 'FLOP/B')}` : null],
    ]));
    announce(`${verdict}${json.lower_s === null ? '' : `, at least ${shown(json.lower_s, 's')}`}`);
    later(() => {
      refill(body, el('div', {class: 'two'}, times(num, json, bounds(json.machine, json), {formulas: json.formulas}),
        work(num, json)),
        critical(num, json), kernels(num, json), held(num, json), collectives(num, json.collectives), layouts(num,
          json),
        notes(json.notes), derivationFold(context), constants(json));
    });
    // Once the answer stands the derivation is fetched, so that hovering over a number can show it.
    clearTimeout(opView.later);
    opView.later = setTimeout(() => context.explain(), 700);
  }

  function several(json, numOf) {
    const list = json.machines;
    refill(head, headline('several', `${list.length} machines`, list.map((each) =>
      [sliceOf(each), numOf(each)(each.lower_s, 's', {label: `lower bound on ${sliceOf(each)}`, key: 'lower_s',
        path: 'machines[].lower_s', find: [/^\s*lower = /]}),
      each.bound_by ? `${resource(each.bound_by)}-bound` : null])),
    missingMachines(json));
    fields.get('on').problem(json.errors?.[0] ?? null);
    announce(list.map((each) => `${each.machine} ${shown(each.lower_s, 's')}`).join(', '));
    const keys = [...new Set(list.flatMap((each) => Object.keys(each.time_s)))];
    const found = (...find) => () => ({find});
    later(() => refill(body, sideBySide(numOf, 'Machines side by side', list, [
      ['FLOPs', (each) => each.flops, 'FLOP', 'flops', (each) => ({formula: each.formulas.flops, find: [/FLOPs = /]})],
      ...keys.map((key) => [`${resource(key)} time`, (each) => each.time_s[key], 's', 'time_s', (each) =>
        ({formula: each.formulas[`time_${key}`], find: timePatterns(key)})]),
      ['lower', (each) => each.lower_s, 's', 'lower_s', found(/^\s*lower = /)],
      ['expected', (each) => each.expected_s, 's', 'expected_s', found(/expected/i)],
      ['mean error', (each) => each.expected_error, 'fraction', 'expected_error'],
      ['no overlap', (each) => each.upper_s, 's', 'upper_s', found(/^\s*no overlap = /)],
      ['of peak', (each) => each.peak_fraction, 'fraction', 'peak_fraction', found(/fraction of peak/)]]),
    list.map((each) => (each.notes?.length ? el('section', {class: 'notes'}, el('h2', {text: each.machine}),
      el('ul', {}, each.notes.map((note) => el('li', {text: note})))) : null)), constantsOfEach(list)));
  }

  return {question, answer, head, refresh, said: () => words('op', last), select: (start, end) => program.select(start,
    end)};
}

/// The sizes of the program's dimensions, each a text and a slider.
function sizesField(app) {
  const rows = el('div', {class: 'sizes'});
  const problem = el('p', {class: 'problem', hidden: true});
  const spare = el('p', {class: 'hint', hidden: true});
  const node = el('fieldset', {class: 'field', id: 'sizes'}, el('legend', {text: 'Sizes'}), rows, problem, spare);
  const made = new Map();
  const put = (name, value, gesture) => {
    const pairs = pairsOf(app.state.fields['op.dims']);
    const own = pairs.find((pair) => pair[0] === name);
    if (own) own[1] = value;
    else pairs.push([name, value]);
    app.state.set({'op.dims': pairsText(pairs)}, {gesture});
  };
  let resolved = {};
  return {
    key: 'dims',
    node,
    /// The names of the dimensions; with a list these become the rows. `dims` has sizes that the text gives.
    names(list, dims = {}) {
      if (!list) return [...made.keys()];
      resolved = dims;
      for (const [name, row] of made) {
        if (list.includes(name)) continue;
        row.node.remove();
        made.delete(name);
      }
      for (const name of list) {
        if (!made.has(name)) {
          made.set(name, sizeField({label: name, range: [0, 20], changed: (value, gesture) => put(name, value,
            gesture),
            settled: () => app.state.settle()}));
        }
      }
      // Rows are moved only where their order changed, because a row that is moved loses the focus.
      if ([...rows.children].some((node, at) => node !== made.get(list[at])?.node)
        || rows.children.length !== list.length) {
        rows.append(...list.map((name) => made.get(name).node));
      }
      this.show(app.state.fields);
      return list;
    },
    show(state) {
      const given = new Map(pairsOf(state['op.dims']).flatMap(([names, value]) => names.split('=').map((name) =>
        [name, value])));
      if (made.size === 0 && given.size) this.names([...given.keys()]);
      for (const [name, row] of made) {
        const own = given.get(name) ?? '';
        if (own === '' && resolved[name] !== null && resolved[name] !== undefined
          && document.activeElement !== row.input) {
          row.set(String(resolved[name]));
        } else {
          row.set(own);
        }
      }
    },
    problem(error) {
      for (const row of made.values()) row.problem(null);
      problem.hidden = true;
      if (!error) return;
      const named = /`([A-Za-z][A-Za-z0-9]*)`/.exec(error.message)?.[1];
      if (named && made.has(named)) {
        made.get(named).problem(error);
      } else {
        problem.hidden = false;
        problem.replaceChildren(el('strong', {text: error.message}), error.hint ? ` ${error.hint}` : '');
      }
    },
    /// Names in the sizes that the program does not have, by an error that says which it has.
    spare(error) {
      if (error?.code !== 'unknown_dimension' || error.line) return [];
      const has = error.hint.match(/[A-Za-z][A-Za-z0-9]*/g) ?? [];
      return pairsOf(app.state.fields['op.dims']).map(([name]) => name).filter((name) => !has.includes(name));
    },
    left(names) {
      spare.hidden = names.length === 0;
      const forget = () => {
        const pairs = pairsOf(app.state.fields['op.dims']).filter(([name]) => !names.includes(name));
        app.state.set({'op.dims': pairsText(pairs)});
      };
      spare.replaceChildren(`Kept sizes that are not in the program: ${names.join(', ')} `,
        button('Forget them', forget, {class: 'quiet'}));
    },
  };
}

const unsized = (dims) => Object.keys(dims).filter((name) => dims[name] === null);

function firstSweep(fields, names) {
  const name = pairsOf(fields['op.dims'])[0]?.[0] ?? names[0] ?? 'B';
  return `${name.split('=')[0]}=1..4096*2`;
}

function radio(legend, choices, chosen) {
  const inputs = choices.map(([value, label]) => {
    const input = el('input', {type: 'radio', name: `radio-${legend}`, value, on: {change: () => chosen(value)}});
    return {value, input, node: el('label', {class: 'choice'}, input, el('span', {text: label}))};
  });
  return {node: el('fieldset', {class: 'choices'}, el('legend', {class: 'unseen', text: legend}),
    inputs.map((each) => each.node)),
    /// Chooses a value; of the others only those that are `possible` can be chosen, or all.
    show: (value, possible = null) => inputs.forEach((each) => {
      each.input.checked = each.value === value;
      each.input.disabled = possible !== null && !possible.includes(each.value);
    })};
}

function work(num, json) {
  const units = Object.entries(json.flops_by);
  const formula = json.formulas.flops ?? '';
  const rows = units.map(([key, value]) => [`FLOPs, ${key.replace('/', ' ')}`, num(value, 'FLOP', {
    label: `FLOPs of ${key}`, key: 'flops_by', path: `flops_by["${key}"]`, formula: units.length === 1
      ? formula : null,
    find: [/FLOPs = /]}), units.length === 1 ? el('code', {text: formula}) : '']);
  if (units.length > 1) {
    rows.push(['FLOPs, all', num(json.flops, 'FLOP', {label: 'FLOPs', key: 'flops', path: 'flops', formula,
      find: [/FLOPs = /]}), el('code', {text: formula})]);
  }
  for (const [level, moved] of Object.entries(json.bytes)) {
    for (const way of ['read', 'write']) {
      rows.push([`${resource(level)} ${way === 'read' ? 'read' : 'written'}`, num(moved[way], 'B', {
        label: `bytes ${way === 'read' ? 'read from' : 'written to'} ${resource(level)}`, key: 'bytes',
          path: `bytes.${level}.${way}`,
        formula: json.formulas[`${level}_bytes`], find: [way === 'read' ? /^\s*\w+ -> / : /^\s*\w+ <- /]}),
      way === 'read' ? el('code', {text: json.formulas[`${level}_bytes`] ?? ''}) : '']);
    }
  }
  for (const [tier, bytes] of Object.entries(json.traffic_bytes)) {
    rows.push([`sent over ${resource(tier)}`, num(bytes, 'B', {label: `bytes sent over ${resource(tier)}`,
      key: 'traffic_bytes',
      path: `traffic_bytes.${tier}`, find: [/over (the )?/]})]);
  }
  if (json.transcendentals) rows.push(['transcendentals', num(json.transcendentals, 'count',
    {label: 'transcendentals', key: 'transcendentals'})]);
  for (const [level, value] of Object.entries(json.intensity)) {
    rows.push([`intensity, ${resource(level)}`, num(value, 'FLOP/B', {label: `intensity of ${resource(level)}`,
      key: 'intensity',
      path: `intensity.${level}`, formula: json.formulas.intensity, find: [/^\s*I_/]}),
    Object.entries(json.intensity_limits ?? {}).filter(([, limit]) => limit).slice(0, 1)
      .map(([dim, limit]) => `→ ${limit} as all but ${dim} grow`).join('')]);
    rows.push([`ridge, ${resource(level)}`, num(json.ridge[level], 'FLOP/B',
      {label: `ridge point of ${resource(level)}`, key: 'ridge',
      path: `ridge.${level}`, find: [/ridge = /]})]);
  }
  if (json.energy_j !== null) rows.push(['energy', num(json.energy_j, 'J', {label: 'energy', key: 'energy_j',
    find: [/energy = /]})]);
  return facts(json.chips > 1 ? 'Work of one chip' : 'Work', rows);
}

function critical(num, json) {
  const rows = json.critical.filter((each) => each.status !== null);
  if (!rows.length) return null;
  const said = {crossing: (each) => `compute-bound ${each.compute_bound}`, always: () =>
    'compute-bound at every size',
    never: () => 'compute-bound at no size'};
  return table('Critical sizes: where compute time equals the time of a level', [
    {label: 'Dimension', cell: (row) => row.dim}, {label: 'Level', cell: (row) => resource(row.level)},
    {label: 'Size', number: true, cell: (row) => num(row.exact, 'number', {label: `critical ${row.dim}`,
      key: 'critical',
      path: 'critical[].exact', find: [new RegExp(`^\\s*${row.dim} at which`)]})},
    {label: '', cell: (row) => said[row.status]?.(row) ?? ''},
    {label: 'Limit for large other sizes', number: true, cell: (row) => num(row.limit, 'number',
      {label: `limit of critical ${row.dim}`,
      key: 'critical', path: 'critical[].limit', find: [new RegExp(`^\\s*${row.dim} at which`)]})},
  ], rows);
}

function kernels(num, json) {
  if (json.ops.length < 2) return null;
  const resources = [...new Set(json.ops.flatMap((op) => Object.keys(op.time_s)))];
  const column = (label, unit, get, key) => ({label, number: true, sort: get,
    cell: (row) => num(get(row), unit, {label: `${label} of ${row.op}`, key,
      find: [new RegExp(`^\\s*${row.op.slice(0, 40).replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`)]})});
  return table(`Kernels (${json.ops.length})`, [{label: 'Kernel', cell: (row) => el('code', {text: row.op}),
    sort: (row) => row.op},
    column('FLOPs', 'FLOP', (row) => row.flops, 'flops'),
    ...resources.map((key) => column(resource(key), 's', (row) => row.time_s[key] ?? null, 'time_s')),
    column('lower', 's', (row) => row.lower_s, 'lower_s'), column('expected', 's', (row) => row.expected_s,
      'expected_s'),
    {label: 'bound by', cell: (row) => (row.bound_by ? resource(row.bound_by) : ''), sort: (row) => row.bound_by}],
      json.ops);
}

function held(num, json) {
  if (json.chips < 2) return null;
  return table('What a chip holds', [{label: 'Tensor', cell: (row) => row.name}, {label: 'dtype',
    cell: (row) => row.dtype},
    {label: 'level', cell: (row) => resource(row.level)}, {label: 'shape', cell: (row) =>
      row.local_shape?.join(' × ') ?? ''},
    {label: 'bytes', number: true, sort: (row) => row.local_bytes, cell: (row) => num(row.local_bytes, 'B', {
      label: `bytes of ${row.name} on a chip`, key: 'tensor_bytes', path: 'tensors[].local_bytes'})},
    {label: 'on all', number: true, sort: (row) => row.total_bytes, cell: (row) => num(row.total_bytes, 'B', {
      label: `bytes of ${row.name} on all chips`, path: 'tensors[].total_bytes'})}], json.tensors);
}

function layouts(num, json) {
  if (!json.alternatives.length) return null;
  return table('Other layouts', [{label: 'Instead', cell: (row) => row.plan},
    {label: 'lower', number: true, sort: (row) => row.lower_s, cell: (row) => num(row.lower_s, 's',
      {label: 'lower bound', key: 'lower_s'})},
    {label: 'no overlap', number: true, sort: (row) => row.upper_s, cell: (row) => num(row.upper_s, 's',
      {label: 'no overlap', key: 'upper_s'})}],
  json.alternatives);
}
