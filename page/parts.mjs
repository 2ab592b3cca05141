// Parts of answers that several views show: times with bars, memory by kind, numbers in tables.
import {el} from './dom.mjs';
import {resource, shown} from './format.mjs';
import {constants, numbers} from './number.mjs';
import {words} from './schema.mjs';
import {bar, rove, table} from './table.mjs';
import {derivation} from './view.mjs';

/// Where a derivation speaks of the time of a resource.
export function timePatterns(key) {
  const name = resource(key).split('+')[0].replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return [new RegExp(`^\\s*T_${name}`, 'i')];
}

const figuresOf = (key) => (key === 'math' ? ['matmul'] : key === 'vector' ? ['vector'] : key.split('+'));

/// Times of the resources and what follows from them; `bounds` lists [key, label, remark] of keys of `answer`.
export function times(num, answer, bounds, {path = '', formulas = {}, most = answer.lower_s, bound = answer.bound_by,
  caption = 'Times'} = {}) {
  const rows = [];
  for (const [key, value] of Object.entries(answer.time_s ?? {})) {
    const label = resource(key);
    const isBound = key === bound || label.toLowerCase() === String(bound).toLowerCase();
    const about = {label: `${label} time`, key: 'time_s', path: `${path}time_s.${key}`,
      formula: formulas[`time_${key}`],
      find: timePatterns(key), figures: figuresOf(key)};
    rows.push(el('tr', {class: isBound ? 'is-bound' : null}, el('th', {scope: 'row', text: label}),
      el('td', {class: 'right'}, value === null && about.formula ? el('code', {text: about.formula}) : num(value,
        's', about)),
      el('td', {class: 'bars'}, bar(value, most, {label: `${label} time beside the lower bound`, bound: isBound})),
      el('td', {class: 'weak', text: isBound ? 'the bound' : ''})));
  }
  for (const [key, label, remark, find] of bounds) {
    const value = answer[key];
    if (value === undefined || (value === null && key !== 'expected_s')) continue;
    rows.push(el('tr', {class: 'sum'}, el('th', {scope: 'row', text: label}),
      el('td', {class: 'right'}, num(value, 's', {label, key, path: `${path}${key}`, find})), el('td',
        {class: 'weak remark', colspan: '2'}, remark)));
  }
  const body = el('tbody', {}, rows);
  rove(body);
  return el('div', {class: 'scroll', role: 'region', 'aria-label': caption, tabindex: '0'}, el('table',
    {class: 'times'},
    el('caption', {}, el('span', {text: caption})), el('thead', {class: 'unseen'}, el('tr', {},
      ['What', 'Time', 'Bar', 'Remark']
      .map((text) => el('th', {scope: 'col', text})))), body));
}

/// The remark beside an expected time: who measured, and how large its error is.
export function expectedRemark(answer, machine) {
  if (answer.expected_s === null) return `no calibration for ${machine}, or sizes are missing`;
  const by = (answer.expected_by ?? []).map((each) => each.software || 'unnamed software');
  const error = answer.expected_error;
  return `${[...new Set(by)].join(', ')}${by.length ? ', ' : ''}mean error ${shown(error, 'fraction')}`;
}

/// Memory by kind: [label, bytes, key] rows with bars against what a chip has.
export function memory(num, rows, {total, capacity, fits, path, key = 'memory_bytes'}) {
  const most = capacity && capacity > total ? capacity : total;
  const body = el('tbody', {}, rows.filter(([, value]) => value).map(([label, value, name]) => el('tr', {},
    el('th', {scope: 'row', text: label}),
    el('td', {class: 'right'}, num(value, 'B', {label: `memory for ${label}`, key, path: `${path}.${name}`})),
    el('td', {class: 'bars'}, bar(value, most, {label: `memory for ${label}, of what a chip has`})))),
  el('tr', {class: 'sum'}, el('th', {scope: 'row', text: 'a chip holds'}),
    el('td', {class: 'right'}, num(total, 'B', {label: 'memory of a chip', key, path: `${path}.total`})),
    el('td', {class: fits ? 'good' : 'bad'}, capacity === null || capacity === undefined
      ? 'the machine does not say its memory'
      : `of ${shown(capacity, 'B')}: ${fits ? 'fits' : 'does not fit'}`)));
  rove(body);
  return el('div', {class: 'scroll', role: 'region', 'aria-label': 'Memory of one chip', tabindex: '0'},
    el('table', {class: 'times'}, el('caption', {}, el('span', {text: 'Memory of one chip'})), el('thead',
      {class: 'unseen'},
      el('tr', {},
      ['Kind', 'Bytes', 'Bar'].map((text) => el('th', {scope: 'col', text})))), body));
}

/// The bounds of a step or an iteration, for times(). `found` is where a derivation speaks of expected times.
export const planBounds = ({expected_s: expected, expected_error: error}, found = /expected/) => [
  ['lower_s', 'lower', 'if everything overlaps', [/^\s*lower = /]],
  ['sequential_s', 'sequential', 'if only the work inside each kernel overlaps', [/^\s*sequential = /]],
  ['expected_s', 'expected', expected === null ? 'not calibrated for this machine'
    : `mean error ${shown(error, 'fraction')}`, [found]],
  ['upper_s', 'no overlap', 'without any overlap, at published rates', [/^\s*no overlap = /]],
];

