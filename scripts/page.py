#!/usr/bin/env python3
"""Writes the page as one HTML file that opens from disk: index.html of a folder with its style sheets, its modules and
the core as WebAssembly inside.

The core is packed by LZMA, which makes it a quarter smaller than gzip does. Browsers cannot unpack that, so the page
also has a small module of WebAssembly that can (page/unpack). The core is packed in parts, which workers unpack at a
time.

Modules become functions in one script, in the order in which they need each other. So they may only import names from
modules of their folder (`import {a, b as c} from './x.mjs'` at the beginning of a line), and only export named
declarations that are not assigned anew. The worker (worker.mjs) is a text in that script, started from a blob; it gets
the compiled core in its first message, and finds it as `self.rooflineWasm`.

The content security policy of index.html is made stricter: scripts and styles by their hashes, and no connections.

usage: page.py --core FILE.wasm --output FILE.html [--unpack FILE.wasm] [--folder page]"""

import argparse
import base64
import gzip
import hashlib
import json
import lzma
import pathlib
import re
import sys

IMPORT = re.compile(r"""^import\s+(?:\{([^}]*)\}\s*from\s*|\*\s*as\s+(\w+)\s+from\s*|)(['"])\./([\w.-]+\.mjs)\3;?""",
                    re.M)
EXPORT = re.compile(r"^export\s+(?=(?:async\s+)?(?:function\*?|class|const)\s+(\w+))", re.M)
EXPORT_LIST = re.compile(r"^export\s*\{([^}]*)\}\s*;?", re.M)
LEFT = re.compile(r"^(?:import|export)\b.*", re.M)  # anything else
STYLE = re.compile(r'<link rel="stylesheet" href="([\w.-]+\.css)">')
SCRIPT = re.compile(r'<script type="module" src="([\w.-]+\.mjs)"></script>\n?')
AWAIT = re.compile(r"^(?:(?:const|let)\s+[^=]+=\s*)?await\b", re.M)

PARTS = 2  # of the core; more of them unpack faster where there are more than two processors, but are larger

# The script in front of the core's parts: each part is unpacked as soon as it has been read, and what is unpacked is
# compiled at once, for all workers.
FRONT = """
const urlOf = (script) => URL.createObjectURL(new Blob([script], {type: 'text/javascript'}));
const workerUrl = urlOf(WORKER);
const core = (() => {
  const able = typeof Worker === 'function' && typeof WebAssembly === 'object';
  if (!able) return Promise.reject(new Error('this browser cannot run it')); // the page says what is missing
  const unpackerUrl = urlOf(UNPACKER);
  // Unpackers start while their parts are still read.
  const unpackers = Array.from({length: PARTS}, () => new Worker(unpackerUrl));
  const parts = unpackers.map((unpacker) => new ReadableStream({
    start(to) {
      unpacker.onerror = ({message}) => to.error(new Error(message));
      unpacker.onmessage = ({data}) => {
        if (data instanceof Uint8Array) {
          to.enqueue(data);
          return;
        }
        unpacker.terminate();
        if (data === null) to.close();
        else to.error(new Error(data));
      };
    },
  }));
  let next = 0;
  globalThis.rooflinePart = (packed) => unpackers[next++].postMessage([UNPACK, packed]);
  let problem = null;
  const bytes = new ReadableStream({
    async start(to) {
      try {
        for (const part of parts.map((each) => each.getReader())) {
          for (let got = await part.read(); !got.done; got = await part.read()) to.enqueue(got.value);
        }
        to.close();
      } catch (error) {
        problem = error; // it is more precise than that of the compiler
        to.error(error);
      }
    },
  });
  return WebAssembly.compileStreaming(new Response(bytes, {headers: {'Content-Type': 'application/wasm'}}))
    .catch((error) => { throw problem ?? error; });
})();
core.catch(() => {});
globalThis.rooflineWorker = () => {
  const worker = new Worker(workerUrl);
  core.then((module) => worker.postMessage(module), (problem) => worker.postMessage({noCore: problem.message}));
  return worker;
};
"""

# The script behind each part.
PART = "globalThis.rooflinePart?.(document.currentScript.previousElementSibling.textContent);"

