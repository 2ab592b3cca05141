// Fields of the questions: they show the state, say what is wrong with them, and never lose what was typed.
import {button, el, newId} from './dom.mjs';
import {shown} from './format.mjs';
import {place} from './schema.mjs';

/// Pairs `B=64,D=8k` as a list of [name, value]; commas in parentheses do not separate.
export function pairsOf(text) {
  const out = [];
  let depth = 0;
  let current = '';
  for (const sign of `${text},`) {
    if (sign === '(') ++depth;
    if (sign === ')') --depth;
    if (sign !== ',' || depth > 0) {
      current += sign;
      continue;
    }
    const at = current.lastIndexOf('=');
    if (current.trim()) out.push(at < 0 ? [current.trim(), ''] : [current.slice(0, at).trim(),
      current.slice(at + 1).trim()]);
    current = '';
  }
  return out;
}

export const pairsText = (pairs) => pairs.filter(([, value]) => value !== '').map(([name, value]) =>
  `${name}=${value}`).join(',');

/// Sizes that a slider goes through: eight to each power of two, whole numbers.
export function stops(low, high) {
  const out = [];
  for (let power = low; power <= high; ++power) {
    for (const part of power === high ? [8] : [8, 9, 10, 11, 12, 13, 14, 15]) {
      const size = (2 ** power) * part / 8;
      if (Number.isInteger(size)) out.push(size);
    }
  }
  return out;
}

/// The stop that is nearest to a size as people write it (8k, 4Ki), or null where it is an expression.
export function nearestStop(list, text) {
  const match = /^\s*(\d+(?:\.\d+)?(?:e\d+)?)\s*(k|M|G|T|Ki|Mi|Gi|Ti)?\s*$/.exec(text);
  if (!match) return null;
  const scale = {k: 1e3, M: 1e6, G: 1e9, T: 1e12, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40}[match[2]] ?? 1;
  const size = Number(match[1]) * scale;
  let best = 0;
  list.forEach((stop, at) => { if (Math.abs(stop - size) < Math.abs(list[best] - size)) best = at; });
  return best;
}

let gestures = 0;

/// A text with a slider beside it. `changed(text, gesture)` is told every change.
export function sizeField({label, range = [0, 17], changed, settled, hint = ''}) {
  const id = newId('size');
  const list = stops(...range);
  const text = el('input', {id, type: 'text', inputmode: 'text', autocomplete: 'off', spellcheck: 'false',
    'aria-describedby': `${id}-error`});
  const slider = el('input', {type: 'range', min: 0, max: list.length - 1, step: 1,
    'aria-label': `${label}, slider`});
  const problem = el('p', {id: `${id}-error`, class: 'problem', hidden: true});
  const node = el('div', {class: 'field size'}, el('label', {for: id, text: label, title: hint}), text, slider,
    problem);
  let gesture = ++gestures;
  const tell = (value) => {
    slider.setAttribute('aria-valuetext', value);
    changed(value, `${id}:${gesture}`);
  };
  const end = () => { gesture = ++gestures; settled(); };
  text.addEventListener('input', () => { follow(text.value); tell(text.value); });
  text.addEventListener('change', end);
  slider.addEventListener('input', () => {
    text.value = String(list[slider.value]);
    tell(text.value);
  });
  slider.addEventListener('change', end);
  function follow(value) {
    const at = nearestStop(list, value);
    slider.disabled = at === null && value.trim() !== '';
    if (at !== null) slider.value = at;
    slider.setAttribute('aria-valuetext', value || 'no size');
  }
  return {
    node,
    input: text,
    set(value) {
      if (text.value !== value) text.value = value;
      follow(value);
    },
    problem: (error) => say(problem, text, error),
  };
}

export function say(problem, input, error) {
  problem.hidden = !error;
  if (error) input.setAttribute('aria-invalid', 'true');
  else input.removeAttribute('aria-invalid');
  problem.replaceChildren();
  if (error) problem.append(el('strong', {text: error.message}), error.hint ? ` ${error.hint}` : '');
}

