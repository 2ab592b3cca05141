#!/usr/bin/env python3
"""Fits data/training_steps.toml to published training steps.

    roofline validate RUNS.csv --csv > steps.csv
    scripts/fit_steps.py steps.csv [more.csv ...]

The fit minimizes the weighted mean of |log(predicted / measured)|, so that single outliers do not dominate; the weight
of a publisher is the square root of its number of rows. The error is that of publishers that are held out one at a
time. If too few steps of the other publishers wait for launches, the launch overhead and the overlap of device and host
are kept from the fit to all publishers. If the other publishers have too few steps in narrower dtypes, kernels of these
dtypes use the parameters of all other kernels. Runs of LoRA are left out, so that they are judged by a model that was
not fitted to them.

Steps that XLA compiles into one program have a model of their own, because nothing launches their kernels: the p-norm
of compute * kernels and of collectives, which reach a measured share of the links' rate, `wires`. They have one
publisher, so the unit that is held out, and whose weight is the square root of its number of rows, is a pair of model
and chip. Steps with experts are not in that fit: their errors are those of its factors. Needs only Python, and is
deterministic.
"""
import collections
import csv
import math
import sys

from nelder_mead import minimum

PARTS = ("kernels_s", "narrow_s", "promoted_s", "launches", "hideable_s", "exchanged_s", "hideable_wire_s",
         "exchanged_wire_s")
FACTORS = ("compute", "narrow", "promoted", "launch_us", "exposed", "wires", "overlap", "pytorch")
HOST = (3, 6)  # indices of the factors that only steps that wait for launches determine
OF_BITS = (1, 2)  # indices of the factors for kernels of fewer than 16 bits, and of their times in PARTS
FEWEST = 10
COMPILED = ("compute", "wires", "overlap")
# Measured, because steps do not determine it: an all-reduce over 16x16 TPU v6e (allreduce_busbw_256 of its file).
WIRES = 0.59
LEAST_COMPILED, MOST_COMPILED = (0.5, WIRES, 1.0), (3.0, WIRES, 20.0)
LEAST, MOST = (0.8, 0.4, 0.4, 0.01, 0.05, 0.3, 1.0, 0.5), (3.0, 3.0, 3.0, 200.0, 1.0, 1.0, 20.0, 3.0)


def rows_of(paths):
    rows = []
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row["compiled"] == "1":
                    continue
                if row["kernels_s"] and float(row["measured_s"]) > 0 and " LoRA " not in row["shape"]:
                    parts = [float(row[part]) for part in PARTS]
                    power = float(row["flops_per_joule"]) / 1e12
                    rows.append((parts, float(row["measured_s"]), row["source"], float(row["lower_s"]),
                                 power ** (1 / 3) if power > 0 else 1, row["pytorch"] == "1", row["in_turn"] == "1",
                                 row["experts"] == "1"))
    return rows


def compiled_rows_of(paths):
    """Returns the steps that are one program, each as kernels, measured collectives, wires, and what they belong to."""
    rows = []
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row["compiled"] != "1" or not row["kernels_s"] or not float(row["measured_s"]) > 0:
                    continue
                kernels, narrow, promoted, _, hideable, exchanged, wire, exchanged_wire = (
                    float(row[part]) for part in PARTS)
                # models by name and chips by machine
                unit = (row["shape"].split()[0].lower(), row["slice"].split(":")[0])
                rows.append((kernels + narrow + promoted, hideable + exchanged, wire + exchanged_wire,
                             float(row["measured_s"]), float(row["lower_s"]), unit, row["experts"] == "1",
                             narrow + promoted > 0))
    return rows


def compiled_predicted(law, row):
    device, beside = law[0] * row[0], row[1] + row[2] / law[1]
    longer, shorter = max(device, beside), min(device, beside)
    return max(longer * (1 + (shorter / longer) ** law[2]) ** (1 / law[2]), row[4])


def compiled_fit(rows):
    counts = collections.Counter(row[5] for row in rows)

    def cost(law):
        return sum(abs(math.log(compiled_predicted(law, row) / row[3])) / math.sqrt(counts[row[5]]) for row in rows)

    def clipped(law):
        return [min(max(x, least), most) for x, least, most in zip(law, LEAST_COMPILED, MOST_COMPILED)]

    return min(minimum(cost, clipped, (1.1, 0.7, order)) for order in (1.3, 2.0, 4.0))[1]


def print_compiled(rows):
    """Prints the model of compiled steps, and its error on held-out pairs of model and chip."""
    dense = [row for row in rows if not row[6]]
    law = compiled_fit(dense)
    print("\n[[compiled]]")
    for name, value in zip(COMPILED, law):
        print(f"{name} = {value:.3g}")
    machines = sorted({row[5][1] for row in dense})
    print("machines = [" + ", ".join(f'"{machine}"' for machine in machines) + "]")
    off = {}
    for unit in sorted({row[5] for row in rows}):
        others = compiled_fit([row for row in dense if row[5] != unit])
        its = [row for row in rows if row[5] == unit]
        errors = [abs(compiled_predicted(others, row) / row[3] - 1) for row in its]
        for row, each in zip(its, errors):
            off.setdefault(row[6:], []).append((unit, each))
        print(f"# {' on '.join(unit)}: {len(its)} rows, held out {mean(errors):.3f}, predicted/measured "
              f"{mean(compiled_predicted(others, row) / row[3] for row in its):.2f}", file=sys.stderr)
    for machine in machines:
        others = compiled_fit([row for row in dense if row[5][1] != machine])
        print(f"# whole {machine}: held out "
              f"{mean(abs(compiled_predicted(others, r) / r[3] - 1) for r in dense if r[5][1] == machine):.3f}",
              file=sys.stderr)
    for experts, narrow in sorted(off):
        its = off[experts, narrow]
        print(f"\n[[class]]\ncompiled = true\nexperts = \"{'yes' if experts else 'no'}\"\n"
              f"narrow = \"{'yes' if narrow else 'no'}\"\nerror = {mean(each for _, each in its):.3g}\n"
              f"rows = {len(its)}\npublishers = {len({unit for unit, _ in its})}")


