#!/usr/bin/env python3
"""Compares recipes of vendors with the best plan of the same job, both priced by the same model.

    scripts/compare_recipes.py [--program build/roofline] [--most 40] [--models llama] [--timeout 120] PLANS.csv

PLANS.csv is a table of published plans (docs/reference/tables.md). Rows whose `role` is recommended, with a model by
name and a calibrated machine, make jobs: model, machine, chips, sequence, batch, dtype, framework, and the axes whose
collectives the recipe overlaps. At most --most jobs are taken, spread evenly over models and machines. Both plans are
priced with this framework, once with these axes overlapped and once with none. Prints of each the time of the best of
its recipes over that of the best plan, where their steps differ, and a summary; of recipes that are slower by more than
10 % also what makes the difference: the recipe with dispatch and combine overlapped, and the best plan with no axes but
the recipe's. Needs only Python.
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
# What a recipe recomputes; of one that does not say it, the first policy that fits.
REMAT = {"none": ["none"], "none (not set in config)": ["none"], "full": ["full"], "selective": ["selective"],
         "not listed": ["none", "selective", "full"], "unknown": ["none", "selective", "full"],
         "": ["none", "selective", "full"]}
# The framework of a source, and whether the column `overlap` of its rows says what overlaps. If not, what the
# framework overlaps is taken.
SOURCES = {"NVIDIA-NeMo/Megatron-Bridge": ("nemo", True), "NVIDIA/NeMo": ("nemo-25.09", False),
           "NVIDIA/dgxc-benchmarking": ("nemo-25.09", False), "yanring/Megatron-MoE-ModelZoo": ("megatron-lm", True),
           "mlcommons/training_results_v4.0": ("nemo-24.07", True),
           "mlcommons/training_results_v4.1": ("nemo-24.07", True),
           "mlcommons/training_results_v5.0": ("nemo-24.07", True),
           "mlcommons/training_results_v5.1": ("nemo-25.09", True)}
Compared = collections.namedtuple("Compared", ("ratio", "fits", "reason"))
OVERLAPS = (("tp", "tensor"), ("ep_a2a_1f1b", "expert"))


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
    if products is None or any(word in row["task"] for word in ("lora", "peft")) or row["source"] not in SOURCES:
        return None
    if not all(re.fullmatch("[1-9][0-9]*", row[key]) for key in whole):
        return None
    if row["recompute"] not in REMAT or slice_of(row) is None or row["schedule"] == "DualPipe":
        return None
    framework, says = SOURCES[row["source"]]
    overlap = overlap_of(row) if says else None
    return (MODELS[row["model"]], slice_of(row), int(row["seq"]), int(row["global_batch"]), products, framework,
            overlap)


def overlap_of(row):
    words = row["overlap"].split("+")
    return ",".join(axis for word, axis in OVERLAPS if word in words) or "none"


def words_of(job, overlap):
    model, slice_, seq, batch, products, framework, _ = job
    words = [model, "--on", slice_, "--seq", str(seq), "--batch-tokens", str(seq * batch), "--framework", framework]
    words += ["--products", products] if products else []
    return words + (["--overlap", overlap] if overlap else [])


def allowed(overlap, words):
    """Returns the overlap of those axes that a mesh has: `train` refuses others."""
    mesh = words[words.index("--mesh") + 1]
    kept = [axis for axis in (overlap or "").split(",") if axis + "=" in mesh]
    return (",".join(kept) or "none") if overlap else None


def recipe_words(row):
    """Returns the options of a recipe, one list for each recomputation that it may have."""
    tp, pp, cp, dp, micro = (int(row[key]) for key in ("tp", "pp", "cp", "dp", "micro_batch"))
    ep, etp = int(row["ep"] or 1), int(row["etp"] or 0)
    over_tensor = ep > 1 and tp > 1 and etp == 1
    mesh = {"tensor": tp, "pipeline": pp, "context": cp, "expert": ep}
    mesh["data"] = dp if over_tensor else dp // ep
    if row["sharding"] in ("torch-fsdp2", "megatron-fsdp", "fsdp") and pp == 1:
        mesh["fsdp"] = mesh.pop("data")
    words = ["--mesh", ",".join(f"{axis}={ways}" for axis, ways in mesh.items() if ways > 1) or "data=1"]
    words += ["--microbatches", str(int(row["global_batch"]) // (dp * micro))]
    if mesh.get("data", 1) * ep * cp > 1 and "fsdp" not in mesh:
        words += ["--zero", "1"]
    if pp > 1:
        chunks = int(row["vpp"] or 1)
        words += ["--schedule", f"interleaved:{chunks}" if chunks > 1 else "1f1b"]
    return [[*words, "--remat", remat] for remat in REMAT[row["recompute"]]]


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


def words_of_plan(plan):
    words = ["--mesh", plan["mesh"] or "data=1", "--microbatches", str(plan["microbatches"]), "--remat", plan["remat"]]
    words += ["--zero", str(plan["zero"])] if plan["zero"] else []
    return words + (["--schedule", plan["schedule"]] if plan["schedule"] else [])


def seconds_of(text):
    number, unit = text.split()
    return float(number.replace(",", "")) * {"s": 1, "ms": 1e-3, "us": 1e-6}[unit]


def parts_of(options, words):
    """Returns where the seconds of a step are, as `train --explain` derives them: the device's kernels and exposed
    collectives, and the host's launches."""
    done = subprocess.run([options.program, "train", *words, "--explain"], capture_output=True, text=True,
                          timeout=options.timeout, check=False)
    text = " ".join(done.stdout.split())
    found = re.search(r"the device: (.*?) = ([0-9.,]+ m?u?s);? ", text)
    host = re.search(r"the host: .*? = ([0-9.,]+ m?u?s);", text)
    if not found:
        return {}
    parts = {"device": seconds_of(found[2]), "host": seconds_of(host[1]) if host else 0}
    exposed = re.search(r"([0-9.,]+ m?u?s) of exposed collectives", found[1])
    parts["exposed"] = seconds_of(exposed[1]) if exposed else 0
    parts["kernels"] = parts["device"] - parts["exposed"]
    return parts


