#!/usr/bin/env python3
"""Compares peaks and bandwidths of `roofline measure cpu` with those of likwid-bench, measured alternately.

    bench/compare_measure.py [--program build/roofline] [--effort=--quick] [--rounds 3]

likwid-bench counts the bytes that a kernel loads and stores, as roofline does. The best round of each is used, because
disturbances only make a machine slower. Needs likwid (Debian: likwid).
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# kernels of roofline, and the corresponding ones of likwid by the widest registers that both support
KERNELS = {
    "read": {"avx512": "load_avx512", "avx": "load_avx", "sse": "load_sse"},
    "write": {"avx512": "store_avx512", "avx": "store_avx", "sse": "store_sse"},
    "write_nt": {"avx512": "store_mem_avx512", "avx": "store_mem_avx", "sse": "store_mem_sse"},
    "copy": {"avx512": "copy_avx512", "avx": "copy_avx", "sse": "copy_sse"},
    "copy_nt": {"avx512": "copy_mem_avx512", "avx": "copy_mem_avx", "sse": "copy_mem_sse"},
    "triad": {"avx512": "stream_avx512_fma", "avx": "stream_avx_fma", "sse": "stream_sse"},
}
PEAKS = {
    "f64": {"avx512": "peakflops_avx512_fma", "avx": "peakflops_avx_fma", "sse": "peakflops_sse"},
    "f32": {"avx512": "peakflops_sp_avx512_fma", "avx": "peakflops_sp_avx_fma", "sse": "peakflops_sp_sse"},
}


def registers():
    with open("/proc/cpuinfo") as file:
        flags = file.read()
    return "avx512" if "avx512f" in flags else "avx" if "avx2" in flags else "sse"


def likwid(test, size_kib, threads, pattern):
    """Returns the number matched by `pattern`, in units of 1e6 per second; None when likwid cannot measure it."""
    command = ["likwid-bench", "-t", test, "-s", "1", "-w", f"S0:{size_kib}kB:{threads}"]
    answer = subprocess.run(command, capture_output=True, text=True)
    found = re.search(pattern + r":\s+([0-9.]+)", answer.stdout)
    return float(found.group(1)) * 1e6 if found else None


def measure(program, effort, folder):
    command = [program, "measure", "cpu", effort, "--json", "-o", os.path.join(folder, "machine.toml")]
    answer = subprocess.run([word for word in command if word], capture_output=True, text=True)
    if answer.returncode != 0:
        sys.exit(f"{' '.join(command)}: {answer.stdout}{answer.stderr}")
    return json.loads(answer.stdout)


def better(best, key, value):
    if value is not None and value > best.get(key, 0):
        best[key] = value


def take_ours(answer, ours):
    for row in answer["peaks"]:
        if row["operation"] == "FMA":
            better(ours, ("peak", row["dtype"], row["threads"]), row["p95_per_s"])
    for row in answer["bandwidths"]:
        if row["pages"] == "huge":
            for kernel in KERNELS:
                better(ours, (row["level"], kernel, row["threads"]), row[kernel + "_bytes_per_s"])


def take_theirs(answer, keys, width, theirs):
    sizes = {row["level"]: row["capacity_bytes"] for row in answer["levels"]}
    last = max(size for level, size in sizes.items() if level != "DRAM")
    shared = {row["level"]: row["instances"] for row in answer["levels"]}
    for key in keys:
        what, kernel, threads = key
        if what == "peak":
            better(theirs, key, likwid(PEAKS[kernel][width], 16 * threads, threads, "MFlops/s"))
            continue
        # The working set is half of the threads' share of the level; for memory it is four times the last-level cache.
        instances = min(threads, shared[what])
        size = 4 * last if what == "DRAM" else sizes[what] / 2 * instances
        better(theirs, key, likwid(KERNELS[kernel][width], int(size / 1024), int(threads), "MByte/s"))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--program", default="build/roofline")
    options.add_argument("--effort", default="--quick", help="--quick, --thorough or nothing")
    options.add_argument("--rounds", type=int, default=2)
    chosen = options.parse_args()
    if shutil.which("likwid-bench") is None:
        sys.exit("likwid-bench is not installed (Debian: likwid)")
    ours, theirs = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(chosen.rounds):
            answer = measure(chosen.program, chosen.effort, folder)
            take_ours(answer, ours)
            take_theirs(answer, [(what, kernel, int(threads)) for what, kernel, threads in ours], registers(), theirs)
    print("| what | kernel | threads | roofline, G/s | likwid-bench, G/s | ratio |")
    print("|---|---|---|---|---|---|")
    for key in ours:
        if key in theirs:
            what, kernel, threads = key
            print(f"| {what} | {kernel} | {threads:.0f} | {ours[key] / 1e9:.4g} | {theirs[key] / 1e9:.4g} "
                  f"| {ours[key] / theirs[key]:.2f} |")


if __name__ == "__main__":
    main()