def times_of(law, row):
    """Returns the times in seconds of the device and of the host that launches its kernels."""
    kernels, narrow_kernels, promoted_kernels, launches, _, exchanged, _, exchanged_wire = row[0]
    compute, narrow, promoted, launch_us, _, wires, _, pytorch = law
    slow = row[4] * (pytorch if row[5] else 1)
    device = slow * (compute * kernels + narrow * narrow_kernels + promoted * promoted_kernels)
    return device + exchanged + exchanged_wire / wires, launch_us * 1e-6 * launches


def predicted(law, row):
    _, _, _, _, hideable, _, hideable_wire, _ = row[0]
    _, _, _, _, exposed, wires, overlap, _ = law
    shorter, longer = sorted(times_of(law, row))
    together = longer * (1 + (shorter / longer) ** overlap) ** (1 / overlap)
    exposed = 1 if row[6] else exposed
    beside = hideable + hideable_wire / wires
    return max(together + max(exposed * beside, beside - together), row[3])


def waits_for_launches(law, row):
    device, host = times_of(law, row)
    return host > device


def fit(rows, kept=None):
    """Returns the best fit from three starting points: if few rows wait for launches, the result depends on the start.
    The factors at the indices HOST are fixed to those of `kept` if it is given."""
    beginnings = (10.0, 30.0, 100.0) if kept is None else (kept[HOST[0]],)
    return min(simplex(rows, (1.2, 1.0, 1.2, begin, 0.5, 0.6, 4.0, 1.1), kept) for begin in beginnings)[1]


def simplex(rows, start, kept):
    """Minimizes the cost with the Nelder-Mead method within the limits of each factor. The factors at the indices HOST
    are fixed to those of `kept` if it is given. Returns the cost and the factors."""
    counts = collections.Counter(row[2] for row in rows)
    untold = [i for i in OF_BITS if sum(row[0][i] > 0 for row in rows) < FEWEST]

    def cost(law):
        return sum(abs(math.log(predicted(law, row) / row[1])) / math.sqrt(counts[row[2]]) for row in rows)

    def clipped(law):
        law = [min(max(x, least), most) for x, least, most in zip(law, LEAST, MOST)]
        law = [law[0] if i in untold else x for i, x in enumerate(law)]
        return law if kept is None else [kept[i] if i in HOST else x for i, x in enumerate(law)]

    return minimum(cost, clipped, start)


def error(law, row):
    return abs(predicted(law, row) / row[1] - 1)


def mean(numbers):
    numbers = list(numbers)
    return sum(numbers) / len(numbers)


def class_of(row):
    """Returns whether a step has experts, and matmuls in fewer than 16 bits: the accuracy depends on both."""
    return row[7], row[0][1] + row[0][2] > 0


def print_classes(held_out):
    """Prints the mean error of each class on held-out publishers, each weighted by the root of its number of rows."""
    for experts, narrow in sorted({class_of(row) for row, _ in held_out}):
        its = [(row[2], off) for row, off in held_out if class_of(row) == (experts, narrow)]
        counts = collections.Counter(publisher for publisher, _ in its)
        weights = sum(math.sqrt(count) for count in counts.values())
        off = sum(error / math.sqrt(counts[publisher]) for publisher, error in its) / weights
        print(f"\n[[class]]\nexperts = \"{'yes' if experts else 'no'}\"\nnarrow = \"{'yes' if narrow else 'no'}\"\n"
              f"error = {off:.3g}\nrows = {len(its)}\npublishers = {len(counts)}")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    rows = rows_of(sys.argv[1:])
    law = fit(rows)
    held_out = []
    publishers = sorted({row[2] for row in rows})
    for publisher in publishers:
        rest = [row for row in rows if row[2] != publisher]
        known = sum(waits_for_launches(law, row) for row in rest) >= FEWEST
        others = fit(rest, None if known else law)
        its = [row for row in rows if row[2] == publisher]
        errors = [error(others, row) for row in its]
        held_out += zip(its, errors)
        print(f"# {publisher}: {len(its)} rows, in {mean(error(law, r) for r in its):.3f}, "
              f"held out {mean(errors):.3f}, "
              f"predicted/measured {mean(predicted(others, r) / r[1] for r in its):.2f}", file=sys.stderr)
    for name, value in zip(FACTORS, law):
        print(f"{name} = {value:.3g}")
    print(f"error = {mean(off for _, off in held_out):.3g}\nrows = {len(rows)}\npublishers = {len(publishers)}")
    print_classes(held_out)
    print_compiled(compiled_rows_of(sys.argv[1:]))


if __name__ == "__main__":
    main()
