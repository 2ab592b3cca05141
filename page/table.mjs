// Tables: sortable by their headers, and walked with the arrow keys, so that a table is one stop of the Tab key.
import {el} from './dom.mjs';

/// A table of `rows`. A column has a `label`, `cell(row)` for what it shows, and, to sort by, `sort(row)`; `number`
/// aligns it to the right. `most` rows are shown at first.
export function table(caption, columns, rows, {most = 60, seen = true, foot = null, rowAttributes = () =>
  ({})} = {}) {
  const body = el('tbody');
  let order = rows;
  let limit = most;
  const more = el('button', {type: 'button', class: 'quiet', hidden: true,
    on: {click: () => { limit = rows.length; fill(); }}});
  const heads = columns.map((column) => head(column));

  function head(column) {
    if (!column.label) return el('td');
    const cell = el('th', {scope: 'col', class: column.number ? 'right' : null});
    if (!column.sort || rows.length < 2) {
      cell.textContent = column.label;
      return cell;
    }
    const press = () => {
      const down = cell.getAttribute('aria-sort') !== 'descending';
      for (const other of heads) other.removeAttribute('aria-sort');
      cell.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      order = [...rows].sort((a, b) => compare(column.sort(a), column.sort(b)) * (down ? -1 : 1));
      fill();
    };
    cell.append(el('button', {type: 'button', class: 'sort', text: column.label, on: {click: press}}));
    return cell;
  }

  function fill() {
    body.replaceChildren(...order.slice(0, limit).map((row) => el('tr', rowAttributes(row),
      columns.map((column, at) =>
      el(at === 0 ? 'th' : 'td', {scope: at === 0 ? 'row' : null, class: column.number ? 'right' : null},
        column.cell(row))))));
    more.hidden = rows.length <= limit;
    more.textContent = `Show all ${rows.length} rows`;
    rove(body);
  }

  fill();
  const node = el('table', {}, el('caption', {class: seen ? null : 'unseen'}, el('span', {text: caption})),
    el('thead', {}, el('tr', {}, heads)), body, foot);
  return el('div', {class: 'scroll', role: 'region', 'aria-label': caption, tabindex: '0'}, node, more);
}

function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  return a < b ? -1 : 1;
}

/// Of the buttons in a table one takes part in the order of Tab; arrow keys move to the others.
export function rove(body) {
  const all = () => [...body.querySelectorAll('tr')].map((row) => [...row.querySelectorAll('button')]);
  const flat = body.querySelectorAll('button');
  flat.forEach((each, at) => { each.tabIndex = at === 0 ? 0 : -1; });
  body.onkeydown = (event) => {
    const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
    if (!step || event.target.tagName !== 'BUTTON') return;
    const rows = all();
    let row = rows.findIndex((buttons) => buttons.includes(event.target));
    let column = rows[row].indexOf(event.target) + step[1];
    do row += step[0]; while (step[0] && rows[row] && rows[row].length === 0);
    if (!rows[row]) return;
    column = Math.min(Math.max(column, 0), rows[row].length - 1);
    const next = rows[row][column];
    if (!next) return;
    event.preventDefault();
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  };
}

/// Bars beside numbers: the browser draws them from the value and the largest, so that nothing is computed here.
export function bar(value, most, {label, bound = false} = {}) {
  if (value === null || value === undefined || !(most > 0)) return null;
  return el('meter', {class: bound ? 'meter bound' : 'meter', min: 0, max: most, value, 'aria-label': label});
}