/// A field of a view as its kind wants it: text, choice, flag or size with a slider.
export function field(app, view, spec) {
  const where = place(view, spec);
  const changed = (value, gesture) => app.state.set({[where]: value}, {gesture});
  const settled = () => app.state.settle();
  if (spec.slide) {
    const made = sizeField({label: spec.label, range: spec.slide, hint: spec.hint, changed, settled});
    return {key: spec.key, node: made.node, show: (state) => made.set(state[where]), problem: made.problem};
  }
  const id = newId(spec.key);
  const problem = el('p', {id: `${id}-error`, class: 'problem', hidden: true});
  let input;
  if (spec.flag) {
    input = el('input', {id, type: 'checkbox', on: {change: () => changed(input.checked, null)}});
    return {key: spec.key, node: el('div', {class: 'field flag'}, input, el('label', {for: id, text: spec.label}),
      problem),
      show: (state) => { input.checked = state[where]; }, problem: (error) => say(problem, input, error)};
  }
  const described = `${id}-error${spec.hint ? ` ${id}-hint` : ''}`;
  let listed = null;
  if (spec.choices && !spec.open) {
    input = el('select', {id, 'aria-describedby': described, on: {change: () => changed(input.value, null)}},
      ['', ...spec.choices].map((choice) => el('option', {value: choice, text: choice || 'default'})));
  } else {
    if (spec.choices) listed = el('datalist', {id: `${id}-list`}, spec.choices.map((choice) => el('option',
      {value: choice})));
    let gesture = ++gestures;
    input = el('input', {id, type: 'text', autocomplete: 'off', spellcheck: 'false', list: listed ? listed.id : null,
      'aria-describedby': described, placeholder: 'default', on: {
        input: () => changed(input.value, `${id}:${gesture}`),
        change: () => { gesture = ++gestures; settled(); },
      }});
  }
  return {
    key: spec.key,
    node: el('div', {class: 'field'}, el('label', {for: id, text: spec.label}), input, listed, problem,
      spec.hint ? el('p', {id: `${id}-hint`, class: 'hint', text: spec.hint}) : null),
    show(state) {
      const value = state[where];
      // A link may hold a value that is no choice: it is shown, and the program says what is wrong with it.
      if (input.tagName === 'SELECT' && ![...input.options].some((option) => option.value === value)) {
        input.append(el('option', {value, text: value}));
      }
      if (input.value !== value) input.value = value;
    },
    problem: (error) => say(problem, input, error),
  };
}

/// One machine per row, with completion of their names.
export function machinesField(app, view, spec) {
  const where = place(view, spec);
  const rows = el('div', {class: 'machines'});
  const problem = el('p', {class: 'problem', hidden: true, id: newId('on-error')});
  const plus = button('+ another machine', () => {
    app.state.set({[where]: [...app.state.fields[where], '']});
    rows.querySelector('div:last-child input').focus();
  }, {class: 'quiet'});
  const node = el('fieldset', {class: 'field'}, el('legend', {text: spec.label}), rows, plus, problem,
    el('p', {class: 'hint', text: spec.hint}));
  let inputs = [];
  let gesture = ++gestures;
  const change = (at, value) => {
    const list = [...app.state.fields[where]];
    list[at] = value;
    app.state.set({[where]: list}, {gesture: `${where}:${gesture}`});
  };
  function build(count) {
    inputs = Array.from({length: count}, (_, at) => el('input', {type: 'text', list: 'machine-names',
      autocomplete: 'off',
      spellcheck: 'false', 'aria-label': count > 1 ? `Machine ${at + 1}` : 'Machine', 'aria-describedby': problem.id,
        on: {
        input: (event) => change(at, event.target.value),
        change: () => { gesture = ++gestures; app.state.settle(); },
      }}));
    rows.replaceChildren(...inputs.map((input, at) => el('div', {}, input, count > 1
      ? button('×', () => app.state.set({[where]: app.state.fields[where].filter((_, other) => other !== at)}),
        {class: 'quiet', 'aria-label': `Remove machine ${at + 1}`}) : null)));
  }
  return {
    key: spec.key,
    node,
    show(state) {
      const list = state[where].length ? state[where] : [''];
      if (inputs.length !== list.length) build(list.length);
      list.forEach((value, at) => { if (inputs[at].value !== value) inputs[at].value = value; });
    },
    problem(error) {
      const bad = error ? inputs.filter((input) => error.message.includes(`\`${input.value.split(':')[0]}`)
        && input.value) : [];
      inputs.forEach((input) => input.removeAttribute('aria-invalid'));
      say(problem, bad[0] ?? inputs[0] ?? rows, error);
    },
  };
}

