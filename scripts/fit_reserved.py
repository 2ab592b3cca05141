#!/usr/bin/env python3
"""Fits the ratio of reserved to allocated memory of a caching allocator, for data/training_steps.toml.

    scripts/fit_reserved.py RUNS.csv [more.csv ...]

Rows whose notes say "max allocated GiB, reserved 70.88 GiB" have both: memory_GB_per_accel is the allocated memory.
Rows with the same numbers count as one setup. The factor is the mean ratio; its error is the mean error of setups that
are held out of the fit one at a time. Needs only Python.
"""
import csv
import re
import sys


def ratios_of(paths):
    setups = set()
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                reserved = re.search(r"max allocated GiB, reserved ([0-9.]+) GiB", row["notes"])
                if reserved:
                    setups.add((float(row["memory_GB_per_accel"]), float(reserved[1])))
    return [reserved / allocated for allocated, reserved in sorted(setups)]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    ratios = ratios_of(sys.argv[1:])
    if len(ratios) < 2:
        sys.exit("fewer than two set-ups give both numbers")
    total, count = sum(ratios), len(ratios)
    errors = [abs((total - ratio) / (count - 1) / ratio - 1) for ratio in ratios]
    print(f"reserved = {total / count:.4g}\nreserved_error = {sum(errors) / count:.2g}\nreserved_rows = {count}")


if __name__ == "__main__":
    main()
