#!/usr/bin/env python3
"""Asks about every preset under every kind of parallelism, and fails on a refusal that no framework would give.

The kinds of parallelism are used alone and in pairs, in training and serving, on GPUs and TPUs.

    scripts/check_plans.py --program build/roofline            a sample that takes less than a minute
    scripts/check_plans.py --program build/roofline --all      everything, with pairs in both orders

A refusal is legitimate only if its reason holds: heads that the degree does not divide, experts that the configuration
does not have, more stages than layers.
"""

import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

AXES = ["data", "fsdp", "tensor", "sequence", "context", "expert", "pipeline"]
SLICES = ["h100-sxm:8", "tpu-v5e:2x4"]
CHIPS = 8
STRIDE = 17  # of the sample: coprime to the number of plans, so that every plan is tried with some models

# Questions that were once refused although frameworks support them are always asked.
ALWAYS = [
    ("train", "gpt-oss-20b", SLICES[0], "tensor=8"),
    ("serve", "gpt-oss-20b", SLICES[0], "tensor=8"),
    ("train", "qwen3.5-397b-a17b", SLICES[0], "data=8"),
    ("train", "qwen3.5-397b-a17b", SLICES[0], "context=8"),
    ("train", "llama-3.2-11b-vision", SLICES[0], "context=8"),
    ("train", "llama-3.2-11b-vision", SLICES[0], "data=2,pipeline=4"),
    ("train", "llama-3.1-8b", SLICES[0], "tensor=2,context=4"),
    ("train", "llama-3.1-8b", SLICES[0], "tensor=2,sequence=4"),
]


def plans(both_ways):
    """Returns plans as axes with degrees: one axis over all chips, and pairs of axes with degrees of two and four."""
    for axis in AXES:
        yield f"{axis}={CHIPS}"
    for a, b in itertools.permutations(AXES, 2) if both_ways else itertools.combinations(AXES, 2):
        yield f"{a}=2,{b}=4"


def presets(text):
    """Returns the configuration of each model by name, as text."""
    parts = re.split(r'^\["([^"]+)"\]$', text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def no_experts(_match, keys):
    return "expert" not in keys


def no_heads(_match, keys):
    return "num_attention_heads" not in keys and "n_head" not in keys


def heads_do_not_divide(match, _keys):
    degree, heads, shared = (int(match[name].replace(",", "")) for name in ("degree", "heads", "shared"))
    return heads % degree != 0 or (degree % shared != 0 and shared % degree != 0)


def too_few(match, _keys):
    return int(match["degree"]) > int(match["there"])


# An error code, its message, and a condition on the model and the message's numbers.
LEGITIMATE = [
    ("bad_plan", r"expert=\d+, but the model has no experts", no_experts),
    ("bad_plan", r"(sequence|tensor)=\d+, but the model has no heads", no_heads),
    (
        "bad_plan",
        r"(tensor|sequence)=(?P<degree>\d+) does not divide (?P<heads>\d+) heads \((?P<shared>\d+) KV heads,.*",
        heads_do_not_divide,
    ),
    ("bad_plan", r"pipeline=(?P<degree>\d+) .*(?P<there>\d+) layers.*", too_few),
]


def legitimate(error, keys):
    for code, pattern, holds in LEGITIMATE:
        match = re.fullmatch(pattern, error["message"])
        if error["code"] == code and match and holds(match, keys):
            return True
    return False


def words(kind, model, slice_, mesh):
    """Returns the command for a question. Sequences fit the context of every model and are divisible by all degrees."""
    command = [kind, model, "--on", slice_, "--mesh", mesh]
    if kind == "train":
        return [*command, "--batch-tokens", "16Ki", "--seq", "512"]
    return [*command, "--prompt", "512", "--output", "64", "--batch", "16"]


def ask(program, question):
    """Returns the question and its error; no error for an answer."""
    ran = subprocess.run([program, *words(*question), "--json"], capture_output=True, text=True, check=False)
    try:
        return question, json.loads(ran.stdout).get("error")
    except ValueError:
        return question, {"code": "no answer", "message": f"status {ran.returncode}: {ran.stderr.strip()[:300]}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--all", action="store_true", help="ask every question, with pairs in both orders")
    parser.add_argument("--models", default="", help="ask only about presets whose names match this regular expression")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    known = presets(pathlib.Path("data/presets.toml").read_text(encoding="utf-8"))
    chosen = [name for name in known if re.search(options.models, name)]
    questions = list(itertools.product(["train", "serve"], chosen, SLICES, plans(options.all)))
    if not options.all and not options.models:
        questions = ALWAYS + questions[::STRIDE]
    refused = collections.defaultdict(list)
    answered = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for question, error in pool.map(lambda each: ask(options.program, each), questions):
            answered += error is None
            if error and not legitimate(error, known[question[1]]):
                refused[error["code"], re.sub(r"`[^`]*`|[\d,]+", "_", error["message"])].append((question, error))
    for found in sorted(refused.values(), key=len, reverse=True):
        question, error = found[0]
        print(f"{len(found)} times {error['code']}: {error['message']}\n    roofline {' '.join(words(*question))}")
        print(f"    {', '.join(sorted({each[0][1] for each in found}))}")
    wrong = sum(map(len, refused.values()))
    right = len(questions) - answered - wrong
    print(f"{len(questions)} plans: {answered} answered, {right} rightly refused, {wrong} not")
    return 1 if wrong or not questions else 0


if __name__ == "__main__":
    sys.exit(main())
