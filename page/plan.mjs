// What Train and Serve share: the choice of a model, the search for plans, and plans that become the question.
import {button, el, newId} from './dom.mjs';
import {fileField} from './files.mjs';
import {say} from './fields.mjs';
import {shown} from './format.mjs';
import {fieldOf, place, views, words} from './schema.mjs';
import {ask, refill, searcher, trouble} from './view.mjs';

/// The field of a model: a name, or a file.
export function modelField(app) {
  const id = newId('model');
  const problem = el('p', {id: `${id}-error`, class: 'problem', hidden: true});
  const input = el('input', {id, type: 'text', list: 'model-names', autocomplete: 'off', spellcheck: 'false',
    'aria-describedby': `${id}-error`, on: {
      input: () => app.state.set({'model.model': input.value}, {gesture: 'model'}),
      change: () => app.state.settle(),
    }});
  return {
    key: 'model',
    node: el('div', {class: 'stack'}, el('div', {class: 'field'}, el('label', {for: id, text: 'Model'}), input,
      problem),
      fileField(app, 'or a file: config.json, .safetensors, .gguf', '.json,.safetensors,.gguf')),
    show(state) { if (input.value !== state['model.model']) input.value = state['model.model']; },
    problem(error) {
      // A link names files that stayed on another computer.
      const lost = error?.code === 'file' && !app.state.files.has(input.value);
      say(problem, input, lost ? {message: error.message,
        hint: 'Drop the file here again: files stay in the browser that read them.'}
        : error);
    },
  };
}

/// Words of a command line as a shell reads them.
export function split(command) {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2]);
}

/// The fields of `view` that a command sets; the others of a plan are cleared. Unknown options are listed in `lost`.
export function fieldsOfCommand(view, command) {
  const patch = {};
  const lost = [];
  for (const field of views[view].fields) {
    if (field.plan || ['batch', 'concurrency', 'rate'].includes(field.key)) patch[place(view, field)] = '';
  }
  const list = split(command).slice(1 + views[view].command.length);
  for (let at = 0; at < list.length; ++at) {
    if (!list[at].startsWith('--')) continue;
    const field = fieldOf(view, list[at].slice(2));
    if (!field) {
      lost.push(list[at]);
    } else if (field.flag) {
      patch[place(view, field)] = true;
    } else if (field.many) {
      const where = place(view, field);
      patch[where] = [...(patch[where] ?? []), list[++at]];
    } else {
      patch[place(view, field)] = list[++at];
    }
  }
  return {patch, lost};
}

/// The fields of a plan of `plan train`.
export function fieldsOfPlan(plan) {
  return {'train.mesh': plan.mesh, 'train.zero': plan.zero ? String(plan.zero) : '',
    'train.microbatches': String(plan.microbatches ?? ''), 'train.schedule': plan.schedule ?? '',
      'train.remat': plan.remat ?? ''};
}

/// The search of a view: its button, and a place for what it finds. `found(json, answer)` gives the parts to show.
export function search(app, view, fields, found) {
  const results = el('div', {class: 'slot', 'aria-live': 'off'});
  const label = view === 'train' ? 'Search the best plan' : 'Search the best set-up';
  const bestOf = (best) => (view === 'train' ? shown(best, 's') : `${shown(1 / best, 'number')} tokens/s per chip`);
  const made = searcher(app, label, async (watch) => {
    const state = {...app.state.fields};
    const front = view === 'serve' || state['train.front'];
    const said = words(view, state, {search: true, extra: ['--json', ...(front ? ['--svg', 'plot.svg'] : [])]});
    const got = await ask(app, said, {core: app.search, files: app.filesOf(view),
      watch: (far) => watch(far, far.best ? bestOf(far.best) : '')});
    if (!got || got.cancelled) return 'stopped';
    if (got.json.error) {
      refill(results, el('h2', {text: 'Search'}), trouble(got.json.error, false));
      return 'no answer';
    }
    refill(results, el('h2', {text: 'What the search found'}), found(got.json, got.answer));
    results.scrollIntoView({block: 'nearest'});
    return `${got.json.searched ?? ''} plans searched, ${got.json.priced ?? ''} priced`;
  });
  const keys = views[view].fields.filter((spec) => spec.only === 'search').map((spec) => spec.key);
  const node = el('fieldset', {class: 'field searching'}, el('legend', {text: 'Search'}),
    el('div', {class: 'columns'}, keys.map((key) => fields.get(key).node)), made.node,
    el('p', {class: 'hint', text: 'It runs in the background: the page stays usable, and the search can be stopped. '
      + 'On one thread it may take minutes.'}));
  return {node, results, command: () => views[view].search.command};
}

/// A button that makes a plan the question.
export function use(app, patch, label) {
  return button('use', () => app.state.set(patch), {class: 'quiet', 'aria-label': `Use ${label}`});
}
