#!/usr/bin/env python3
"""Fits data/extrapolation.toml: the errors of kernel models beyond the sizes that they were fitted to, and between them
if they are few.

    scripts/fit_extrapolation.py --program build/roofline gemm.csv attention.csv moe.csv elementwise.csv \
        > data/extrapolation.toml

Few: models are fitted to 6, 12 and 24 rows of a group, chosen at random, and predict its other rows. The mean error, at
most 100 % of a row, times the root of the number of fitted rows is about the same for each number; the result is its
mean over groups, which src/calibrate/kernel/few_measurements.cpp has. With --few only this is done.

Measurements are held out by range: of the rows of one machine, software and dtype, those whose size is at most the
median are fitted and predict those above it, and vice versa. The result for a class of kernels and a size is the
increase of the mean error per doubling of the distance from the fitted range, relative to the error of rows inside it.
All groups of rows have the same weight. Needs only Python and the program, and is deterministic.
"""
import argparse
import collections
import csv
import math
import os
import random
import subprocess
import sys
import tempfile

# Per table: the columns that identify a group, and its sizes, each the product of some columns.
TABLES = {
    "m": ("products", ("source", "accelerator", "dtype_in"), {"m": ("m",), "n": ("n",), "depth": ("k",)}),
    "kv_len": ("attention", ("source", "accelerator", "phase", "dtype", "kv_dtype"),
               {"m": ("q_len",), "depth": ("kv_len",), "batch": ("batch",)}),
    "topk": ("experts", ("source", "accelerator", "dtype"), {"m": ("tokens",), "n": ("inter",), "depth": ("hidden",)}),
    "shape": ("others", ("source", "accelerator", "op"), {"rows": (0, -1), "columns": (-1,)}),
}
FEW = (6, 12, 24)  # numbers of rows of models fitted to few
FEWEST = 30  # minimum number of rows on either side of the median
MOST = 600   # maximum number of rows of a group; of more, every n-th is used


def size_of(row, columns):
    if isinstance(columns[0], int):
        shape = [int(x) for x in row["shape"].split("x")]
        return shape[-1] if columns == (-1,) else math.prod(shape[:-1])
    return math.prod(int(row[column]) for column in columns)


def errors_of(program, folder, header, fitted, tested):
    """Returns |predicted - measured| / measured of the tested rows; None if no model can be fitted."""
    paths = {}
    for name, rows in (("fitted", fitted), ("tested", tested)):
        paths[name] = os.path.join(folder, name + ".csv")
        with open(paths[name], "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, header)
            writer.writeheader()
            writer.writerows(rows)
    constants = os.path.join(folder, "constants.toml")
    if os.path.exists(constants):
        os.remove(constants)
    subprocess.run([program, "fit", paths["fitted"], "-o", constants], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)
    if not os.path.exists(constants):
        return None
    answer = subprocess.run([program, "validate", paths["tested"], "--calibration", constants, "--csv"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, text=True)
    errors = {}
    for row in csv.DictReader(answer.stdout.splitlines()):
        if row.get("expected_s") and float(row["measured_s"]) > 0:
            errors[int(row["line"]) - 2] = abs(float(row["expected_s"]) / float(row["measured_s"]) - 1)
    return errors


def growths_of(program, folder, header, rows, columns):
    """Returns the increase of the mean error per doubling of models that are fitted below the median and tested above
    it, and vice versa."""
    sizes = [size_of(row, columns) for row in rows]
    middle = sorted(sizes)[len(sizes) // 2]
    growths = {}
    for name, inside in (("above", lambda size: size <= middle), ("below", lambda size: size >= middle)):
        fitted = [row for row, size in zip(rows, sizes) if inside(size)]
        if len(fitted) < FEWEST or len(rows) - len(fitted) < FEWEST:
            continue
        errors = errors_of(program, folder, header, fitted, rows)
        if not errors:
            continue
        known = [error for i, error in errors.items() if inside(sizes[i])]
        if not known:
            continue
        within = sum(known) / len(known)
        beyond = [(abs(math.log2(sizes[i] / middle)), min(error, 10))
                  for i, error in errors.items() if not inside(sizes[i])]
        if len(beyond) < FEWEST:
            continue
        # Least squares through the error inside the range; distances have equal weights, whatever their number of rows.
        bins = collections.defaultdict(list)
        for distance, error in beyond:
            bins[math.ceil(distance)].append((distance, error - within))
        points = [(sum(d for d, _ in each) / len(each), sum(e for _, e in each) / len(each)) for each in bins.values()]
        growths[name] = sum(d * e for d, e in points) / sum(d * d for d, _ in points)
    return growths


def few_rows_of(program, folder, header, rows):
    """Returns the mean error of models that are fitted to few rows, times the square root of their number."""
    if len(rows) < FEWEST * len(FEW):
        return None
    errors_by_number = []
    for number in FEW:
        chosen = random.Random(number).sample(range(len(rows)), number)
        errors = errors_of(program, folder, header, [rows[i] for i in sorted(chosen)], rows)
        others = [min(error, 1) for i, error in (errors or {}).items() if i not in chosen]
        if others:
            errors_by_number.append(sum(others) / len(others) * math.sqrt(number))
    return sum(errors_by_number) / len(errors_by_number) if errors_by_number else None


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--few", action="store_true", help="only the errors of models fitted to few rows, on stderr")
    arguments.add_argument("--program", default="build/roofline")
    arguments.add_argument("tables", nargs="+")
    options = arguments.parse_args()
    growths = collections.defaultdict(list)
    few = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for path in options.tables:
            with open(path, newline="", encoding="utf-8") as file:
                reader = csv.DictReader(file)
                header = reader.fieldnames
                kind, group_columns, sizes = next(what for column, what in TABLES.items() if column in header)
                groups = collections.defaultdict(list)
                for row in reader:
                    groups[tuple(row[column] for column in group_columns)].append(row)
            for name in sorted(groups):
                rows = groups[name][::max(1, len(groups[name]) // MOST)]
                between = few_rows_of(options.program, folder, header, rows)
                if between is not None:
                    few[kind].append(between)
                    print(f"# {' '.join(name)}, few rows: {between:.3f}", file=sys.stderr)
                for size, columns in () if options.few else sizes.items():
                    for side, growth in growths_of(options.program, folder, header, rows, columns).items():
                        growths[kind, size, side].append(growth)
                        print(f"# {' '.join(name)}, {side} the median {size}: {growth:.3f}", file=sys.stderr)
    for kind in sorted(few):
        print(f"# {kind}, few rows: {sum(few[kind]) / len(few[kind]):.2g}, {len(few[kind])} groups", file=sys.stderr)
    if options.few:
        return
    print("# Errors of kernel models outside the range of sizes that they were fitted to: the increase of the error "
          "per doubling of\n"
          "# the distance. Written by scripts/fit_extrapolation.py from public tables, with held-out ranges;\n"
          "# docs/method/accuracy.md explains the method.")
    for kind, size, side in sorted(growths):
        each = growths[kind, size, side]
        mean = sum(each) / len(each)
        if mean <= 0:  # not determined: the program then takes the largest growth of the class
            continue
        print(f'\n[[growth]]\nkind = "{kind}"\nsize = "{size}"\nside = "{side}"\n'
              f'per_doubling = {mean:.3g}\ngroups = {len(each)}')


if __name__ == "__main__":
    main()
