#!/usr/bin/env python3
"""Checks that no line of sources and documents is longer than 120 characters.

Sources are all files in C++, Python and CMake's language, and the shell script dev; documents are README.md and all
other Markdown files in the root folder and in docs/. Three kinds of lines of a document may be longer because they
cannot be broken: rows of tables, lines with a link, and output of a program in a block of code (but not its commands).
A line of a source may be longer only if it contains an address (https://...) or, in C++, a part of a raw string.

usage: check_lines.py [--root DIR] [--folders]     DIR is the repository; --folders adds counts of long lines
Prints one line per violation, then 'N passed, N failed' counting files; exits with 1 if a file failed."""

import argparse
import collections
import pathlib
import re
import sys

LIMIT = 120
FOLDERS = "src include tests bench fuzz tools scripts cmake python page".split()
CPP = {".hpp", ".cpp", ".h", ".cc", ".cu"}
SOURCES = CPP | {".py", ".pyi", ".cmake", ".in"}
SINGLE_SOURCES = ["CMakeLists.txt", "dev"]
FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})\s*(\S*)")
LINK = re.compile(r"\]\(|https?://")
RAW_STRING = re.compile(r'R"(?P<delimiter>[^()\\ \t\n]{0,16})\(.*?\)(?P=delimiter)"', re.S)


def files_of(root):
    """Returns all files to check, sorted."""
    found = [root / name for name in SINGLE_SOURCES]
    for folder in FOLDERS:
        found += [file for file in (root / folder).rglob("*") if file.suffix in SOURCES]
    found += [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    return sorted(file for file in found if file.is_file())


def prose_of(lines):
    """Yields (line number, line) of a document without tables, links and output in blocks of code."""
    fence, console = "", False
    for number, line in enumerate(lines, 1):
        match = FENCE.match(line)
        if match and not fence:
            fence, console = match.group(1), match.group(2) == "console"
            continue
        if match and match.group(1).startswith(fence) and not match.group(2):
            fence = ""
            continue
        printed = console and not line.startswith("$ ") and not lines[number - 2].endswith("\\")
        if fence and printed:
            continue
        if not fence and (line.lstrip().startswith("|") or LINK.search(line)):
            continue
        yield number, line


def lines_of_raw_strings(text):
    """Returns the numbers of all lines that contain a part of a C++ raw string."""
    numbers = set()
    for match in RAW_STRING.finditer(text):
        first = text.count("\n", 0, match.start()) + 1
        numbers.update(range(first, first + match.group(0).count("\n") + 1))
    return numbers


def long_lines(path, text):
    """Returns the violations of one file as (line number, length)."""
    lines = text.split("\n")
    if path.endswith(".md"):
        checked = prose_of(lines)
    else:
        exempt = lines_of_raw_strings(text) if pathlib.PurePath(path).suffix in CPP else set()
        exempt |= {number for number, line in enumerate(lines, 1) if "https://" in line}
        checked = ((number, line) for number, line in enumerate(lines, 1) if number not in exempt)
    return [(number, len(line)) for number, line in checked if len(line) > LIMIT]


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Checks the length of lines in sources and documents.")
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parent.parent, type=pathlib.Path)
    parser.add_argument("--folders", action="store_true")
    options = parser.parse_args(arguments)
    passed = failed = 0
    by_folder = collections.Counter()
    for file in files_of(options.root):
        path = file.relative_to(options.root).as_posix()
        violations = long_lines(path, file.read_text(encoding="utf-8", errors="replace"))
        for number, length in violations:
            print(f"{path}:{number}: {length} characters, at most {LIMIT}")
        passed, failed = passed + (not violations), failed + bool(violations)
        by_folder[path.split("/")[0]] += len(violations)
    if options.folders:
        for folder, count in sorted(by_folder.items()):
            print(f"{folder}: {count} long lines")
    if not passed and not failed:
        print(f"{options.root}: no sources and no documents")
        failed = 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
