#!/usr/bin/env python3
"""Checks the order of the folders in src/, names of types, and the restrictions on library code.

A folder may include only itself and folders before it (ORDER); some folders must not include each other (STRANGERS).
Some third-party headers are restricted to a few folders (ONLY_IN). No two files define types of one name in the same
namespace, not even in anonymous ones, because two files that are linked together would otherwise share the inline
functions of one type. Library code, which is everything except measure, app/local and app/cli, does not print, exit,
throw or read a clock (FORBIDDEN); its tests may.

The public headers in include/roofline include only each other, the standard library and tl::expected.

usage: check_layers.py [--root DIR]     DIR holds src/ and include/
Prints one line per violation, then 'N passed, N failed' counting files; exits with 1 if a file failed."""

import argparse
import pathlib
import re
import sys

ORDER = (
    "base text units algebra program notation work machine network bound layout calibrate model plan import "
    "predict measure report api app"
).split()
STRANGERS = {"import", "measure", "report"}
# Third-party headers that public headers may include. Names of the standard library have no folder.
PUBLIC_INCLUDE = re.compile(r"\w+|tl/expected\.hpp")
# Public headers that the internal code uses, too.
FOUNDATIONS = ("result.hpp", "units.hpp", "dtype.hpp", "collective.hpp")
ONLY_IN = {
    "nlohmann/": ("text", "report", "app"),
    "CLI/": ("app/cli",),
}
DOORS = ("measure", "app/local", "app/cli")
FORBIDDEN = [
    (r"#\s*include\s*<(?:iostream|print|chrono|ctime|time\.h|cassert|assert\.h)>",
     "includes {0}: library code does not print, assert or read a clock"),
    (r"\bstd\s*::\s*(?:cout|cerr|clog|cin)\b", "uses {0}: library code does not print"),
    (r"(?:\bstd::|(?<![\w.:>]))(?:v?f?printf|f?puts|f?putc|putchar|perror|fwrite)\s*\(",
     "calls {0}: library code does not print"),
    (r"\bfmt\s*::\s*v?print(?:ln)?\b", "calls {0}: library code does not print"),
    (r"(?:\bstd::|(?<![\w.:>]))(?:exit|_Exit|_exit|quick_exit|abort|terminate)\s*\(", "calls {0}: errors are values"),
    (r"(?<![\w.:>])assert\s*\(", "calls {0}: errors are values"),
    (r"\bthrow\b", "says {0}: errors are values"),
    (r"\b(?:system_clock|steady_clock|high_resolution_clock|utc_clock|file_clock)\b",
     "reads {0}: library code has no clock"),
    # Without std:: the arguments must be those of the C functions, because our own functions may be called `time` or
    # `clock`.
    (r"\bstd::(?:time|clock|timespec_get)\s*\("
     r"|(?<![\w.:>])(?:time\s*\(\s*(?:nullptr|NULL|0|&)|clock_gettime\s*\(|gettimeofday\s*\()",
     "calls {0}: library code has no clock"),
]
FORBIDDEN = [(re.compile(pattern), message) for pattern, message in FORBIDDEN]

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.M)
NOT_CODE = re.compile(
    r"//(?:\\\n|[^\n])*"  # a comment, which a backslash at the end of its line continues
    r"|/\*.*?\*/"
    r'|R"(?P<delimiter>[^()\\ \t\n]{0,16})\(.*?\)(?P=delimiter)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'",
    re.S,
)


def without_comments_and_strings(text):
    """Returns only the code and keeps line numbers. Names of included files remain, as <file>."""

    def blank(match):
        found = match.group(0)
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if found.startswith('"') and re.fullmatch(r"[ \t]*#[ \t]*include[ \t]*", before):
            return found
        return ("" if found.startswith("/") else '""') + "\n" * found.count("\n")

    return NOT_CODE.sub(blank, text)


def inside(path, folders):
    """Returns whether path (relative to src/) is in one of the folders, such as 'app/cli'."""
    return any(path.startswith(folder + "/") for folder in folders)


