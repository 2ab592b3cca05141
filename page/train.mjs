// Train: memory, step time and cost of a training step, by a plan of one's own or by one that is searched.
import {announce, el} from './dom.mjs';
import {boundWords, shown} from './format.mjs';
import {constants, numbers} from './number.mjs';
import {collectives, constantsOfEach, facts, factsWith, headline, memory, numbersOfEach, planBounds, sensitivity,
  sideBySide, times} from './parts.mjs';
import {fieldsOfCommand, fieldsOfPlan, modelField, search, use} from './plan.mjs';
import {frame} from './plot.mjs';
import {words} from './schema.mjs';
import {table} from './table.mjs';
import {askDrawn, derivation, derivationFold, draw, fieldsOf, form, missingMachines, notes, refill, refused,
  trouble} from './view.mjs';

const kinds = [['parameters', 'params'], ['gradients', 'gradients'], ['optimizer', 'optimizer'], ['activations',
  'activations'],
  ['working', 'working'], ['allocator', 'overhead']];

export function trainView(app) {
  const {state} = app;
  const fields = fieldsOf(app, 'train', ['model']);
  const model = modelField(app);
  fields.set('model', model);
  const [main, more] = form('train', fields, ['on']);
  const sized = el('div', {class: 'sized'}, fields.get('batch-tokens').node);
  const plan = el('div', {class: 'columns'}, ['seq', 'mesh', 'zero', 'microbatches', 'schedule', 'remat', 'tokens']
    .map((key) => fields.get(key).node));
  const searched = search(app, 'train', fields, found);
  const question = el('form', {on: {submit: (event) => event.preventDefault()}}, model.node, main, sized, plan,
    searched.node,
    more, fields.get('set').node);
  const head = el('div', {class: 'slot head', tabindex: '-1'});
  const body = el('div', {class: 'slot'});
  const line = frame('time-line', {ratio: 'free'});
  const lineFold = el('section', {hidden: true}, el('h2', {text: 'Time line of a step'}), line.node);
  const answer = el('div', {}, head, body, searched.results, lineFold);
  const tail = el('div', {class: 'slot'});
  answer.append(tail);
  let turn = 0;

  async function refresh() {
    const now = ++turn;
    const at = state.fields;
    for (const each of fields.values()) each.show(at);
    const said = words('train', at, {extra: ['--json']});
    const one = at['train.on'].filter(Boolean).length < 2; // a time line is of one slice
    const got = await askDrawn(app, said, one ? ['--svg', 'plot.svg'] : [], {group: 'train',
      files: app.filesOf('train')}, () => now === turn);
    if (!got) return;
    const {json} = got;
    if (refused(json.error, {fields, answer, head})) return;
    app.answered({json: got.answer.out, svg: one ? line.svg : null});
    lineFold.hidden = !one;
    draw(line, got);
    if (json.machines) several(json);
    else single(json, at);
  }

  function single(json, at) {
    const context = Object.assign(derivation(app, 'train', at), {words: words('train', at), sources: json.sources});
    const num = numbers(context);
    fields.get('set').figures(json.sources);
    const step = json.step;
    const fits = json.fits !== false;
    const verdict = !fits ? 'Does not fit' : json.bound_by
      ? boundWords(json.bound_by) : 'A run at an assumed MFU';
    refill(head, headline(fits ? json.bound_by ?? '' : 'bad', verdict, [
      step && ['step', num(step.expected_s ?? step.lower_s, 's', {label: 'step time',
        key: step.expected_s === null ? 'lower_s'
        : 'expected_s', path: 'step', find: [/^Expected time of a step/, /^\s*lower = /]}),
      step.expected_s === null ? 'lower bound' : `± ${shown(step.expected_error, 'fraction')}`],
      json.mfu !== null && ['MFU', num(json.mfu, 'fraction', {label: 'MFU', key: 'mfu', path: 'mfu'})],
      json.tokens_per_s !== null && ['tokens/s', num(json.tokens_per_s, 'tokens/s', {label: 'tokens per second',
        key: 'tokens_per_s',
        path: 'tokens_per_s', text: shown(json.tokens_per_s, 'count')})],
      json.memory_bytes && ['a chip holds', num(json.memory_bytes.total, 'B', {label: 'memory of a chip',
        key: 'memory_bytes',
        path: 'memory_bytes.total'}), json.capacity_bytes ? `of ${shown(json.capacity_bytes, 'B')}` : null],
    ]));
    announce(`${verdict}${step ? `, a step takes ${shown(step.expected_s ?? step.lower_s, 's')}` : ''}`);
    const time = step ? times(num, {...step, time_s: json.time_s, bound_by: json.bound_by},
      planBounds(step, /^Expected time of a step/), {path: 'step.'}) : null;
    refill(body, el('div', {class: 'two'}, time, json.memory_bytes ? memory(num, kinds.map(([label, key]) =>
      [label, json.memory_bytes[key], key]), {total: json.memory_bytes.total, capacity: json.capacity_bytes, fits,
      path: 'memory_bytes'}) : null), json.plans?.length ? plansTable(num, json.plans) : null, run(num, json));
    refill(tail, collectives(num, json.collectives, {total: true}), notes(json.notes), derivationFold(context),
      constants(json));
  }

  function several(json) {
    const numOf = numbersOfEach(app, 'train', state.fields, 'train.on');
    fields.get('set').figures(json.machines.flatMap((each) => each.sources ?? []));
    refill(head, headline('', `${json.machines.length} slices`, json.machines.map((each) => [each.machine,
      numOf(each)(each.step?.expected_s ?? each.step?.lower_s ?? null, 's', {label: `step on ${each.machine}`,
        key: 'expected_s'}), each.fits ? 'fits' : 'does not fit'])));
    const rows = [['step', (each) => each.step?.expected_s, 's', 'expected_s',
      () => ({find: [/^Expected time of a step/]})],
      ['lower', (each) => each.step?.lower_s, 's', 'lower_s', () => ({find: [/^\s*lower = /]})],
      ['MFU', (each) => each.mfu, 'fraction', 'mfu'],
      ['tokens/s', (each) => each.tokens_per_s, 'count', 'tokens_per_s'],
      ['memory', (each) => each.memory_bytes?.total, 'B', 'memory_bytes'],
      ['run', (each) => each.train_s, 's', 'run'], ['cost', (each) => each.usd, 'USD', 'run']];
    refill(body, sideBySide(numOf, 'Slices side by side', json.machines, rows));
    refill(tail, missingMachines(json), constantsOfEach(json.machines));
  }

  function run(num, json) {
    const row = factsWith(num);
    const far = Object.entries(json.thresholds ?? {}).map(([name, each]) => each
      && ['collectives of weights hidden from', num(each.value, 'number', {label: 'threshold', key: 'thresholds',
        path: `thresholds.${name}`}), `${name.replaceAll('_', ' ')}${each.now === null ? '' : `, now ${each.now}`}`]);
    return facts('The run', [row('FLOPs per token', json.flops_per_token, 'FLOP', 'flops_per_token',
      'flops_per_token'),
      row('trained parameters', json.trained_params, 'count', 'params', 'trained_params'),
      row('tokens/s per chip', json.tokens_per_s_per_chip, 'count', 'tokens_per_s', 'tokens_per_s_per_chip'),
      row('pipeline bubble', json.step?.bubble || null, 'fraction', 'bubble', 'step.bubble'),
      row('training', json.train_s, 's', 'run', 'train_s'), row('chip-hours', json.chip_hours, 'count', 'run',
        'chip_hours'),
      row('cost', json.usd, 'USD', 'run', 'usd'), row('goodput', json.goodput?.fraction, 'fraction', 'run',
        'goodput.fraction'),
      row('calendar time', json.goodput?.train_s, 's', 'run', 'goodput.train_s'), ...far,
      json.framework ? ['framework', el('span',
        {text: `${json.framework.name}${json.framework.default ? ', by default' : ''}`})] : null]);
  }

  function plansTable(num, plans) {
    const name = (row) => row.plan.mesh || 'one chip';
    return table('Plans, best first', [
      {label: 'Plan', cell: (row) => el('code', {text: name(row)}), sort: name},
      {label: 'ZeRO', cell: (row) => String(row.plan.zero || '')}, {label: 'micro-batches', number: true,
        cell: (row) => String(row.plan.microbatches)},
      {label: 'schedule', cell: (row) => row.plan.schedule ?? ''}, {label: 'recompute',
        cell: (row) => row.plan.remat},
      {label: 'step', number: true, sort: (row) => row.step_s, cell: (row) => num(row.step_s, 's',
        {label: `step of ${name(row)}`,
        key: row.step?.expected_s === null ? 'lower_s' : 'expected_s', path: 'plans[].step_s'})},
      {label: 'MFU', number: true, sort: (row) => row.mfu, cell: (row) => num(row.mfu, 'fraction',
        {label: `MFU of ${name(row)}`, key: 'mfu'})},
      {label: 'memory', number: true, sort: (row) => row.memory_bytes.total, cell: (row) =>
        num(row.memory_bytes.total, 'B',
        {label: `memory of ${name(row)}`, key: 'memory_bytes'})},
      {label: 'sure', number: true, cell: (row) => num(row.sure ?? null, 'fraction',
        {label: 'certainty that the best is faster'})},
      {label: '', cell: (row) => use(app, fieldsOfPlan(row.plan), name(row))},
    ], plans);
  }

  function found(json, got) {
    const num = numbers({words: words('train', state.fields, {search: true}), sources: []});
    const plans = json.plans?.length ? plansTable(num, json.plans) : null;
    const front = json.frontier?.length ? table('The front: no plan beats these in both', [
      {label: 'Slice', cell: (row) => row.machine}, {label: 'Plan', cell: (row) => el('code',
        {text: row.plan.mesh || 'one chip'})},
      {label: 'time', number: true, sort: (row) => row.values.seconds, cell: (row) => num(row.values.seconds, 's',
        {label: 'time'})},
      {label: 'cost', number: true, sort: (row) => row.values.usd, cell: (row) => num(row.values.usd, 'USD',
        {label: 'cost'})},
      {label: 'energy', number: true, sort: (row) => row.values.energy_j, cell: (row) => num(row.values.energy_j,
        'J', {label: 'energy'})},
      {label: '', cell: (row) => use(app, {...fieldsOfPlan(row.plan), 'train.on': [row.machine]}, row.plan.mesh)}],
        json.frontier) : null;
    const picture = frame('front');
    if (got.written['plot.svg']) picture.show(got.written['plot.svg']);
    const needs = json.next?.length ? table('Faster plans that do not fit', [{label: 'Plan', cell: (row) => row.plan},
      {label: 'saves', number: true, cell: (row) => num(row.gain, 'fraction',
        {label: 'part of the best time that it saves'})},
      {label: 'a chip lacks', number: true, cell: (row) => num(row.bytes ?? null, 'B',
        {label: 'bytes that a chip lacks'})}], json.next) : null;
    const best = json.command ? fieldsOfCommand('train', json.command) : null;
    return [json.best ? null : trouble({message: 'Nothing fits, or is within the limits.',
      hint: 'The nearest plan is shown.'}, false),
      best ? el('p', {}, 'The best: ', el('code', {text: json.command}), ' ', use(app, best.patch,
        'the best plan')) : null,
      plans, front, got.written['plot.svg'] ? picture.node : null, sensitivity(num, json, (row) => row.plan), needs,
        notes(json.notes)];
  }

  return {question, answer, head, refresh};
}
