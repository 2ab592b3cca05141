#!/usr/bin/env python3
"""Compares recipes of vendors with the best plan of the same job, both priced by the same model.

    scripts/compare_recipes.py [--program build/roofline] [--most 40] [--models llama] [--timeout 120] PLANS.csv

PLANS.csv is a table of published plans (docs/reference/tables.md). Rows whose `role` is recommended, with a model by
name and a calibrated machine, make jobs: model, machine, chips, sequence, batch and dtype. At most --most jobs are
taken, spread evenly over models and machines. Prints of each the time of the best of its recipes over that of the
best plan, and how the two differ; both overlap the collectives over tensor and expert that the recipe overlaps. Needs
only Python.
"""
import argparse
import collections
import csv
import json
import re
import statistics
import subprocess
import sys

MODELS = {
    "llama31-405b": "llama-3.1-405b", "llama31-70b": "llama-3.1-70b", "llama3-70b": "llama-3.1-70b",
    "llama33-70b": "llama-3.1-70b", "llama31-8b": "llama-3.1-8b", "llama3-8b": "llama-3.1-8b",
    "llama2-70b": "llama-2-70b", "llama2-7b": "llama-2-7b", "qwen3-235b-a22b": "qwen3-235b-a22b",
    "qwen3-30b-a3b": "qwen3-30b-a3b", "deepseek-v3": "deepseek-v3", "deepseek-v2-lite": "deepseek-v2-lite",
    "gpt-oss-120b": "gpt-oss-120b", "gpt-oss-20b": "gpt-oss-20b", "kimi-k2": "kimi-k2", "qwen3-8b": "qwen3-8b",
    "mixtral-8x7b": "mixtral-8x7b", "mixtral_8x7b": "mixtral-8x7b", "mixtral-8x22b": "mixtral-8x22b",
    "mixtral_8x22b": "mixtral-8x22b", "qwen3-32b": "qwen3-32b",
}
NODES = {"H100": ("h100-sxm", 8), "H200": ("h200-sxm", 8), "B200": ("b200-sxm", 8), "B300": ("b300-sxm", 8),
         "GB200": ("gb200", 64), "GB300": ("gb300", 64)}
NARROW = (("nvfp4", "nvfp4"), ("mxfp8", "mxfp8"), ("fp8 (mx)", "mxfp8"), ("fp8mx", "mxfp8"), ("fp8", "fp8"))
REMAT = {"none": "none", "none (not set in config)": "none", "not listed": "none", "unknown": "none", "": "none",
         "full": "full", "selective": "selective"}


def slice_of(row):
    name, node = NODES[row["machine"]]
    chips = int(row["n_accel"])
    if chips <= node:
        return f"{name}:{chips}"
    return f"{name}:{node}x{chips // node}" if chips % node == 0 else None


def products_of(row):
    """Returns the dtype of matmuls, "" for bf16, None if the row does not say it."""
    dtype = row["dtype"].lower()
    if " or " in dtype or "unknown" in dtype:
        return None
    return next((narrow for begin, narrow in NARROW if dtype.startswith(begin)), "")


def job_of(row):
    products = products_of(row)
    if row["role"] != "recommended" or row["model"] not in MODELS or row["machine"] not in NODES:
        return None
    whole = ("tp", "pp", "cp", "dp", "seq", "global_batch", "micro_batch", "n_accel")
    if products is None or any(word in row["task"] for word in ("lora", "peft")):
        return None
    if not all(re.fullmatch("[1-9][0-9]*", row[key]) for key in whole):
        return None
    if row["recompute"] not in REMAT or slice_of(row) is None or row["schedule"] == "DualPipe":
        return None
    return (MODELS[row["model"]], slice_of(row), int(row["seq"]), int(row["global_batch"]), products)


def words_of(job):
    model, slice_, seq, batch, products = job
    words = [model, "--on", slice_, "--seq", str(seq), "--batch-tokens", str(seq * batch), "--json"]
    return words + (["--products", products] if products else [])


