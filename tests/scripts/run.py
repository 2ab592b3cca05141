#!/usr/bin/env python3
"""Runs the tests of all scripts, which are test_*.py in this folder. Ends with 'N passed, N failed, N skipped'."""

import pathlib
import sys
import unittest

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent.parent / "scripts"))
sys.dont_write_bytecode = True

result = unittest.TextTestRunner(stream=sys.stdout).run(unittest.defaultTestLoader.discover(str(here)))
failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
skipped = len(result.skipped)
passed = result.testsRun - failed - skipped
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(0 if passed and not failed else 1)
