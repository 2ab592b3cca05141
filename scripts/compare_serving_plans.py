#!/usr/bin/env python3
"""Compares the set-ups of servers that expected times recommend with measured ones.

The loads of a table of measured servers whose rates are known are those of `roofline validate --json`: for each its
measured and its expected tokens/s per user and per chip. A task has a source, a model, a machine, a dtype and lengths;
its set-ups are slices, plans and software, each measured under several loads. A set-up's tokens/s per chip at a target
of tokens/s per user are those of its frontier, interpolated in logarithms between two loads; the load with the most
tokens/s per chip holds for slower targets, too, and there are none beyond the fastest load. Targets are the points of
the measured frontier of a task. The set-up that is recommended at a target is the one with the most expected tokens/s
per chip, and what it reaches are its measured ones there. Tasks with one set-up have nothing to choose from and are
left out. With --software a task has one version of a server, too, so that only plans and chips are chosen. With
--loads 2 set-ups that were measured under fewer loads are left out, because nothing is known of them at other targets
than their own.

With --pairs prints instead in how many pairs of set-ups at a target the one that is expected to be better is the better
one, by how far their expected rates differ: the shares of which `plan serve` takes its certainty (with --software).

usage: compare_serving_plans.py ROOFLINE TABLE.csv [--pairs] [--software] [--loads N] [--within 0.1] [--noise S]
                                [--json FILE]
FILE is the answer of validate, if it is there already. With --noise the choice is made by the measured rates of each
load times a random number whose logarithm has the standard deviation S, instead of by expected rates: what a predictor
with this error reaches. Prints what was reached, by system and in all, beside a choice by chance."""

import argparse
import collections
import itertools
import json
import math
import random
import statistics
import subprocess
import sys

USER = "tokens_per_s_per_user"
CHIP = "tokens_per_s_per_chip"


def curves_of(arguments):
    if arguments.json:
        with open(arguments.json, encoding="utf-8") as file:
            return json.load(file)["frontiers"]["curves"]
    command = [arguments.roofline, "validate", arguments.table, "--json"]
    answer = subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout
    return json.loads(answer)["frontiers"]["curves"]


def tasks_of(curves, software, loads):
    """Returns by task the points of each set-up that have an expected value."""
    keys = ("source", "model", "system", "dtype", "prompt", "output") + (("software",) if software else ())
    tasks = collections.defaultdict(dict)
    for curve in curves:
        task = tuple(curve[key] for key in keys)
        points = [point for point in curve["points"] if point["expected"]]
        if points:
            tasks[task].setdefault((curve["slice"], curve["strategy"], curve["software"]), []).extend(points)
    for task, set_ups in tasks.items():
        tasks[task] = {name: points for name, points in set_ups.items()
                       if len({point["concurrency"] for point in points}) >= loads}
    return {task: set_ups for task, set_ups in tasks.items() if len(set_ups) > 1}


def with_noise(tasks, deviation):
    """Replaces expected rates by measured ones times random numbers, one per load, as errors of TPOT change both."""
    numbers = random.Random(1)
    for set_ups in tasks.values():
        for points in set_ups.values():
            for point in points:
                factor = math.exp(numbers.gauss(0, deviation))
                point["expected"] = {kind: value * factor for kind, value in point["measured"].items()}


def frontier(points, kind):
    """Returns (tokens/s per user, tokens/s per chip) of points that no other one exceeds in both, the fastest first."""
    best = 0
    rates = []
    for user, chip in sorted(((point[kind][USER], point[kind][CHIP]) for point in points), reverse=True):
        if chip > best:
            best = chip
            rates.append((user, chip))
    return rates


def most(points, kind, target):
    """Returns the most tokens/s per chip at this target; 0 where no load reaches it."""
    rates = frontier(points, kind)
    reached = [rate for rate in rates if rate[0] >= target]
    if not reached:
        return 0
    if len(reached) == len(rates):
        return reached[-1][1]
    (fast, few), (slow, many) = rates[len(reached) - 1], rates[len(reached)]
    part = math.log(fast / target) / math.log(fast / slow)
    return few * (many / few) ** part


