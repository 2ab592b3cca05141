// The editor of the notation: the error of the program at its place, and names completed while one types.
import {announce, el, newId} from './dom.mjs';
import {dtypes, functions, keywords} from './names.mjs';

/// Offset in `text` of a line and a column, which counts bytes from 1.
export function offsetOf(text, line, column) {
  const lines = text.split('\n');
  if (line < 1 || line > lines.length) return text.length;
  let start = 0;
  for (let at = 0; at + 1 < line; ++at) start += lines[at].length + 1;
  const encoder = new TextEncoder();
  let bytes = 1;
  let within = 0;
  for (const sign of lines[line - 1]) {
    if (bytes >= column) break;
    bytes += encoder.encode(sign).length;
    within += sign.length;
  }
  return start + within;
}

/// What completes the word before `caret`: {from, words}. Names of the text come first.
export function completions(text, caret, most = 8) {
  const word = /[A-Za-z_][A-Za-z0-9_]*$/.exec(text.slice(0, caret))?.[0] ?? '';
  if (word.length < 1 || /[A-Za-z0-9_]/.test(text[caret] ?? '')) return {from: caret, words: []};
  const own = new Set(text.match(/[A-Za-z][A-Za-z0-9_]*/g) ?? []);
  own.delete(word);
  const inBrackets = /\[[^\]]*$/.test(text.slice(0, caret));
  const pool = inBrackets ? [...own].filter((name) => /^[A-Z]/.test(name)) : [...own, ...dtypes, ...functions,
    ...keywords];
  const begins = [...new Set(pool)].filter((name) => name.startsWith(word) && name !== word);
  // One letter is nearly always a dimension; completing it would be in the way.
  const enough = word.length >= 2 || inBrackets ? begins : [];
  return {from: caret - word.length, words: enough.slice(0, most)};
}

/// An editor; `changed(text, gesture)` is told what is typed.
export function editor({changed, settled}) {
  const id = newId('program');
  const listId = `${id}-list`;
  const back = el('pre', {class: 'editor-back', 'aria-hidden': 'true'});
  const area = el('textarea', {id, class: 'editor-text', rows: '3', spellcheck: 'false', autocapitalize: 'off',
    autocomplete: 'off', 'aria-autocomplete': 'list', 'aria-describedby': `${id}-error ${id}-help`});
  const list = el('ul', {id: listId, class: 'complete', role: 'listbox', 'aria-label': 'Completions', hidden: true});
  const problem = el('p', {id: `${id}-error`, class: 'problem', hidden: true});
  const node = el('div', {class: 'field program'}, el('label', {for: id, text: 'Program'}),
    // The list is below the error, which it would cover otherwise.
    el('div', {class: 'editor-whole'}, el('div', {class: 'editor'}, back, area), problem, list),
    el('p', {id: `${id}-help`, class: 'hint', text: 'In the notation; Tab completes a name while a list is shown.'}));
  let mark = null;
  let shownWords = [];
  let chosen = 0;
  let from = 0;
  let spell = 0;

  function paint() {
    const text = area.value;
    back.replaceChildren();
    if (mark === null || mark > text.length) {
      back.textContent = `${text}\n`;
      return;
    }
    const rest = text.slice(mark);
    const length = Math.max(/^[A-Za-z0-9_]+/.exec(rest)?.[0].length ?? 1, 1);
    back.append(text.slice(0, mark), el('mark', {text: rest.slice(0, length).replace(/^\n?$/, ' ')}),
      `${rest.slice(length)}\n`);
  }

  function size() {
    area.rows = Math.min(Math.max(area.value.split('\n').length + 1, 3), 24);
    back.scrollTop = area.scrollTop;
    back.scrollLeft = area.scrollLeft;
  }

  function offer() {
    const found = completions(area.value, area.selectionStart);
    ({from} = found);
    shownWords = found.words;
    chosen = 0;
    list.hidden = shownWords.length === 0;
    draw();
    if (shownWords.length) announce(`${shownWords.length} completions, ${shownWords[0]} first; Tab takes it`, 900);
  }

  function draw() {
    list.replaceChildren(...shownWords.map((word, at) => el('li', {id: `${listId}-${at}`, role: 'option',
      'aria-selected': String(at === chosen), text: word,
      on: {mousedown: (event) => { event.preventDefault(); take(at); }}})));
    if (shownWords.length) {
      area.setAttribute('aria-controls', listId);
      area.setAttribute('aria-activedescendant', `${listId}-${chosen}`);
    } else {
      area.removeAttribute('aria-controls');
      area.removeAttribute('aria-activedescendant');
    }
  }

  function hide() {
    shownWords = [];
    list.hidden = true;
    draw();
  }

  function take(at) {
    area.setRangeText(shownWords[at], from, area.selectionStart, 'end');
    hide();
    typed();
  }

  function typed() {
    mark = null;
    paint();
    size();
    changed(area.value, `program:${spell}`);
  }

  area.addEventListener('input', () => { typed(); offer(); });
  area.addEventListener('scroll', size);
  area.addEventListener('blur', () => { hide(); ++spell; settled(); });
  area.addEventListener('keydown', (event) => {
    if (!shownWords.length) return;
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (step) {
      chosen = (chosen + step + shownWords.length) % shownWords.length;
      draw();
    } else if (event.key === 'Tab' && !event.shiftKey) {
      take(chosen);
    } else if (event.key === 'Escape') {
      hide();
    } else {
      return;
    }
    event.preventDefault();
  });

  return {
    node,
    area,
    set(text) {
      if (area.value === text) return; // a slider moves often, and the size of the text is slow to ask for
      area.value = text;
      mark = null;
      hide();
      paint();
      size();
    },
    /// Shows an error of the program: {message, hint, line, column}, or none.
    problem(error) {
      if (!error && problem.hidden) return;
      problem.hidden = !error;
      area.setAttribute('aria-invalid', error ? 'true' : 'false');
      mark = error && error.line ? offsetOf(area.value, error.line, error.column ?? 1) : null;
      problem.replaceChildren();
      if (error) {
        const where = error.line ? `line ${error.line}, column ${error.column}: ` : '';
        problem.append(el('strong', {text: `${where}${error.message}`}), error.hint ? el('span',
          {text: ` ${error.hint}`}) : '');
      }
      paint();
    },
    select(start, end) {
      area.focus();
      area.setSelectionRange(start, end);
    },
  };
}
