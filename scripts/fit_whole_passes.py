#!/usr/bin/env python3
"""Fits a calibration of a machine of which only served tokens or training steps were published.

    scripts/fit_whole_passes.py gaudi2 TABLE.csv --dtypes bf16,fp8 -o data/calibration/gaudi2.toml --date 2026-11-28

No single kernel was measured there, so all kernels share two constants: the achieved fraction of the matrix units
(math) and that of the main memory (memory). They minimise the sum of |log(expected / measured)| over the rows of the
table that the machine ran on one chip, as `roofline validate` predicts them. Rows that are equal in everything but
their notes count once. The error is that of set-ups (a model and its lengths) that are held out, one after the other.
Needs only Python and the program; deterministic.
"""
import argparse
import csv
import io
import math
import os
import subprocess
import sys
import tempfile

from nelder_mead import minimum

NAMES = ("math", "memory")
LEAST, MOST = (0.05, 0.05), (1.0, 1.0)
START = (0.6, 0.7)
FIXED_US = 2  # a convention: graphs are launched as a whole, and the rows do not tell it from the fractions
# The sizes and times of single kernels are unknown, so no size is outside of the range.
WIDEST = {"range_m": 1 << 20, "range_n": 1 << 20, "range_depth": 1 << 20, "range_batch": 1 << 20}


def kernel_text(kind, dtype, law, about):
    constants = dict(zip(NAMES, law))
    lines = ["[[kernel]]", f'kind = "{kind}"']
    if dtype:
        lines.append(f'dtype = "{dtype}"')
    lines += [f'software = "{about["software"]}"', f'rows = {about["rows"]}', f'sources = ["{about["source"]}"]',
              "time_us = [0.1, 1e+06]"]
    lines += [f"{name} = [1, {most}]" for name, most in WIDEST.items()]
    lines += [f'error_fitted = {about["fitted"]:.3g}', f'error_held_out = {about["held_out"]:.3g}',
              f'error_of_bound = {about["bound"]:.3g}', f"fixed_us = {FIXED_US}"]
    if kind in ("contraction", "attention"):
        lines.append(f'math = {constants["math"]:.4g}')
    lines += [f'memory = {constants["memory"]:.4g}', "p = 4"]
    return "\n".join(lines) + "\n"


def file_text(machine, law, about, dtypes, date):
    parts = ["# Expected times of kernels, none of which was measured singly: parameters that all of them share, "
             "fitted to\n# whole forward passes or training steps by scripts/fit_whole_passes.py; "
             "docs/method/fitting.md has the command.\n"
             f'machine = "{machine}"\nfitted = "{date}"\ntool = "fit_whole_passes.py"\n']
    if "bf16" in dtypes:  # otherwise other measurements determine everything else
        parts += [kernel_text("attention", "bf16", law, about)]
    parts += [kernel_text("contraction", dtype, law, about) for dtype in dtypes]
    if "bf16" in dtypes:
        parts += [kernel_text("elementwise", "", law, about)]
    return "\n".join(parts)


class Rows:
    """The rows of a table that a machine ran, and their predictions with given parameters."""

    def __init__(self, args):
        self.args = args
        self.folder = tempfile.mkdtemp()
        self.table = os.path.join(self.folder, "rows.csv")
        known = set()
        with open(args.table, newline="", encoding="utf-8") as source, \
                open(self.table, "w", newline="", encoding="utf-8") as kept:
            reader = csv.DictReader(source)
            writer = csv.DictWriter(kept, reader.fieldnames)
            writer.writeheader()
            for row in reader:
                key = tuple(value for name, value in row.items() if name not in ("notes", "source"))
                wanted = row["accelerator"].lower() == args.name.lower() and (args.any_chips or row["n_accel"] == "1")
                left_out = any(word in row["model"].lower() for word in args.without.split(",") if word) or (
                    args.dtype and row["dtype"] != args.dtype)
                if wanted and not left_out and key not in known:
                    known.add(key)
                    writer.writerow(row)
                    self.source = row["source"]

    def predicted(self, law):
        path = os.path.join(self.folder, "law.toml")
        about = {"software": "whole passes", "rows": 1, "source": "x", "fitted": 0.1, "held_out": 0.1, "bound": 0.5}
        with open(path, "w", encoding="utf-8") as file:
            file.write(file_text(self.args.machine, law, about, self.args.dtypes, "2026-01-01"))
        answer = subprocess.run([self.args.roofline, "validate", self.table, "--calibration", path, "--csv"],
                                capture_output=True, text=True, check=False)
        rows = list(csv.DictReader(io.StringIO(answer.stdout)))
        if not rows:
            sys.exit(answer.stderr)
        return [(row["shape"], float(row["measured_s"]), float(row["lower_s"]),
                 float(row["expected_s"])) for row in rows if row["expected_s"]]


def fit(rows, models, start):
    """Minimises the cost over these models with the Nelder-Mead method."""
    def cost(law):
        return sum(abs(math.log(e / m)) for model, m, _, e in rows.predicted(law) if model in models)

    def clipped(law):
        return tuple(min(max(x, least), most) for x, least, most in zip(law, LEAST, MOST))

    return minimum(cost, clipped, start, step=0.7, rounds=70, near=1e-4)[1]


def mean_error(rows):
    return sum(abs(e / m - 1) for _, m, _, e in rows) / len(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine", help="id in the catalogue")
    parser.add_argument("table")
    parser.add_argument("--name", help="of the machine in the table; default: its id")
    parser.add_argument("--without", default="", help="leave out rows whose model's name contains one of these")
    parser.add_argument("--dtype", help="leave out rows of another dtype")
    parser.add_argument("--any-chips", action="store_true", help="also rows on several chips: training steps")
    parser.add_argument("--dtypes", type=lambda text: text.split(","), default=["bf16"])
    parser.add_argument("--roofline", default="build/roofline")
    parser.add_argument("--date", default="2026-01-01")
    parser.add_argument("-o", "--output", default="-")
    args = parser.parse_args()
    args.name = args.name or args.machine
    rows = Rows(args)
    models = sorted({row[0] for row in rows.predicted(START)})
    law = fit(rows, models, START)
    fitted = rows.predicted(law)
    held_out = []
    for model in models:
        others = fit(rows, [each for each in models if each != model], law) if len(models) > 1 else law
        its = [row for row in rows.predicted(others) if row[0] == model]
        held_out += its
        print(f"# {model}: {len(its)} rows, in {mean_error([r for r in fitted if r[0] == model]):.3f}, "
              f"held out {mean_error(its):.3f}", file=sys.stderr)
    about = {"software": "whole passes", "rows": len(fitted), "source": rows.source, "fitted": mean_error(fitted),
             "held_out": mean_error(held_out),
             "bound": sum(abs(low / m - 1) for _, m, low, _ in fitted) / len(fitted)}
    text = file_text(args.machine, law, about, args.dtypes, args.date)
    print(dict(zip(NAMES, law)), "held out", about["held_out"], "rows", about["rows"], file=sys.stderr)
    if args.output == "-":
        print(text)
    else:
        with open(args.output, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
