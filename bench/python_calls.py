#!/usr/bin/env python3
"""Times calls of the Python package: its import, one question, a sweep of a million points, a compiled call.

usage: PYTHONPATH=build/python build/venv/bin/python bench/python_calls.py
Prints medians. `./dev bench --benchmark_filter='sweep_of_arrays|compiled_call|answer/json'` has the same of the C++
library, on the same machine."""

import statistics
import subprocess
import sys
import time


def median(repetitions, calls, function):
    """Median seconds of a call."""
    times = []
    for _ in range(repetitions):
        began = time.perf_counter()
        for _ in range(calls):
            function()
        times.append((time.perf_counter() - began) / calls)
    return statistics.median(times)


def import_time():
    code = "import time; t = time.perf_counter(); import roofline; print(time.perf_counter() - t)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(run.stdout)


def main():
    print(f"import roofline        {statistics.median(import_time() for _ in range(11)) * 1e3:8.1f} ms")
    import numpy

    import roofline as rl

    matmul = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
    fixed = {"D": 8192, "F": 8192}
    sizes = numpy.arange(1, 1_000_001)
    asked = median(11, 50, lambda: rl.op(matmul, on="h100-sxm", dims={"B": 64, **fixed}))
    print(f"op()                   {asked * 1e3:8.2f} ms")
    swept = median(7, 1, lambda: rl.op(matmul, on="h100-sxm", dims={"B": sizes, **fixed}))
    print(f"sweep of 1,000,000     {swept * 1e3:8.1f} ms")
    question = rl.op(matmul, on="h100-sxm", dims=fixed).compile()
    print(f"compiled call          {median(11, 20_000, lambda: question(B=64)) * 1e6:8.2f} us")
    print(f"compiled call, a time  {median(11, 20_000, lambda: question(B=64).lower_s) * 1e6:8.2f} us")


if __name__ == "__main__":
    main()
