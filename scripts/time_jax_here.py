#!/usr/bin/env python3
"""Times functions of JAX on this machine's CPU, beside what is predicted for the machine as `roofline measure cpu`
described it.

usage: PYTHONPATH=build/python build/venv/bin/python scripts/time_jax_here.py [--on FILE.toml] [--csv FILE]
    --on FILE.toml   the measured machine; default: this, the file that `roofline measure cpu` wrote
    --csv FILE       also write the table there

It needs JAX (python/requirements-test.txt). All functions compute in f32, because XLA on a CPU computes bf16 in f32. A
time is the median of at least 5 runs in a second or more, after one that compiles; `spread` is the range of the middle
half over the median. Predictions are of the compiled module, with the fusions of XLA. Exits with 1 if a function has
no prediction or if most runs of one are below its lower bound, which the bound or the measured machine is wrong for
then."""

import argparse
import csv
import math
import os
import statistics
import sys
import time

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.pop("XLA_FLAGS", None)

import jax
import jax.numpy as jnp
from jax import lax

import roofline as rl

LEAST_S = 1.0
LEAST_RUNS = 5


def attention(q, k, v):
    scores = jnp.einsum("bthd,bshd->bhts", q, k) / math.sqrt(q.shape[-1])
    return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores), v)


def norm(x):
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)


def block(w, x):
    y = norm(x)
    q, k, v = (jnp.einsum("btm,mhd->bthd", y, w[each]) for each in "qkv")
    x = x + jnp.einsum("bthd,hdm->btm", attention(q, k, v), w["o"])
    return x + jax.nn.relu(norm(x) @ w["up"]) @ w["down"]


def convolution(x, kernel):
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def of(*sizes):
    return jax.ShapeDtypeStruct(sizes, jnp.float32)


HEADS = {each: of(512, 8, 64) for each in "qkv"} | {"o": of(8, 64, 512)}
LAYER = HEADS | {"up": of(512, 2048), "down": of(2048, 512)}
ROWS = of(1, 1024, 512)
CASES = [
    ("sum of two arrays of 2^25", jnp.add, (of(2**25), of(2**25))),
    ("sum over rows of 8192 x 8192", lambda x: x.sum(1), (of(8192, 8192),)),
    ("softmax over rows of 8192 x 4096", lambda x: jax.nn.softmax(x), (of(8192, 4096),)),
    ("matmul of one row, 8192 x 8192", jnp.matmul, (of(1, 8192), of(8192, 8192))),
    ("matmul of 512 cubed", jnp.matmul, (of(512, 512), of(512, 512))),
    ("matmul of 2048 cubed", jnp.matmul, (of(2048, 2048), of(2048, 2048))),
    ("attention, 1024 rows, 8 heads of 64", attention, (of(1, 1024, 8, 64),) * 3),
    ("convolution 3 x 3, 64 channels, 4 x 64 x 64", convolution, (of(4, 64, 64, 64), of(3, 3, 64, 64))),
    ("Transformer layer, 1024 rows of 512", block, (LAYER, ROWS)),
    ("its gradient", jax.grad(lambda w, x: jnp.mean(block(w, x) ** 2)), (LAYER, ROWS)),
]


def timed(function, shapes):
    """Seconds of runs on random numbers."""
    keys = iter(jax.random.split(jax.random.key(0), 32))
    args = jax.tree.map(lambda each: jax.random.normal(next(keys), each.shape, each.dtype), shapes)
    jitted = jax.jit(function)
    jax.block_until_ready(jitted(*args))
    runs, began = [], time.perf_counter()
    while len(runs) < LEAST_RUNS or time.perf_counter() - began < LEAST_S:
        start = time.perf_counter()
        jax.block_until_ready(jitted(*args))
        runs.append(time.perf_counter() - start)
    return runs


def compared(on):
    """Yields a row for each function."""
    for name, function, shapes in CASES:
        total = rl.jax(function, *shapes, on=on, compiled=True).total
        runs = timed(function, shapes)
        low, median, high = statistics.quantiles(runs, n=4)
        yield {"function": name, "lower_s": total.lower_s, "expected_s": total.expected_s, "measured_s": median,
               "fastest_s": min(runs), "spread": (high - low) / median, "bound_by": total.bound_by}


def shown(seconds):
    return "-" if seconds is None else f"{1e3 * seconds:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--on", default="this")
    parser.add_argument("--csv")
    arguments = parser.parse_args()
    rows = []
    print(f"{'function':<44} {'lower':>8} {'expected':>8} {'measured':>8} {'expected is':>12}  spread  bound by   (ms)")
    for row in compared(arguments.on):
        rows.append(row)
        off = "" if row["expected_s"] is None else f"{row['expected_s'] / row['measured_s'] - 1:+.0%}"
        print(f"{row['function']:<44} {shown(row['lower_s']):>8} {shown(row['expected_s']):>8} "
              f"{shown(row['measured_s']):>8} {off:>12}  {row['spread']:>5.0%}   {row['bound_by']}", flush=True)
    if arguments.csv:
        with open(arguments.csv, "w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
    wrong = [row["function"] for row in rows if row["lower_s"] is None or row["measured_s"] < row["lower_s"]]
    if wrong:
        print(f"without a bound, or faster than it: {', '.join(wrong)}")
    errors = [abs(row["expected_s"] / row["measured_s"] - 1) for row in rows if row["expected_s"] is not None]
    if errors:
        print(f"mean error {statistics.mean(errors):.0%}, median {statistics.median(errors):.0%}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
