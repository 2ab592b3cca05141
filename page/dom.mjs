// Elements of the page. Text from files and answers only ever becomes textContent; no string is parsed as HTML.

/// An element with attributes and children. `on` holds listeners, `text` the text; null children are left out.
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'on') {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (name === 'text') {
      node.textContent = value;
    } else if (name === 'value') {
      node.value = value;
    } else {
      node.setAttribute(name, value === true ? '' : String(value));
    }
  }
  add(node, children);
  return node;
}

export function add(node, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

let last = 0;
export const newId = (word) => `${word}-${++last}`;

/// Says `text` to a screen reader, once it has not changed for a while.
let waiting = 0;
export function announce(text, delay = 600) {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const live = document.getElementById('live');
    if (live.textContent !== text) live.textContent = text;
  }, delay);
}

export function button(text, press, attributes = {}) {
  return el('button', {type: 'button', text, on: {click: press}, ...attributes});
}

/// A part of the page that can be folded.
export function fold(title, content, {open = false, name = ''} = {}) {
  return el('details', {open, class: 'fold', 'data-name': name}, el('summary', {text: title}), content);
}

/// Puts text into the clipboard and says so on the button, or `none` where there is no text.
export async function copyText(text, pressed, none = 'There is nothing to copy') {
  const before = pressed.dataset.label ??= pressed.textContent;
  const said = !text ? none : await copied(text) ? 'Copied' : 'The browser refused to copy';
  pressed.textContent = said;
  announce(said, 0);
  pressed.focus();
  setTimeout(() => { pressed.textContent = before; }, 1500);
}

/// Where the clipboard is refused it is tried in the old way.
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = el('textarea', {class: 'unseen', 'aria-label': 'Text to copy', value: text});
    document.body.append(box);
    box.select();
    const done = document.execCommand('copy');
    box.remove();
    return done;
  }
}

export function saveText(text, name, type) {
  const url = URL.createObjectURL(new Blob([text], {type}));
  const link = el('a', {href: url, download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
