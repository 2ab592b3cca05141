// Numbers as buttons: a press shows the exact value, its definition, formula, sizes put in, and the constants
// with their sources. All of these are texts of the program.
import {button, el, fold} from './dom.mjs';
import {exact, shown} from './format.mjs';
import {meanings} from './names.mjs';
import {commandLine} from './schema.mjs';

/// Lines of a derivation that match one of `patterns`, each with the lines below that are indented more.
export function passages(text, patterns, most = 40) {
  const depth = (line) => line.length - line.trimStart().length;
  const kept = [];
  let open = -1;
  for (const line of text.split('\n')) {
    if (kept.length >= most) break;
    if (patterns.some((pattern) => pattern.test(line))) {
      kept.push(line);
      open = depth(line);
    } else if (open >= 0 && line.trim() && depth(line) > open) {
      kept.push(line);
    } else {
      open = -1;
    }
  }
  return kept;
}

/// Makes numbers of one answer: `context` holds the words that asked for it, its `sources`, its `dims`, and
/// `explain()`, which promises the derivation, or null.
export function numbers(context) {
  return (value, unit, about = {}) => {
    const text = about.text ?? shown(value, unit);
    if (value === null || value === undefined) return el('span', {class: 'none', text});
    const node = button(text, () => show(context, value, unit, about), {
      class: 'num', title: `${about.label ? `${about.label}: ` : ''}${exact(value, unit)}`,
    });
    if (about.label) node.setAttribute('aria-label', `${about.label}: ${text}`);
    const hint = () => {
      const derivation = context.derivation;
      if (!derivation || !about.find || node.dataset.told) return;
      const lines = passages(derivation, about.find, 8);
      node.dataset.told = 'yes';
      if (lines.length) node.title = `${node.title}\n\n${lines.map((line) => line.trim()).join('\n')}`;
    };
    node.addEventListener('pointerenter', hint);
    node.addEventListener('focus', hint);
    return node;
  };
}

function show(context, value, unit, about) {
  const dialog = document.getElementById('why');
  const close = button('Close', () => dialog.close(), {class: 'quiet'});
  const rows = [];
  const row = (name, ...content) => rows.push(el('dt', {text: name}), el('dd', {}, ...content));
  row('Value', el('code', {text: exact(value, unit)}));
  if (meanings[about.key]) row('Meaning', meanings[about.key]);
  if (about.formula) row('Formula', el('code', {text: about.formula}));
  const sizes = Object.entries(context.dims ?? {}).filter(([, size]) => size !== null);
  if (about.formula && sizes.length) row('Sizes', el('code', {text: sizes.map(([name, size]) =>
    `${name} = ${size}`).join(', ')}));
  const derivation = el('dd', {class: 'derivation'}, el('p', {text: 'The program derives it …'}));
  if (about.find && context.explain) rows.push(el('dt', {text: 'With numbers'}), derivation);
  const sources = (context.sources ?? []).filter((source) => !about.figures
    || about.figures.some((figure) => source.figure === figure || source.figure.startsWith(`${figure}.`)));
  if (sources.length) row('Constants', sourceList(sources));
  if (about.path) row('In JSON', el('code', {text: about.path}));
  if (context.words) row('Asked as', el('code', {class: 'wrap', text: commandLine(context.words)}));
  dialog.replaceChildren(
    el('div', {class: 'why-head'}, el('h2', {id: 'why-title', text: about.label ?? about.path ?? 'A number'}), close),
    el('p', {class: 'big', text: about.text ?? shown(value, unit)}),
    el('dl', {class: 'facts'}, rows));
  dialog.showModal();
  if (about.find && context.explain) derive(context, about, derivation);
}

async function derive(context, about, place) {
  let text = null;
  try {
    text = await context.explain();
  } catch {
    text = null;
  }
  if (!text) {
    place.replaceChildren(el('p', {text: 'The program derives answers for one machine at one point.'}));
    return;
  }
  const lines = passages(text, about.find);
  place.replaceChildren(lines.length
    ? el('pre', {tabindex: '0', 'aria-label': 'Derivation', text: lines.join('\n')})
    : el('p', {text: 'It is in the derivation at the end of the answer.'}));
}

/// Constants with what they rest on; what others say follows each.
export function sourceList(sources) {
  return el('ul', {class: 'sources'}, sources.map((source) => el('li', {},
    el('code', {text: source.figure}), ` ${shown(source.value, source.unit)}, `,
    el('span', {class: 'weak',
      text: `${source.basis}${source.confidence ? `, confidence ${source.confidence}` : ''}: `}),
    source.source || 'no source',
    source.note ? el('span', {class: 'weak', text: `; ${source.note}`}) : null,
    source.alternatives?.length ? el('span', {class: 'weak', text: `; others say ${source.alternatives
      .map((other) => `${shown(other.value, source.unit)} (${other.source})`).join(', ')}`}) : null)));
}

/// The constants of an answer as a part of the page that can be unfolded.
export const constants = (json, of = '') => fold(`Constants${of ? ` of ${of}` : ''} and their sources`,
  sourceList(json.sources ?? []), {name: `sources ${of}`});
