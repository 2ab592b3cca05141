#!/usr/bin/env python3
"""Converts full grids of timed matmuls to tables that `roofline fit` reads.

A grid has the columns m, n, k and time_s; all else is in its name: gemm_ACCELERATOR_DTYPE_LIBRARY-VERSION.csv.gz.
Rows that a table already contains, with fewer digits, are omitted.
"""

import argparse
import csv
import gzip
import pathlib
import re

COLUMNS = "source accelerator dtype_in dtype_out m n k time_s notes".split()
NAME = re.compile(r"gemm_(?P<accelerator>.+)_(?P<dtype>[a-z0-9]+)_(?P<library>[a-z]+)-(?P<version>[^-]+)\.csv\.gz")


def key_of(row):
    return tuple(row[column] for column in COLUMNS[:7])


def write(grid, output, known):
    said = NAME.fullmatch(grid.name)
    if said is None:
        raise SystemExit(f"{grid.name} is not named gemm_ACCELERATOR_DTYPE_LIBRARY-VERSION.csv.gz")
    same = {
        "source": f"aic:{said['library']}/{said['version']}",
        "accelerator": said["accelerator"],
        "dtype_in": said["dtype"],
        "dtype_out": "bf16",
        "notes": "",
    }
    table = output / grid.name.removesuffix(".gz")
    with gzip.open(grid, "rt", newline="") as rows, open(table, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for row in csv.DictReader(rows):
            whole = row | same
            if key_of(whole) not in known:
                writer.writerow(whole)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("output", type=pathlib.Path, help="an existing folder")
    parser.add_argument("--without", type=pathlib.Path, action="append", default=[], metavar="TABLE")
    parser.add_argument("grids", type=pathlib.Path, nargs="+", help="gemm_*.csv.gz")
    arguments = parser.parse_args()
    known = set()
    for table in arguments.without:
        with open(table, newline="") as rows:
            known.update(key_of(row) for row in csv.DictReader(rows))
    for grid in arguments.grids:
        print(write(grid, arguments.output, known))


if __name__ == "__main__":
    main()