# The worker that unpacks a part of the core: bytes 5 to 12 of a file of LZMA are its unpacked size.
UNPACKER = """'use strict';
const bytesOf = (text) => {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; ++at) bytes[at] = binary.charCodeAt(at); // ten times as fast as from()
  return bytes;
};
const step = 1 << 16; // bytes of a call
const most = 1 << 18; // of a message
self.onmessage = async ({data}) => {
  try {
    const [unpack, packed] = data.map(bytesOf);
    const {instance: {exports}} = await WebAssembly.instantiate(unpack);
    const size = Number(new DataView(packed.buffer).getBigUint64(5, true));
    const [from, to] = [packed.length, size].map((bytes) => exports.room(bytes) >>> 0);
    if (!from || !to) throw new Error('there is not enough memory');
    new Uint8Array(exports.memory.buffer, from).set(packed);
    let done = 0;
    let sent = 0;
    if (!exports.begin(from, packed.length, to, size)) throw new Error('this file is damaged');
    while (done < size) {
      const until = Math.min(size, done + step);
      done = exports.unpack(until);
      if (done !== until) throw new Error('this file is damaged');
      if (done - sent < most && done < size) continue;
      const bytes = new Uint8Array(exports.memory.buffer, to + sent, done - sent).slice();
      self.postMessage(bytes, [bytes.buffer]);
      sent = done;
    }
    self.postMessage(null);
  } catch (error) {
    self.postMessage(String(error.message ?? error));
  }
};
"""

# The worker keeps messages until the core has come.
WORKER = """'use strict';
const early = [];
self.onmessage = ({data}) => {
  if (data.noCore) throw new Error(`the core cannot be started: ${data.noCore}`);
  if (!(data instanceof WebAssembly.Module)) {
    early.push(data);
    return;
  }
  self.rooflineWasm = data;
  self.onmessage = null;
  (() => {
BODY
  })();
  for (const message of early.splice(0)) self.onmessage({data: message});
};
"""


class Trouble(Exception):
    """Something that cannot be put into one file, with its place."""


def identifier(name):
    return "module_" + re.sub(r"\W", "_", name.removesuffix(".mjs"))


def names_of(listed, separator):
    """Returns the names of `a, b as c` with another word between a name and its other name."""
    names = [part.strip() for part in listed.split(",") if part.strip()]
    return ", ".join(re.sub(r"\s+as\s+", separator, name) for name in names)


def exported(listed):
    """Returns the members of an object with the names of `export {a, b as c}`."""
    pairs = [part.split() for part in listed.split(",") if part.strip()]
    return [pair[0] if len(pair) == 1 else f"{pair[2]}: {pair[0]}" for pair in pairs]


class Bundle:
    """Modules as functions, each behind those that it imports."""

    def __init__(self, folder):
        self.folder = folder
        self.done = {}
        self.open = []

    def add(self, name):
        if name in self.done:
            return
        if name in self.open:
            raise Trouble(f"{name}: modules import each other in a circle: {' -> '.join([*self.open, name])}")
        self.open.append(name)
        text = (self.folder / name).read_text(encoding="utf-8")
        members = []

        def imported(match):
            listed, whole, _, other = match.groups()
            self.add(other)
            if whole:
                return f"const {whole} = {identifier(other)};"
            return f"const {{{names_of(listed, ': ')}}} = {identifier(other)};" if listed is not None else ""

        def declared(match):
            members.append(match.group(1))
            return ""

        def given(match):
            members.extend(exported(match.group(1)))
            return ""

        text = IMPORT.sub(imported, text)
        text = EXPORT.sub(declared, text)
        text = EXPORT_LIST.sub(given, text)
        if left := LEFT.search(text):
            line = text.count("\n", 0, left.start()) + 1
            raise Trouble(f"{name}:{line}: this cannot be put into one file: {left.group()}")
        before, after = ("await (async () => {", "})()") if AWAIT.search(text) else ("(() => {", "})()")
        self.done[name] = (f"// {name}\nconst {identifier(name)} = {before}\n{text.rstrip()}\n"
                           f"return {{{', '.join(members)}}};\n{after};\n")
        self.open.pop()

    def text(self):
        return "\n".join(self.done.values())


def bundle(folder, name):
    made = Bundle(folder)
    made.add(name)
    return made.text()


def ascii_only(text, escaped):
    """Returns the text with other characters escaped: browsers read ASCII faster, and keep it in a byte for each."""
    return re.sub(r"[^\x00-\x7f]", lambda sign: escaped(sign.group()), text)


def in_html(script):
    """A script as it may stand in HTML. Both are the same in strings, templates and regular expressions."""
    script = ascii_only(script, lambda sign: json.dumps(sign)[1:-1])
    return re.sub(r"<(?=/script|!--)", r"\\x3C", script, flags=re.I)


