#!/usr/bin/env python3
"""Writes the functions of the Python package, python/roofline/_questions.py and plan.py, from the options of the
command line, so that both doors have the same options with the same descriptions.

usage: python_signatures.py [--check] --package DIR
    --package DIR   folder that holds the built package `roofline`: build/python
    --check         write nothing, and fail if the files are not what would be written

It runs in the environment that the package is built for: build/venv/bin/python scripts/python_signatures.py ..."""

import argparse
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "roofline"

# Functions: command, what the function answers with, its summary, and the arguments that need not be named.
ASKED = {
    "op": ("OpAnswer", "Work, bounds and expected time of an operation or a program.", ["program"]),
    "machine": ("MachineAnswer",
                "Machines: all of them, one with every figure and its source, or several side by side.", ["names"]),
    "model": ("ModelAnswer", "Parameters, FLOPs and memory of a model.", ["model"]),
    "train": ("TrainAnswer", "Step time, memory and cost of training a model on a slice.", ["model"]),
    "serve": ("ServeAnswer", "Prefill, decode, memory and cost of serving a model on a slice.", ["model"]),
    "validate": ("ValidateAnswer", "Compares predictions with measurements.", ["table"]),
    "fit": ("FitAnswer", "Fits models of expected times to measurements.", ["tables"]),
    "hlo": ("HloAnswer", "What an XLA module costs: every kernel against its roofline.", ["module"]),
    "trace": ("TraceAnswer", "Where the steps of a profile go; each operation beside its bound and expected time.",
              ["profiles"]),
}
PLANNED = {
    "plan train": ("PlanAnswer", "The best way to train a model on a slice, and why the others lose.", ["model"]),
    "plan serve": ("PlanAnswer", "The best set-up of servers for a model, and what it costs.", ["model"]),
    "plan fleet": ("PlanAnswer", "Which job of a fleet runs on which chips, for the least cost.", ["file"]),
    "plan design": ("PlanAnswer", "The cheapest machine that meets targets for several workloads.", []),
    "plan": ("PlanAnswer", "The answer of a search whose parts were searched apart.", ["merge"]),
}
# Types of arguments that are not texts or numbers.
TYPES = {
    "model": "Model", "draft_model": "Model", "on": "Machines", "base": "Machine", "prefill": "Machine",
    "names": "Machines", "dims": "Sizes", "table": "Table", "lengths": "Table",
    "tables": "Table | Sequence[Table]", "profiles": "Table | Sequence[Table]", "program": "Text",
    "module": "Text | bytes", "file": "Text", "trace": "Text", "merge": "Sequence[Text]",
    "quantisation": "Text | Mapping[str, Any]",
}
REQUIRED = {"on": {"op", "train", "serve", "trace"}, "base": {"plan design"}, "cost": {"plan design"},
            "workloads": {"plan design"}, "vary": {"plan design"}}
ADDED = {
    "op": "The answer is an OpAnswer; if a size in `dims` is an array or a list of sizes, a Sweep with an array for "
          "each figure: sizes are broadcast against one another, and each dimension needs one.",
    "machine": "Without names the answer lists all machines in `machines`.",
    "validate": "`table` is the name of a CSV or Parquet file, the text of a CSV file, or a frame of pandas or table "
                "of Arrow (docs/reference/tables.md has the columns).",
    "hlo": "`module` is the name of a file with HLO text, an HLO proto, StableHLO text, an ONNX model or a graph of "
           "PyTorch, packed by gzip or not, or its contents: text, or bytes. `roofline.jax()` makes it from a "
           "function, `roofline.torch()` from a module of PyTorch.",
    "fit": "Tables are names of CSV or Parquet files, texts of CSV files, or frames of pandas or tables of Arrow.",
}
# Arguments of the package alone, by command: what takes parts of the question.
EXECUTED = {
    "plan train": ("A search is divided into parts, each of which lays out the plans of other axes.",
                   "4 for each worker, at most one for each set of axes"),
    "op": ("A sweep over arrays of sizes is divided into points that follow one another.",
           "such that a part takes a tenth of a second or more, at most 4 for each worker"),
}
EXECUTOR_NOTE = ("{} It may be any executor of concurrent.futures, of processes, Dask, MPI or others, or a client of "
                 "dask.distributed; the answer is that of one process. What a lost worker leaves is done again, with a "
                 "RuntimeWarning; an interrupt cancels what is pending (docs/guide/python.md).")
MODEL_NOTE = ("`model` is a name, the path of a config.json, its text, a dict, a configuration of transformers, or "
              "the answer of `model()`.")
MACHINE_NOTE = ("`on` is the name of a machine or slice (\"h100-sxm:8x4\"), the path of a machine file, its text, or "
                "the answer of `machine()`; a list of them is answered side by side.")