def compared(set_ups):
    """Returns for each target what was reached, and what set-ups reach on average, as parts of the best measured."""
    every = [point for points in set_ups.values() for point in points]
    rows = []
    for target, _ in frontier(every, "measured"):
        expected = {name: most(points, "expected", target) for name, points in set_ups.items()}
        measured = {name: most(points, "measured", target) for name, points in set_ups.items()}
        best = max(measured.values())
        reached = {name: value / best for name, value in measured.items()}
        able = [value for value in reached.values() if value > 0]
        name = max(expected, key=expected.get)
        chosen = reached[name] if expected[name] > 0 else None
        rows.append((chosen, statistics.mean(able), sum(value >= 0.9 for value in able) / len(able)))
    return rows


def in_order(tasks):
    """Returns for pairs of set-ups at a target how far their expected rates differ, and whether in the right direction.

    Differences are logarithms; equal rates say nothing."""
    pairs = []
    for set_ups in tasks.values():
        every = [point for points in set_ups.values() for point in points]
        for target, _ in frontier(every, "measured"):
            rates = [[most(points, kind, target) for kind in ("expected", "measured")] for points in set_ups.values()]
            for one, other in itertools.combinations([both for both in rates if min(both) > 0], 2):
                expected, measured = (math.log(one[i] / other[i]) for i in (0, 1))
                if expected != 0 and measured != 0:
                    pairs.append((abs(expected), expected * measured > 0))
    return pairs


def print_pairs(tasks):
    pairs = in_order(tasks)
    edges = (0, 0.05, 0.1, 0.2, 0.4, 0.7, math.inf)
    print(f"{len(tasks)} tasks, {len(pairs)} pairs; by the logarithm of the ratio of expected rates:")
    for low, high in itertools.pairwise(edges):
        inside = [pair for pair in pairs if low <= pair[0] < high]
        if inside:
            print(f"{low:5} to {high:4}: {len(inside):5} pairs, mean {statistics.mean(x for x, _ in inside):.3f}, "
                  f"in order {statistics.mean(right for _, right in inside):.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("roofline")
    parser.add_argument("table")
    parser.add_argument("--within", type=float, default=0.1)
    parser.add_argument("--json")
    parser.add_argument("--software", action="store_true")
    parser.add_argument("--loads", type=int, default=1)
    parser.add_argument("--noise", type=float)
    parser.add_argument("--pairs", action="store_true")
    arguments = parser.parse_args()
    tasks = tasks_of(curves_of(arguments), arguments.software, arguments.loads)
    if arguments.noise:
        with_noise(tasks, arguments.noise)
    if arguments.pairs:
        print_pairs(tasks)
        return 0
    systems = collections.defaultdict(list)
    medians = []
    unanswered = 0
    rows = []
    for task, set_ups in tasks.items():
        of_task = compared(set_ups)
        unanswered += sum(chosen is None for chosen, _, _ in of_task)
        answered = [row for row in of_task if row[0] is not None]
        if not answered:
            continue
        medians.append(statistics.median(chosen for chosen, _, _ in answered))
        rows += answered
        systems[task[2]] += answered
    if not rows:
        print("no task has several set-ups with expected rates")
        return 1
    near = 1 - arguments.within
    print(f"{len(medians)} tasks with several set-ups, {len(rows)} targets; at {unanswered} more no set-up is expected "
          "to reach the target")
    print(f"{'system':24} {'targets':>8} {'near':>6} {'reached':>8} {'missed':>7}   by chance: near, reached")
    for system, of_system in sorted(systems.items()) + [("all", rows)]:
        share = sum(chosen >= near for chosen, _, _ in of_system) / len(of_system)
        reached = statistics.mean(chosen for chosen, _, _ in of_system)
        missed = sum(chosen == 0 for chosen, _, _ in of_system) / len(of_system)
        chance = statistics.mean(mean for _, mean, _ in of_system)
        chance_near = statistics.mean(part for _, _, part in of_system)
        print(f"{system:24} {len(of_system):8} {share:6.0%} {reached:8.0%} {missed:7.0%}   {chance_near:18.0%} "
              f"{chance:8.0%}")
    tasks_near = sum(median >= near for median in medians)
    print(f"in {tasks_near} of {len(medians)} tasks ({tasks_near / len(medians):.0%}) the recommended set-up is within "
          f"{arguments.within:.0%} of the best at half of the targets or more")
    return 0


if __name__ == "__main__":
    sys.exit(main())
