import server_errors
from support import InScratchTree

SERVERS = """[[server]]
software = "whole"
rows = 2
models = ["small-1b"]
error_fitted = {fitted}
error_held_out = 0.25
kernels = 1
[[server]]
software = "fitted"
rows = 9
models = ["small-1b"]
error_fitted = 0.5
error_held_out = 0.5
kernels = 0.9
step_us = 100
[[elsewhere]]
software = "fitted"
platform = "Other gpu"
rows = 2
models = ["small-1b"]
error = 0.4
ttft_error = 0.1
"""

ROWS = """software,slice,operation,dtype,shape,model,measured_s,expected_s
whole,asic:1,throughput,fp8,a,small-1b,2,1.8
whole,asic:1,throughput,fp8,a,small-1b,2,1.8
whole,asic:1,throughput,fp8,b,org/small-1b,2,2.6
whole,asic:1,throughput,fp8,b,large-7b,2,9
fitted 1.2,card:4,decode,fp8,a,small-1b,2,1
fitted 1.3,card:4,throughput,fp8,a,small-1b,2,1.4
fitted 1.2,card:4,prefill,fp8,a,small-1b,2,2.2
fitted 1.2,asic:4,decode,fp8,a,small-1b,2,9
fitted 1.2,card:4,decode,fp8,c,small-1b,2,
"""


class ServerErrors(InScratchTree):
    def check(self, fitted):
        self.write("data/machines/asic.toml", 'id = "asic"\nvendor = "One"\nkind = "asic"\n')
        self.write("data/machines/card.toml", 'id = "card"\nvendor = "Other"\nkind = "gpu"\n')
        self.write("data/calibration/asic.toml", "[[kernel]]\nerror_held_out = 0.25\n")
        self.write("data/servers.toml", SERVERS.format(fitted=fitted))
        return self.run_script(server_errors, str(self.write("rows.csv", ROWS)))

    # 10 and 30 % off, one of them stated twice and another model left out; 50 and 30 % elsewhere, and 10 % of TTFT
    def test_errors_are_means_over_rows(self):
        status, output = self.check(0.2)
        self.assertEqual(status, 0, output)
        self.assertIn("whole, error_fitted: 0.2\n", output)
        self.assertIn("fitted on Other gpu, error: 0.4\n", output)
        self.assertNotIn("fitted, error_fitted", output)

    def test_another_figure_is_found(self):
        status, output = self.check(0.167)
        self.assertEqual(status, 1)
        self.assertIn("whole, error_fitted: 0.2, the file has 0.167", output)
