// What all views have in common: they build their form once, ask when the state changes, show an error at its place.
import {Cancelled, Superseded, parsed} from './client.mjs';
import {add, announce, button, el, fold} from './dom.mjs';
import {field, machinesField, whatIfs} from './fields.mjs';
import {shown} from './format.mjs';
import {views, words} from './schema.mjs';

/// Fields of a view by key: all of its table but those in `own`, which the view makes itself.
export function fieldsOf(app, view, own = []) {
  const made = new Map();
  for (const spec of views[view].fields) {
    if (spec.page || own.includes(spec.key)) continue;
    const make = spec.key === 'on' ? machinesField : spec.key === 'set' ? whatIfs : field;
    made.set(spec.key, make(app, view, spec));
  }
  return made;
}

/// The fields of a form: those that are used most, then a part that can be unfolded.
export function form(view, fields, keys) {
  const nodes = (list) => list.map((key) => fields.get(key)?.node).filter(Boolean);
  const rest = views[view].fields.filter((spec) => fields.has(spec.key) && !keys.includes(spec.key) && spec.more)
    .map((spec) => spec.key);
  return [nodes(keys), rest.length ? fold('More options', el('div', {class: 'columns'}, nodes(rest))) : null];
}

const places = {no_machine: 'on', unknown_machine: 'on', ambiguous_machine: 'on', bad_slice: 'on', no_mesh: 'mesh',
  bad_mesh: 'mesh', bad_plan: 'mesh', unknown_axis: 'mesh', axis_used_twice: 'mesh', unknown_dimension: 'dims',
  unknown_model: 'model', unknown_model_type: 'model', unknown_path: 'set', unit: 'set', no_batch: 'batch-tokens',
  uneven_batch: 'batch-tokens', nothing_to_do: 'program', bad_value: 'model', missing_key: 'model', number: 'set'};

