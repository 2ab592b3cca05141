#!/usr/bin/env python3
"""Counts the tests of a CTest run. usage: tally.py FILE.xml, as ctest --output-junit writes it.

If a test reports counts, these are used: a doctest binary prints a line `test cases: ...`, a script ends with a line
`N passed, N failed`. Any other test counts as one. A test that failed without reporting a failure (a crash, a report of
a sanitizer, a timeout) adds one failure.
Tests named `GROUP/NAME`, such as those of the sources of a folder, are counted together.
Prints one line per test or group, then 'N passed, N failed, N skipped'; exits with 1 if something failed or nothing
ran."""

import re
import sys
import xml.etree.ElementTree

DOCTEST = re.compile(r"^\[doctest\] test cases:\s*\d+ \|\s*(\d+) passed \|\s*(\d+) failed \|(?:\s*(\d+) skipped)?",
                     re.M)
SCRIPT = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)


def count(status, output):
    """Returns (passed, failed, skipped) of one test. The status is that of JUnit: run, fail, notrun, disabled."""
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
    groups = {}
    for case in xml.etree.ElementTree.parse(arguments[0]).getroot().iter("testcase"):
        counts = count(case.get("status"), case.findtext("system-out") or "")
        group, slash, _ = case.get("name").rpartition("/")
        groups.setdefault(group if slash else case.get("name"), []).append((*counts, float(case.get("time"))))
    total = (0, 0, 0)
    for name, rows in groups.items():
        passed, failed, skipped, seconds = map(sum, zip(*rows))
        print(f"  {name}: {passed} passed, {failed} failed, {skipped} skipped, {seconds:.1f} s")
        total = tuple(a + b for a, b in zip(total, (passed, failed, skipped)))
    print("{} passed, {} failed, {} skipped".format(*total))
    return 0 if total[0] and not total[1] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
