import contextlib
import io

import tally
from support import InScratchTree

DOCTEST = """[doctest] test cases:  12 |  {0} passed | {1} failed | {2} skipped
[doctest] assertions: 340 | 340 passed | 0 failed |
"""


class Tally(InScratchTree):
    def test_doctest_and_scripts_count_for_themselves(self):
        self.assertEqual(tally.count("run", DOCTEST.format(11, 0, 1)), (11, 0, 1))
        self.assertEqual(tally.count("fail", DOCTEST.format(10, 2, 0)), (10, 2, 0))
        self.assertEqual(tally.count("run", "[doctest] test cases:  6 |  5 passed | 1 failed |\n"), (5, 1, 0))
        self.assertEqual(tally.count("run", "a.tsv: fine\n7 passed, 0 failed\n"), (7, 0, 0))
        self.assertEqual(tally.count("run", "7 passed, 0 failed, 2 skipped\n"), (7, 0, 2))
        self.assertEqual(tally.count("run", "1 passed, 0 failed\n5 passed, 0 failed\n"), (5, 0, 0))

    def test_others_count_as_one(self):
        self.assertEqual(tally.count("run", ""), (1, 0, 0))
        self.assertEqual(tally.count("run", "it passed, nothing failed"), (1, 0, 0))
        self.assertEqual(tally.count("fail", "compiles, and it must not"), (0, 1, 0))
        self.assertEqual(tally.count("notrun", ""), (0, 0, 1))
        self.assertEqual(tally.count("disabled", ""), (0, 0, 1))

    def test_a_crash_after_the_count_is_a_failure(self):
        self.assertEqual(tally.count("fail", DOCTEST.format(12, 0, 0)), (12, 1, 0))

    def report(self, cases):
        file = self.write("report.xml", f'<?xml version="1.0"?><testsuite name="x">{cases}</testsuite>')
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = tally.main([str(file)])
        return status, printed.getvalue().splitlines()[-1]

    def test_a_whole_report(self):
        passing = ('<testcase name="unit" time="0.5" status="run">'
                   '<system-out>3 passed, 0 failed\n</system-out></testcase>')
        failing = ('<testcase name="install" time="1" status="fail">'
                   '<failure message=""/><system-out>no</system-out></testcase>')
        self.assertEqual(self.report(passing), (0, "3 passed, 0 failed, 0 skipped"))
        self.assertEqual(self.report(passing + failing), (1, "3 passed, 1 failed, 0 skipped"))
        self.assertEqual(self.report(""), (1, "0 passed, 0 failed, 0 skipped"))

    def test_the_sources_of_a_folder_are_one_line(self):
        case = ('<testcase name="unit.src/{0}" time="0.5" status="{1}">'
                '<system-out>{2} passed, {3} failed\n</system-out></testcase>')
        file = self.write("report.xml", '<?xml version="1.0"?><testsuite name="x">'
                          + case.format("a/b_test.cpp", "run", 3, 0) + case.format("a/c_test.cpp", "fail", 1, 2)
                          + case.format("d/e_test.cpp", "run", 4, 0) + "</testsuite>")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.assertEqual(tally.main([str(file)]), 1)
        self.assertEqual(printed.getvalue().splitlines(), [
            "  unit.src/a: 4 passed, 2 failed, 0 skipped, 1.0 s", "  unit.src/d: 4 passed, 0 failed, 0 skipped, 0.5 s",
            "8 passed, 2 failed, 0 skipped"])