def check_include(path, target, quoted):
    """Returns the violation of this include in the file at path, or None."""
    if not quoted:
        for prefix, folders in ONLY_IN.items():
            if target.startswith(prefix) and not inside(path, folders):
                return f"includes <{target}>, which is kept to {', '.join(folders)}"
        return None
    own, _, rest = target.partition("/")
    folder = path.split("/")[0]
    if own == "roofline":
        if rest in FOUNDATIONS or inside(path, ("api",)):
            return None
        return f'includes "{target}": the public headers but {" and ".join(FOUNDATIONS)} are kept to api'
    if not rest or own not in ORDER:
        return f'includes "{target}": not a folder of src (write "folder/file.hpp")'
    if ".." in target.split("/"):
        return f'includes "{target}": paths start at src/'
    if ORDER.index(own) > ORDER.index(folder):
        return f'includes "{target}", but {own} comes after {folder}'
    if own != folder and {own, folder} <= STRANGERS:
        return f'includes "{target}", but {folder} and {own} do not know each other'
    if inside(target, ["app/cli"]) and not inside(path, ["app/cli"]):
        return f'includes "{target}", but only the command line knows app/cli'
    return None


def check_public(text):
    """Returns the violations of one public header as (line number, message)."""
    code = without_comments_and_strings(text)
    found = []
    for match in INCLUDE.finditer(code):
        target, quoted = match.group(2), match.group(1) == '"'
        known = target.startswith("roofline/") if quoted else PUBLIC_INCLUDE.fullmatch(target)
        if not known:
            message = f"includes {target}: public headers know each other, the standard library and tl::expected"
            found.append((code.count("\n", 0, match.start()) + 1, message))
    return found


def check_text(path, text):
    """Returns the violations of one file as (line number, message). path is relative to src/, with forward slashes."""
    folder = path.split("/")[0]
    if "/" not in path or folder not in ORDER:
        return [(1, f"is in no folder of the order: {' '.join(ORDER)}")]
    code = without_comments_and_strings(text)
    line_at = lambda position: code.count("\n", 0, position) + 1
    found = []
    for match in INCLUDE.finditer(code):
        message = check_include(path, match.group(2), match.group(1) == '"')
        if message:
            found.append((line_at(match.start()), message))
    if not inside(path, DOORS) and not re.search(r"_test\.[ch]pp$", path):
        for pattern, message in FORBIDDEN:
            for match in pattern.finditer(code):
                said = match.group(0).rstrip("( \t").strip()
                found.append((line_at(match.start()), message.format(said)))
    return sorted(found)


TYPE = re.compile(
    r"\bnamespace\b(?P<space>[^;{}()=]*)\{"
    r"|\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[[^\]]*\]\]\s*)?(?P<name>\w+)\s*"
    r"(?:final\s*)?(?::(?!:)[^;{}()]*)?\{"
    r"|(?P<open>\{)|(?P<close>\})"
)


def types_in(text):
    """Returns the types that a file defines outside of other types and functions, as (line number, qualified name).
    Anonymous namespaces are omitted from the names."""
    code = without_comments_and_strings(text)
    found = []
    around = []  # names of the open namespaces; None for any other open brace
    for match in TYPE.finditer(code):
        if match["close"]:
            if around:
                around.pop()
            continue
        if match["name"] and None not in around:
            spaces = [space for space in around if space]
            found.append((code.count("\n", 0, match.start()) + 1, "::".join(spaces + [match["name"]])))
        around.append(match["space"].strip() if match["space"] is not None else None)
    return found


def check_types(texts):
    """Returns types that more than one file defines, as {path: [(line number, message)]}. texts are {path: text}."""
    places = {}
    for path, text in texts.items():
        for line, name in types_in(text):
            places.setdefault(name, []).append((path, line))
    violations = {}
    for name, all_places in places.items():
        first, *others = all_places
        for path, line in others:
            if path != first[0]:
                message = f"defines {name}, as {first[0]}:{first[1]} does: rename one of them"
                violations.setdefault(path, []).append((line, message))
    return violations


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Checks the order of the folders in src/.")
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parent.parent, type=pathlib.Path)
    source = parser.parse_args(arguments).root / "src"
    passed = failed = 0
    files = sorted(file for file in source.rglob("*") if file.suffix in (".hpp", ".cpp", ".h", ".cc", ".cu"))
    texts = {file.relative_to(source).as_posix(): file.read_text(encoding="utf-8", errors="replace") for file in files}
    twice = check_types(texts)
    for path, text in texts.items():
        violations = sorted(check_text(path, text) + twice.get(path, []))
        for line, message in violations:
            print(f"src/{path}:{line}: {message}")
        passed, failed = passed + (not violations), failed + bool(violations)
    for file in sorted((source.parent / "include" / "roofline").glob("*.hpp")):
        violations = check_public(file.read_text(encoding="utf-8", errors="replace"))
        for line, message in violations:
            print(f"include/roofline/{file.name}:{line}: {message}")
        passed, failed = passed + (not violations), failed + bool(violations)
    if not passed and not failed:
        print(f"{source}: no sources")
        failed = 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
