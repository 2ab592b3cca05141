// Serve: memory, latency and throughput of serving a model, by a plan of one's own or by the best set-up.
import {announce, el} from './dom.mjs';
import {boundWords, shown} from './format.mjs';
import {constants, numbers} from './number.mjs';
import {collectives, constantsOfEach, facts, factsWith, headline, memory, numbersOfEach, planBounds, sensitivity,
  sideBySide, sliceOf, times} from './parts.mjs';
import {fieldsOfCommand, modelField, search, use} from './plan.mjs';
import {frame} from './plot.mjs';
import {words} from './schema.mjs';
import {table} from './table.mjs';
import {askDrawn, derivation, derivationFold, draw, fieldsOf, form, missingMachines, notes, refill, refused,
  trouble} from './view.mjs';

export function serveView(app) {
  const {state} = app;
  const fields = fieldsOf(app, 'serve', ['model']);
  const model = modelField(app);
  fields.set('model', model);
  const [main, more] = form('serve', fields, ['on']);
  const sized = el('div', {class: 'sized'}, ['prompt', 'output', 'batch'].map((key) => fields.get(key).node));
  const plan = el('div', {class: 'columns'}, ['mesh', 'weights', 'kv-dtype', 'ttft', 'tpot'].map((key) =>
    fields.get(key).node));
  const searched = search(app, 'serve', fields, found);
  const question = el('form', {on: {submit: (event) => event.preventDefault()}}, model.node, main, sized, plan,
    searched.node,
    more, fields.get('set').node);
  const head = el('div', {class: 'slot head', tabindex: '-1'});
  const picture = frame('frontier');
  const body = el('div', {class: 'slot'});
  const tail = el('div', {class: 'slot'});
  const answer = el('div', {}, head, picture.node, body, searched.results, tail);
  let turn = 0;

  async function refresh() {
    const now = ++turn;
    const at = state.fields;
    for (const each of fields.values()) each.show(at);
    const said = words('serve', at, {extra: ['--json']});
    const got = await askDrawn(app, said, ['--svg', 'plot.svg'], {group: 'serve', files: app.filesOf('serve')}, () =>
      now === turn);
    if (!got) return;
    const {json} = got;
    if (refused(json.error, {fields, answer, head})) return;
    app.answered({json: got.answer.out, svg: picture.svg});
    draw(picture, got);
    if (json.machines) several(json);
    else single(json, at);
  }

  function single(json, at) {
    const context = Object.assign(derivation(app, 'serve', at), {words: words('serve', at), sources: json.sources,
      dims: json.decode?.dims});
    const num = numbers(context);
    fields.get('set').figures(json.sources);
    const fits = json.fits !== false;
    const verdict = fits ? `Decoding: ${boundWords(json.decode.bound_by)}` : 'Does not fit';
    const remark = json.times === 'expected' ? `± ${shown(json.decode.expected_error, 'fraction')}` : 'in turn';
    refill(head, headline(fits ? json.decode.bound_by : 'bad', verdict, [
      ['TPOT', num(json.tpot_s, 's', {label: 'TPOT', key: 'tpot_s', path: 'tpot_s', find: [/^\s*lower = /,
        /^\s*sequential = /]}), remark],
      ['TTFT', num(json.ttft_s, 's', {label: 'TTFT', key: 'ttft_s', path: 'ttft_s'})],
      ['tokens/s', num(json.tokens_per_s, 'tokens/s', {label: 'tokens per second', key: 'serve_tokens',
        path: 'tokens_per_s',
        text: shown(json.tokens_per_s, 'count')})],
      json.usd_per_million_tokens !== null && ['per M tokens', num(json.usd_per_million_tokens, 'USD',
        {label: 'USD per million tokens',
        key: 'usd_per_million_tokens', path: 'usd_per_million_tokens'})],
      ['room for', num(json.max_batch, 'count', {label: 'room for', key: 'max_batch', path: 'max_batch'}),
        'sequences'],
    ]));
    announce(`${verdict}, TPOT ${shown(json.tpot_s, 's')}, TTFT ${shown(json.ttft_s, 's')}`);
    const chip = json.memory_bytes_per_chip;
    refill(body, json.searched ? el('p', {}, 'The best set-up: ', json.searched.set_up, '. ', el('code',
      {text: json.searched.command})) : null,
      el('div', {class: 'two'}, times(num, json.decode, planBounds(json.decode), {path: 'decode.',
        caption: 'A decode iteration'}),
        times(num, json.prefill, planBounds(json.prefill), {path: 'prefill.', caption: 'Prefill of a prompt'}),
        memory(num, [['weights', chip.weights, 'weights'], ['KV cache', chip.kv, 'kv'], ['activations',
          chip.activations, 'activations']],
          {total: chip.total, capacity: json.capacity_bytes_per_chip, fits, path: 'memory_bytes_per_chip',
            key: 'serve_memory'}),
        served(num, json)), load(num, json.load));
    refill(tail, frontier(num, json), collectives(num, json.decode.collectives?.filter((each) =>
      each.time_s !== undefined)), notes(json.notes),
      derivationFold(context), constants(json));
  }

  function several(json) {
    const numOf = numbersOfEach(app, 'serve', state.fields, 'serve.on');
    fields.get('set').figures(json.machines.flatMap((each) => each.sources ?? []));
    refill(head, headline('', `${json.machines.length} slices`, json.machines.map((each) => [sliceOf(each),
      numOf(each)(each.tpot_s ?? null, 's', {label: `TPOT on ${sliceOf(each)}`, key: 'tpot_s'}),
      each.fits ? 'fits' : 'does not fit'])));
    const rows = [['TPOT', (each) => each.tpot_s, 's', 'tpot_s', () => ({find: [/^\s*lower = /, /^\s*sequential = /]})],
      ['TTFT', (each) => each.ttft_s, 's', 'ttft_s'],
      ['tokens/s', (each) => each.tokens_per_s, 'count', 'serve_tokens'],
      ['USD per million tokens', (each) => each.usd_per_million_tokens, 'USD', 'usd_per_million_tokens'],
      ['room for', (each) => each.max_batch, 'count', 'max_batch'],
      ['memory of a chip', (each) => each.memory_bytes_per_chip?.total, 'B', 'serve_memory']];
    refill(body, sideBySide(numOf, 'Slices side by side', json.machines, rows));
    refill(tail, missingMachines(json), constantsOfEach(json.machines));
  }

  function served(num, json) {
    const row = factsWith(num);
    const under = json.under_load;
    return facts('As served', [row('TPOT at least', json.tpot_lower_s, 's', 'tpot_lower_s', 'tpot_lower_s'),
      row('tokens/s per chip', json.tokens_per_s_per_chip, 'count', 'serve_tokens', 'tokens_per_s_per_chip'),
      row('with prefill on the same chips, tokens/s', json.with_prefill?.tokens_per_s, 'count', 'serve_tokens',
        'with_prefill.tokens_per_s'),
      under && row(`under load, TTFT (${under.software})`, under.ttft_s, 's', 'under_load', 'under_load.ttft_s'),
      under && row('under load, TPOT', under.tpot_s, 's', 'under_load', 'under_load.tpot_s'),
      under && row('under load, tokens/s', under.tokens_per_s, 'count', 'under_load', 'under_load.tokens_per_s'),
      under && row('mean error under load', under.error, 'fraction', 'expected_error', 'under_load.error'),
      row('sequences that a server holds', json.server_memory?.max_batch, 'count', 'max_batch',
        'server_memory.max_batch'),
      row('weight matmuls compute-bound from batch', json.compute_bound_batch?.weights, 'number',
        'compute_bound_batch',
        'compute_bound_batch.weights'),
      json.smallest_slice ? ['smallest slice', el('code', {text: json.smallest_slice}),
        json.smallest_slice_plan] : null,
      row('prefill slices per decode slice', json.disaggregated?.prefill_per_decode, 'number', 'max_batch',
        'disaggregated.prefill_per_decode'),
      row('speculation gains', json.speculation?.gain, 'number', 'tpot_s', 'speculation.gain')]);
  }

  function load(num, json) {
    if (!json) return null;
    const rows = [['TTFT', json.ttft_s], ['TPOT', json.tpot_s], ['ITL', json.itl_s], ['latency',
      json.latency_s]].filter((row) => row[1]);
    return table(`A simulated load: ${shown(json.requests_per_s, 'number')} requests/s, ${
      shown(json.tokens_per_s, 'count')} tokens/s`, [
      {label: '', cell: (row) => row[0]}, ...['mean', 'p50', 'p90', 'p99'].map((key) => ({label: key, number: true,
        cell: (row) => num(row[1][key], 's', {label: `${row[0]}, ${key}`, key: 'under_load',
          path: `load.${row[0].toLowerCase()}_s.${key}`})}))], rows);
  }

  function frontier(num, json) {
    const cell = (label, key, unit) => ({label, number: true, sort: (row) => row[key], cell: (row) => num(row[key],
      unit, {
      label: `${label} at batch ${row.batch}`, key: 'frontier', path: `frontier[].${key}`})});
    return table('By the number of sequences decoded together', [cell('batch', 'batch', 'count'),
      cell('TPOT', 'tpot_s', 's'), cell('lower', 'lower_s', 's'),
      cell('tokens/s', 'tokens_per_s', 'count'), cell('per chip', 'tokens_per_s_per_chip', 'count'),
      cell('$ per M tokens', 'usd_per_million_tokens', 'USD'), {label: 'bound by', cell: (row) => row.bound_by ?? ''},
      {label: '', cell: (row) => (row.knee ? 'the knee' : row.fits === false ? 'does not fit' : '')},
      {label: '', cell: (row) => use(app, {'serve.batch': String(row.batch)}, `batch ${row.batch}`)}],
        json.frontier ?? []);
  }

  function found(json, got) {
    const list = json.machines ?? [json];
    return list.map((each) => {
      const num = numbers({words: words('serve', state.fields, {search: true}), sources: []});
      const picture = frame('frontier-of-set-ups');
      if (got.written['plot.svg']) picture.show(got.written['plot.svg']);
      const best = each.command ? fieldsOfCommand('serve', each.command) : null;
      return [each.best ? null : trouble({message: 'No set-up that was simulated meets the targets.',
        hint: 'The nearest is shown.'}, false),
        best ? el('p', {}, `${each.on}: `, el('strong', {text: each.set_up?.set_up ?? ''}), ' ', el('code',
          {text: each.command}), ' ',
          best.lost.length ? el('span', {class: 'weak', text: `(without ${best.lost.join(' ')}) `}) : null, use(app,
            best.patch, 'the best set-up')) : null,
        list.length === 1 && got.written['plot.svg'] ? picture.node : null,
        setUps(num, 'The best set-ups with different servers', each.plans), setUps(num, 'The frontier',
          each.frontier),
        sensitivity(num, each, (row) => row.set_up), missed(num, each.next), notes(each.notes)];
    });
  }

  function setUps(num, caption, rows) {
    if (!rows?.length) return null;
    const cell = (label, get, unit) => ({label, number: true, sort: get, cell: (row) => num(get(row) ?? null, unit,
      {label: `${label} of ${row.set_up}`})});
    return table(caption, [{label: 'Set-up', cell: (row) => row.set_up, sort: (row) => row.set_up},
      cell('tokens/s per chip', (row) => row.tokens_per_s_per_chip, 'count'), cell('per user',
        (row) => row.tokens_per_s_per_user, 'number'),
      cell('TTFT p99', (row) => row.ttft_s.p99, 's'), cell('TPOT p99', (row) => row.tpot_s.p99, 's'),
      cell('$ per M', (row) => row.usd_per_million_tokens, 'USD'), cell('chips', (row) => row.chips, 'count'),
      cell('requests', (row) => row.concurrency, 'count'), cell('certainty', (row) => row.certainty, 'fraction')],
        rows);
  }

  function missed(num, rows) {
    if (!rows?.length) return null;
    return table('Better set-ups that miss the targets', [{label: 'Set-up', cell: (row) => row.set_up},
      {label: 'with', cell: (row) => el('code', {text: row.needs})},
      {label: 'each token takes less by', number: true, cell: (row) => num(row.gain, 'fraction', {label: 'gain'})}],
        rows);
  }

  return {question, answer, head, refresh};
}
