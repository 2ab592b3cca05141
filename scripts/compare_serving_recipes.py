#!/usr/bin/env python3
"""Compares published recipes of servers with the set-ups that `roofline plan serve` finds, both priced by one model.

    scripts/compare_serving_recipes.py [--program build/roofline] [--most 60] [--models glm] [--timeout 300] PLANS.csv

PLANS.csv is a table of published set-ups of servers (docs/reference/tables.md). Rows whose `role` is recommended, with
a model by name and a calibrated machine, make jobs: model, machine, chips, precision, lengths, server and concurrency,
the middle one of those that a recipe lists. At most --most recipes are taken, spread evenly over models, machines and
kinds; recipes with drafts (MTP) are left out, because nothing says how many of them are accepted. `serve` gives the
mean TTFT and TPOT of the recipe, which become the targets of `plan serve` on the same chips, for the most tokens/s per
chip. Prints of each recipe its expected tokens/s per chip over that of the best set-up (1 or less: reproduced or
beaten), and why a recipe is not among those that are searched. Needs only Python.
"""
import argparse
import collections
import csv
import json
import statistics
import subprocess
import sys

MODELS = {"dsr1": "deepseek-v3", "glm5": "glm-5", "glm5.1": "glm-5", "gptoss": "gpt-oss-120b", "kimik2.5": "kimi-k2",
          "minimaxm2.5": "minimax-m2.5", "qwen3.5": "qwen3.5-397b-a17b"}
NODES = {"H100": ("h100-sxm", 8), "H200": ("h200-sxm", 8), "B200": ("b200-sxm", 8), "B300": ("b300-sxm", 8),
         "GB200": ("gb200", 72), "GB300": ("gb300", 72)}
SERVERS = {"trt": "trtllm", "vllm": "vllm", "sglang": "sglang"}
WEIGHTS = {"fp4": "nvfp4", "fp8": "fp8", "bf16": "bf16", "int4": "int4"}


class Refused(Exception):
    """A recipe that cannot be asked for, and why."""


def slice_of(machine, chips):
    name, node = NODES[machine]
    if chips <= node:
        return f"{name}:{chips}"
    if chips % node:
        raise Refused(f"{chips} chips are no whole nodes")
    return f"{name}:{node}x{chips // node}"


def mesh_of(tensor, pipeline, expert, by_data):
    """Returns the axes of a server of `tensor` chips per stage, as servers' options name them."""
    axes = {}
    if by_data:
        if expert != tensor:
            raise Refused("attention by data beside experts that are split by tensor")
        axes["expert"] = tensor
    elif expert in (1, tensor):
        axes["tensor"] = tensor
        if expert > 1:
            axes["expert"] = expert
    else:
        raise Refused("experts over a part of the tensor axis")
    if pipeline > 1:
        axes["pipeline"] = pipeline
    return ",".join(f"{axis}={ways}" for axis, ways in axes.items() if ways > 1) or "tensor=1"


def pool_of(row, pool):
    """Returns workers, chips of each and the mesh of one."""
    prefix = f"{pool}_" if pool else ""
    number = lambda key, absent: int(float(row[prefix + key] or absent))
    tensor, pipeline, expert = number("tp", 1), number("pp", 1), number("ep", 1)
    workers = number("workers", 1) if pool else 1
    # DeepEP's recipes count a worker's chips in `ep` and one member's in `tp`.
    by_data = row[prefix + "dp_attn"] == "True"
    chips = max(tensor, expert) if by_data else tensor
    return workers, chips * pipeline, mesh_of(chips, pipeline, expert, by_data)


def recipe_words(row):
    """Returns the words of `serve` that make the recipe, and the chips of both pools."""
    if row["mode"] == "agg":
        _, chips, mesh = pool_of(row, "")
        return ["--on", slice_of(row["machine"], chips), "--mesh", mesh], (chips, 0)
    prefill, decode = pool_of(row, "prefill"), pool_of(row, "decode")
    words = ["--on", slice_of(row["machine"], decode[1]), "--mesh", decode[2], "--decode-workers", str(decode[0])]
    words += ["--prefill", slice_of(row["machine"], prefill[1]), "--prefill-mesh", prefill[2]]
    words += ["--prefill-workers", str(prefill[0])]
    return words, (decode[0] * decode[1], prefill[0] * prefill[1])


