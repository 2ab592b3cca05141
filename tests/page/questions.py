#!/usr/bin/env python3
"""Prints the questions of the transcripts (scripts/check_transcripts.py) as JSON: for each file, the words of its
commands in their order, without the program's name. What a shell would do with an answer is left out, and so are
commands that measure or run on this machine and those whose words a shell would have to make.

usage: questions.py"""

import json
import pathlib
import re
import shlex
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import check_transcripts  # noqa: E402

SHELL = re.compile(r"\||>>?|<|&&|;|\d>.*|&")
LOCAL = {"run", "measure", "page"}  # but for `measure import`


def words_of(command):
    """Returns the words up to the first that is a shell's, or None."""
    quoted = re.sub(r"'[^']*'", "", command)
    if "$" in quoted or "`" in quoted or re.match(r"\w+=", command):
        return None
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words = []
    for word in lexer:
        if SHELL.fullmatch(word):
            break
        words.append(word)
    if words[-1:] == ["2"]:  # of 2>&1
        words.pop()
    if len(words) > 1 and words[1] in LOCAL and words[1:3] != ["measure", "import"]:
        return None
    return words[1:]


def main():
    questions = []
    for file in check_transcripts.transcripts(ROOT):
        lines = file.read_text(encoding="utf-8").split("\n")
        asked = []
        for step in check_transcripts.steps_of(lines, file.suffix == ".md"):
            if step.runs() and (words := words_of(step.command)) is not None:
                asked.append({"line": step.line, "words": words})
        if asked:
            questions.append({"file": str(file.relative_to(ROOT)), "asked": asked})
    print(json.dumps(questions))


if __name__ == "__main__":
    main()
