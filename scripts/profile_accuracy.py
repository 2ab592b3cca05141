#!/usr/bin/env python3
"""Predicts the operations of recorded profiles and prints the table of errors by class of docs/method/accuracy.md. The
profiles are those of ../shared/samples.

For each profile and class of operations: how many operations with different inputs have a bound, the part of the
measured time of the class that these have, the sums of their bounds and of their expected times over the sum of the
measured times, and the mean of |expected - measured| / measured over operations. Only operations with an expected time
are in the last two; where nothing is calibrated there is a dash. Classes without a bound are left out.

usage: profile_accuracy.py [--roofline PROGRAM] [--samples DIR]
Prints the table; exits with 3 if the samples are absent."""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

# The machine of each profile, by the names of its devices, or by the name of the file where it has none.
PROFILES = [
    ("traces/hta_alexnet_a100.json.gz", "a100-sxm4-40"),
    ("traces/hta_sampled_rank0.json.gz", "a100-sxm4-40"),
    ("traces/hta_nccl_collectives_a100.json.gz", "a100-sxm4-40"),
    ("traces/hta_mi250_rocm62.json.gz", "mi250x"),
]


def answer_of(program, profile, machine):
    words = [program, "trace", str(profile), "--on", machine, "--json"]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def ratio(part, whole):
    return f"{part / whole:.2f}" if whole > 0 and part > 0 else "-"


def lines_of(name, answer):
    """Returns the lines of the table, the classes that take longest first."""
    classes = collections.defaultdict(list)
    for op in answer["ops"]:
        classes[op["kind"]].append(op)
    totals = {kind: sum(op["measured_s"] for op in ops) for kind, ops in classes.items()}
    for kind in sorted(totals, key=lambda each: -totals[each]):
        known = [op for op in classes[kind] if op["lower_s"] and op["measured_s"] > 0]
        if not known:
            continue
        expected = [op for op in known if op["expected_s"]]
        measured = sum(op["measured_s"] for op in known)
        errors = [abs(op["expected_s"] - op["measured_s"]) / op["measured_s"] for op in expected]
        yield [
            name,
            kind,
            str(len(known)),
            f"{100 * measured / totals[kind]:.0f} %" if totals[kind] > 0 else "-",
            f"{1e3 * measured:.3g} ms" if measured > 0 else "-",
            ratio(sum(op["lower_s"] for op in known), measured),
            ratio(sum(op["expected_s"] for op in expected), sum(op["measured_s"] for op in expected)),
            f"{100 * sum(errors) / len(errors):.0f} %" if errors else "-",
        ]


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--roofline", default=str(root / "build" / "roofline"))
    parser.add_argument("--samples", type=pathlib.Path, default=root.parent / "shared" / "samples")
    options = parser.parse_args()
    if not options.samples.is_dir():
        print(f"{options.samples} is absent", file=sys.stderr)
        return 3
    print("| profile | class | operations | of its time | measured | bound / measured | expected / measured | error |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for path, machine in PROFILES:
        answer = answer_of(options.roofline, options.samples / path, machine)
        name = pathlib.Path(path).name.removesuffix(".gz").removesuffix(".json")
        for cells in lines_of(f"{name} on {machine}", answer):
            print("| " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