const factors = ['0.125', '0.25', '0.5', '0.75', '0.9', '1', '1.1', '1.25', '1.5', '2', '3', '4', '8', '16'];

/// What-ifs: a slider for each figure of the machine that the answer depends on, and others by name.
export function whatIfs(app, view, spec) {
  const where = place(view, spec);
  const rows = el('div', {class: 'what-ifs'});
  const problem = el('p', {class: 'problem', hidden: true, id: newId('set-error')});
  const other = el('input', {type: 'text', autocomplete: 'off', spellcheck: 'false', 'aria-label': 'Another figure',
    placeholder: 'hbm.capacity=*2', 'aria-describedby': problem.id});
  const takeOther = () => {
    const [[path, value] = []] = pairsOf(other.value.replaceAll(',', ''));
    if (!path) return;
    put(path, value || '*1', null);
    other.value = '';
  };
  other.addEventListener('keydown',
    (event) => { if (event.key === 'Enter') { event.preventDefault(); takeOther(); } });
  const none = button('As published', () => app.state.set({[where]: []}), {class: 'quiet'});
  const node = el('fieldset', {class: 'field'}, el('legend', {text: 'What if the machine had'}), rows,
    el('div', {class: 'row'}, other, button('Add', takeOther, {class: 'quiet'}), none), problem);
  let built = '';
  let now = new Map(); // values of the figures in the answer, as text
  const made = new Map();
  let gesture = ++gestures;
  const valueOf = (path) => pairsOf(app.state.fields[where].join(',')).find(([name]) => name === path)?.[1] ?? '';
  function put(path, value, slide) {
    const rest = app.state.fields[where].filter((each) => each.slice(0, each.indexOf('=')) !== path);
    app.state.set({[where]: value === '' || value === '*1' ? rest : [...rest, `${path}=${value}`]},
      {gesture: slide ? `${where}:${path}:${gesture}` : null});
  }
  function build(figures) {
    made.clear();
    rows.replaceChildren(...figures.map(({figure}) => {
      const text = el('output', {class: 'factor'});
      const slider = el('input', {type: 'range', min: 0, max: factors.length - 1, step: 1,
        'aria-label': `${figure}, factor`, on: {
        input: () => put(figure, `*${factors[slider.value]}`, true),
        change: () => { gesture = ++gestures; app.state.settle(); },
      }});
      made.set(figure, {slider, text});
      return el('div', {class: 'what-if'}, el('span', {class: 'figure', text: figure, title: figure}), slider, text);
    }));
  }
  return {
    key: spec.key,
    node,
    /// Figures of the answer's sources get sliders.
    figures(sources) {
      const list = new Map();
      for (const source of sources ?? []) {
        const other = list.get(source.figure); // of another machine
        list.set(source.figure, other && other.value !== source.value ? {...source, value: null} : source);
      }
      for (const [path] of pairsOf(app.state.fields[where].join(','))) {
        if (!list.has(path)) list.set(path, {figure: path, value: null, unit: ''});
      }
      const sorted = [...list.values()].sort((a, b) => (a.figure < b.figure ? -1 : 1));
      now = new Map(sorted.map(({figure, value, unit}) => [figure, value === null ? '' : shown(value, unit)]));
      const names = sorted.map((each) => each.figure).join(' ');
      if (names !== built) {
        built = names;
        build(sorted);
      }
      this.show(app.state.fields);
    },
    show(state) {
      none.disabled = state[where].length === 0;
      for (const [path, {slider, text}] of made) {
        const value = valueOf(path);
        const at = value === '' ? factors.indexOf('1') : factors.indexOf(value.replace(/^\*/, ''));
        slider.disabled = at < 0;
        if (at >= 0) slider.value = at;
        const factor = value === '' ? '' : value.replace('*', '× ');
        text.textContent = [factor, now.get(path)].filter(Boolean).join(': ') || 'as it is';
        slider.setAttribute('aria-valuetext', text.textContent);
      }
    },
    problem: (error) => say(problem, other, error),
  };
}
