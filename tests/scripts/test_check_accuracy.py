import check_accuracy
from support import InScratchTree

LAW = """machine = "{machine}"
[[kernel]]
kind = "contraction"
dtype = "bf16"
rows = 30
error_fitted = 0.05
error_held_out = 0.06
error_carried = 0.2
[[kernel]]
kind = "contraction"
dtype = "bf16"
software = "other"
rows = 10
error_fitted = 0.09
error_held_out = 0.14
"""


EXCHANGE = """machine = "other"
[[exchange]]
step = "combine"
variant = "deepep normal"
members = 8
rows = 30
error_fitted = 0.05
error_sizes = 0.06
error_shapes = 0.07
error_relative = 0.2
"""


class Accuracy(InScratchTree):
    def lay(self, table):
        self.write("data/calibration/toy.toml", LAW.format(machine="toy"))
        self.write("docs/method/accuracy.md", f"before\n\n{table}\n\nafter\n")

    def check(self, *arguments):
        return self.run_script(check_accuracy, *arguments)

    # 30 rows with 5 % and 10 with 9 % give 6 %; 30 with 6 % and 10 with 14 % give 8 %; only the first was transferred.
    right = "| kind, dtype | toy |\n|---|---|\n| contraction bf16 | 6.0/8.0 (20) |"

    def test_means_are_weighted_by_rows(self):
        self.lay(self.right)
        status, output = self.check()
        self.assertEqual(status, 0, output)
        self.assertIn("3 passed, 0 failed", output)

    def test_another_figure_is_found(self):
        self.lay(self.right.replace("8.0", "7.9"))
        status, output = self.check()
        self.assertEqual(status, 1)
        self.assertIn("lacks | contraction bf16 | 6.0/8.0 (20) |", output)

    def test_update_writes_the_table_and_leaves_the_rest(self):
        self.lay("| kind, dtype | old |\n|---|---|")
        status, output = self.check("--update")
        self.assertEqual(status, 0, output)
        self.assertEqual(self.read("docs/method/accuracy.md"), f"before\n\n{self.right}\n\nafter\n")

    def test_a_document_without_the_table_fails(self):
        self.lay("no table")
        self.assertEqual(self.check()[0], 1)

    exchanges = ("| kernels, operation | chips | other |\n|---|---|---|\n"
                 "| deepep normal, combine | 8 | 5.0/6.0/7.0 (20) |")

    def test_exchanges_have_a_table_of_their_own(self):
        self.lay(self.right + "\n\nand\n\n" + self.exchanges)
        self.write("data/calibration/other.toml", EXCHANGE)
        status, output = self.check()
        self.assertEqual(status, 0, output)
        self.assertIn("6 passed, 0 failed", output)
        self.lay(self.right + "\n\nand\n\n" + self.exchanges.replace("7.0", "7.1"))
        self.assertEqual(self.check()[0], 1)
        self.assertEqual(self.check("--update")[0], 0)
        self.assertIn(self.exchanges, self.read("docs/method/accuracy.md"))
        self.lay(self.right)
        self.assertEqual(self.check()[0], 1)
