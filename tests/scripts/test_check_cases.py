import math

import check_cases
from support import InScratchTree

REPLY = ('{"schema":1,"flops":8.0,"machine":"tpu-v5e","ok":true,"no":null,'
         '"critical":[{"dim":"B","level":"hbm","at":3},{"dim":"D","level":"hbm","at":null}]}')


class Paths(InScratchTree):
    def test_keys_indices_conditions_and_lengths(self):
        value = {"a": {"b": [{"dim": "B", "level": "hbm", "n": 1},
                             {"dim": "D", "level": "hbm", "n": 2, "c": [1, 2, 3]}]}}
        self.assertEqual(check_cases.look_up(value, "a.b[0].n"), 1)
        self.assertEqual(check_cases.look_up(value, "a.b[-1].n"), 2)
        self.assertEqual(check_cases.look_up(value, "a.b[dim=D,level=hbm].n"), 2)
        self.assertEqual(check_cases.look_up(value, "a.b[dim=D].c.length"), 3)
        self.assertEqual(check_cases.look_up(value, "a.b[n=2].dim"), "D")
        self.assertEqual(check_cases.look_up({"length": 7}, "length"), 7)
        self.assertEqual(check_cases.look_up({"flops_by": {"matmul/bf16": 4}}, "flops_by.matmul/bf16"), 4)

    def test_paths_that_lead_nowhere(self):
        value = {"a": [{"dim": "B"}, {"dim": "B"}], "n": 1}
        for path in ("b", "a[2]", "a[-3]", "a[dim=D]", "a[dim=B]", "a.dim", "n.x", "n[0]", "n[dim=B]", "n.length"):
            with self.subTest(path), self.assertRaises(check_cases.NotThere):
                check_cases.look_up(value, path)

    def test_paths_that_are_none(self):
        for path in ("", ".a", "a..b", "a[", "a[]", "a[b]", "a]", "a.[0]"):
            with self.subTest(path), self.assertRaises(ValueError):
                check_cases.steps_of(path)


class Values(InScratchTree):
    def test_numbers_within_the_tolerance(self):
        self.assertTrue(check_cases.matches(100.09, "100", 1e-3))
        self.assertFalse(check_cases.matches(100.11, "100", 1e-3))
        self.assertTrue(check_cases.matches(8, "8", 0))
        self.assertFalse(check_cases.matches(8.000001, "8", 0))
        self.assertFalse(check_cases.matches(1e-12, "0", 0.5))
        self.assertFalse(check_cases.matches(-8, "8", 1e-3))

    def test_kinds_are_told_apart(self):
        self.assertFalse(check_cases.matches(True, "1", 0))
        self.assertFalse(check_cases.matches("8", "8", 0))
        self.assertFalse(check_cases.matches(None, "0", 0))
        self.assertFalse(check_cases.matches(1, "true", 0))
        self.assertFalse(check_cases.matches(0, "null", 0))
        self.assertFalse(check_cases.matches(math.nan, "number", 0))
        self.assertFalse(check_cases.matches(math.inf, "number", 0))
        self.assertFalse(check_cases.matches(True, "number", 0))
        self.assertTrue(check_cases.matches(False, "false", 0))
        self.assertTrue(check_cases.matches(None, "null", 0))
        self.assertTrue(check_cases.matches(2, "number", 0))
        self.assertTrue(check_cases.matches("hbm", "hbm", 0))
        self.assertFalse(check_cases.matches("HBM", "hbm", 0))


class Rows(InScratchTree):
    def cases(self, *rows):
        lines = "\n".join("\t".join(row) for row in rows)
        self.write("tests/cases/x.tsv", "# id, arguments, path ...\n\n" + lines + "\n")
        return self.run_script(check_cases)

    def row(self, path, expected, tolerance="1e-6", arguments=f"json '{REPLY}'", derivation="Two times four is eight."):
        return ("case", arguments, path, expected, tolerance, derivation)

    def test_rows_that_hold(self):
        rows = [self.row("flops", "8"), self.row("machine", "tpu-v5e"), self.row("ok", "true"), self.row("no", "null"),
                self.row("critical[dim=B].at", "3", "0"), self.row("critical.length", "2"), self.row("exit", "0"),
                self.row("flops", "number")]
        self.assertEqual(self.cases(*rows), (0, "8 passed, 0 failed\n"))

    def test_rows_that_do_not(self):
        for row in (self.row("flops", "9"), self.row("missing", "8"), self.row("exit", "1"), self.row("ok", "1"),
                    self.row("flops", "8", arguments="none"), self.row("flops", "8", arguments="say not-json"),
                    self.row("flops", "8", arguments="die"), self.row("exit", "0", arguments="die")):
            with self.subTest(row):
                status, printed = self.cases(row)
                self.assertEqual((status, printed.splitlines()[-1]), (1, "0 passed, 1 failed"))
                self.assertIn("x.tsv:3: case:", printed)

    def test_an_answer_with_a_failing_exit_status_does_not_count(self):
        failing = f"json '{REPLY}' 2"
        self.assertEqual(self.cases(self.row("flops", "8", arguments=failing))[0], 1)
        self.assertEqual(self.cases(self.row("exit", "2", arguments=failing))[0], 0)
        self.assertEqual(self.cases(self.row("schema", "1", arguments=failing))[0], 0)
        error = """json '{"error":{"code":"syntax"}}' 2"""
        self.assertEqual(self.cases(self.row("error.code", "syntax", arguments=error))[0], 0)

    def test_rows_that_are_malformed(self):
        good = self.row("flops", "8")
        for row in (good[:5], good + ("more",), self.row("flops", "8", derivation=""),
                    self.row("flops", "8", derivation="obvious"),
                    self.row("flops", ""), self.row("flops", "8", "about"), self.row("flops", "8", "-1"),
                    self.row("flops", "8", "nan"), self.row("flops", "8", "1"), self.row("a..b", "8"),
                    self.row("flops", "8", arguments="say 'open")):
            with self.subTest(row):
                self.assertEqual(self.cases(row)[0], 1)

    def test_examples_are_at_hand(self):
        self.write("docs/examples/mlp.roof", "")
        self.assertEqual(self.cases(self.row("exit", "0", arguments="list mlp.roof"))[0], 0)

    def test_no_rows_are_a_failure(self):
        self.assertEqual(self.run_script(check_cases)[0], 1)
