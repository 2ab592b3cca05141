#!/usr/bin/env python3
"""Runs clang-tidy on all sources of src/ except tests that no earlier run has found clean in their current state.

The result for a source depends on the source, on the headers of src/ that it includes directly or indirectly, and on
.clang-tidy. scripts/tidy_record.txt, which is committed, has a digest of these for every source that was found clean,
and the day of the last run over all sources, so that a fresh clone knows what has changed since. build/tidy/passed has
further digests that were found clean in this clone.

Each source is checked alone, so it must include what it uses. If more than ALONE_AT_MOST sources have to be checked, as
after a change of a common header, --units checks the sources of a folder together, at a third of the cost. If such a
unit is not clean, its sources are checked one by one, and those results count.

usage: tidy.py [--root DIR] [--commands DIR] [--units] [--all] [--write-record] [FILE ...]
--commands DIR    holds compile_commands.json (build/tidy/commands)
--all             checks every source, alone, whatever was found clean before
--write-record    adds all clean sources to the record, and with --all the day
Prints the output of clang-tidy, the checked sources, and 'N passed, N failed' counting sources; exits with 1 if one
failed."""

import argparse
import collections
import concurrent.futures
import datetime
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import typing

ALONE_AT_MOST = 60
UNIT_AT_LEAST, UNIT_AT_MOST = 3, 16  # sources per unit: fewer gain nothing, more balance badly
RECORD = "scripts/tidy_record.txt"
PASSED = "build/tidy/passed"
HEADERS_AND_SOURCES = r"/src/[a-z_/]+\.[ch]pp$"  # in a unit the sources are included like headers
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.M)
COMPLETE = re.compile(r"^# all sources, each alone: (\d{4}-\d\d-\d\d)", re.M)
RECORD_HEAD = "# What clang-tidy found clean: a digest of each source with its headers (scripts/tidy.py).\n"


class Digests:
    """Digests of sources, each over all files of this repository that clang-tidy reads for it."""

    def __init__(self, root):
        self.root = root
        self.configuration = (root / ".clang-tidy").read_bytes()
        self.texts = {}  # of files by path; None if there is no such file
        self.includes = {}

    def text(self, path):
        if path not in self.texts:
            file = self.root / path
            self.texts[path] = file.read_bytes() if file.is_file() else None
        return self.texts[path]

    def included(self, path):
        """Returns the headers of src/ that the file includes directly."""
        if path not in self.includes:
            names = INCLUDE.findall(self.text(path).decode("utf-8", errors="replace"))
            places = [place for name in names for place in (f"src/{name}", f"{os.path.dirname(path)}/{name}")]
            self.includes[path] = [place for place in map(os.path.normpath, places) if self.text(place) is not None]
        return self.includes[path]

    def closure(self, path):
        """Returns the file and all files that it includes directly or indirectly."""
        found, to_do = {path}, [path]
        while to_do:
            new = set(self.included(to_do.pop())) - found
            found |= new
            to_do += new
        return found

    def of(self, path):
        digest = hashlib.sha256(self.configuration)
        for each in sorted(self.closure(path)):
            digest.update(f"\n{each} {len(self.text(each))}\n".encode())
            digest.update(self.text(each))
        return digest.hexdigest()[:20]


def read_record(file):
    """Returns the set of 'digest path', and the day of the last complete run or None. After a merge a source may have
    two digests."""
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    lines = {line for line in text.splitlines() if line and not line.startswith("#")}
    return lines, max(COMPLETE.findall(text), default=None)


def write_record(file, lines, day):
    head = RECORD_HEAD + (f"# all sources, each alone: {day}\n" if day else "")
    by_path = sorted(lines, key=lambda line: line.split()[::-1])
    file.write_text(head + "".join(f"{line}\n" for line in by_path), encoding="utf-8")


class Unit(typing.NamedTuple):
    """The sources that one run of clang-tidy checks: sources of one folder with the same compiler options."""

    sources: tuple
    command: str = ""  # of the first source; "" if there is only one

    def cost(self, digests):
        return sum(len(digests.text(source)) for source in self.sources)


def options_of(entry):
    """Returns the compile command without the names of its source and its object file."""
    words = shlex.split(entry["command"])
    names = ("-o", "-c")
    return tuple(word for before, word in zip(["", *words], words) if before not in names and word not in names)


