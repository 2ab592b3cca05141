#!/usr/bin/env python3
"""Runs the commands in the documentation and compares their output with the documented one.

Transcripts are the ```console blocks of README.md and docs/**/*.md and the whole of tests/golden/*.txt:

    $ roofline op 'bf16[B] * bf16[B] -> bf16[]' \
        --on tpu-v5e
    standard output and standard error together, exactly
    [exit 2]

A line '$ command' (which a backslash at its end continues) is followed by its output, up to the next such line or the
end. Trailing blank lines are ignored, and text before the first command is prose. `[exit N]` as the last line asserts
that exit status; without it the command must succeed. Commands that do not start with `roofline` are not run. The
commands of one file run in order and share a temporary folder with copies of tests/golden/files/* and docs/examples/*;
files are checked in parallel.

usage: check_transcripts.py [--program FILE] [--root DIR] [--jobs N] [--timeout SECONDS] [--update] [FILE ...]
--update writes the current output of the program into the files: review the difference before you commit it.
Prints a diff for each failure, then 'N passed, N failed'; exits with 1 if something failed."""

import argparse
import concurrent.futures
import dataclasses
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TIMEOUT_S = 60  # of a released program; with sanitizers it takes many times as long
CRASHED = 128  # the exit status that a shell reports for a signal is at least this


@dataclasses.dataclass
class Step:
    """A command and its expected output, which is in lines [begin, end) of the file."""

    command: str
    line: int
    begin: int
    end: int

    def runs(self):
        return re.match(r"roofline(\s|$)", self.command) is not None


def blocks_of(lines, markdown):
    """Returns ranges [begin, end) of lines that are transcripts."""
    if not markdown:
        return [(0, len(lines))]
    found, begin, fence = [], None, ""
    for number, line in enumerate(lines):
        match = re.match(r"[ ]{0,3}(`{3,}|~{3,})\s*(\S*)", line)
        if not match:
            continue
        if not fence:
            fence = match.group(1)
            begin = number + 1 if match.group(2) == "console" else None
        elif match.group(1).startswith(fence) and not match.group(2):
            if begin is not None:
                found.append((begin, number))
            fence, begin = "", None
    if fence and begin is not None:
        raise ValueError(f"line {begin}: the console block is not closed")
    return found


def steps_of(lines, markdown):
    """Returns the commands of a transcript in order."""
    steps = []
    for begin, end in blocks_of(lines, markdown):
        number, in_block = begin, []
        while number < end:
            if not lines[number].startswith("$ "):
                number += 1
                continue
            first, command = number, lines[number][2:]
            while command.endswith("\\") and number + 1 < end:
                number += 1
                command = command[:-1] + lines[number]
            number += 1
            if in_block:
                in_block[-1].end = first
            in_block.append(Step(command.strip(), first + 1, number, end))
        steps += in_block
    return steps


def without_blank_end(lines):
    count = len(lines)
    while count and not lines[count - 1].strip():
        count -= 1
    return lines[:count]


def run(command, program, folder, timeout_s):
    """Returns the output of the command as lines, the last of which is its exit status if that is not 0; and whether it
    crashed."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("ROOFLINE_", "XDG_", "COLUMNS"))}
    environment.update(NO_COLOR="1", LC_ALL="C.UTF-8", HOME=folder,
                       PATH=f"{pathlib.Path(program).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    try:
        done = subprocess.run(["/bin/sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return [f"[not done after {timeout_s} s]"], True
    text = done.stdout.decode("utf-8", errors="backslashreplace")
    # Only newlines separate lines; the other separators of str.splitlines() belong to the output.
    lines = without_blank_end(text.split("\n"))
    status = done.returncode if done.returncode >= 0 else CRASHED - done.returncode
    if status:
        lines.append(f"[exit {status}]")
    return lines, status >= CRASHED


def prepare(root, folder, program):
    """Fills the folder in which commands run. Returns the path of the program there, which is named `roofline`."""
    for source in (root / "tests/golden/files", root / "docs/examples"):
        if source.is_dir():
            shutil.copytree(source, folder / "work", dirs_exist_ok=True)
    (folder / "work").mkdir(exist_ok=True)
    (folder / "bin").mkdir()
    (folder / "bin/roofline").symlink_to(program)
    return folder / "bin/roofline"


@dataclasses.dataclass
class Outcome:
    passed: int = 0
    failed: int = 0
    report: str = ""


def check_file(file, root, program, update, timeout_s=TIMEOUT_S):
    """Runs a transcript; with `update`, rewrites it. A crash always fails and is never written to the file."""
    text = file.read_text(encoding="utf-8")
    lines = text.split("\n")
    outcome, replaced = Outcome(), []
    try:
        steps = [step for step in steps_of(lines, file.suffix == ".md") if step.runs()]
    except ValueError as error:
        return Outcome(failed=1, report=f"{file}: {error}\n")
    with tempfile.TemporaryDirectory() as folder:
        binary = prepare(root, pathlib.Path(folder), program)
        for step in steps:
            expected = without_blank_end(lines[step.begin : step.end])
            got, crashed = run(step.command, binary, str(pathlib.Path(folder) / "work"), timeout_s)
            if got == expected and not crashed:
                outcome.passed += 1
            elif update and not crashed:
                outcome.passed += 1
                replaced.append((step, expected, got))
            else:
                outcome.failed += 1
                difference = difflib.unified_diff(expected, got, "expected", "got", lineterm="", n=2)
                outcome.report += f"{file}:{step.line}: $ {step.command}\n" + "".join(f"    {d}\n" for d in difference)
    for step, expected, got in reversed(replaced):
        lines[step.begin : step.begin + len(expected)] = got
        outcome.report += f"{file}:{step.line}: updated\n"
    if replaced:
        file.write_text("\n".join(lines), encoding="utf-8")
    return outcome


def transcripts(root):
    documents = sorted(root.glob("docs/**/*.md"))
    golden = sorted(root.glob("tests/golden/*.txt"))
    return [file for file in [root / "README.md", *documents, *golden] if file.is_file()]


def main(arguments=None):
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description="Compares the commands in the documentation with what they print.")
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--program", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--root", default=root, type=pathlib.Path, metavar="DIR")
    parser.add_argument("--jobs", default=os.cpu_count() or 1, type=int, metavar="N")
    parser.add_argument("--timeout", default=TIMEOUT_S, type=int, metavar="SECONDS", help="of each command")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args(arguments)
    program = (options.program or options.root / "build/roofline").resolve()
    if not os.access(program, os.X_OK):
        print(f"{program}: no such program (./dev build makes it)\n0 passed, 1 failed")
        return 1
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        check = lambda file: check_file(file, options.root, program, options.update, options.timeout)
        for outcome in pool.map(check, options.files or transcripts(options.root)):
            print(outcome.report, end="")
            passed, failed = passed + outcome.passed, failed + outcome.failed
    if not passed and not failed:
        print("no transcripts found")
        failed = 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
