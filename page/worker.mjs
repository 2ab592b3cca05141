// The program, in a thread of its own: messages bring an id and words of the command line, and are answered with that
// id, a search for plans also with how far it has come. The single file of the page gives the worker its WebAssembly at
// once; elsewhere the first message brings it.
import {start} from './core.mjs';

let begin;
const core = new Promise((resolve, reject) => {
  begin = (wasm) => start({wasm}).then(resolve, reject);
});
if (self.rooflineWasm) begin(self.rooflineWasm);

const pause = 100; // ms between two messages about a search

async function answer({id, words, files}) {
  let told = performance.now();
  const watch = (searched) => {
    if (performance.now() - told < pause) return;
    told = performance.now();
    self.postMessage({id, searched});
  };
  try {
    const {code, out, err, written} = await (await core).ask(words, files, watch);
    self.postMessage({id, answer: {code, out, err, written}});
  } catch (error) {
    self.postMessage({id, failed: String(error?.message ?? error)});
  }
}

self.onmessage = ({data}) => {
  if (data.wasm) begin(data.wasm);
  else answer(data);
};
