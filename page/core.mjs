// The core of roofline: questions in the words of the command line, and their answers. It runs wherever WebAssembly
// does, in a worker of the page or in node.

// Names of what the program expects of an operating system (WASI). All else is answered with `not there`.
const NOT_THERE = 52; // ENOSYS
const BAD_FILE = 8; // EBADF
const DONE = 0;

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Thrown to leave WebAssembly with an answer. */
class Left extends Error {
  constructor(list) {
    super('the question has been answered');
    this.list = list;
  }
}

/** Returns the functions that the module imports. `memory` gives its memory. */
function system(memory) {
  const put = (at, value) => memory().setUint32(at, value, true);
  return {
    environ_sizes_get(count, bytes) {
      put(count, 0);
      put(bytes, 0);
      return DONE;
    },
    environ_get: () => DONE,
    clock_time_get(clock, _precision, at) {
      const real = 0;
      const ms = clock === real ? Date.now() : performance.now();
      memory().setBigUint64(at, BigInt(Math.round(ms * 1e6)), true);
      return DONE;
    },
    fd_prestat_get: () => BAD_FILE,
  };
}

/** Returns the strings of a list (page/src/message.hpp) as bytes. */
function stringsOf(view) {
  const strings = [];
  let at = view.byteOffset + 4;
  for (let left = view.getUint32(0, true); left > 0; --left) {
    const bytes = new DataView(view.buffer, at, 4).getUint32(0, true);
    strings.push(new Uint8Array(view.buffer, at + 4, bytes));
    at += 4 + bytes;
  }
  return strings;
}

function answerOf(view) {
  const [code, out, err, ...rest] = stringsOf(view).map((bytes) => decoder.decode(bytes));
  const written = {};
  for (let i = 0; i + 1 < rest.length; i += 2) written[rest[i]] = rest[i + 1];
  return {code: Number(code), out, err, written};
}

/** Returns what is answered when WebAssembly itself gives up: without memory, or when calls are nested too deeply. */
function failure(problem, words) {
  const deep = problem instanceof RangeError;
  const message = deep ? 'the question nests too deeply for this browser' : `the core failed: ${problem.message}`;
  const hint = deep ? 'use the program' : 'use the program, and report this if it answers';
  if (words.includes('--json')) {
    const error = {code: 'page', message, line: null, column: null, source: null, hint};
    return {code: 1, out: `${JSON.stringify({schema: 1, error})}\n`, err: '', written: {}};
  }
  return {code: 1, out: '', err: `error: ${message}\nhint: ${hint}\n`, written: {}};
}

/** An instance of the module, which is used until it is left in the middle of a question. */
class Instance {
  constructor(module) {
    const memory = () => new DataView(this.exports.memory.buffer);
    const known = system(memory);
    const functions = {
      leave: (at, bytes) => {
        throw new Left(this.view(at, bytes));
      },
      searched: (lookedAt, plans, best) => this.watch?.({lookedAt, plans, best}),
    };
    const imports = {roofline: functions, wasi_snapshot_preview1: {}};
    for (const {module: from, name} of WebAssembly.Module.imports(module)) {
      if (from in imports && !(name in functions)) imports[from][name] = known[name] ?? (() => NOT_THERE);
    }
    this.exports = new WebAssembly.Instance(module, imports).exports;
    this.exports._initialize();
  }

  view(at, bytes) {
    return new DataView(this.exports.memory.buffer, at >>> 0, bytes >>> 0);
  }

  /** Asks with a list of strings; returns the answer's. `watch` is told how far a search for plans has come. */
  ask(strings, watch) {
    this.watch = watch;
    const bytes = strings.reduce((sum, each) => sum + 4 + each.length, 4);
    const at = this.exports.room(bytes) >>> 0;
    const view = this.view(at, bytes);
    const memory = new Uint8Array(this.exports.memory.buffer);
    view.setUint32(0, strings.length, true);
    let place = 4;
    for (const each of strings) {
      view.setUint32(place, each.length, true);
      memory.set(each, at + place + 4);
      place += 4 + each.length;
    }
    const list = this.exports.ask();
    return this.view(list, this.exports.answer_bytes());
  }
}

/** Starts the core. `wasm` are the bytes of core.wasm, or the module compiled from them, which workers can be sent. */
export async function start({wasm}) {
  const module = wasm instanceof WebAssembly.Module ? wasm : await WebAssembly.compile(wasm);
  let instance = new Instance(module);
  return {
    module,
    /**
     * Answers a question. `words` are those of the command line without the program's name, `files` the contents of
     * the files that they name. Returns the exit status, what the program prints, and what it writes to files.
     * `watch` is told how far a search for plans has come: {lookedAt, plans, best} with the number of plans, 0 where
     * it is not known beforehand, and the least seconds of a step, or of a chip for a token, 0 where none fits so far.
     */
    ask(words, files = {}, watch = undefined) {
      const strings = [String(words.length), ...words].map((word) => encoder.encode(word));
      for (const [name, content] of Object.entries(files)) strings.push(encoder.encode(name), content);
      try {
        instance ??= new Instance(module);
        return answerOf(instance.ask(strings, watch));
      } catch (problem) {
        instance = null; // it was left in the middle of its work
        if (problem instanceof Left) return answerOf(problem.list);
        const gaveUp = problem instanceof WebAssembly.RuntimeError || problem instanceof RangeError;
        if (gaveUp) return failure(problem, words);
        throw problem;
      }
    },
  };
}
