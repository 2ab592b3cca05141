#!/usr/bin/env python3
"""What limits the order of plans whose layers wait for launches: vTrain's runs on one node of A100.

    scripts/launch_bound_layers.py --program build/roofline RUNS.csv INDEX.csv

RUNS.csv is a table of training runs, INDEX.csv lists its lines by job (setup_id, csv_line). Of each width, tensor
degree and micro-batch, the measured times of all numbers of layers, stages, replicas and micro-batches are put into one
linear law by least squares of relative deviations: (m + p - 1) L/p layers, m heads, and L/p, with replicas or not, and
one step. Prints the seconds of a layer, how far measurements are from the law, and how often the plan that is expected
to be the fastest is within 5 % of the best one if the law's layers, heads or both replace the model's. Needs only
Python.
"""
import argparse
import collections
import csv
import io
import itertools
import subprocess


def solve(rows, values):
    """Least squares by normal equations with Gaussian elimination; a dependent column gets 0."""
    n = len(rows[0])
    matrix = [[sum(r[i] * r[j] for r in rows) for j in range(n)] + [sum(r[i] * v for r, v in zip(rows, values))]
              for i in range(n)]
    scale = [matrix[i][i] for i in range(n)]
    used = []
    for i in range(n):
        if matrix[i][i] <= 1e-9 * scale[i]:
            continue
        used.append(i)
        for j in range(n):
            if j != i:
                factor = matrix[j][i] / matrix[i][i]
                matrix[j] = [a - factor * b for a, b in zip(matrix[j], matrix[i])]
    return [matrix[i][n] / matrix[i][i] if i in used else 0.0 for i in range(n)]


def terms(run):
    layers, stages, replicas, batches = run
    return [(batches + stages - 1) * layers / stages, batches, layers / stages * (replicas > 1), layers / stages, 1]


def laws_of(groups, seconds):
    laws = {}
    for key, lines in groups.items():
        rows = [[term / seconds[line] for term in terms(run)] for line, run in lines]
        laws[key] = solve(rows, [1.0] * len(rows))
    return laws


def times_of(groups, laws):
    return {line: sum(a * b for a, b in zip(laws[key], terms(run))) for key, lines in groups.items()
            for line, run in lines}


def ranked(jobs, measured, expected):
    """Returns the shares of jobs with little regret and of pairs more than 10 % apart in the right order."""
    good = right = pairs = count = 0
    for lines in jobs.values():
        lines = [line for line in lines if line in expected]
        if len(lines) < 2:
            continue
        count += 1
        first = min(lines, key=expected.get)
        good += measured[first] <= 1.05 * min(measured[line] for line in lines)
        for a, b in itertools.combinations(lines, 2):
            if max(measured[a], measured[b]) > 1.1 * min(measured[a], measured[b]):
                pairs += 1
                right += (measured[a] < measured[b]) == (expected[a] < expected[b])
    return f"{good / count:.0%} of {count} jobs, {right / pairs:.1%} of {pairs} pairs"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/roofline")
    parser.add_argument("runs")
    parser.add_argument("index")
    options = parser.parse_args()
    table = subprocess.run([options.program, "validate", options.runs, "--csv"], capture_output=True, text=True,
                           check=True).stdout
    answers = {int(row["line"]): row for row in csv.DictReader(io.StringIO(table)) if row["expected_s"]}
    measured = {line: float(row["measured_s"]) for line, row in answers.items()}
    expected = {line: float(row["expected_s"]) for line, row in answers.items()}
    groups = collections.defaultdict(list)
    with open(options.runs, newline="", encoding="utf-8") as file:
        for line, row in enumerate(csv.DictReader(file), 2):
            if line not in answers or "vTrain" not in row["repo_or_paper"] or "single" not in row["accelerator"]:
                continue
            layers, stages, replicas, micro = (int(row[key]) for key in ("layers", "pp", "dp", "micro_batch"))
            run = (layers, stages, replicas, int(row["global_batch_seqs"]) / replicas / micro)
            groups[int(row["hidden"]), int(row["tp"]), micro].append((line, run))
    jobs = collections.defaultdict(list)
    with open(options.index, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            jobs[row["setup_id"]].append(int(row["csv_line"]))
    of_runs, of_model = laws_of(groups, measured), laws_of(groups, expected)
    fitted = times_of(groups, of_runs)
    for key, lines in sorted(groups.items()):
        off = sum(abs(fitted[line] / measured[line] - 1) for line, _ in lines) / len(lines)
        print(f"width {key[0]}, tensor {key[1]}, micro-batch {key[2]}: {len(lines)} runs, {off:.2%} off; "
              f"a layer {1e3 * of_runs[key][0]:.2f} ms, expected {1e3 * of_model[key][0]:.2f} ms")
    print("the model", ranked(jobs, measured, expected))
    for words, places in (("layers", [0]), ("heads", [1]), ("layers and heads", [0, 1])):
        mixed = {key: [of_runs[key][i] if i in places else law[i] for i in range(5)] for key, law in of_model.items()}
        print(f"with the {words} of the runs", ranked(jobs, measured, {**expected, **times_of(groups, mixed)}))


if __name__ == "__main__":
    main()
