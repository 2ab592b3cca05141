#!/usr/bin/env python3
"""Generates the manual page roofline(1) from the output of `roofline --help` and the help of every command.

usage: man_page.py --program build/roofline [--output roofline.1.gz]
Without --output the page is written to standard output. A file whose name ends in .gz is compressed without a time
stamp, so that its bytes depend only on the program."""

import argparse
import gzip
import pathlib
import re
import subprocess
import sys

COLUMN = 34  # where the descriptions of options begin in a help text
LISTS = ("Positionals:", "Options:", "Subcommands:")


def help_of(program, path):
    """Returns the help of a command as text, independent of the terminal and its width."""
    return subprocess.run(
        [program, *path, "--help"], check=True, capture_output=True, text=True, env={"NO_COLOR": "1", "COLUMNS": "1000"}
    ).stdout


def escaped(text):
    """Escapes text so that roff finds no requests or escapes in it."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def parts_of(text):
    """Parses a help text to (examples, description, usage, {list: [(head, description)]}, epilogue)."""
    examples, before, epilogue, lists = [], [], [], {}
    usage, current = "", None
    lines = text.splitlines()
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if line in LISTS:
            current = lists.setdefault(line, [])
        elif line.startswith("Usage: "):
            usage = line[len("Usage: ") :]
        elif current is not None and line.startswith(" " * COLUMN):
            current[-1][1].append(line.strip())
        elif current is not None and line.startswith("  "):
            current.append(entry_of(line, following))
        elif line.startswith("  ") or line == "examples:":
            examples += [line[2:]] if line != "examples:" else []
        elif current is not None:
            epilogue += [line] if line else []
        elif line:
            before.append(line)
    return examples, " ".join(before), usage, lists, "\n".join(epilogue)


def entry_of(line, following):
    """Returns the head of an entry and the beginning of its description. A long head has a line of its own."""
    one_space = line[COLUMN - 1 : COLUMN] == " " and line[COLUMN - 2 : COLUMN - 1] != " "
    whole = line[COLUMN - 1 : COLUMN] != " " or (one_space and following.startswith(" " * COLUMN))
    return (line.strip(), []) if whole else (line[:COLUMN].strip(), [line[COLUMN:].strip()])


def entries(items):
    out = []
    for head, description in items:
        out += [".TP", f".B {escaped(head)}", escaped(" ".join(description))]
    return out


def verbatim(lines):
    return [".PP", ".nf", ".RS", *(escaped(line) for line in lines), ".RE", ".fi"]


def command_names(items):
    return [head.split()[0] for head, _ in items]


def command_page(program, path):
    """Returns the section of a command and of its subcommands."""
    examples, description, usage, lists, _ = parts_of(help_of(program, path))
    sentence = description[:1].upper() + description[1:] + "."
    out = [f".SS {escaped('roofline ' + ' '.join(path))}", escaped(sentence), ".PP", f".B {escaped(usage)}"]
    out += entries(lists.get("Positionals:", []))
    out += entries(item for item in lists.get("Options:", []) if not item[0].startswith("-h,"))
    if examples:
        out += [".PP", "Examples:", *verbatim(examples)]
    for name in command_names(lists.get("Subcommands:", [])):
        out += command_page(program, [*path, name])
    return out


def page(program):
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    examples, description, usage, lists, epilogue = parts_of(help_of(program, []))
    out = [f'.TH ROOFLINE 1 "" "{escaped(version)}" "User Commands"', ".SH NAME"]
    title = description[:1].lower() + description[1:].rstrip(".")
    out += [f"roofline \\- {escaped(title)}", ".SH SYNOPSIS", f".B {escaped(usage)}"]
    out += [".SH DESCRIPTION", escaped(description), ".SH OPTIONS", *entries(lists["Options:"])]
    out += [".SH COMMANDS", *entries(lists["Subcommands:"])]
    for name in command_names(lists["Subcommands:"]):
        out += command_page(program, [name])
    out += [".SH EXAMPLES", *verbatim(examples)]
    status, _, rest = epilogue.partition("\nText is as wide")
    out += [".SH EXIT STATUS", escaped(re.sub(r"^Exit status: ", "", status).replace("\n", " "))]
    out += [".SH ENVIRONMENT", escaped("Text is as wide" + rest).replace("\n", " ")]
    return "\n".join(out) + "\n"


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Writes the manual page roofline(1).")
    parser.add_argument("--program", required=True)
    parser.add_argument("--output", type=pathlib.Path)
    given = parser.parse_args(arguments)
    text = page(given.program)
    if given.output is None:
        sys.stdout.write(text)
    elif given.output.suffix == ".gz":
        given.output.write_bytes(gzip.compress(text.encode(), mtime=0))
    else:
        given.output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
