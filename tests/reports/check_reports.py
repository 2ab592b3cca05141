#!/usr/bin/env python3
"""Makes reports (--html) of every command that has them, and reads them as a browser and a mail program would.

Each must be well-formed HTML that loads nothing, admits no script but its own (whose hash is compared), and says all
that the text of the same command says: each number and name of it. Names from files and command lines are never markup.

usage: check_reports.py --program build/roofline
Prints a line per failure, then 'N passed, N failed, N skipped'; exits with 1 if something failed.
"""

import argparse
import base64
import hashlib
import html.parser
import pathlib
import re
import subprocess
import sys
import tempfile

SCRIPT = '<script>alert(1)</script>'
HOSTILE = '"><img src=x onerror=alert(1)>' + "'&"
VOID = {"meta", "br", "hr", "img", "input", "link"}
# What loads something, or runs something.
LOADING = {"src", "href", "xlink:href", "srcset", "data", "action", "formaction", "poster", "background", "style"}

MODULE = """HloModule m
ENTRY e {
  p = f32[64,64]{1,0} parameter(0)
  q = f32[64,64]{1,0} parameter(1)
  ROOT d = f32[64,64]{1,0} dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
KERNELS = "name,flops,bytes,measured_s\n\"%s\",1e9,1e6,1e-5\ngemm,2e12,3e9,4e-3\n" % SCRIPT
MEASURED = ("op,system,n_devices,bytes,time_us\nall_reduce,h100-sxm:8,8,67108864,400\n"
            "all_gather,h100-sxm:8,8,67108864,300\n")
CONFIG = """{"model_type": "llama", "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2,
"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000, "max_position_embeddings": 2048,
"torch_dtype": "bfloat16"}"""
FLEET = """[pools.new]
on = "h100-sxm"
chips = 4
[pools.old]
on = "a100-sxm4-80"
chips = 2
""" + "".join(f"""[[train]]
name = "{name}"
model = "config.json"
batch-tokens = "64Ki"
seq = 2048
tokens = "100G"
days = 30
chips = "{chips}"
remat = "none"
without = "sequence,context"
""" for name, chips in (("pretraining", "2..4*2"), ("<b>tuning</b>", "1..2*2")))
COSTS = """base = 1000
[[term]]
figure = "hbm.bandwidth"
usd = 75
per = "1TB/s"
from = "400GB/s"
to = "8TB/s"
source = "<i>a guess</i>"
"""
WORKLOADS = """[[workload]]
name = "matmul"
kind = "op"
program = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
dims = "B=64,D=8k,F=8k"
target = "50us"
"""
MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
SIZED = ["op", MATMUL, "--dims", "B=64,D=8192,F=8192"]

# Arguments, and the words that the page must have in its title. The names of files stand in a scratch folder.
COMMANDS = [
    (SIZED + ["--on", "h100-sxm"], "H100"),
    (["op", MATMUL, "--on", "tpu-v5e"], "TPU v5e"),
    (SIZED + ["--on", "h100-sxm", "--on", "tpu-v5e"], "bf16[B"),
    (["op", MATMUL, "--dims", "D=8192,F=8192", "--sweep", "B=1..4096*2", "--on", "h100-sxm"], "bf16[B"),
    (SIZED + ["--on", "h100-sxm", "--sweep", "hbm.bandwidth=2TB/s..8TB/s*2"], "bf16[B"),
    (["op", "bf16[B_X, D] * bf16[D, F_X] -> bf16[B, F]", "--dims", "B=512,D=8192,F=8192", "--mesh", "X=8", "--on",
      "h100-sxm:8"], "H100"),
    (["op", "two.roof", "--dims", "B=64,D=512,F=512", "--on", "h100-sxm"], "2 kernels"),
    (["model", "llama-3.1-8b"], "llama-3.1-8b"),
    (["model", "config.json", "--layers"], "config"),
    (["train", "llama-3.1-8b", "--on", "h100-sxm:8", "--mesh", "fsdp=8", "--batch-tokens", "65536", "--seq", "8192",
      "--remat", "full", "--tokens", "1G"], "Training llama-3.1-8b"),
    (["train", "llama-3.1-8b", "--on", "h100-sxm:8", "--on", "h200:8", "--mesh", "fsdp=8", "--batch-tokens", "65536",
      "--seq", "8192", "--remat", "full"], "2 slices"),
    (["train", "config.json", "--on", "h100-sxm:4", "--batch-tokens", "65536", "--seq", "2048", "--explain"],
     "Training config"),
    (["serve", "llama-3.1-8b", "--on", "h100-sxm", "--prompt", "1000", "--output", "100", "--batch", "8"],
     "Serving llama-3.1-8b"),
    (["plan", "train", "config.json", "--on", "h100-sxm:4", "--batch-tokens", "65536", "--seq", "2048", "--tokens",
      "1G", "--price", "2"], "The best plan"),
    (["plan", "train", "config.json", "--on", "h100-sxm:4", "--on", "h100-sxm:8", "--batch-tokens", "65536", "--seq",
      "2048", "--tokens", "1G", "--price", "2", "--front", "time,cost"], "The best plan"),
    (["plan", "serve", "llama-3.1-8b", "--on", "h100-sxm:2", "--prompt", "1000", "--output", "100", "--tpot", "30ms"],
     "The best servers"),
    (["plan", "--merge", "part1.json", "part2.json"], "The best plan"),
    (["plan", "fleet", "fleet.toml"], "The cheapest assignment"),
    (["plan", "design", "--base", "h200", "--vary", "hbm.bandwidth=2..8TB/s", "--cost", "costs.toml", "--for",
      "workloads.toml"], "H200"),
    (["hlo", "m.hlo", "--on", "h100-sxm"], "m.hlo"),
    (["hlo", "m.hlo", "--cost", "xla"], "m.hlo"),
    (["trace", "kernels.csv", "--on", "h100-sxm"], "kernels.csv"),
    (["validate", "measured.csv"], "measured.csv"),
    (["run", "f32[B, D] * f32[D, F] -> f32[B, F]", "--dims", "B=16,D=64,F=64", "--quick", "--threads", "1"], "f32[B"),
    (["run", "f32[B, D] * f32[D, F] -> f32[B, F]", "--sweep", "B=4..16*2", "--dims", "D=64,F=64", "--quick",
      "--threads", "1", "--on", "h100-sxm"], "f32[B"),
]


class Reader(html.parser.HTMLParser):
    """The tags and texts of a page. Tags must balance."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open = []
        self.wrong = []
        self.tags = []
        self.texts = []
        self.script = self.policy = self.title = ""

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if len(dict(attributes)) != len(attributes):
            self.wrong.append(f"<{tag}> has an attribute twice")
        if tag == "meta" and dict(attributes).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attributes)["content"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.wrong.append(f"</{tag}> closes {self.open[-1:]}")
            return
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.script += data
        elif self.open and self.open[-1] == "title" and "svg" not in self.open:
            self.title += data
        elif not self.open or self.open[-1] != "style":
            self.texts.append(data)

    def text(self):
        titles = [attributes["title"] for _, attributes in self.tags if "title" in attributes]
        return " ".join(self.texts + titles)


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, what, right, saw=""):
        if right:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {what}: {saw}")


