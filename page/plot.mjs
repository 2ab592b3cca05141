// Pictures of the program: its SVG, parsed as XML and cleaned, and the same as a table.
import {button, copyText, el, saveText} from './dom.mjs';
import {table} from './table.mjs';

const sheets = new Map();

/// Style rules of the program's pictures come with each of them, and differ by the kind of picture; the page needs
/// those of a kind once. A rule for a dark system follows the theme of the page.
function adopt(text) {
  if (sheets.has(text)) return;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  sheets.set(text, sheet);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  themePictures(document.documentElement.dataset.theme ?? '');
}

export function themePictures(theme) {
  for (const rule of [...sheets.values()].flatMap((sheet) => [...sheet.cssRules])) {
    if (!(rule instanceof CSSMediaRule)) continue;
    rule.media.mediaText = {dark: 'all', light: 'not all'}[theme] ?? 'screen and (prefers-color-scheme: dark)';
  }
}

/// The picture as nodes of this document, without scripts, handlers, links and styles of its own.
export function picture(text) {
  const styles = [];
  // Style elements are taken out before the text is parsed, because the page's policy refuses them.
  const bare = text.replace(/<style>([^<]*)<\/style>/g, (_, rules) => {
    styles.push(rules.replaceAll('&gt;', '>').replaceAll('&amp;', '&'));
    return '';
  });
  const parsed = new DOMParser().parseFromString(bare, 'image/svg+xml');
  const root = parsed.documentElement;
  if (root.localName !== 'svg' || parsed.querySelector('parsererror')) throw new Error('the picture is not SVG');
  adopt(styles.join('\n'));
  for (const node of [...root.querySelectorAll('*')]) {
    if (['script', 'style', 'foreignObject', 'a', 'image', 'use', 'iframe'].includes(node.localName)) node.remove();
  }
  for (const node of [root, ...root.querySelectorAll('*')]) {
    for (const {name, value} of [...node.attributes]) {
      if (/^on/i.test(name) || /href$/i.test(name) || name === 'style' || /url\(|javascript:/i.test(value)) {
        node.removeAttribute(name);
      }
    }
  }
  root.removeAttribute('width');
  root.removeAttribute('height');
  return document.importNode(root, true);
}

/// A picture's description as tables: sections end with a colon, cells are divided by bars.
export function twin(text) {
  const bare = text.replace(/<style>[^<]*<\/style>/g, '');
  const root = new DOMParser().parseFromString(bare, 'image/svg+xml').documentElement;
  const lines = (root.querySelector('desc')?.textContent ?? '').split('\n').map((line) => line.trimEnd());
  const out = [];
  let section = {title: '', heads: null, rows: []};
  const flush = () => {
    if (section.rows.length) out.push(rowsTable(section));
    else if (section.title) out.push(el('p', {text: section.title}));
  };
  for (const line of lines) {
    if (!line.trim()) continue;
    if (line.endsWith(':')) {
      flush();
      const named = /^(.*?)\s*\((.* \| .*)\):$/.exec(line);
      const bare = / \| /.test(line) ? line.slice(0, -1) : null;
      section = named ? {title: named[1], heads: named[2].split(' | '), rows: []}
        : bare ? {title: '', heads: bare.split(' | '), rows: []} : {title: line.slice(0, -1), heads: null, rows: []};
    } else if (section.title === '' && !section.heads && !line.includes(' | ')) {
      out.push(el('p', {text: line}));
    } else if (!line.includes(' | ') && !section.rows.length && section.heads === null && out.length
      && section.title === '') {
      out.push(el('p', {text: line}));
    } else {
      section.rows.push(line.trim().split(' | '));
    }
  }
  flush();
  return out;
}

function rowsTable({title, heads, rows}) {
  const wide = Math.max(...rows.map((row) => row.length), heads ? heads.length : 1);
  const columns = Array.from({length: wide}, (_, at) => ({label: heads?.[at] ?? (at ? '' : title || 'Point'),
    cell: (row) => row[at] ?? ''}));
  if (!heads) {
    return el('div', {}, title ? el('p', {class: 'twin-title', text: title}) : null,
      el('ul', {class: 'plain'}, rows.map((row) => el('li', {text: row.join(': ')}))));
  }
  return table(title || heads[0], columns, rows, {seen: Boolean(title)});
}

/// A place for a picture, whose height is kept so that nothing moves when it comes. `name` is that of the saved file.
export function frame(name, {ratio = 'wide'} = {}) {
  const canvas = el('div', {class: `canvas ${ratio}`, role: 'region', tabindex: '0', 'aria-label': 'Picture'});
  const trouble = el('p', {class: 'picture-trouble', hidden: true});
  const list = el('div', {class: 'twin'});
  const details = el('details', {class: 'fold small'}, el('summary', {text: 'As a table'}), list);
  let text = '';
  details.addEventListener('toggle', () => {
    if (details.open) list.replaceChildren(...twin(text));
  });
  const copy = button('Copy SVG', () => copyText(text, copy), {class: 'quiet', disabled: true});
  const save = button('Save SVG', () => saveText(text, `${name}.svg`, 'image/svg+xml'), {class: 'quiet',
    disabled: true});
  const larger = button('Larger', () => {
    larger.setAttribute('aria-pressed', String(canvas.classList.toggle('large')));
  }, {class: 'quiet only-phone', 'aria-pressed': 'false'});
  const node = el('figure', {class: 'plot'}, canvas, trouble, el('div', {class: 'plot-tools'}, details, larger, copy,
    save));
  return {
    node,
    svg: () => text,
    /// Whether the picture takes the height that it has.
    free: (is) => canvas.classList.toggle('free', is),
    show(svg) {
      if (svg === text && !canvas.hidden) return;
      text = svg;
      try {
        canvas.replaceChildren(picture(svg));
      } catch (error) {
        this.fail(error.message);
        return;
      }
      trouble.hidden = true;
      canvas.classList.remove('old');
      copy.disabled = save.disabled = false;
      if (details.open) list.replaceChildren(...twin(text));
    },
    fail(message) {
      trouble.textContent = message;
      trouble.hidden = false;
      canvas.classList.add('old');
    },
  };
}