/// The slice of an answer for several machines, as it is named in a question.
export const sliceOf = ({machine, slice, chips}) => (slice && chips > 1 ? `${machine}:${slice}` : machine);

/// Makes numbers of answers for several machines: as numbersOf(answer), which is asked for the machine alone, so that
/// its constants and its derivation are shown. `where` is the field of machines.
export function numbersOfEach(app, view, state, where) {
  const made = new Map();
  return (each) => {
    if (!made.has(each)) {
      const alone = {...state, [where]: [sliceOf(each)]};
      made.set(each, numbers(Object.assign(derivation(app, view, alone), {words: words(view, alone),
        sources: each.sources, dims: each.dims})));
    }
    return made.get(each);
  };
}

/// Answers of several machines side by side; a row is [label, its value in an answer, unit, key, more about it].
export function sideBySide(numOf, caption, answers, rows) {
  return table(caption, [{label: '', cell: (row) => row[0]}, ...answers.map((each) => ({label: sliceOf(each),
    number: true, cell: ([label, valueOf, unit, key, about]) => numOf(each)(valueOf(each) ?? null, unit,
      {label: `${label} on ${sliceOf(each)}`, key, ...about?.(each)})}))], rows);
}

/// The constants of several answers, as parts that can be unfolded.
export const constantsOfEach = (answers) => answers.filter((each) => each.sources?.length)
  .map((each) => constants(each, sliceOf(each)));

/// Makes rows of facts(): null for a value that the answer does not have.
export const factsWith = (num) => (label, value, unit, key, path, remark) => (value === null || value === undefined
  ? null : [label, num(value, unit, {label, key, path}), ...(remark ? [remark] : [])]);

/// Facts in two columns: [label, node].
export function facts(caption, rows) {
  const body = el('tbody', {}, rows.filter((row) => row && row[1] !== null).map(([label, ...nodes]) => el('tr', {},
    el('th', {scope: 'row', text: label}), nodes.map((node, at) => el('td', {class: at === 0 ? 'right' : 'weak'},
      node)))));
  rove(body);
  return el('div', {class: 'scroll', role: 'region', 'aria-label': caption, tabindex: '0'},
    el('table', {class: 'facts-table'}, el('caption', {}, el('span', {text: caption})), body));
}

/// What an answer is, in one line, with the number that matters most in large digits.
export function headline(kind, title, numbers) {
  return el('div', {class: `headline ${kind}`}, el('p', {class: 'verdict', text: title}),
    el('dl', {class: 'keys'}, numbers.filter(Boolean).map(([label, node, remark]) => el('div', {},
      el('dt', {text: label}), el('dd', {}, node, remark ? el('span', {class: 'weak', text: remark}) : null)))));
}

/// Collectives of a step or a program.
export function collectives(num, list, {path = 'collectives', total = false} = {}) {
  if (!list?.length) return null;
  const rows = list.map((each, at) => ({...each, at}));
  return table('Collectives', [
    {label: 'Collective', cell: (row) => row.kind.replaceAll('_', '-'), sort: (row) => row.kind},
    ...(total ? [] : [{label: 'of', cell: (row) => row.tensor ?? ''}]),
    {label: 'over', cell: (row) => (row.axes ?? []).join(', ')},
    {label: 'times', number: true, cell: (row) => num(row.count, 'count', {label: 'number',
      path: `${path}[${row.at}].count`}),
      sort: (row) => row.count},
    {label: 'bytes', number: true, cell: (row) => num(row.bytes, 'B', {label: 'bytes', key: 'collective_bytes',
      path: `${path}[${row.at}].bytes`}), sort: (row) => row.bytes},
    {label: 'lower', number: true, cell: (row) => num(row.time_s, 's', {label: 'lower bound', key: 'collective',
      path: `${path}[${row.at}].time_s`}), sort: (row) => row.time_s},
    ...(total ? [] : [{label: 'expected', number: true, cell: (row) => num(row.expected_s, 's',
      {label: 'expected time',
      key: 'collective', path: `${path}[${row.at}].expected_s`}), sort: (row) => row.expected_s}]),
  ], rows);
}

/// What one per cent more of each figure changes, and from where on another plan is better.
export function sensitivity(num, json, nameOf) {
  const out = [];
  if (json.elasticities?.length) {
    out.push(table('What would change the answer: change in % per 1 % more', [
      {label: 'Figure', cell: (row) => el('code', {text: row.path}), sort: (row) => row.path},
      {label: 'Change', number: true, cell: (row) => num(row.value, 'number', {label: `elasticity of ${row.path}`,
        key: 'elasticity', path: 'elasticities'}), sort: (row) => Math.abs(row.value)},
    ], json.elasticities));
  }
  if (json.flips?.length) {
    out.push(table('Another plan is the best from', [
      {label: 'Figure', cell: (row) => el('code', {text: row.path})},
      {label: 'value', cell: (row) => String(row.at)},
      {label: 'plan', cell: (row) => nameOf(row)},
    ], json.flips));
  }
  return out;
}
