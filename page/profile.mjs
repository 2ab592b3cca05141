// Profile: a compiled module or a recorded trace, kernel by kernel, against the roofline.
import {announce, button, el} from './dom.mjs';
import {fileField, kindOf} from './files.mjs';
import {boundWords, shown} from './format.mjs';
import {constants, numbers} from './number.mjs';
import {facts, factsWith, headline} from './parts.mjs';
import {frame} from './plot.mjs';
import {words} from './schema.mjs';
import {bar, table} from './table.mjs';
import {askDrawn, draw, fieldsOf, form, missingMachines, notes, refill, refused} from './view.mjs';

export function profileView(app) {
  const {state} = app;
  const fields = fieldsOf(app, 'profile', ['file', 'trace']);
  const name = el('code', {text: ''});
  const kind = el('select', {id: 'profile-kind', on: {change: () => state.set({'profile.kind': kind.value})}},
    el('option', {value: 'hlo', text: 'a module of XLA, PyTorch or ONNX'}), el('option',
      {value: 'trace', text: 'a recorded profile'}));
  const plot = el('select', {id: 'profile-plot', on: {change: () => state.set({'profile.plot': plot.value})}},
    el('option', {value: 'roofline', text: 'roofline'}), el('option', {value: 'timeline',
      text: 'time line of a step'}));
  const beside = el('select', {id: 'profile-trace', on: {change: () => state.set({'profile.trace': beside.value})}});
  const measured = el('div', {class: 'field'}, el('label', {for: 'profile-trace', text: 'Measured by the profile'}),
    beside);
  const [main, more] = form('profile', fields, ['on']);
  const question = el('form', {on: {submit: (event) => event.preventDefault()}},
    fileField(app, 'A module or a profile', ''), el('p', {}, 'File: ', name),
    el('div', {class: 'field'}, el('label', {for: 'profile-kind', text: 'It is'}), kind), measured, main,
    el('div', {class: 'field'}, el('label', {for: 'profile-plot', text: 'Picture of a profile'}), plot),
      more, fields.get('set').node);
  const head = el('div', {class: 'slot head', tabindex: '-1'});
  const picture = frame('kernels');
  const body = el('div', {class: 'slot'});
  const answer = el('div', {}, head, picture.node, body);
  let turn = 0;
  const command = () => [state.fields['profile.kind'] === 'trace' ? 'trace' : 'hlo'];
  const leave = () => (command()[0] === 'trace' ? ['mesh', 'loops', 'trace'] : []);
  const filesLike = (wanted) => [...state.files].filter(([file, bytes]) => kindOf(file, bytes) === wanted)
    .map(([file]) => file);

  async function refresh() {
    const now = ++turn;
    const at = state.fields;
    for (const each of fields.values()) each.show(at);
    name.textContent = at['profile.file'] || 'none yet';
    kind.value = at['profile.kind'] || 'hlo';
    plot.value = at['profile.plot'];
    plot.disabled = kind.value !== 'trace';
    picture.node.hidden = true;
    const traces = new Set([...filesLike('trace'), at['profile.trace']].filter(Boolean));
    beside.replaceChildren(el('option', {value: '', text: 'none'}), ...[...traces].map((file) => el('option',
      {value: file, text: file})));
    beside.value = at['profile.trace'];
    measured.hidden = kind.value === 'trace' || !traces.size;
    const lost = [at['profile.file'], ...(measured.hidden ? [] : [at['profile.trace']])]
      .find((file) => file && !state.files.has(file));
    if (lost || !at['profile.file']) {
      refill(body);
      refill(head, el('div', {class: 'hello'}, el('p', {class: 'verdict', text: lost
        ? `Drop ${lost} here again`
        : 'Drop a module or a profile'}),
      el('p', {text: lost ? 'The link names the file; its contents stayed in the browser that read it.'
        : 'HLO or StableHLO of XLA, a graph of PyTorch, an ONNX model; a trace of PyTorch or JAX, tables of Nsight, '
          + 'rocprof or xprof; packed by gzip or not. Nothing runs, and nothing leaves this browser.'}),
      el('p', {}, 'For example ', el('code', {text: 'compiled.as_text()'}), ' of JAX, or ', el('code',
        {text: 'prof.export_chrome_trace(..)'}),
        ' of torch.profiler.')));
      return;
    }
    const asked = [...said(), '--json'];
    const drawn = ['--svg', 'plot.svg', ...(kind.value === 'trace' ? ['--plot', at['profile.plot']] : [])];
    const got = await askDrawn(app, asked, drawn, {group: 'profile', files: app.filesOf('profile')}, () =>
      now === turn);
    if (!got) return;
    const {json} = got;
    // The mesh of a module is its own; the slice can be chosen.
    const problem = json.error?.code === 'bad_mesh' ? {...json.error, code: 'bad_slice'} : json.error;
    if (refused(problem, {fields, answer, head}, (error) => [fitting(error), error.line ? el('p', {class: 'weak',
        text: `line ${error.line}, column ${error.column}`}) : null])) return;
    app.answered({json: got.answer.out, svg: picture.svg});
    picture.node.hidden = false;
    draw(picture, got);
    fields.get('set').figures(json.sources);
    const num = numbers({words: said(), sources: json.sources});
    if (json.machines) severalMachines(json, num);
    else if (kind.value === 'trace') trace(json, num);
    else module(json, num);
  }

  /// A module is for a number of devices; the slice can be made to have as many chips.
  function fitting(error) {
    const devices = / is for (\d+) devices?/.exec(error.message)?.[1];
    if (!devices) return null;
    const slice = `${state.fields['profile.on'][0].split(':')[0]}:${devices}`;
    return button(`Use ${slice}`, () => state.set({'profile.on': [slice]}), {class: 'primary'});
  }

  function severalMachines(json, num) {
    refill(head, headline('', `${json.machines.length} machines`, json.machines.map((each) => [each.machine,
      num(each.total?.expected_s ?? each.total?.lower_s ?? null, 's', {label: `time on ${each.machine}`}),
        each.total?.bound_by])));
    refill(body, missingMachines(json));
  }

  function module(json, num) {
    const {total} = json;
    refill(head, headline(total.bound_by ?? '', total.bound_by ? boundWords(total.bound_by) : json.module, [
      ['expected', num(total.expected_s, 's', {label: 'expected time', key: 'expected_s', path: 'total.expected_s'}),
        total.expected_s === null ? null : `± ${shown(total.expected_error, 'fraction')}`],
      total.at_least_s !== null && total.at_least_s !== undefined && ['at least',
        num(total.at_least_s, 's', {label: 'at least', key: 'expected_s',
        path: 'total.at_least_s'})],
      json.measured && ['measured', num(json.measured.step_s, 's', {label: 'measured step', key: 'measured_s',
        path: 'measured.step_s'}), json.measured.profile],
      ['lower', num(total.lower_s, 's', {label: 'lower bound', key: 'lower_s', path: 'total.lower_s'})],
      ['FLOPs', num(total.flops, 'FLOP', {label: 'FLOPs', key: 'flops', path: 'total.flops'})],
      ['bytes', num(total.bytes, 'B', {label: 'bytes', key: 'bytes', path: 'total.bytes'})],
      json.memory_bytes && ['memory', num(json.memory_bytes.peak, 'B', {label: 'peak memory', key: 'memory_peak',
        path: 'memory_bytes.peak'})],
    ]));
    announce(`${json.module}: ${json.ops.length} kernels, ${shown(total.expected_s ?? total.lower_s, 's')}`);
    const row = factsWith(num);
    refill(body, el('div', {class: 'two'}, facts('The module', [row('sequential', total.sequential_s, 's',
      'sequential_s', 'total.sequential_s'),
      row('measured, in these kernels', json.measured?.matched_s, 's', 'measured_s', 'measured.matched_s'),
      row('measured, in others', json.measured?.other_s || null, 's', 'measured_s', 'measured.other_s',
        json.measured?.others.map((each) => each.name).join(', ')),
      row('exposed collectives', total.exposed_s, 's', 'exposed_s', 'total.exposed_s'), row('FLOPs in matmuls',
        total.matmul_flops, 'FLOP', 'flops', 'total.matmul_flops'),
      row('arguments', json.memory_bytes?.arguments, 'B', 'memory_peak', 'memory_bytes.arguments'),
      row('devices', json.devices, 'count', null, 'devices'), row('instructions', json.instructions, 'count', null,
        'instructions'),
      ...Object.entries(total.collectives ?? {}).map(([each, value]) => row(each, value.output_bytes, 'B',
        'collective_bytes',
        `total.collectives["${each}"].output_bytes`))]),
    json.memory_bytes?.largest?.length ? table('Largest at the peak', [{label: 'Array', cell: (each) => each.name},
      {label: 'bytes', number: true, sort: (each) => each.bytes, cell: (each) => num(each.bytes, 'B',
        {label: `bytes of ${each.name}`})}], json.memory_bytes.largest, {most: 6}) : null),
    kernels(json.ops, num, json.measured?.step_s ?? total.expected_s ?? total.lower_s),
    sources(json.by_source, num), scopes(json.by_scope, num),
    unknown(json.unknown), notes(json.notes), constants(json));
  }

  function trace(json, num) {
    const {total} = json;
    refill(head, headline('', `${json.tool}: ${json.profile}`, [
      ['step', num(total.measured_s, 's', {label: 'measured step', key: 'measured_s', path: 'total.measured_s'})],
      ['expected', num(total.expected_s ?? total.lower_s ?? null, 's', {label: 'expected, of known kernels',
        key: 'expected_s', path: 'total.expected_s'})],
      total.unknown_s ? ['unknown', num(total.unknown_s, 's', {label: 'kernels of unknown cost', key: 'measured_s',
        path: 'total.unknown_s'})] : null]));
    for (const module of filesLike('hlo')) {
      head.append(button(`Compare with the module ${module}`, () => state.set({'profile.kind': 'hlo',
        'profile.file': module, 'profile.trace': state.fields['profile.file']})));
    }
    announce(`A step takes ${shown(total.measured_s, 's')}`);
    const spent = [['kernels', 'kernels_s'], ['exposed communication', 'exposed_communication_s'], ['copies',
      'copies_s'],
      ['nothing was launched', 'not_launched_s'], ['launched, not started', 'launched_s'], ['idle',
        'idle_s']].filter(([, key]) => total[key]);
    refill(body, el('div', {class: 'two'}, spent.length ? table('Where a step goes',
      [{label: '', cell: (each) => each[0]},
      {label: 'time', number: true, cell: (each) => num(total[each[1]], 's', {label: each[0], key: 'measured_s',
        path: `total.${each[1]}`})},
      {label: 'share', cell: (each) => bar(total[each[1]], total.measured_s, {label: `share of ${each[0]}`})}],
        spent) : null,
    json.causes?.length ? table('Why it takes this long, compared with what is expected',
      [{label: 'Cause', cell: (each) => each.name},
      {label: 'time', number: true, sort: (each) => each.seconds, cell: (each) => num(each.seconds, 's',
        {label: each.name, key: 'measured_s', path: 'causes[].seconds'})}],
    json.causes) : null,
    json.by_kind?.length ? table('By kind', [{label: 'Kind', cell: (each) => each.kind}, {label: 'runs',
      number: true, cell: (each) => shown(each.count, 'count')},
      {label: 'measured', number: true, sort: (each) => each.measured_s, cell: (each) => num(each.measured_s, 's',
        {label: `measured ${each.kind}`, key: 'measured_s'})},
      {label: 'expected', number: true, sort: (each) => each.should_s, cell: (each) => num(each.should_s ?? null,
        's', {label: `expected ${each.kind}`, key: 'expected_s'})}],
    json.by_kind) : null), kernels(json.ops, num, total.measured_s), notes(json.notes), constants(json));
  }

  function kernels(ops, num, most) {
    const traced = command()[0] === 'trace';
    const measured = ops.some((op) => op.measured_s !== null);
    const column = (label, key, unit) => ({label, number: true, sort: (op) => op[key] ?? null, cell: (op) =>
      num(op[key] ?? null, unit,
      {label: `${label} of ${op.opcode ?? op.name}`, key, path: `ops[].${key}`})});
    const spent = (op) => op.measured_s ?? op.expected_s ?? op.lower_s;
    const longest = Math.max(...ops.map(spent).filter((time) => time !== null), 0);
    return table(`Top kernels (${ops.length})`, [
      {label: 'Kernel', cell: (op) => el('code', {text: op.opcode && traced
        ? `${op.opcode} ${op.inputs ?? ''}` : op.name, title: op.name}), sort: (op) => op.name},
      ...(traced ? [] : [{label: 'op', cell: (op) => op.opcode ?? '', sort: (op) => op.opcode}]), column('runs',
        'count', 'count'),
      ...(measured ? [column('measured', 'measured_s', 's')] : []),
      ...(traced ? [column('to win', 'win_s', 's')] : []), column('expected', 'expected_s', 's'),
      column('lower', 'lower_s', 's'),
      {label: 'share', number: true, sort: spent, cell: (op) => shown(spent(op) / most, 'fraction')},
      {label: '', cell: (op) => bar(spent(op), longest, {label: 'compared with the longest'})},
      column('FLOPs', 'flops', 'FLOP'), column('bytes', 'bytes', 'B'), {label: 'bound by',
        cell: (op) => op.bound_by ?? '', sort: (op) => op.bound_by},
      {label: 'from', cell: (op) => op.source ?? op.unknown ?? '', sort: (op) => op.source}], ops, {most: 25});
  }

  function sources(list, num) {
    if (!list?.length) return null;
    return table('Source lines', [{label: 'Line', cell: (each) => each.name, sort: (each) => each.name},
      {label: 'time', number: true, sort: (each) => each.time_s, cell: (each) => num(each.time_s, 's',
        {label: `time of ${each.name}`, key: 'expected_s', path: 'by_source[].time_s'})},
      {label: 'share', cell: (each) => bar(each.time_s, list[0].time_s,
        {label: `compared with the longest, ${each.name}`})}], list, {most: 12});
  }

  function scopes(root, num) {
    if (!root?.parts?.length) return null;
    const node = (part, depth) => {
      const line = [el('span', {text: `${part.name} `}), num(part.time_s, 's', {label: `time of ${part.name}`,
        key: 'expected_s', path: 'by_scope'})];
      return el('li', {}, part.parts?.length && depth < 24 ? el('details', {open: depth < 3}, el('summary', {},
        el('span', {text: `${part.name}, ${shown(part.time_s, 's')}`})),
        el('ul', {class: 'tree'}, part.parts.slice(0, 200).map((each) => node(each, depth + 1)))) : el('div', {},
          line));
    };
    return el('section', {}, el('h2', {text: 'Scopes'}), el('ul', {class: 'tree'},
      root.parts.map((part) => node(part, 0))));
  }

  function unknown(list) {
    if (!list?.length) return null;
    return el('section', {class: 'notes'}, el('h2', {text: 'Not counted, or only in part'}),
      el('ul', {}, list.map((each) => el('li', {text: typeof each === 'string'
        ? each : Object.values(each).join(', ')}))));
  }

  const said = () => words('profile', state.fields, {command: command(), leave: leave()});
  return {question, answer, head, refresh, said, python: () => command()[0]};
}