def literal(value):
    """The type of a value that is one of a few words."""
    words = value.split("|")
    plain = [word for word in words if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", word)]
    return f"Literal[{', '.join(repr(word).replace(chr(39), chr(34)) for word in words)}]" \
        if len(words) > 1 and len(plain) == len(words) and all(len(w) > 2 for w in words) else None


def type_of(option):
    if not option.value:
        return "bool"
    if option.keyword in TYPES:
        return TYPES[option.keyword]
    if option.repeated:
        return "Pairs"
    return literal(option.value) or "Value"


def described(option, options):
    # The help's own line breaks are those of a terminal.
    text = " ".join(option.help.split())
    # Words of other programs (`ncu --csv`) stay as they are.
    def keyword(found):
        name = found[1].replace("-", "_")
        return f"`{name}`" if name in options else found[0]

    text = re.sub(r"(?<![\w-])--([a-z][a-z-]*[a-z])(?![\w-])", keyword, text)
    text = text.replace(", - for standard input,", ",").replace(", or - for standard input", "")
    shape = f" ({option.value})" if option.value else ""
    return text[:1].upper() + text[1:] + shape + ("" if text.endswith(".") else ".")


def argument(keyword, text):
    return textwrap.wrap(f"{keyword}: {text}", 112, initial_indent="    ", subsequent_indent="        ")


def function(command, options, answer, summary, positional):
    name = "merge" if command == "plan" else command.split()[-1]
    plain, required, rest = [], [], []
    for keyword, option in options.items():
        kind = type_of(option)
        if keyword in positional:
            plain.append(f"{keyword}: {kind}" + (" = ()" if command == "machine" else " | None = None"
                                                 if command == "model" else ""))
        elif command in REQUIRED.get(keyword, ()):
            required.append(f"{keyword}: {kind}")
        else:
            rest.append(f"{keyword}: {kind} = False" if kind == "bool" else f"{keyword}: {kind} | None = None")
    if command in EXECUTED:
        rest += ["executor: Workers | None = None", "parts: int | None = None"]
    parameters = [*plain, *(["*"] if required or rest else []), *required, *rest]
    notes = [ADDED.get(command, "")]
    if "model" in options:
        notes.append(MODEL_NOTE)
    if "on" in options:
        notes.append(MACHINE_NOTE)
    lines = [f"def {name}(", *(f"    {each}," for each in parameters), f") -> {answer}:"]
    doc = [summary]
    for note in filter(None, notes):
        doc += ["", *textwrap.wrap(note, 112)]
    doc += ["", "Args:"]
    for keyword, option in options.items():
        doc += argument(keyword, described(option, options))
    closed = ""
    if command in EXECUTED:
        what, parts = EXECUTED[command]
        doc += argument("executor", EXECUTOR_NOTE.format(what))
        doc += argument("parts", f"Number of parts for `executor`; default: {parts}.")
        closed = " an executor that is closed;"
    doc += ["", "Raises:",
            *textwrap.wrap(f"Error: an unknown name, a wrong form or size, a file that cannot be read;{closed} with "
                           "place and remedy.", 112, initial_indent="    ", subsequent_indent="        ")]
    body = [f'    """{doc[0]}'] + [f"    {line}".rstrip() for line in doc[1:]] + ['    """']
    if command == "op":
        # A mapping of sizes without arrays is also one of sizes or arrays, so the first signature that fits is meant.
        overload = ["@overload", *lines[:-1], ") -> OpAnswer: ..."]
        overload[1] += "  # type: ignore[overload-overlap]"
        arrays = ["@overload", *(line.replace("dims: Sizes | None = None", "dims: Mapping[str, SizeLike | Array]")
                                 for line in lines[:-1]), ") -> Sweep: ..."]
        lines = [line.replace("Sizes | None", "Sizes | Mapping[str, SizeLike | Array] | None") for line in lines]
        lines[-1] = ") -> OpAnswer | Sweep:"
        call = "return ask_op(locals())"
        return "\n".join([*overload, *arrays, "@question", *lines, *body, f"    {call}"])
    asked = "ask_parts" if command in EXECUTED else "ask"
    call = f'return cast({answer}, {asked}("{command}", locals(), {answer}))'
    return "\n".join(["@question", *lines, *body, f"    {call}"])


HEAD = '''"""{doc}

Written by scripts/python_signatures.py from the options of the command line; do not edit.
"""

# ruff: noqa: A001, A002
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast{overload}

from ._answers import {answers}
from ._ask import ask, {asks}question
{sweep}from ._types import {types}

__all__ = [{names}]
'''


def wrapped_import(line):
    if len(line) <= 120 or not line.startswith("from "):
        return line
    begin, names = line.split(" import ")
    return "\n".join([f"{begin} import (", *(f"    {name}," for name in names.split(", ")), ")"])


def module(doc, functions, options):
    texts = [function(command, options[command], *rest) for command, rest in functions.items()]
    names = sorted("merge" if command == "plan" else command.split()[-1] for command in functions)
    body = "\n\n\n".join(texts)
    kinds = [kind for kind in ("Array", "Machine", "Machines", "Model", "Pairs", "SizeLike", "Sizes", "Table", "Text",
                               "Value", "Workers") if re.search(rf"\b{kind}\b", body)]
    answers = sorted({rest[0] for rest in functions.values()})
    has_op = "op" in functions
    head = HEAD.format(doc=doc, overload=", overload" if has_op else "", answers=", ".join(answers),
                       asks="ask_op, " if has_op else "ask_parts, ",
                       sweep="from ._sweep import Sweep\n" if has_op else "",
                       types=", ".join(kinds), names=", ".join(f'"{name}"' for name in names))
    head = "\n".join(wrapped_import(line) for line in head.split("\n"))
    if not re.search(r"\bAny\b", body):
        head = head.replace("import Any, ", "import ")
    return f"{head}\n\n{body}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--package", required=True)
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.package)
    # The generated modules need not exist or be right yet.
    import types
    shell = types.ModuleType("roofline")
    shell.__path__ = [str(pathlib.Path(arguments.package, "roofline"))]
    sys.modules["roofline"] = shell
    from roofline import _options

    options = _options.commands()
    failed = 0
    for name, text in (("_questions.py", module("Questions and their arguments.", ASKED, options)),
                       ("plan.py", module("Searches: the best plan, the best servers, the best machine.", PLANNED,
                                          options))):
        path = PACKAGE / name
        if arguments.check:
            same = path.exists() and path.read_text(encoding="utf-8") == text
            if not same:
                print(f"{path.relative_to(ROOT)} is not what the options say; run scripts/python_signatures.py")
                failed += 1
        else:
            path.write_text(text, encoding="utf-8")
    print(f"{2 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
