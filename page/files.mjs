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

/// Reads files and shows the view for which the first of them is; the others count as files of the same folder.
export async function take(app, files) {
  const banner = document.getElementById('link-trouble');
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
      banner.textContent = `${error.message}.`;
      banner.hidden = false;
    }
    status.hidden = true;
  }
  if (!names.length) return;
  const first = names.find(({name}) => name.endsWith('.index.json')) ?? names[0];
  app.state.beside.set(first.name, names.map(({name}) => name));
  const kind = kindOf(first.name, first.bytes);
  if (kind === 'model') {
    const view = ['train', 'serve'].includes(app.state.view) ? app.state.view : 'model';
    app.state.set({'model.model': first.name}, {view});
  } else if (kind === 'program') {
    app.state.set({'op.program': new TextDecoder().decode(first.bytes)}, {view: 'op'});
  } else {
    app.state.set({'profile.file': first.name, 'profile.kind': kind, 'profile.plot': 'roofline'}, {view: 'profile'});
  }
  announce(`${first.name} was read${first.note ? `: ${first.note}` : ''}`, 0);
}

/// A button that opens the browser's choice of files.
export function fileField(app, label, accept) {
  const input = el('input', {type: 'file', accept, class: 'file', 'aria-label': label, on: {change: () => {
    take(app, [...input.files]);
    input.value = '';
  }}});
  return el('div', {class: 'field file-field'}, el('span', {class: 'label', text: label}), input,
    el('p', {class: 'hint', text: 'or drop it anywhere on the page; it stays in this browser'}));
}
