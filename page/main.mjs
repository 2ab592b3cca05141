// The page: its views over one state, which is the URL, and the program in workers.
import {Core} from './client.mjs';
import {announce, button, copyText, el} from './dom.mjs';
import {dropTarget, readServed} from './files.mjs';
import {modelView} from './model.mjs';
import {opView} from './op.mjs';
import {themePictures} from './plot.mjs';
import {profileView} from './profile.mjs';
import {commandLine, place, python, views, words} from './schema.mjs';
import {serveView} from './serve.mjs';
import {State} from './state.mjs';
import {trainView} from './train.mjs';

const makers = {op: opView, model: modelView, train: trainView, serve: serveView, profile: profileView};
const at = (id) => document.getElementById(id);

let compiled = null;

/// The program as a compiled module, once for all workers.
function wasm() {
  compiled ??= fetch(new URL('core.wasm', import.meta.url)).then((reply) => {
    if (!reply.ok) throw new Error(`core.wasm: ${reply.status}`);
    return reply.arrayBuffer();
  }).then((bytes) => WebAssembly.compile(bytes));
  return compiled;
}

/// A worker with the program. The single file has a function that starts one from its own text, with the program in it.
function makeWorker() {
  if (globalThis.rooflineWorker) return globalThis.rooflineWorker();
  const worker = new Worker(new URL('worker.mjs', import.meta.url), {type: 'module'});
  wasm().then((module) => worker.postMessage({wasm: module}),
    (error) => worker.onerror?.({message: `the program could not be loaded (${error.message})`}));
  return worker;
}

function refuse(message, hint) {
  at('question').replaceChildren();
  at('answer').replaceChildren(el('div', {class: 'trouble', role: 'alert'}, el('strong', {text: message}), el('p',
    {text: hint})));
}

function supported() {
  const terminal = 'The program roofline answers the same questions in a terminal.';
  if (typeof WebAssembly !== 'object') {
    refuse('This browser has no WebAssembly, or it is switched off, so that nothing can be computed.', terminal);
  } else if (typeof Worker !== 'function') {
    refuse('This browser has no Web Workers, so that nothing can be computed.', terminal);
  } else {
    return true;
  }
  return false;
}

class App {
  constructor() {
    this.last = {};
    this.made = {};
    const busy = (now) => this.busy(now);
    this.core = new Core(makeWorker, {busy});
    this.search = new Core(makeWorker, {patience: 0});
    this.state = new State(() => this.refresh());
    this.shown = null;
    this.tabs();
    this.copies();
    dropTarget(this);
  }

  busy(now) {
    clearTimeout(this.waiting);
    if (!now) at('answer').classList.remove('busy');
    else this.waiting = setTimeout(() => at('answer').classList.add('busy'), 150);
  }

  /// The words in the question of a view that may be names of files.
  named(view) {
    return views[view].fields.filter((field) => field.positional || field.file)
      .map((field) => this.state.fields[place(view, field)]);
  }

  /// Files that the question of a view names, and those that were dropped together with them.
  filesOf(view) {
    const named = new Set(this.named(view));
    for (const name of [...named]) for (const other of this.state.beside.get(name) ?? []) named.add(other);
    return Object.fromEntries([...this.state.files].filter(([name]) => named.has(name)));
  }

  /// The last answer, to be copied.
  answered(last) { this.last = last; }

  tabs() {
    this.links = [...at('tabs').querySelectorAll('a')];
    for (const link of this.links) {
      link.addEventListener('click', (event) => {
        event.preventDefault();
        this.state.set({}, {view: link.dataset.view});
        announce(link.textContent, 0);
      });
    }
    const themes = ['', 'light', 'dark'];
    const theme = at('theme');
    const apply = (name) => {
      if (name) document.documentElement.dataset.theme = name;
      else delete document.documentElement.dataset.theme;
      theme.textContent = `Theme: ${name || 'system'}`;
      themePictures(name);
    };
    theme.addEventListener('click', () => {
      const next = themes[(themes.indexOf(document.documentElement.dataset.theme ?? '') + 1) % themes.length];
      apply(next);
      try { localStorage.setItem('roofline-theme',
        next); } catch { /* Storage may be refused; the theme then lasts as long as the page. */ }
    });
    try { apply(localStorage.getItem('roofline-theme') ?? ''); } catch { apply(''); }
    at('skip').addEventListener('click', (event) => {
      event.preventDefault();
      this.made[this.state.view].head.focus();
    });
  }

  copies() {
    const said = () => this.made[this.state.view].said?.() ?? words(this.state.view, this.state.fields);
    // On paper the form is left out, and the command line says what was asked.
    window.addEventListener('beforeprint', () => { at('asked').textContent = commandLine(said()); });
    const name = () => this.made[this.state.view].python?.() ?? views[this.state.view].python;
    const make = (label, text) => {
      const press = button(label, () => copyText(text(), press, `There is no ${label} here`));
      return press;
    };
    const list = el('div', {class: 'menu-list'}, make('Command line', () => commandLine(said())),
      make('Python', () => python(said(), name())), make('JSON', () => this.last.json ?? ''),
      make('SVG', () => this.last.svg?.() ?? ''), make('Link', () => { this.state.write(); return location.href; }));
    const menu = el('details', {class: 'menu-box'}, el('summary', {text: 'Copy as'}), list);
    menu.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') { menu.open = false; menu.querySelector('summary').focus(); }
    });
    document.addEventListener('click', (event) => { if (!menu.contains(event.target)) menu.open = false; });
    at('copy').replaceChildren(menu);
  }

  refresh() {
    const {view, trouble} = this.state;
    const banner = at('link-trouble');
    banner.hidden = trouble.length === 0;
    banner.textContent = trouble.join(' ');
    for (const link of this.links) {
      if (link.dataset.view === view) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    this.made[view] ??= makers[view](this);
    const made = this.made[view];
    if (this.shown !== view) {
      this.shown = view;
      this.last = {};
      at('question').replaceChildren(made.question);
      at('answer').replaceChildren(made.answer);
      document.title = `${views[view].label} · roofline`;
    }
    // A link to the page that `roofline page` serves may name files of its directory.
    readServed(this, this.named(view)).then((some) => (some ? this.refresh() : null), () => {});
    Promise.resolve(made.refresh()).catch((error) => {
      banner.hidden = false;
      banner.textContent = `The page itself failed: ${error.message}. Please report it with the link.`;
      throw error;
    });
  }

  async names() {
    const ask = (said) => this.core.ask(said, {quiet: true});
    const machines = await ask(['machine', '--json']);
    const models = await ask(['model', '--list']);
    const list = (id, names) => el('datalist', {id}, names.map(([value, label]) => el('option', {value, label})));
    document.body.append(list('machine-names', JSON.parse(machines.out).machines.map((each) => [each.machine,
      each.name])));
    const lines = models.out.split('\n');
    const end = lines.indexOf('');
    document.body.append(list('model-names', lines.slice(1, end < 0 ? undefined : end).map((line) => [line.trim(),
      ''])));
    const version = await ask(['--version']);
    at('version').textContent = version.out.trim();
  }
}

if (supported()) {
  const app = new App();
  globalThis.rooflinePage = app;
  app.refresh();
  app.names().catch(() => { /* Names are only offered; the answer says what is wrong with the program itself. */ });
}
