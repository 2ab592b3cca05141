import contextlib
import datetime
import io
import json
import pathlib

import tidy
from support import InScratchTree


class Fixture(InScratchTree):
    """Replaces clang-tidy: a source is clean unless it contains WRONG, a unit unless it contains UNSURE or WRONG."""

    def setUp(self):
        super().setUp()
        self.runs = []
        self.options = ()
        (self.root / "scripts").mkdir()
        self.write(".clang-tidy", "Checks: x\n")
        self.write("src/a/a.hpp", "#pragma once\n")
        self.write("src/a/b.hpp", '#include "a/a.hpp"\n')
        self.write("src/a/one.cpp", '#include "a/b.hpp"\n')
        self.write("src/a/two.cpp", "int two;\n")
        self.write("src/a/two_test.cpp", "WRONG\n")

    def make_tidy(self, root, commands):
        test = self

        class Fake(tidy.Tidy):
            def alone(self, source):
                test.runs.append(source)
                return "wrong" if "WRONG" in test.read(source) else ""

            def together(self, unit):
                test.runs.append(unit.sources)
                return not any(word in test.read(source) for source in unit.sources for word in ("WRONG", "UNSURE"))

        return Fake(root, commands)

    def tidy(self, *arguments):
        """Returns (exit status, last line), and stores the checked sources in self.runs."""
        self.runs.clear()
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = tidy.main(["--root", str(self.root), *self.options, *arguments], self.make_tidy)
        self.runs.sort(key=str)
        return status, printed.getvalue().splitlines()[-1]


class Alone(Fixture):
    def test_what_was_clean_is_not_looked_at_again(self):
        self.assertEqual(self.tidy(), (0, "2 passed, 0 failed"))
        self.assertEqual(self.runs, ["src/a/one.cpp", "src/a/two.cpp"])
        self.assertEqual(self.tidy(), (0, "2 passed, 0 failed"))
        self.assertEqual(self.runs, [])

    def test_what_a_change_reaches_is_looked_at(self):
        self.tidy()
        self.write("src/a/a.hpp", "#pragma once\nint a;\n")
        self.tidy()
        self.assertEqual(self.runs, ["src/a/one.cpp"])
        self.write("src/a/two.cpp", "int zwei;\n")
        self.tidy()
        self.assertEqual(self.runs, ["src/a/two.cpp"])
        self.write(".clang-tidy", "Checks: y\n")
        self.tidy()
        self.assertEqual(self.runs, ["src/a/one.cpp", "src/a/two.cpp"])
        self.write("src/b/a.hpp", "")  # no file includes it
        self.tidy()
        self.assertEqual(self.runs, [])

    def test_what_is_wrong_fails_until_it_is_mended(self):
        self.write("src/a/two.cpp", "WRONG\n")
        self.assertEqual(self.tidy(), (1, "1 passed, 1 failed"))
        self.assertEqual(self.tidy("--write-record"), (1, "1 passed, 1 failed"))
        self.assertEqual(self.runs, ["src/a/two.cpp"])
        self.assertNotIn("two.cpp", self.read(tidy.RECORD))
        self.write("src/a/two.cpp", "right\n")
        self.assertEqual(self.tidy(), (0, "2 passed, 0 failed"))

    def test_a_fresh_clone_knows_what_the_record_says(self):
        self.tidy("--write-record")
        (self.root / tidy.PASSED).unlink()
        self.assertEqual(self.tidy(), (0, "2 passed, 0 failed"))
        self.assertEqual(self.runs, [])
        self.write("src/a/two.cpp", "WRONG\n")
        self.assertEqual(self.tidy(), (1, "1 passed, 1 failed"))

    def test_all_looks_at_everything_and_writes_the_day(self):
        self.tidy("--write-record")
        self.assertEqual(tidy.read_record(self.root / tidy.RECORD)[1], None)
        self.write("src/a/two.cpp", "WRONG\n")
        self.tidy("--write-record", "--all")
        self.assertEqual(tidy.read_record(self.root / tidy.RECORD)[1], None)
        self.write("src/a/two.cpp", "int two;\n")
        self.assertEqual(self.tidy("--write-record", "--all"), (0, "2 passed, 0 failed"))
        self.assertEqual(self.runs, ["src/a/one.cpp", "src/a/two.cpp"])
        self.assertEqual(tidy.read_record(self.root / tidy.RECORD)[1], datetime.date.today().isoformat())

    def test_both_sides_of_a_merge_count(self):
        self.tidy("--write-record")
        ours = self.read(tidy.RECORD)
        self.write("src/a/two.cpp", "int zwei;\n")
        self.tidy("--write-record")
        theirs = self.read(tidy.RECORD)
        self.assertEqual(len(ours.splitlines()), len(theirs.splitlines()))
        day = "# all sources, each alone: 2025-01-0{}\n"
        self.write(tidy.RECORD, day.format(2) + ours + day.format(1) + theirs)
        (self.root / tidy.PASSED).unlink()
        self.tidy()
        self.assertEqual(self.runs, [])
        self.write("src/a/two.cpp", "int two;\n")
        self.tidy("--write-record")
        self.assertEqual(self.runs, [])
        self.assertEqual(self.read(tidy.RECORD), ours.replace("\n", "\n# all sources, each alone: 2025-01-02\n", 1))

    def test_files_by_name(self):
        self.write("src/a/two.cpp", "WRONG\n")
        self.assertEqual(self.tidy("src/a/one.cpp"), (0, "1 passed, 0 failed"))
        self.assertEqual(self.tidy("src/a/two_test.cpp"), (1, "0 passed, 1 failed"))
        self.assertEqual(self.tidy("src/a/three.cpp"), (1, "0 passed, 1 failed"))


