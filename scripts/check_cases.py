#!/usr/bin/env python3
"""Runs the rows of tests/cases/*.tsv and compares numbers in the program's JSON with values derived independently.

A row has six fields, separated by tabs:
    id          name of the case; all rows of a case share it
    arguments   arguments of `roofline`, quoted as for a shell; --json is added
    path        place in the reply: a.b[0].c, critical[dim=B,level=hbm].exact, notes.length; `exit` is the exit status
    expected    a number, null, true, false, `number` (any finite number) or a text
    tolerance   relative tolerance of a number; 0 means exact
    derivation  a sentence that derives the expected value without this program; required
Empty lines and lines that start with # are ignored. The exit status must be 0 or 1, unless the row is about the error
or the exit status. Commands run in parallel in a temporary folder with copies of tests/cases/files/* and
docs/examples/*, so none may write there.

usage: check_cases.py [--program FILE] [--root DIR] [--jobs N] [FILE.tsv ...]
Prints each row that differs, then 'N passed, N failed'; exits with 1 if a row failed."""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import typing

TIMEOUT_S = 60
STEP = re.compile(r"\.?([A-Za-z_][^.\[\]]*)|\[(-?\d+)\]|\[([^\[\]=]+=[^\[\]]*)\]")


class Row(typing.NamedTuple):
    name: str
    arguments: str
    path: str
    expected: str
    tolerance: float
    derivation: str


class Reply(typing.NamedTuple):
    """A reply: status is None if the program did not end; value is None if it printed no JSON."""

    status: typing.Optional[int]
    value: typing.Any
    said: str


class NotThere(Exception):
    """Raised if the reply has nothing at the path."""


def parse_row(line):
    """Returns the row. Raises ValueError if it is malformed."""
    fields = line.split("\t")
    if len(fields) != len(Row._fields):
        raise ValueError(f"{len(fields)} fields, not {len(Row._fields)}: {', '.join(Row._fields)}")
    if not all(field.strip() for field in fields):
        raise ValueError(f"no {next(name for name, field in zip(Row._fields, fields) if not field.strip())}")
    tolerance = float(fields[4])
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance {fields[4]} is not in [0, 1)")
    if not re.search(r"\w \w", fields[5]):
        raise ValueError(f"derivation '{fields[5]}' is not a sentence")
    shlex.split(fields[1])
    steps_of(fields[2])
    return Row(*fields[:4], tolerance, fields[5])


def steps_of(path):
    """Returns the parts of a path: a key, an index, or the conditions on an element of a list. Raises ValueError."""
    steps, position = [], 0
    while position < len(path):
        match = STEP.match(path, position)
        # Every key but the first follows a dot.
        if not match or (match.group(1) and (position == 0) == match.group(0).startswith(".")):
            raise ValueError(f"path '{path}' is not understood at '{path[position:]}'")
        key, index, conditions = match.groups()
        if key is not None:
            steps.append(key)
        elif index is not None:
            steps.append(int(index))
        else:
            steps.append(dict(condition.split("=", 1) for condition in conditions.split(",")))
        position = match.end()
    if not steps:
        raise ValueError("an empty path")
    return steps


def look_up(value, path):
    """Returns the value at the path. Raises NotThere."""
    walked = ""
    for step in steps_of(path):
        where = walked or "the reply"
        if isinstance(step, dict):
            if not isinstance(value, list):
                raise NotThere(f"{where} is not a list")
            hits = [v for v in value if isinstance(v, dict)
                    and all(k in v and as_text(v[k]) == w for k, w in step.items())]
            if len(hits) != 1:
                raise NotThere(f"{where} has {len(hits)} elements with {step}")
            value = hits[0]
        elif isinstance(step, int):
            if not isinstance(value, list) or not -len(value) <= step < len(value):
                raise NotThere(f"{where} has no element {step}")
            value = value[step]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        elif step == "length" and isinstance(value, (list, str, dict)):
            value = len(value)
        else:
            raise NotThere(f"{where} has no {step}")
        walked = f"{walked}.{step}" if walked else str(step)
    return value


def as_text(value):
    return value if isinstance(value, str) else json.dumps(value)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def matches(got, expected, tolerance):
    if expected in ("null", "true", "false"):
        return got is {"null": None, "true": True, "false": False}[expected]
    if expected == "number":
        return is_number(got)
    try:
        number = float(expected)
    except ValueError:
        return got == expected
    return is_number(got) and abs(got - number) <= tolerance * abs(number)


def run(arguments, program, folder):
    try:
        done = subprocess.run([program, *shlex.split(arguments), "--json"], cwd=folder, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return Reply(None, None, f"not done after {TIMEOUT_S} s")
    said = (done.stderr or done.stdout).decode("utf-8", errors="replace").strip()
    try:
        value = json.loads(done.stdout)
    except (ValueError, RecursionError):
        value = None
    return Reply(done.returncode, value, said.splitlines()[0][:200] if said else "")


def difference(row, reply):
    """Returns a description of the difference; None if the row holds."""
    if row.path == "exit":
        got = reply.status
    else:
        if reply.value is None:
            return f"no JSON (exit {reply.status}; {reply.said})"
        try:
            got = look_up(reply.value, row.path)
        except NotThere as nothing:
            return f"{nothing} (exit {reply.status}; {reply.said})"
        if reply.status not in (0, 1) and not re.match(r"(error|schema)\b", row.path):
            return f"exit {reply.status} ({reply.said})"
    if matches(got, row.expected, row.tolerance):
        return None
    return f"is {as_text(got)}, expected {row.expected}"


def rows_of(file):
    """Returns the rows of a file as (place, row), and the problems of its malformed lines."""
    rows, problems = [], []
    for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), start=1):
        line = line.rstrip("\r")
        if not line.strip() or line.startswith("#"):
            continue
        try:
            rows.append((f"{file}:{number}", parse_row(line)))
        except ValueError as error:
            problems.append(f"{file}:{number}: {error}")
    return rows, problems


def check_file(file, reply_to):
    """Returns the number of rows that hold, and the problems of all others. reply_to maps arguments to a reply."""
    rows, problems = rows_of(file)
    passed = 0
    for place, row in rows:
        wrong = difference(row, reply_to(row.arguments))
        if wrong is None:
            passed += 1
        else:
            problems.append(f"{place}: {row.name}: {row.path}: {wrong}\n"
                            f"    roofline {row.arguments}\n    {row.derivation}")
    return passed, problems


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Compares numbers in the program's replies with derived ones.")
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE.tsv")
    parser.add_argument("--program", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parent.parent, type=pathlib.Path,
                        metavar="DIR")
    parser.add_argument("--jobs", default=os.cpu_count() or 1, type=int, metavar="N")
    options = parser.parse_args(arguments)
    program = (options.program or options.root / "build/roofline").resolve()
    if not os.access(program, os.X_OK):
        print(f"{program}: no such program (./dev build makes it)\n0 passed, 1 failed")
        return 1
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for source in (options.root / "tests/cases/files", options.root / "docs/examples"):
            if source.is_dir():
                shutil.copytree(source, folder, dirs_exist_ok=True)
        files = options.files or sorted(options.root.glob("tests/cases/*.tsv"))
        asked = list(dict.fromkeys(row.arguments for file in files for _, row in rows_of(file)[0]))
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            replies = dict(zip(asked, pool.map(lambda words: run(words, program, folder), asked)))
        for file in files:
            good, problems = check_file(file, replies.__getitem__)
            for problem in problems:
                print(problem)
            passed, failed = passed + good, failed + len(problems)
    if not passed and not failed:
        print("no cases found")
        failed = 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