def spread(jobs, most):
    """Returns jobs in turns of models and machines, the smallest first."""
    groups = collections.defaultdict(list)
    for job in sorted(jobs, key=lambda each: (each[3] * each[2], each[:6], each[6] or "")):
        groups[job[0], job[1].split(":")[0]].append(job)
    taken = []
    for turn in range(max(map(len, groups.values()), default=0)):
        taken += [group[turn] for _, group in sorted(groups.items()) if turn < len(group)]
    return taken[:most]


def price_recipe(options, job, overlap, rows):
    """Returns the fastest of the recipes that fit, or the fastest, as the answer of `train` and its words."""
    priced = []
    for alternatives in sorted({tuple(map(tuple, recipe_words(row))) for row in rows}):
        for words in alternatives:
            asked = [*words_of(job, allowed(overlap, words)), *words]
            answer = ask(options.program, ["train", *asked, "--json"], options.timeout)
            if "step" not in answer:
                print(f"  refused {' '.join(words)}: {answer.get('error', {}).get('message', '')[:90]}")
            elif answer["step"]["expected_s"]:
                priced.append((answer, asked))
                if answer["fits"]:
                    break
    return min(priced, key=lambda each: (not each[0]["fits"], each[0]["step"]["expected_s"]), default=None)


def describe(options, name, answer, words):
    parts = parts_of(options, words)
    memory = answer["memory_bytes"]["total"] / answer["capacity_bytes"]
    bubble = answer["step"]["bubble"]
    text = ", ".join(f"{part} {parts[part]:.3g} s" for part in ("kernels", "exposed", "host") if part in parts)
    print(f"     {name} {answer['step']['expected_s']:.4g} s, {text}, bubble {bubble:.1%}, memory {memory:.0%}: "
          f"{plan_text(answer)}", flush=True)