def units_of(sources, entries):
    """Groups sources of a folder with the same options. A source without a compile command stays alone."""
    groups = collections.defaultdict(list)
    for source in sources:
        entry = entries.get(source)
        groups[(os.path.dirname(source), options_of(entry)) if entry else source].append(source)
    units = []
    for group in groups.values():
        if len(group) < UNIT_AT_LEAST:
            units += [Unit((source,)) for source in group]
            continue
        count = -(-len(group) // UNIT_AT_MOST)
        units += [Unit(tuple(group[i::count]), entries[group[0]]["command"]) for i in range(count)]
    return units


class Tidy:
    def __init__(self, root, commands):
        self.root, self.commands = root, commands
        self.units_folder = root / "build/tidy/units"

    def run(self, file, commands, *more):
        """Returns the output of clang-tidy for a file; empty if the file is clean."""
        options = ["-quiet", "-p", str(commands), "--extra-arg=-Wno-unknown-warning-option", *more]
        done = subprocess.run(["clang-tidy-19", *options, str(file)], cwd=self.root, capture_output=True, text=True,
                              errors="replace", check=False)
        return "" if done.returncode == 0 else done.stdout + done.stderr

    def alone(self, source):
        return self.run(source, self.commands)

    def together(self, unit):
        """Returns whether the sources of the unit are clean when they are checked together."""
        first = self.root / unit.sources[0]
        folder = self.units_folder / str(first.relative_to(self.root)).replace("/", "_")
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "unit.cpp"
        no_lint = "// NOLINT(bugprone-suspicious-include)"
        text = "".join(f'#include "{self.root / source}"  {no_lint}\n' for source in unit.sources)
        file.write_text(text, encoding="utf-8")
        command = unit.command.replace(str(first), str(file))
        entry = {"directory": str(self.commands), "command": command, "file": str(file)}
        (folder / "compile_commands.json").write_text(json.dumps([entry]), encoding="utf-8")
        return not self.run(file, folder, f"--header-filter={HEADERS_AND_SOURCES}")

    def look_at(self, unit):
        """Returns the output for each source of the unit, as (source, text)."""
        if unit.command and self.together(unit):
            return [(source, "") for source in unit.sources]
        return [(source, self.alone(source)) for source in unit.sources]


def all_sources(root):
    files = (file for file in (root / "src").rglob("*.cpp") if not file.name.endswith("_test.cpp"))
    return sorted(file.relative_to(root).as_posix() for file in files)


def main(arguments=None, make_tidy=Tidy):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parent.parent, type=pathlib.Path)
    parser.add_argument("--commands", type=pathlib.Path)
    parser.add_argument("--units", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--write-record", action="store_true")
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    commands = (options.commands or root / "build/tidy/commands").resolve()
    sources = all_sources(root)
    asked = [pathlib.Path(os.path.relpath(root / file, root)).as_posix() for file in options.files] or sources
    missing = [file for file in asked if not (root / file).is_file()]
    if missing or not asked:
        print(f"no such source: {', '.join(missing) or 'src/'}\n0 passed, 1 failed")
        return 1

    digests = Digests(root)
    line_of = {source: f"{digests.of(source)} {source}" for source in {*sources, *asked}}
    record, day = read_record(root / RECORD)
    here, _ = read_record(root / PASSED)
    clean = set() if options.all else {source for source in line_of if line_of[source] in record | here}
    to_do = [source for source in asked if source not in clean]
    database = commands / "compile_commands.json"
    entries = {}
    if database.is_file():
        for entry in json.loads(database.read_text(encoding="utf-8")):
            file = pathlib.Path(entry["file"])
            if file.is_relative_to(root):
                entries[file.relative_to(root).as_posix()] = entry
    by_units = options.units and not options.all and len(to_do) > ALONE_AT_MOST
    units = units_of(to_do, entries) if by_units else [Unit((source,)) for source in to_do]
    units.sort(key=lambda unit: unit.cost(digests), reverse=True)

    failed = 0
    (root / PASSED).parent.mkdir(parents=True, exist_ok=True)
    tidy = make_tidy(root, commands)
    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1)
    with pool, open(root / PASSED, "a", encoding="utf-8") as passed_file:
        for unit in concurrent.futures.as_completed([pool.submit(tidy.look_at, unit) for unit in units]):
            for source, text in unit.result():
                if text:
                    failed += 1
                    print(f"{source}:\n" + "\n".join(text.splitlines()[:40]))
                else:
                    clean.add(source)
                    print(line_of[source], file=passed_file, flush=True)
    if options.write_record:
        if options.all and not options.files and not failed:
            day = datetime.date.today().isoformat()
        write_record(root / RECORD, {line_of[source] for source in sources if source in clean}, day)
    print(f"  looked at {len(to_do)} of {len(asked)} sources{', by folder' if by_units else ''}; "
          f"at all of them, each alone: {day or 'not since the record began'}")
    print(f"{len([source for source in asked if source in clean])} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
