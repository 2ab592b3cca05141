// The program, in a thread of its own: messages bring an id and words of the command line, and are answered with that
// id. The single file of the page gives the worker its WebAssembly at once; elsewhere the first message brings it.
import {start} from './core.mjs';

let begin;
const core = new Promise((resolve, reject) => {
  begin = (wasm) => start({wasm}).then(resolve, reject);
});
if (self.rooflineWasm) begin(self.rooflineWasm);

async function answer({id, words, files}) {
  try {
    const {code, out, err, written} = await (await core).ask(words, files);
    self.postMessage({id, answer: {code, out, err, written}});
  } catch (error) {
    self.postMessage({id, failed: String(error?.message ?? error)});
  }
}

self.onmessage = ({data}) => {
  if (data.wasm) begin(data.wasm);
  else answer(data);
};
