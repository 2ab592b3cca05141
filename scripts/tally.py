#!/usr/bin/env python3
"""Counts the tests of a CTest run. usage: tally.py FILE.xml, as ctest --output-junit writes it.

Tests that report counts are counted by these: a doctest binary by its line `test cases: ...`, a script by its last line
`N passed, N failed`. Any other test counts as one. A test that failed without reporting a failure (a crash, a
sanitizer's report, a time limit) adds one failure.
Prints one line per test, then 'N passed, N failed, N skipped'; exit 1 when something failed or nothing ran.
"""

import re
import sys
import xml.etree.ElementTree

DOCTEST = re.compile(r"^\[doctest\] test cases:\s*\d+ \|\s*(\d+) passed \|\s*(\d+) failed \|\s*(\d+) skipped", re.M)
SCRIPT = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)


def count(status, output):
    """Returns (passed, failed, skipped) of one test; status as in JUnit: run, fail, notrun, disabled."""
    if status in ("notrun", "disabled"):
        return (0, 0, 1)
    counts = [match.groups(default="0") for pattern in (DOCTEST, SCRIPT) for match in pattern.finditer(output)]
    passed, failed, skipped = map(int, counts[-1]) if counts else (int(status == "run"), 0, 0)
    if status == "fail" and not failed:
        failed = 1
    return (passed, failed, skipped)


def main(arguments):
    if len(arguments) != 1:
        print("usage: tally.py FILE.xml")
        return 2
    total = (0, 0, 0)
    for case in xml.etree.ElementTree.parse(arguments[0]).getroot().iter("testcase"):
        counts = count(case.get("status"), case.findtext("system-out") or "")
        print(f"  {case.get('name')}: {counts[0]} passed, {counts[1]} failed, {counts[2]} skipped, {float(case.get('time')):.1f} s")
        total = tuple(a + b for a, b in zip(total, counts))
    print("{} passed, {} failed, {} skipped".format(*total))
    return 0 if total[0] and not total[1] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
