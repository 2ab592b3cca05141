"""Code that the tests of scripts share: a scratch tree, running a script in it, and a stand-in for the program."""

import contextlib
import io
import pathlib
import tempfile
import unittest

# Prints its arguments to both streams; the first words of FAKE select its behaviour.
FAKE_PROGRAM = """#!/bin/sh
case "$1" in
    say) shift; printf '%s\\n' "$@" ;;
    both) echo out; echo err >&2; echo out again ;;
    fail) echo wrong >&2; exit 2 ;;
    hang) exec sleep 2 ;;
    die) kill -SEGV $$ ;;
    environment) echo "$NO_COLOR $COLUMNS $LC_ALL" ;;
    list) ls ;;
    write) echo text > "$2" ;;
    json) printf '%s\\n' "$2"; [ "$3" = --json ] || exit "$3" ;;
    none) ;;
esac
"""


class InScratchTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.write("build/roofline", FAKE_PROGRAM).chmod(0o755)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def read(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    def run_script(self, script, *arguments):
        """Runs a script's main(). Returns (exit status, output)."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = script.main(["--root", str(self.root), *arguments])
        return status, printed.getvalue()