/// Which field an error is about: its key, or null.
export function placeOf(error, fields) {
  const named = /^--([a-z-]+)/.exec(error.source || '') ?? /^`?--([a-z-]+)/.exec(error.message);
  const key = named && fields.has(named[1]) ? named[1] : error.line && !error.source ? 'program' : places[error.code];
  return key && fields.has(key) ? key : null;
}

/// Shows `error` at its field, or as the answer where it has none. Returns whether a field took it.
export function placeError(error, fields) {
  const key = error ? placeOf(error, fields) : null;
  for (const [name, each] of fields) each.problem(name === key ? error : null);
  const folded = key === null ? null : fields.get(key).node.closest('details');
  if (folded) folded.open = true;
  return key !== null;
}

/// A box that says what is wrong with the question as a whole.
export function trouble(error, placed, below = placed) {
  return el('div', {class: 'trouble', role: placed ? null : 'alert'}, el('strong', {text: error.message}),
    error.hint ? el('p', {text: error.hint}) : null,
    below ? el('p', {class: 'weak', text: 'What is shown below is the last answer.'}) : null);
}

/// Shows an error at its field, or above the last answer, which stays; `beside` makes what stands with it. Returns
/// whether there is one.
export function refused(error, {fields, answer, head}, beside = () => null) {
  const placed = placeError(error ?? null, fields);
  answer.classList.toggle('stale', Boolean(error));
  if (!error) return false;
  const below = placed && [...answer.querySelectorAll('.slot:not(.head)')].some((slot) => slot.childElementCount > 0);
  refill(head, trouble(error, placed, below), beside(error));
  announce(`${error.message}. ${error.hint ?? ''}`);
  return true;
}

/// Machines of an answer for several that could not be answered for.
export const missingMachines = (json) => (json.errors ?? []).map(({machine, message, hint}) =>
  trouble({message: `${machine}: ${message}`, hint}, false));

/// Asks and gives the object that was printed; null where a newer question took its place.
export async function ask(app, list, options = {}) {
  try {
    const answer = await (options.core ?? app.core).ask(list, options);
    return {answer, json: parsed(answer)};
  } catch (error) {
    if (error instanceof Superseded) return null;
    if (error instanceof Cancelled) return {cancelled: true};
    const message = `The program stopped: ${error.message.replace(/^Uncaught Error: /, '')}`;
    const hint = /cannot be started/.test(message) ? 'Reload the page, or download its file again.'
      : 'Change the question, and the program restarts. A question that stops it has found a bug: please '
        + 'report it with the command line.';
    return {answer: null, json: {error: {code: 'stopped', message, line: null, column: null, source: null, hint}}};
  }
}

/// Asks with a picture, and without where the picture alone cannot be had: then `drawing` says why.
export async function askDrawn(app, said, drawn, options, current) {
  let got = await ask(app, [...said, ...drawn], options);
  if (!got || got.cancelled || !current()) return null;
  if (!got.json.error || !drawn.length) return got;
  const drawing = got.json.error;
  got = await ask(app, said, options);
  if (!got || got.cancelled || !current()) return null;
  return {...got, drawing};
}

/// Shows the picture of an answer in its frame, or why there is none.
export function draw(frame, {answer, drawing}) {
  const svg = answer?.written['plot.svg'];
  if (svg) frame.show(svg);
  else if (drawing) frame.fail(`No picture: ${drawing.message}. ${drawing.hint ?? ''}`);
}

/// The derivation of an answer, asked for when someone wants it.
export function derivation(app, view, state) {
  let promise = null;
  const context = {derivation: null, explain() {
    promise ??= app.core.ask(words(view, state, {extra: ['--explain']}), {files: app.filesOf(view), quiet: true})
      .then(({code, out}) => {
        context.derivation = code === 2 ? null : out;
        return context.derivation;
      }, () => {
        promise = null;
        return null;
      });
    return promise;
  }};
  return context;
}

/// The derivation as a part of the page that can be unfolded.
export function derivationFold(context) {
  const text = el('pre', {class: 'wide', tabindex: '0', 'aria-label': 'Derivation',
    text: 'The program derives the answer …'});
  const node = fold('Derivation: formulas, sizes put in, constants with sources', text, {name: 'derivation'});
  node.addEventListener('toggle', async () => {
    if (!node.open) return;
    text.textContent = (await context.explain()) ?? 'The program derives answers for one machine at one point.';
  });
  return node;
}

export function notes(list) {
  if (!list?.length) return null;
  return el('section', {class: 'notes'}, el('h2', {text: 'Notes'}), el('ul', {},
    list.map((note) => el('li', {text: note}))));
}

/// Returns a function that does the last thing that it was given, once the browser has shown what is there by now.
export function afterFrame() {
  let last = null;
  return (todo) => {
    if (last === null) requestAnimationFrame(() => setTimeout(() => { const now = last; last = null; now(); }));
    last = todo;
  };
}

/// Replaces the content of a part of the answer and keeps unfolded what was unfolded.
export function refill(node, ...content) {
  const open = new Set([...node.querySelectorAll('details[open][data-name]')].map((each) => each.dataset.name));
  node.replaceChildren();
  add(node, content);
  for (const each of node.querySelectorAll('details[data-name]')) {
    if (each.dataset.name && open.has(each.dataset.name)) each.open = true;
  }
}

/// A button that asks and can be stopped: searches run in a worker of their own. `run(watch)` promises what is said at
/// the end; `watch` takes how far it has come, and a text for the best so far.
export function searcher(app, label, run) {
  const status = el('span', {class: 'weak', role: 'status'});
  const bar = el('progress', {'aria-label': 'Part of the plans that was searched', hidden: true});
  let running = false;
  let ticking = 0;
  const press = button(label, async () => {
    if (running) {
      app.search.cancel();
      return;
    }
    running = true;
    const since = performance.now();
    press.textContent = 'Stop the search';
    let far = 'searching';
    let good = '';
    const tick = () => {
      status.textContent = `${far}, ${shown(Math.round((performance.now() - since) / 1000), 's')}${good}`;
    };
    const watch = ({lookedAt, plans}, best) => {
      if (plans) Object.assign(bar, {max: plans, value: lookedAt});
      far = `${shown(lookedAt, 'count')} ${plans ? `of ${shown(plans, 'count')} plans` : 'set-ups'}`;
      good = best ? `; the best so far: ${best}` : '';
      tick();
    };
    ticking = setInterval(tick, 1000);
    status.ariaLive = 'off'; // screen readers ask the progress bar
    bar.removeAttribute('value');
    bar.hidden = false;
    tick();
    announce('The search runs', 0);
    const said = await run(watch);
    clearInterval(ticking);
    running = false;
    press.textContent = label;
    bar.hidden = true;
    status.ariaLive = 'polite';
    status.textContent = said;
    announce(said, 0);
  }, {class: 'primary'});
  return {node: el('div', {class: 'row'}, press, bar, status), press};
}
