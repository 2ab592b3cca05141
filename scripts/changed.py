#!/usr/bin/env python3
"""Lists what ./dev check has to do for changed files: the given files, or all that differ from HEAD.

usage: changed.py [--root DIR] [FILE ...]
Prints one line per task, a word and its object:
    format FILE     check the format of a source
    build TARGET    build a target of the release build
    test REGEX      run the tests of CTest whose names match
    left FILE       only ./dev test covers this file"""

import argparse
import pathlib
import re
import subprocess
import sys

PROGRAM, UNIT, PROPERTIES, BENCH = "roofline", "roofline_tests", "roofline_properties", "roofline_bench"
DATA_FOLDERS = ("calibrate", "machine", "model")  # folders of src/ whose tests read data/

# Pattern of a path, targets, and names of tests. The first match counts.
RULES = [
    (r"tests/property/.*\.[ch]pp", [PROPERTIES], ["properties"]),
    (r"tests/[^/]*_test\.cpp", [UNIT], [r"unit\.tests/[^/]*"]),
    (r"bench/.*\.cpp", [BENCH], []),
    (r"tests/cases/.*", [PROGRAM], ["cases"]),
    (r"tests/golden/.*|README\.md|docs/.*", [PROGRAM], ["transcripts", "accuracy"]),
    (r"scripts/check_plans\.py", [PROGRAM], ["plans"]),
    (r"scripts/count_cliffs\.py", [PROGRAM], ["cliffs"]),
    (r"(tests/)?scripts/.*\.py", [], ["scripts"]),
    (r"data/.*", [PROGRAM, UNIT], ["cases", "transcripts", "accuracy", rf"unit\.src/({'|'.join(DATA_FOLDERS)})/[^/]*"]),
]


def folder_with_tests(root, path):
    """Returns the innermost folder that contains the source and has tests; None if there is none."""
    for folder in pathlib.PurePosixPath(path).parents:
        if folder.parts[:1] == ("src",) and list((root / folder).glob("*_test.cpp")):
            return folder.as_posix()
    return None


def rule_for(root, path):
    """Returns the targets and tests of a file; None if ./dev check does not cover it."""
    if re.fullmatch(r"src/.*\.[ch]pp", path):
        folder = folder_with_tests(root, path)
        return [PROGRAM, UNIT], [rf"unit\.{re.escape(folder)}/[^/]*"] if folder else []
    for pattern, targets, tests in RULES:
        if re.fullmatch(pattern, path):
            return targets, tests
    return None


def to_do(root, paths):
    """Returns all tasks as (word, object), each once."""
    found = [("test", "layers"), ("test", "lines")]
    for path in paths:
        if re.fullmatch(r"(src|tests|bench|fuzz)/.*\.[ch]pp", path) and (root / path).is_file():
            found.append(("format", path))
        rule = rule_for(root, path)
        if rule is None:
            found.append(("left", path))
            continue
        targets, tests = rule
        found += [("build", target) for target in targets] + [("test", test) for test in tests]
    return list(dict.fromkeys(found))


def changed_files(root):
    """Returns the files that differ from HEAD, and files that are neither tracked nor ignored."""
    found = []
    for words in (["diff", "--name-only", "-z", "HEAD"], ["ls-files", "--others", "--exclude-standard", "-z"]):
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
        found += [name for name in done.stdout.split("\0") if name]
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parent.parent, type=pathlib.Path)
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    missing = [file for file in options.files if not (root / file).is_file()]
    if missing:
        print(f"no such file: {', '.join(missing)}", file=sys.stderr)
        return 2
    paths = [pathlib.PurePosixPath(file).as_posix() for file in options.files] or changed_files(root)
    for word, what in to_do(root, paths):
        print(word, what)
    return 0


if __name__ == "__main__":
    sys.exit(main())