class Units(Fixture):
    def setUp(self):
        super().setUp()
        self.sources = sorted(f"src/b/{i:02}.cpp" for i in range(tidy.ALONE_AT_MOST))
        for source in self.sources:
            self.write(source, f"int {pathlib.Path(source).stem};\n")
        everything = [*self.sources, "src/a/one.cpp", "src/a/two.cpp"]
        entry = lambda file: {"file": str(file), "command": f"c++ -O2 -o x.o -c {file}"}
        self.write("commands/compile_commands.json", json.dumps([entry(self.root / source) for source in everything]))
        self.options = ("--commands", str(self.root / "commands"))

    def looked_at_together(self):
        return sorted(source for sources in self.runs if isinstance(sources, tuple) for source in sources)

    def test_many_are_looked_at_by_folder(self):
        count = len(self.sources) + 2
        self.assertEqual(self.tidy("--units"), (0, f"{count} passed, 0 failed"))
        self.assertEqual(self.looked_at_together(), self.sources)
        self.assertEqual([each for each in self.runs if isinstance(each, str)], ["src/a/one.cpp", "src/a/two.cpp"])
        self.assertEqual(len(self.runs), 2 + -(-len(self.sources) // tidy.UNIT_AT_MOST))
        self.assertEqual(self.tidy("--units"), (0, f"{count} passed, 0 failed"))
        self.assertEqual(self.runs, [])
        self.tidy("--units", "--all")
        self.assertEqual(self.looked_at_together(), [])

    def test_where_a_unit_is_not_clean_each_source_decides(self):
        self.write(self.sources[7], "UNSURE\n")
        count = len(self.sources) + 2
        self.assertEqual(self.tidy("--units"), (0, f"{count} passed, 0 failed"))
        self.assertIn(self.sources[7], self.runs)
        self.write(self.sources[8], "WRONG\n")
        self.assertEqual(self.tidy("--units"), (1, f"{count - 1} passed, 1 failed"))
        self.assertEqual(self.runs, [self.sources[8]])

    def test_sources_with_options_of_their_own_are_apart(self):
        entry = lambda source, options: {"file": source, "command": f"c++ {options} -o {source}.o -c {source}"}
        sources = [f"src/b/{name}.cpp" for name in "abcd"]
        entries = {source: entry(source, "-O3" if source == sources[1] else "") for source in sources}
        units = tidy.units_of(sources + ["src/b/e.cpp"], entries)
        self.assertEqual(sorted(unit.sources for unit in units),
                         [("src/b/a.cpp", "src/b/c.cpp", "src/b/d.cpp"), ("src/b/b.cpp",), ("src/b/e.cpp",)])
