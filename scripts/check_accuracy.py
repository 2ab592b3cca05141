#!/usr/bin/env python3
"""Compares the tables of kernels and of expert exchanges in docs/method/accuracy.md with the errors in
data/calibration/*.toml, or rewrites them.

The table of kernels has, per kind, dtype and machine, the mean error in per cent of fitted measurements, of held-out
measurements, and in parentheses of all measurements if the parameters are transferred from the nearest calibrated
machine. Means are over all software and variants, weighted by their numbers of measurements; a dash means that there is
none. The table of exchanges has the mean errors of fitted measurements, of held-out numbers of tokens, of held-out
shapes, and in parentheses of transferred parameters.

usage: check_accuracy.py [--root DIR] [--update]     DIR holds data/ and docs/
Prints one line per difference, then 'N passed, N failed' counting lines of the tables; exit 1 when one differs."""

import argparse
import pathlib
import sys
import tomllib

KINDS = [
    "contraction",
    "grouped contraction",
    "attention",
    "windowed attention",
    "causal attention",
    "latent attention",
    "elementwise",
    "activation",
    "softmax",
    "normalisation",
    "rotation",
    "gather",
    "quantisation",
    "reduction",
]
WHOLE_PASSES = "whole passes"  # no single kernel was measured there
LAUNCHED_BY_HOST = ("eager", "wall clock")  # their times depend on the host as much as on the chip
HEAD = "| kind, dtype | "
EXCHANGE_HEAD = "| kernels, operation | chips | "


def laws_of(folder):
    """Returns {(kind, dtype): {machine: [model, ...]}} of all calibration files."""
    table = {}
    for path in sorted(folder.glob("*.toml")):
        calibration = tomllib.loads(path.read_text(encoding="utf-8"))
        for model in calibration.get("kernel", []):
            if model.get("software") == WHOLE_PASSES:
                continue
            by_host = model.get("variant") in LAUNCHED_BY_HOST
            key = model["kind"], model.get("dtype", "") + (", launched by a host" if by_host else "")
            table.setdefault(key, {}).setdefault(calibration["machine"], []).append(model)
    return table


def mean(models, key):
    """Returns the mean over the models that have the key, weighted by measurements; a dash if none has it."""
    known = [model for model in models if key in model]
    rows = sum(model["rows"] for model in known)
    if rows == 0:
        return "-"
    per_cent = 100 * sum(model["rows"] * model[key] for model in known) / rows
    return f"{per_cent:.1f}" if per_cent < 9.95 else f"{per_cent:.0f}"


def cell(models):
    if not models:
        return ""
    return f"{mean(models, 'error_fitted')}/{mean(models, 'error_held_out')} ({mean(models, 'error_carried')})"


def table_lines(folder):
    table = laws_of(folder)
    machines = sorted({machine for row in table.values() for machine in row})
    lines = [HEAD + " | ".join(machines) + " |", "|---" * (len(machines) + 1) + "|"]
    for kind, dtype in sorted(table, key=lambda key: (KINDS.index(key[0]), key[1])):
        cells = [cell(table[kind, dtype].get(machine)) for machine in machines]
        lines.append(f"| {kind} {dtype}".rstrip().replace(" ,", ",") + " | " + " | ".join(cells) + " |")
    return lines


def exchange_lines(folder):
    """Returns the table of expert exchanges; empty if no file has any."""
    table = {}
    for path in sorted(folder.glob("*.toml")):
        calibration = tomllib.loads(path.read_text(encoding="utf-8"))
        for model in calibration.get("exchange", []):
            key = model.get("variant", ""), model["step"], model["members"]
            table.setdefault(key, {}).setdefault(calibration["machine"], []).append(model)
    machines = sorted({machine for row in table.values() for machine in row})
    lines = [EXCHANGE_HEAD + " | ".join(machines) + " |", "|---" * (len(machines) + 2) + "|"] if table else []
    for key in sorted(table):
        cells = []
        for machine in machines:
            models = table[key].get(machine)
            names = ("fitted", "sizes", "shapes", "relative") if models else ()
            errors = [mean(models, f"error_{name}") for name in names]
            cells.append("{}/{}/{} ({})".format(*errors) if models else "")
        lines.append(f"| {key[0]}, {key[1]} | {key[2]} | " + " | ".join(cells) + " |")
    return lines


def find_table(lines, head):
    """Returns the range of lines of the document that holds the table."""
    begin = next((i for i, line in enumerate(lines) if line.startswith(head)), None)
    if begin is None:
        return None
    end = begin
    while end < len(lines) and lines[end].startswith("|"):
        end += 1
    return begin, end


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args(arguments)
    document = options.root / "docs" / "method" / "accuracy.md"
    lines = document.read_text(encoding="utf-8").split("\n")
    folder = options.root / "data" / "calibration"
    passed = failed = 0
    for head, wanted in ((HEAD, table_lines(folder)), (EXCHANGE_HEAD, exchange_lines(folder))):
        place = find_table(lines, head)
        if place is None and not wanted:
            continue
        if place is None:
            print(f"{document}: no table that begins with `{head.strip()}`")
            return 1
        if options.update:
            lines[place[0] : place[1]] = wanted
            document.write_text("\n".join(lines), encoding="utf-8")
            place = place[0], place[0] + len(wanted)
        there = lines[place[0] : place[1]]
        missing = [line for line in wanted if line not in there]
        extra = [line for line in there if line not in wanted]
        for line in missing:
            print(f"{document}: lacks {line}")
        for line in extra:
            print(f"{document}: {line} is in no calibration file")
        passed += len(wanted) - len(missing)
        failed += max(len(missing), len(extra))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
