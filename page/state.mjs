// The question is the URL: its fragment holds the view and every field that is not at its default.
import {defaults, places, views} from './schema.mjs';

const version = 1;
const mostText = 20000;
const mostFragment = 200000;
const mostFile = 16000;
const pause = 200; // ms between changes of the address

/// The fragment of a view, its fields, and the small text files that it needs.
export function encode({view, fields, texts}) {
  const query = new URLSearchParams();
  const plain = defaults();
  for (const where of places.keys()) {
    const value = fields[where];
    if (JSON.stringify(value) === JSON.stringify(plain[where])) continue;
    if (Array.isArray(value)) {
      if (value.length === 0) query.append(where, '');
      for (const each of value) query.append(where, each);
    } else {
      query.append(where, value === true ? 'yes' : value === false ? 'no' : value);
    }
  }
  for (const [name, text] of Object.entries(texts)) {
    if (text.length <= mostFile) query.append(`file:${name}`, text);
  }
  const said = query.toString();
  return `#${version}/${view}${said ? `?${said}` : ''}`;
}

/// What a fragment says: {view, fields, texts}, and in `trouble` what of it this page does not understand.
export function decode(fragment) {
  const state = {view: 'op', fields: defaults(), texts: {}, trouble: []};
  if (fragment === '' || fragment === '#') return state;
  if (fragment.length > mostFragment) {
    state.trouble.push('The link is longer than any that this page makes; it was not read.');
    return state;
  }
  const match = /^#(\d{1,6})\/([a-z]+)(?:\?(.*))?$/s.exec(fragment);
  if (!match) {
    state.trouble.push('The part of the link after # was not made by this page; it was not read.');
    return state;
  }
  if (Number(match[1]) !== version) {
    state.trouble.push(Number(match[1]) > version
      ? `The link was made by a newer version of this page (its form is ${match[1]}, this page reads ${version}); it `
        + 'was not read. Open it with a newer page.'
      : `The form ${match[1]} of this link is not known; it was not read.`);
    return state;
  }
  if (Object.hasOwn(views, match[2])) state.view = match[2];
  else state.trouble.push(`There is no view “${match[2]}”.`);
  const seen = new Set();
  for (const [where, value] of new URLSearchParams(match[3] ?? '')) readPair(state, seen, where, value);
  return state;
}

function readPair(state, seen, where, value) {
  if (where.startsWith('file:')) {
    const name = where.slice(5);
    if (/^[^/\\\0-\x1f]{1,200}$/.test(name) && value.length <= mostFile) state.texts[name] = value;
    else state.trouble.push('A file in the link was left out: it is too long, or its name is not one of a file.');
    return;
  }
  const field = places.get(where);
  if (!field) {
    state.trouble.push(`“${where.slice(0, 40)}” in the link is not known, and was left out.`);
  } else if (value.length > (field.most ?? mostText)) {
    state.trouble.push(`“${where}” in the link is too long, and was left out.`);
  } else if (field.many) {
    if (!seen.has(where)) state.fields[where] = [];
    if (value !== '' && state.fields[where].length < 16) state.fields[where].push(value);
  } else if (seen.has(where)) {
    state.trouble.push(`“${where}” is in the link twice; the first counts.`);
  } else {
    state.fields[where] = field.flag ? value === 'yes' : value;
  }
  seen.add(where);
}

/// The question of the page. A change is a new entry of the browser's history, or replaces the last one while it
/// belongs to the same gesture: a drag of a slider, a spell of typing.
export class State {
  constructor(changed) {
    this.changed = changed;
    this.files = new Map();
    this.beside = new Map();
    this.gesture = null;
    this.late = null;
    this.read();
    window.addEventListener('pagehide', () => this.write());
    window.addEventListener('popstate', () => this.read(true));
    window.addEventListener('hashchange', () => this.read(true));
  }

  read(tell = false) {
    if (tell && location.hash === this.fragment) return;
    clearTimeout(this.late);
    this.late = null;
    const {view, fields, texts, trouble} = decode(location.hash);
    Object.assign(this, {view, fields, trouble, gesture: null, fragment: location.hash});
    for (const [name, text] of Object.entries(texts)) this.files.set(name, new TextEncoder().encode(text));
    if (tell) this.changed({from: 'history'});
  }

  /// Changes fields by place; `view` shows another view.
  set(patch, {gesture = null, view = this.view} = {}) {
    Object.assign(this.fields, patch);
    this.view = view;
    this.trouble = [];
    const fragment = encode({view, fields: this.fields, texts: this.texts()});
    if (fragment !== this.fragment) {
      const same = gesture !== null && gesture === this.gesture;
      if (!same) this.write();
      this.fragment = fragment;
      if (same) this.late ??= setTimeout(() => this.write(), pause);
      else history.pushState(null, '', fragment);
      this.gesture = gesture;
    }
    this.changed({from: 'page'});
  }

  /// Brings the address up to date: while a slider is dragged it follows with a delay, because browsers refuse to
  /// change it more often than about twenty times a second.
  write() {
    if (this.late === null) return;
    clearTimeout(this.late);
    this.late = null;
    history.replaceState(null, '', this.fragment);
  }

  /// Ends a gesture, so that the next change can be undone by itself.
  settle() {
    this.write();
    this.gesture = null;
  }

  /// Small files that fields name: they travel in the link.
  texts() {
    const named = new Set(Object.values(this.fields).flat());
    const out = {};
    for (const [name, bytes] of this.files) {
      if (!named.has(name) || bytes.length > mostFile) continue;
      try {
        const text = new TextDecoder('utf-8', {fatal: true}).decode(bytes);
        out[name] = /^\s*[{[]/.test(text) ? compact(text) : text;
      } catch {
        // Not text: it stays here, and the link names it alone.
      }
    }
    return out;
  }
}

function compact(text) {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}
