#!/usr/bin/env python3
"""Compares the set-ups of servers that expected times recommend with measured ones.

The loads of a table of measured servers whose rates are known are those of `roofline validate --json`: for each its
measured and its expected tokens/s per user and per chip. A task has a source, a model, a machine, a dtype and lengths;
its set-ups are slices, plans and software, each measured under several loads. At a target, which is the tokens/s per
user of a point of the measured frontier, the set-up that is recommended is the one with the most expected tokens/s per
chip among the loads whose expected tokens/s per user reach it. What it reaches is the most measured tokens/s per chip
of its loads whose measured tokens/s per user reach the target; none if there is no such load. Tasks with one set-up
have nothing to choose from and are left out. With --software a task has one version of a server, too, so that only
plans and chips are chosen.

usage: compare_serving_plans.py ROOFLINE TABLE.csv [--software] [--within 0.1] [--json FILE]     FILE: the answer of
validate, if it is there already. Prints what was reached, by system and in all, beside a choice by chance."""

import argparse
import collections
import json
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


def tasks_of(curves, software):
    """Returns by task the points of each set-up that have an expected value."""
    keys = ("source", "model", "system", "dtype", "prompt", "output") + (("software",) if software else ())
    tasks = collections.defaultdict(dict)
    for curve in curves:
        task = tuple(curve[key] for key in keys)
        points = [point for point in curve["points"] if point["expected"]]
        if points:
            tasks[task].setdefault((curve["slice"], curve["strategy"], curve["software"]), []).extend(points)
    return {task: set_ups for task, set_ups in tasks.items() if len(set_ups) > 1}


def most(points, kind, target):
    """Returns the most tokens/s per chip at this target; 0 where none reaches it."""
    return max((point[kind][CHIP] for point in points if point[kind][USER] >= target), default=0)


def frontier(points):
    """Returns the tokens/s per user of the points that no other one exceeds in both measured rates."""
    best = 0
    targets = []
    for point in sorted(points, key=lambda point: (-point["measured"][USER], -point["measured"][CHIP])):
        if point["measured"][CHIP] > best:
            best = point["measured"][CHIP]
            targets.append(point["measured"][USER])
    return targets


def compared(set_ups):
    """Returns for each target what was reached, and what set-ups reach on average, as parts of the best measured."""
    every = [point for points in set_ups.values() for point in points]
    rows = []
    for target in frontier(every):
        best = most(every, "measured", target)
        expected = {name: most(points, "expected", target) for name, points in set_ups.items()}
        reached = {name: most(points, "measured", target) / best for name, points in set_ups.items()}
        able = [value for value in reached.values() if value > 0]
        name = max(expected, key=expected.get)
        chosen = reached[name] if expected[name] > 0 else None
        rows.append((chosen, statistics.mean(able), sum(value >= 0.9 for value in able) / len(able)))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("roofline")
    parser.add_argument("table")
    parser.add_argument("--within", type=float, default=0.1)
    parser.add_argument("--json")
    parser.add_argument("--software", action="store_true")
    arguments = parser.parse_args()
    tasks = tasks_of(curves_of(arguments), arguments.software)
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