def hash_of(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def with_policy(html, scripts, styles):
    """Returns the page with a policy that allows these scripts and these styles, and nothing from outside."""
    directives = {
        "script-src": " ".join([*map(hash_of, scripts), "'wasm-unsafe-eval'"]),
        "style-src": " ".join(hash_of(style) for style in styles) or "'none'",
        "worker-src": "blob:",
        "connect-src": "'none'",
    }
    policy = re.compile(r"(<meta\s+http-equiv=\"Content-Security-Policy\"\s+content=\")([^\"]*)(\">)")
    found = policy.search(html)
    if not found:
        raise Trouble("index.html: no content security policy in a meta element")
    kept = [each.split() for each in found.group(2).split(";") if each.strip()]
    kept = [" ".join(each) for each in kept if each[0] not in directives]
    text = "; ".join(kept + [f"{name} {value}" for name, value in directives.items()])
    return html[: found.start()] + found.group(1) + text + found.group(3) + html[found.end():]


def packed(part):
    """Returns a file of LZMA that states the size. WebAssembly's instructions are not aligned, so pb is 0."""
    filters = [{"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 23,
                "lc": 4, "lp": 0, "pb": 0}]
    file = lzma.compress(part, format=lzma.FORMAT_ALONE, filters=filters)
    return file[:5] + len(part).to_bytes(8, "little") + file[13:]


def base64_of(content):
    return base64.b64encode(content).decode()


def page(folder, core, unpack):
    """Returns the page of a folder with the core inside, and with what unpacks it."""
    html = (folder / "index.html").read_text(encoding="utf-8")
    styles = []

    def inlined(match):
        style = (folder / match.group(1)).read_text(encoding="utf-8")
        # the space ends the escape: CSS takes one behind it, which would otherwise be the text's own
        styles.append(ascii_only(style, lambda sign: f"\\{ord(sign):06x} "))
        return f"<style>{styles[-1]}</style>"

    html = STYLE.sub(inlined, html)
    scripts = SCRIPT.findall(html)
    if len(scripts) != 1:
        raise Trouble(f"index.html: it has {len(scripts)} scripts of modules, not one")
    html = SCRIPT.sub("", html)
    size = -(-len(core) // PARTS)
    parts = [core[at:at + size] for at in range(0, len(core), size)]
    worker = WORKER.replace("BODY", bundle(folder, "worker.mjs"))
    front = FRONT.replace("PARTS", str(len(parts)))
    for name, text in (("UNPACKER", UNPACKER), ("UNPACK", base64_of(unpack)), ("WORKER", worker)):
        front = re.sub(rf"\b{name}\b", lambda _, text=text: json.dumps(text), front)
    # The function hides the names of its constants from the script of the page.
    front = in_html(f"(() => {{{front}}})();")
    script = in_html(bundle(folder, scripts[0]))
    html = with_policy(html, [front, PART, script], styles)
    end = f"<script>{front}</script>\n" + "".join(
        f"<script type=\"application/octet-stream\" class=\"core\">{base64_of(packed(part))}</script>"
        f"<script>{PART}</script>\n" for part in parts) + f"<script type=\"module\">{script}</script>\n</body>"
    before, found, after = html.rpartition("</body>")
    if not found:
        raise Trouble("index.html: it has no </body>")
    return before + end + after


def main():
    parser = argparse.ArgumentParser(description="Writes the page as one HTML file.")
    parser.add_argument("--core", required=True, type=pathlib.Path, metavar="FILE.wasm")
    parser.add_argument("--unpack", type=pathlib.Path, metavar="FILE.wasm", help="default: unpack.wasm beside the core")
    parser.add_argument("--output", required=True, type=pathlib.Path, metavar="FILE.html")
    parser.add_argument("--folder", default="page", type=pathlib.Path)
    options = parser.parse_args()
    try:
        unpack = options.unpack or options.core.with_name("unpack.wasm")
        html = page(options.folder, options.core.read_bytes(), unpack.read_bytes())
    except (Trouble, OSError) as problem:
        sys.exit(f"page.py: {problem}")
    options.output.write_text(html, encoding="utf-8")
    sent = len(gzip.compress(html.encode(), 9, mtime=0))
    print(f"{options.output}: {len(html.encode()) / 1e6:.2f} MB, {sent / 1e6:.2f} MB with gzip")


if __name__ == "__main__":
    main()