def compare(options, job, overlap, rows):
    recipe = price_recipe(options, job, overlap, rows)
    if not recipe:
        return None
    answer, words = recipe
    without = "sequence" if answer["plan"]["context"] > 1 else "sequence,context"
    best = best_plan(options, job, overlap, ["--without", without])
    if not best:
        return None
    ratio = answer["step"]["expected_s"] / best["step"]["expected_s"]
    print(f"{ratio:.2f} {job[0]} {job[1]} {job[3]}x{job[2]} {job[4] or 'bf16'} {job[5]}, "
          f"overlap {overlap or 'of the framework'} [{' '.join(sorted(row['row_id'] for row in rows))}]")
    describe(options, "recipe", answer, words)
    own = words_of_plan(best["plan"])
    describe(options, "best  ", best, [*words_of(job, allowed(overlap, own)), *own])
    return Compared(ratio, answer["fits"], reason(options, job, overlap, recipe, best) if ratio > 1.1 else "")


def best_plan(options, job, overlap, words):
    found = ask(options.program, ["plan", "train", *words_of(job, overlap), *words, "--threads", "1", "--plans", "1",
                                  "--json"], options.timeout)
    best = found.get("best")
    if not best or not best["step"]["expected_s"]:
        print(f"  no best plan: {found.get('error', {}).get('message', 'none fits')[:90]}")
        return None
    return best


def reason(options, job, overlap, recipe, best):
    """Returns why a recipe is slower: what of it, if the best plan had no other, makes the difference."""
    answer, words = recipe
    plan = answer["plan"]
    if not answer["fits"]:
        return "does not fit"
    seconds, most = answer["step"]["expected_s"], 1.1
    if plan["expert"] > 1 and "expert" not in (overlap or ""):
        both = [each for each in (overlap or "").split(",") if each in ("tensor",)] + ["expert"]
        hidden = ask(options.program, ["train", *words_of(job, allowed(",".join(both), words)),
                                       *words[words.index("--mesh"):], "--json"], options.timeout)
        hidden_s = hidden["step"]["expected_s"]
        print(f"     with dispatch and combine overlapped the recipe takes {hidden_s:.4g} s")
        if hidden_s <= most * best["step"]["expected_s"]:
            return "dispatch and combine are exposed"
    axes = ("fsdp", "tensor", "sequence", "context", "expert", "pipeline")
    its = best_plan(options, job, overlap, ["--without", ",".join(axis for axis in axes if plan[axis] == 1),
                                            "--zero", str(plan["zero"])])
    if its:
        print(f"     the best plan with the recipe's axes takes {its['step']['expected_s']:.4g} s: {plan_text(its)}")
        if seconds <= most * its["step"]["expected_s"]:
            return "it does without the best plan's axes"
    return "other degrees"


def summary(name, results):
    fitting = [each.ratio for each in results if each.fits]
    print(f"{name}: {len(results)} compared, {len(fitting)} of whose recipes fit: "
          f"within 10 % of the best {sum(r <= 1.1 for r in fitting)}, median {statistics.median(fitting or [1]):.2f}, "
          f"faster than the best by more than 1 % {sum(r < 0.99 for r in fitting)}")
    for why, number in sorted(collections.Counter(each.reason for each in results if each.reason).items()):
        print(f"  {number} slower by more than 10 %: {why}")


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
    own, neither = [], []
    for job in spread(jobs, options.most):
        overlap = job[6]
        with_overlap = compare(options, job, overlap, jobs[job])
        without = with_overlap if overlap == "none" else compare(options, job, "none", jobs[job])
        own += [with_overlap] if with_overlap else []
        neither += [without] if without else []
    print(f"{len(jobs)} jobs")
    summary("overlap as in the recipe", own)
    summary("no overlap", neither)


if __name__ == "__main__":
    main()