def recipe_words(row):
    tp, pp, cp, dp, micro = (int(row[key]) for key in ("tp", "pp", "cp", "dp", "micro_batch"))
    ep, etp = int(row["ep"] or 1), int(row["etp"] or 0)
    over_tensor = ep > 1 and tp > 1 and etp == 1
    mesh = {"tensor": tp, "pipeline": pp, "context": cp, "expert": ep}
    mesh["data"] = dp if over_tensor else dp // ep
    if row["sharding"] in ("torch-fsdp2", "megatron-fsdp", "fsdp") and pp == 1:
        mesh["fsdp"] = mesh.pop("data")
    words = ["--mesh", ",".join(f"{axis}={ways}" for axis, ways in mesh.items() if ways > 1) or "data=1"]
    words += ["--microbatches", str(int(row["global_batch"]) // (dp * micro)), "--remat", REMAT[row["recompute"]]]
    if mesh.get("data", 1) * ep * cp > 1 and "fsdp" not in mesh:
        words += ["--zero", "1"]
    if pp > 1:
        chunks = int(row["vpp"] or 1)
        words += ["--schedule", f"interleaved:{chunks}" if chunks > 1 else "1f1b"]
    return words


def overlap_of(row):
    """Returns the axes whose collectives the recipe overlaps with matmuls, and that it has."""
    words = row["overlap"].split("+")
    axes = [axis for axis, word, ways in (("tensor", "tp", "tp"), ("expert", "ep_a2a_1f1b", "ep"))
            if word in words and int(row[ways] or 1) > 1]
    return ["--overlap", ",".join(axes) or "none"]


def ask(program, words, timeout):
    try:
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=timeout, check=False)
        answer = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError):
        return {"error": {"message": f"no answer within {timeout} s"}}
    return answer


def plan_text(answer):
    plan = answer["plan"]
    axes = ("tensor", "pipeline", "context", "expert", "fsdp", "data")
    text = ",".join(f"{axis}={plan[axis]}" for axis in axes if plan[axis] > 1)
    text += f" m={plan['microbatches']} {plan['schedule'] or ''} {plan['remat']} zero{plan['zero']}"
    return text.replace("  ", " ")


def spread(jobs, most):
    """Returns jobs in turns of models and machines, the smallest first."""
    groups = collections.defaultdict(list)
    for job in sorted(jobs, key=lambda each: (each[3] * each[2], each)):
        groups[job[0], job[1].split(":")[0]].append(job)
    taken = []
    for turn in range(max(map(len, groups.values()), default=0)):
        taken += [group[turn] for _, group in sorted(groups.items()) if turn < len(group)]
    return taken[:most]


def compare(options, job, rows):
    priced = []
    for words, overlap in sorted({(tuple(recipe_words(row)), tuple(overlap_of(row))) for row in rows}):
        answer = ask(options.program, ["train", *words_of(job), *words, *overlap], options.timeout)
        if "step" not in answer:
            print(f"  refused {' '.join(words)}: {answer.get('error', {}).get('message', '')[:90]}")
        elif answer["step"]["expected_s"]:
            priced.append((answer, overlap))
    if not priced:
        return None
    recipe, overlap = min(priced, key=lambda each: (not each[0]["fits"], each[0]["step"]["expected_s"]))
    without = "sequence" if recipe["plan"]["context"] > 1 else "sequence,context"
    found = ask(options.program, ["plan", "train", *words_of(job), *overlap, "--without", without, "--threads", "1"],
                options.timeout)
    best = found.get("best")
    if not best or not best["step"]["expected_s"]:
        print(f"  no best plan: {found.get('error', {}).get('message', 'none fits')[:90]}")
        return None
    ratio = recipe["step"]["expected_s"] / best["step"]["expected_s"]
    memory = recipe["memory_bytes"]["total"] / recipe["capacity_bytes"]
    print(f"{ratio:.2f} {' '.join(words_of(job)[:3])} {job[3]}x{job[2]} {job[4] or 'bf16'}, memory {memory:.0%}, "
          f"overlap {overlap[1]}\n"
          f"     recipe {recipe['step']['expected_s']:.4g} s {plan_text(recipe)}\n"
          f"     best   {best['step']['expected_s']:.4g} s {plan_text(best)}", flush=True)
    return ratio, recipe["fits"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/roofline")
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--models", default="", help="a pattern that the model's name must contain")
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("table")
    options = parser.parse_args()
    jobs = collections.defaultdict(list)
    with open(options.table, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            job = job_of(row)
            if job and re.search(options.models, job[0]):
                jobs[job].append(row)
    if not jobs:
        sys.exit(f"{options.table} has no recipe that can be priced")
    ratios = []
    for job in spread(jobs, options.most):
        result = compare(options, job, jobs[job])
        if result:
            ratios.append(result)
    fitting = [ratio for ratio, fits in ratios if fits]
    print(f"{len(jobs)} jobs, {len(ratios)} compared, {len(fitting)} of whose recipes fit: "
          f"within 10 % of the best {sum(r <= 1.1 for r in fitting)}, median {statistics.median(fitting or [1]):.2f}, "
          f"faster than the best by more than 1 % {sum(r < 0.99 for r in fitting)}")


if __name__ == "__main__":
    main()