def words_of(text):
    """The words of a text that say something: numbers and names, without bars, arrows and what stands for nothing."""
    words = re.findall(r"[A-Za-z0-9][\w.,:=/+%-]*", text)
    return {word.strip(".,:;").lower() for word in words} - {""}


def read(path):
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    return reader


def check_page(checks, name, reader):
    checks.check(f"{name}: tags balance", not reader.wrong and not reader.open, f"{reader.wrong[:3]} {reader.open}")
    loading = [(tag, key) for tag, attributes in reader.tags for key in attributes
               if key in LOADING or key.startswith("on")]
    checks.check(f"{name}: loads and runs nothing", not loading, loading[:3])
    kinds = {tag for tag, _ in reader.tags} & {"link", "img", "iframe", "object", "embed", "base", "form", "image",
                                               "use"}
    checks.check(f"{name}: has only tags that show text and pictures", not kinds, kinds)
    scripts = sum(tag == "script" for tag, _ in reader.tags)
    checks.check(f"{name}: one script and one style sheet",
                 scripts == 1 and sum(tag == "style" for tag, _ in reader.tags) == 1, scripts)
    digest = base64.b64encode(hashlib.sha256(reader.script.encode()).digest()).decode()
    checks.check(f"{name}: the policy admits this script alone",
                 f"script-src 'sha256-{digest}';" in reader.policy and "default-src 'none'" in reader.policy,
                 f"{digest} {reader.policy}")
    headings = [tag for tag, _ in reader.tags if tag in ("h1", "h2", "h3")]
    checks.check(f"{name}: one heading, then sections", headings[:1] == ["h1"] and headings.count("h1") == 1, headings)
    ids = [attributes["id"] for _, attributes in reader.tags if "id" in attributes]
    checks.check(f"{name}: ids are unique", len(ids) == len(set(ids)), ids)


def run(program, arguments, folder):
    return subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def check_command(checks, program, folder, arguments, title):
    name = " ".join(arguments[:2])
    page = folder / "report.html"
    done = run(program, [*arguments, "--html", "report.html"], folder)
    if done.returncode not in (0, 1) or not page.exists():
        checks.check(f"{name}: a report is written", False, f"{done.returncode} {done.stderr[:300]}")
        return
    reader = read(page)
    page.unlink()
    check_page(checks, name, reader)
    checks.check(f"{name}: the title", title in reader.title, reader.title)
    text = reader.text()
    for word in [*arguments, "--html"]:
        checks.check(f"{name}: the command line has {word}", word in text.replace("'\\''", "'"))
    # "8 more: all of them with --json" and the words of lines that the page has in full are no part of the answer.
    said = re.sub(r"(?m)^.*(more: all of them|more \(all of them|and \d+ more).*$", "", done.stdout)
    missing = {word for word in words_of(said) if word not in words_of(text) and word not in text.lower()}
    missing -= {"note", "above"}
    checks.check(f"{name}: the page says what the text says", not missing, sorted(missing)[:20])