def job_words(row):
    server = next((ours for theirs, ours in SERVERS.items() if theirs in row["framework"]), None)
    if not server:
        raise Refused(f"no measured server of {row['framework']}")
    loads = sorted(int(word) for word in row["concurrency"].split())
    words = ["--prompt", str(int(float(row["isl"]))), "--output", str(int(float(row["osl"])))]
    words += ["--weights", WEIGHTS[row["precision"]], "--software", server]
    return words, loads[len(loads) // 2]


def ask(options, words):
    try:
        done = subprocess.run([options.program, *words, "--json"], capture_output=True, text=True,
                              timeout=options.timeout, check=False)
        return json.loads(done.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError):
        return {"error": {"message": f"no answer within {options.timeout} s"}}


def answer_of(options, words):
    answer = ask(options, words)
    if "error" in answer:
        raise Refused(answer["error"]["message"])
    return answer


def whole_slice(row, pools):
    """Returns the slice that `plan serve` may use: as many chips as both pools have, in whole nodes if several."""
    name, node = NODES[row["machine"]]
    chips = sum(pools)
    return f"{name}:{chips}" if chips <= node else f"{name}:{node}x{-(-chips // node)}"


def compare(options, row):
    """Returns the ratio, the recipe's rate per chip, and the best set-up in words."""
    model = MODELS[row["model"]]
    own, pools = recipe_words(row)
    job, load = job_words(row)
    members = max(1, int(load / max(1, int(float(row["decode_workers"] or 1)))))
    recipe = answer_of(options, ["serve", model, *own, *job, "--concurrency", str(load), "--batch", str(members)])
    if not recipe["load"]:
        raise Refused("no expected times")
    tpot, ttft = (recipe["load"][time]["mean"] * 1.001e3 for time in ("tpot_s", "ttft_s"))
    rate = recipe["load"]["tokens_per_s_per_chip"]
    # A deployment may be some such set-ups side by side, so fewer chips than the recipe's are allowed, not more.
    words = ["plan", "serve", model, "--on", whole_slice(row, pools), *job, "--percentile", "mean", "--tpot",
             f"{tpot:.6g}ms", "--ttft", f"{ttft:.6g}ms"]
    best = answer_of(options, words)
    if not best.get("best"):
        raise Refused("plan serve finds nothing")
    found = best["best"]["load"]["tokens_per_s_per_chip"]
    return rate / found, rate, best["set_up"]["set_up"], " ".join([options.program, *words])


def spread(rows, most):
    """Returns rows in turns of models, machines and kinds."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["model"], row["machine"], row["mode"]].append(row)
    taken = []
    for turn in range(max(map(len, groups.values()), default=0)):
        taken += [group[turn] for _, group in sorted(groups.items()) if turn < len(group)]
    return taken[:most]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--program", default="build/roofline")
    parser.add_argument("--most", type=int, default=60)
    parser.add_argument("--models", default="")
    parser.add_argument("--timeout", type=int, default=300)
    options = parser.parse_args()
    with open(options.table, encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["role"] == "recommended" and row["measured"] == "no" and
                row["model"] in MODELS and row["machine"] in NODES and row["spec_decode"] != "mtp" and
                row["concurrency"] and options.models in MODELS[row["model"]]]
    ratios = []
    reasons = collections.Counter()
    for row in spread(rows, options.most):
        name = f"{row['row_id']} {MODELS[row['model']]} {row['machine']} {row['mode']} {row['isl']}/{row['osl']}"
        try:
            ratio, rate, set_up, words = compare(options, row)
        except Refused as refusal:
            reasons[str(refusal)] += 1
            print(f"{name}: {refusal}", flush=True)
            continue
        ratios.append(ratio)
        print(f"{ratio:6.3f} {name}: {rate:.4g} tokens/s per chip; best: {set_up}", flush=True)
        if ratio > 1.005:
            print(f"       {words}")
    if not ratios:
        return 1
    print(f"{len(ratios)} recipes: reproduced or beaten {sum(ratio <= 1.005 for ratio in ratios)}, ratio median "
          f"{statistics.median(ratios):.2f}, largest {max(ratios):.3f}; not compared {sum(reasons.values())}:")
    for reason, count in reasons.most_common():
        print(f"  {count:4} {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
