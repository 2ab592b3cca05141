// Files that are dropped or chosen: read in this browser, of large ones no more than is needed.
import {announce, el} from './dom.mjs';

/// The largest file that is read whole, in bytes; of files of weights only the header is read.
export const largest = 256 * 2 ** 20;

const megabytes = (bytes) => `${Math.round(bytes / 2 ** 20)} MiB`;

/// Bytes of a file, or of its header: {bytes, note}. Progress is told as a fraction.
export async function read(file, progress = () => {}) {
  if (file.name.endsWith('.safetensors')) {
    const start = new DataView(await file.slice(0, 8).arrayBuffer());
    if (start.byteLength < 8) throw new Error(`${file.name} is too short to be a file of weights`);
    const length = Number(start.getBigUint64(0, true));
    if (length + 8 > Math.min(file.size,
      largest)) throw new Error(`${file.name}: its header would have ${length} bytes`);
    return {bytes: new Uint8Array(await file.slice(0, 8 + length).arrayBuffer()),
      note: `the header of ${megabytes(file.size)}`};
  }
  if (file.name.endsWith('.gguf')) {
    const most = 32 * 2 ** 20;
    return {bytes: new Uint8Array(await file.slice(0, most).arrayBuffer()),
      note: file.size > most ? `the first ${megabytes(most)} of ${megabytes(file.size)}, which hold its header` : ''};
  }
  if (file.size > largest) {
    throw new Error(`${file.name} has ${megabytes(file.size)}; the page reads files of up to ${megabytes(largest)}, `
      + 'because they have to fit into the memory that a browser gives a page. The program reads it in a terminal');
  }
  const bytes = new Uint8Array(file.size);
  const step = 8 * 2 ** 20;
  for (let at = 0; at < file.size; at += step) {
    bytes.set(new Uint8Array(await file.slice(at, at + step).arrayBuffer()), at);
    progress(Math.min(1, (at + step) / file.size));
  }
  return {bytes, note: ''};
}

/// Whether a file is of a model, a compiled module, a profile, or a program, by its name and how it begins.
export function kindOf(name, bytes) {
  const head = new TextDecoder().decode(bytes.slice(0, 4096));
  if (/\.(safetensors|gguf)$|\.safetensors\.index\.json$/.test(name)) return 'model';
  if (/\.roof$/.test(name)) return 'program';
  if (/\.(hlo|mlir|hlo\.pb|onnx|mlirbc)(\.gz)?$/.test(name)
    || /^\s*HloModule|^\s*module\s+@|stablehlo\.|mhlo\./m.test(head)) return 'hlo';
  if (/"(model_type|architectures|hidden_size|text_config|llm_config)"/.test(new TextDecoder().decode(bytes.slice(0,
    65536)))) return 'model';
  if (/"(traceEvents|schemaVersion|deviceProperties)"/.test(head)) return 'trace';
  if (/"roofline":\s*"torch graph"/.test(head)) return 'hlo';
  return 'trace';
}

/// Takes files that are dropped anywhere on the page to the view for which they are.
export function dropTarget(app) {
  const over = (event) => {
    if (![...event.dataTransfer.types].includes('Files')) return;
    event.preventDefault();
    document.body.classList.add('dropping');
  };
  document.addEventListener('dragover', over);
  document.addEventListener('dragenter', over);
  document.addEventListener('dragleave',
    (event) => { if (!event.relatedTarget) document.body.classList.remove('dropping'); });
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    document.body.classList.remove('dropping');
    take(app, [...event.dataTransfer.files]);
  });
}

function tell(error) {
  const banner = document.getElementById('link-trouble');
  banner.textContent = `${error.message}.`;
  banner.hidden = false;
}

/// Reads files and shows the view that the first one belongs to; the others count as files of the same folder.
export async function take(app, files) {
  const status = document.getElementById('reading');
  const names = [];
  for (const file of files.slice(0, 64)) {
    const told = (part) => {
      status.hidden = false;
      status.textContent = `${file.name}: ${Math.round(part * 100)} % read`;
    };
    try {
      const {bytes, note} = await read(file, told);
      app.state.files.set(file.name, bytes);
      names.push({name: file.name, bytes, note});
    } catch (error) {
      tell(error);
    }
    status.hidden = true;
  }
  if (!names.length) return;
  const kinds = names.map(({name, bytes}) => kindOf(name, bytes));
  const first = names.find(({name}) => name.endsWith('.index.json')) ?? names[Math.max(kinds.indexOf('hlo'), 0)];
  app.state.beside.set(first.name, names.map(({name}) => name));
  const kind = kinds[names.indexOf(first)];
  if (kind === 'model') {
    const view = ['train', 'serve'].includes(app.state.view) ? app.state.view : 'model';
    app.state.set({'model.model': first.name}, {view});
  } else if (kind === 'program') {
    app.state.set({'op.program': new TextDecoder().decode(first.bytes)}, {view: 'op'});
  } else {
    const trace = kind === 'hlo' && names[kinds.indexOf('trace')]?.name;
    app.state.set({'profile.file': first.name, 'profile.kind': kind, 'profile.plot': 'roofline',
      'profile.trace': trace || ''}, {view: 'profile'});
  }
  announce(`${first.name} was read${first.note ? `: ${first.note}` : ''}`, 0);
}

/// Where the files of a directory are, if `roofline page` serves the page; else undefined.
const folder = globalThis.document?.querySelector('meta[name="roofline-files"]')?.content;

/// The names of the files of that directory.
async function served() {
  const answer = await fetch(folder);
  return answer.ok ? (await answer.json()).map(({name}) => name) : [];
}

async function fetched(name) {
  const answer = await fetch(folder + encodeURIComponent(name));
  if (!answer.ok) throw new Error(`${name} cannot be read: ${(await answer.text()).trim()}`);
  return new File([await answer.blob()], name);
}

const sought = new Set();

/// Reads those of the named files that the directory has, once. Returns whether there are any.
export async function readServed(app, names) {
  const unread = folder ? names.filter((name) => name && !sought.has(name) && !app.state.files.has(name)) : [];
  if (!unread.length) return false;
  for (const name of unread) sought.add(name);
  const there = new Set(await served());
  const found = unread.filter((name) => there.has(name));
  for (const name of found) app.state.files.set(name, (await read(await fetched(name))).bytes);
  return found.length > 0;
}

/// A choice of the files of the directory that `roofline page` serves; null without one.
function servedField(app, label) {
  if (!folder) return null;
  const first = () => el('option', {value: '', text: 'Files of the directory …'});
  const pick = el('select', {'aria-label': `${label}, of the directory`, on: {
    change: async () => {
      const name = pick.value;
      pick.value = '';
      try {
        await take(app, [await fetched(name)]);
      } catch (error) {
        tell(error);
      }
    },
    focus: () => list(),
  }}, first());
  // A list that is the same stays, so that an open choice does not close.
  let known = '';
  async function list() {
    const names = await served().catch(() => []);
    if (names.join('/') === known) return;
    known = names.join('/');
    pick.replaceChildren(first(), ...names.map((name) => el('option', {value: name, text: name})));
  }
  list();
  return pick;
}

/// A button that opens the browser's choice of files.
export function fileField(app, label, accept) {
  const input = el('input', {type: 'file', accept, class: 'file', 'aria-label': label, on: {change: () => {
    take(app, [...input.files]);
    input.value = '';
  }}});
  return el('div', {class: 'field file-field'}, el('span', {class: 'label', text: label}), input,
    servedField(app, label),
    el('p', {class: 'hint', text: 'or drop it anywhere on the page; it stays in this browser'}));
}