def check_hostile(checks, program, folder):
    """Names that look like markup: of files, tensors, models, kernels and machines."""
    evil = folder / (HOSTILE.replace("/", "_") + ".roof")
    evil.write_text("A : bf16[B, D]\nW : bf16[D, F]\nC : bf16[B, F] = A * W\n", encoding="utf-8")
    config = folder / (SCRIPT.replace("/", "_") + ".json")
    config.write_text(CONFIG, encoding="utf-8")
    module = folder / ("<b>" + ".hlo")
    module.write_text(MODULE.replace("HloModule m", "HloModule m").replace(" d =", " d =").replace(
        "rhs_contracting_dims={0}", 'rhs_contracting_dims={0}, metadata={op_name="' + SCRIPT.replace('"', "") +
        '" source_file="<i>x.py" source_line=3}'), encoding="utf-8")
    for arguments in (["op", evil.name, "--dims", "B=64,D=512,F=512", "--on", "h100-sxm"],
                      ["op", "./" + evil.name, "--on", "h100-sxm"],
                      ["model", config.name],
                      ["train", config.name, "--on", "h100-sxm:4", "--mesh", "fsdp=4", "--batch-tokens", "65536"],
                      ["hlo", module.name, "--on", "h100-sxm"],
                      ["trace", "kernels.csv", "--on", "h100-sxm"]):
        page = folder / "report.html"
        done = run(program, [*arguments, "--html", "report.html"], folder)
        if not page.exists():
            checks.check(f"hostile {arguments}", False, done.stderr[:300])
            continue
        content = page.read_text(encoding="utf-8")
        reader = read(page)
        page.unlink()
        check_page(checks, f"hostile {arguments[:2]}", reader)
        for bad in ("<script>alert", "<img", "<b>", "<i>x.py"):
            checks.check(f"hostile {arguments[:2]}: no {bad}", bad not in content)


def check_refusals(checks, program, folder):
    for arguments, words in ((["model", "llama-3.1-8b", "--program", "--html", "a.html"], "--program"),
                             (["model", "--list", "--html", "a.html"], "--list"),
                             ([*SIZED, "--on", "h100-sxm", "--html", "-"], "standard output"),
                             (["plan", "train", "config.json", "--on", "h100-sxm:4", "--batch-tokens", "65536",
                               "--part", "1/2", "--html", "a.html"], "--merge"),
                             (["hlo", "m.hlo", "--program", "--html", "a.html"], "--html"),
                             (["trace", "kernels.csv", "--on", "h100-sxm", "--html", "kernels.csv"], "kernels.csv"),
                             ([*SIZED, "--on", "h100-sxm", "--html", "no/such/a.html"], "no/such")):
        done = run(program, arguments, folder)
        checks.check(f"{arguments}: refused", done.returncode in (1, 2) and words in done.stderr,
                     f"{done.returncode} {done.stderr}")
        checks.check(f"{arguments}: nothing is written", not (folder / "a.html").exists())
    done = run(program, [*SIZED, "--on", "h100-sxm", "--on", "no-such-machine", "--html", "a.html"], folder)
    page = folder / "a.html"
    checks.check("a machine that fails is named in the report",
                 page.exists() and "no-such-machine" in read(page).text(), done.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    program = str(pathlib.Path(parser.parse_args().program).resolve())
    checks = Checks()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "m.hlo").write_text(MODULE, encoding="utf-8")
        (folder / "kernels.csv").write_text(KERNELS, encoding="utf-8")
        (folder / "measured.csv").write_text(MEASURED, encoding="utf-8")
        (folder / "config.json").write_text(CONFIG, encoding="utf-8")
        (folder / "two.roof").write_text("A : bf16[B, D]\nW : bf16[D, F]\nV : bf16[F, D]\nH : bf16[B, F] = A * W\n"
                                         "C : bf16[B, D] = H * V\n", encoding="utf-8")
        for name, text in (("fleet", FLEET), ("costs", COSTS), ("workloads", WORKLOADS)):
            (folder / f"{name}.toml").write_text(text, encoding="utf-8")
        for part in (1, 2):
            done = run(program, ["plan", "train", "config.json", "--on", "h100-sxm:4", "--batch-tokens", "65536",
                                 "--seq", "2048", "--part", f"{part}/2"], folder)
            (folder / f"part{part}.json").write_text(done.stdout, encoding="utf-8")
        for arguments, title in COMMANDS:
            check_command(checks, program, folder, arguments, title)
        check_hostile(checks, program, folder)
        check_refusals(checks, program, folder)
    print(f"{checks.passed} passed, {checks.failed} failed, 0 skipped")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
