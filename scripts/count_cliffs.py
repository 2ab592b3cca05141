#!/usr/bin/env python3
"""Counts cliffs in expected times over fine sweeps of one size.

A cliff is an increase of the time by more than 30 % (and by more than that of the size, which doubles from 1 to 2), or
a decrease by more than 7 %, where no wave of tiles begins. Every kernel model in data/calibration that a user can
select is swept: matmuls along M, N and K; expert layers along the rows per expert; attention along queries, keys, batch
and heads; kernels without matmuls along their rows and columns. Sizes increase by one while they are small and then by
2 %, and include both neighbours of every power of two and of three times it.

A jump that whole tiles explain is not a cliff. At a jump the tiling that `--explain` names is applied here again: the
number of tiles is rows over tile rows times columns over tile columns times matmuls times splits, and a wave has as
many tiles as the chip has cores. The time may grow in proportion to the waves of the tiles before the jump. If there
are fewer tiles than cores, it may decrease as their number grows, because more cores read from memory. If the rows
alone determine the tile, it may grow in proportion to whole waves of the larger tile. Libraries have different kernels
for one row and for two, so jumps from 1 row to 2 are counted separately.

usage: count_cliffs.py [--root DIR] [--program FILE] [--machine ID] [--few] [--list] [--most PER_CENT]
--few: two sweeps per model, for a test. --most: exits with 1 if more than this percentage of sweeps has a cliff.
"""

import argparse
import concurrent.futures
import csv
import itertools
import math
import pathlib
import re
import subprocess
import sys
import tomllib

UP, DOWN = 1.30, 0.93
BY_HOST = ("eager", "wall clock")
TILE = re.compile(r"tiles of (\d+) x (\d+) in (\d+) waves?(?:, K in (\d+) splits)?")

PREFILL = """Q : {a}[B, T, K, G, H]
Ks : {b}[B, S, K, H]
Vs : {b}[B, S, K, H]
fuse {{
    P : {a}[B, K, G, T, S] = softmax[S](causal[T,S](Q * Ks))
    O : bf16[B, T, K, G, H] = P * Vs
}}
"""
DECODE = """Q : {a}[B, K, G, H]
Ks : {b}[B, S, K, H]
Vs : {b}[B, S, K, H]
fuse {{
    P : {a}[B, K, G, S] = softmax[S](Q * Ks)
    O : bf16[B, K, G, H] = P * Vs
}}
"""
LATENT = """Q : {a}[B, G, H]
Cs : {b}[B, S, H]
fuse {{
    P : {a}[B, G, S] = softmax[S](Q * Cs)
    O : bf16[B, G, H] = P * Cs
}}
"""
EXPERTS = """X : {a}[T, D]
Chosen : int32[T, A]
W : {b}[E, D, F]
Xe : {a}[E, C, D] = dispatch[E,C](X, Chosen)
Y : bf16[E, C, F] = Xe *_D W
"""


def sizes(least, most):
    """Returns sizes in steps of one, then of 2 %, and both neighbours of every power of two and of three times it."""
    points = {2**i * j + k for i in range(30) for j in (1, 3) for k in (0, 1)}
    at = least
    while at <= most:
        points.add(at)
        at = max(at + 1, int(at * 1.02))
    return sorted(p for p in points if least <= p <= most)


def dims_of(text):
    return {name: int(size) for name, size in (each.split("=") for each in text.split(","))}


# The sweeps of each kind of kernel: the swept size, its range, and all other sizes. Those for --few come first.
def products():
    yield "M", 1, 8192, "N=7168,K=4096"
    yield "M", 1, 8192, "N=4096,K=4096"
    yield "N", 64, 32768, "M=512,K=4096"
    yield "K", 64, 32768, "M=512,N=4096"
    yield "M", 1, 8192, "N=28672,K=8192"
    yield "M", 1, 8192, "N=2048,K=7168"
    for m in (1, 16, 100, 4096):
        yield "N", 64, 32768, f"M={m},K=4096"
        yield "K", 64, 32768, f"M={m},N=4096"


def decode():
    yield "S", 16, 131072, "B=16,K=8,G=4,H=128"
    yield "G", 1, 128, "B=16,S=4096,K=8,H=128"
    yield "B", 1, 1024, "S=4096,K=8,G=4,H=128"
    yield "S", 16, 131072, "B=1,K=8,G=8,H=128"
    yield "S", 16, 131072, "B=64,K=1,G=64,H=64"
    yield "B", 1, 1024, "S=1024,K=32,G=1,H=128"
    yield "K", 1, 128, "B=8,S=4096,G=1,H=128"


def prefill():
    yield "T", 16, 32768, "B=1,K=8,G=4,H=128"
    yield "G", 1, 128, "B=1,T=2048,K=1,H=128"
    yield "B", 1, 256, "T=1024,K=8,G=4,H=128"
    yield "T", 16, 32768, "B=4,K=8,G=8,H=64"
    yield "T", 16, 32768, "B=1,K=32,G=1,H=128"
    yield "K", 1, 128, "B=1,T=2048,G=1,H=128"


def latent():
    yield "S", 16, 131072, "B=16,G=128,H=512"
    yield "G", 1, 128, "B=16,S=4096,H=512"
    yield "B", 1, 1024, "S=4096,G=16,H=512"


def experts():
    yield "C", 1, 4096, "T=4096,A=8,D=4096,E=16,F=3072"
    yield "C", 1, 4096, "T=4096,A=8,D=7168,E=32,F=2048"
    yield "F", 64, 16384, "T=4096,A=8,D=4096,E=16,C=64"
    yield "D", 64, 16384, "T=4096,A=8,F=4096,E=16,C=512"


def rows():
    yield "B", 1, 65536, "D=4096"
    yield "D", 64, 65536, "B=4096"
    yield "B", 1, 65536, "D=1024"
    yield "D", 64, 65536, "B=64"


WITHOUT_PRODUCTS = {
    "elementwise": "X : bf16[B, D]\nW : bf16[B, D]\nY : bf16[B, D] = X + W\n",
    "activation": "X : bf16[B, D]\nY : bf16[B, D] = silu(X)\n",
    "softmax": "X : bf16[B, D]\nY : bf16[B, D] = softmax[D](X)\n",
    "normalisation": "X : bf16[B, D]\nY : bf16[B, D] = norm[D](X)\n",
    "reduction": "X : bf16[B, D]\nY : bf16[B] = sum[D](X)\n",
}


def tasks_of(kind, dtype):
    """Returns the program text and its sweeps; None for kinds that are not swept (table look-ups, conversions, windowed
    attention)."""
    if kind in WITHOUT_PRODUCTS:
        return WITHOUT_PRODUCTS[kind], rows()
    first, _, second = dtype.partition(" x ")
    pair = {"a": first, "b": second or first}
    if kind == "contraction":
        return "A : {a}[M, K]\nB : {b}[K, N]\nC : bf16[M, N] = A * B\n".format(**pair), products()
    if kind == "grouped contraction":
        return EXPERTS.format(**pair), experts()
    if kind == "attention":
        return DECODE.format(**pair), decode()
    if kind == "causal attention":
        return PREFILL.format(**pair), prefill()
    if kind == "latent attention":
        return LATENT.format(**pair), latent()
    return None


class Sweep:
    """A sweep of one kernel model along one size."""

    def __init__(self, machine, cores, model, program, text, name, least, most, fixed):
        self.machine, self.cores, self.program, self.text, self.name = machine, cores, program, text, name
        self.kind, self.dtype, self.software = model["kind"], model.get("dtype", ""), model.get("software", "")
        self.by_rows = model["by_rows"]
        self.points = sizes(least, most)
        self.fixed = dims_of(fixed)

    def title(self):
        others = ",".join(f"{name}={size}" for name, size in self.fixed.items())
        return f"{self.machine} {self.kind} {self.dtype} {self.software} along {self.name}, {others}"

    def dims_at(self, point):
        dims = {**self.fixed, self.name: point}
        if self.kind == "causal attention":
            dims["S"] = dims["T"]
        return dims

    def ask(self, dims, *more):
        command = [self.program, "op", "-", "--on", self.machine, *more]
        command += ["--dims", ",".join(f"{name}={size}" for name, size in dims.items())] if dims else []
        command += ["--software", self.software] if self.software else []
        done = subprocess.run(command, input=self.text, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"count_cliffs: {self.title()}: {done.stderr.strip()}")
        return done.stdout

    def times(self):
        names = f"{self.name}=S" if self.kind == "causal attention" and self.name == "T" else self.name
        dims = dict(self.fixed)
        if self.kind == "causal attention" and self.name != "T":
            dims["S"] = dims["T"]
        found = []
        for begin in range(0, len(self.points), 500):
            listed = ",".join(str(point) for point in self.points[begin : begin + 500])
            found += csv.DictReader(self.ask(dims, "--sweep", f"{names}={listed}", "--csv").splitlines())
        return [float(row["expected_s"]) if row.get("expected_s") else math.nan for row in found]

    def products_at(self, dims):
        """Returns rows, columns and number of the tiled matmuls; for attention with heads combined and separate."""
        if self.kind == "contraction":
            return [(dims["M"], dims["N"], 1)]
        if self.kind == "grouped contraction":
            return [(dims["C"], dims["F"], dims["E"])]
        heads, groups = dims["G"], dims["B"] * dims.get("K", 1)
        queries = dims["T"] if self.kind == "causal attention" else 1
        return [(queries * heads, dims["H"], groups), (queries, dims["H"], groups * heads)]

    def cut(self, tiling, point):
        """Returns the numbers of waves and tiles. A tiling has tile rows and columns, splits, the index of the matmul,
        and whether the tile is transposed."""
        rows_of_tile, columns_of_tile, splits, product, flipped = tiling
        m, n, batch = self.products_at(self.dims_at(point))[product]
        across, along = (n, m) if flipped else (m, n)
        tiles = math.ceil(across / rows_of_tile) * math.ceil(along / columns_of_tile) * batch * splits
        return math.ceil(tiles / self.cores), tiles

    def tilings(self, point):
        """Returns the tilings that match the output of --explain, including its number of waves."""
        dims = self.dims_at(point)
        text = " ".join(self.ask(dims, "--explain").split())
        found = []
        for rows_of_tile, columns_of_tile, waves, splits in TILE.findall(text):
            for product, flipped in itertools.product(range(len(self.products_at(dims))), (False, True)):
                tiling = int(rows_of_tile), int(columns_of_tile), int(splits or 1), product, flipped
                if self.cut(tiling, point)[0] == int(waves):
                    found.append(tiling)
                    break
        return found

    def explained(self, before, after, ratio):
        """Returns whether whole tiles explain the jump: with the same tiles the larger size takes proportionally more
        waves, or with the tiles of the larger size the smaller one has proportionally fewer cores that read memory."""
        for tiling in self.tilings(before) if ratio > 1 else []:
            more_waves = self.cut(tiling, after)[0] / self.cut(tiling, before)[0]
            if more_waves > 1 and ratio <= 1.05 * more_waves:
                return True
        if self.by_rows and ratio > 1:  # the tile changes at 65 and at 129 rows, whatever the other sizes
            for old, new in zip(self.tilings(before), self.tilings(after)):
                area = self.cut(old, before)[0] * old[0] * old[1], self.cut(new, after)[0] * new[0] * new[1]
                if old[:2] != new[:2] and ratio <= 1.05 * area[1] / area[0]:
                    return True
        for tiling in self.tilings(after) if ratio < 1 else []:
            tiles = self.cut(tiling, before)[1]
            if tiles < self.cores and ratio >= 0.98 * tiles / self.cut(tiling, after)[1]:
                return True
        return False

    def cliffs(self):
        """Returns each cliff as (size before, size after, ratio of times), and the numbers of jumps that tiles explain
        and of jumps from one row to two."""
        times = self.times()
        cliffs, waves, vectors = [], 0, 0
        for (a, before), (b, after) in itertools.pairwise(zip(self.points, times)):
            if not before > 0 or not after > 0 or DOWN <= after / before <= max(UP, 1.02 * b / a):
                continue
            if a == 1 and b == 2 and self.name in ("M", "C", "G"):
                vectors += 1
            elif self.explained(a, b, after / before):
                waves += 1
            else:
                cliffs.append((a, b, after / before))
        return self, cliffs, waves, vectors, all(time > 0 for time in times)


def kernel_models(path):
    """Yields the description of each kernel model, without parsing its parameters, which are thousands of numbers."""
    for model in path.read_text(encoding="utf-8").split("[[kernel]]\n")[1:]:
        keys = re.findall(r'^(?:kind|dtype|software|variant) = ".*"$', model, re.MULTILINE)
        yield tomllib.loads("\n".join(keys)) | {"by_rows": "\nby_rows = true\n" in model}


def all_sweeps(options):
    for path in sorted((options.root / "data" / "calibration").glob("*.toml")):
        machine = path.stem
        if options.machine and machine != options.machine:
            continue
        described = (options.root / "data" / "machines" / f"{machine}.toml").read_text(encoding="utf-8")
        cores = tomllib.loads(described).get("cores", 1)
        seen = set()
        for model in kernel_models(path):
            key = model["kind"], model.get("dtype"), model.get("software", "").split(" ")[0]
            task = tasks_of(model["kind"], model.get("dtype", ""))
            if task is None or model.get("variant") in BY_HOST or key in seen:
                continue
            seen.add(key)
            text, sweeps = task
            for sweep in itertools.islice(sweeps, 2 if options.few else None):
                yield Sweep(machine, cores, model, options.program, text, *sweep)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent)
    parser.add_argument("--program", default="build/roofline")
    parser.add_argument("--machine")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--most", type=float)
    options = parser.parse_args(arguments)
    classes = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for sweep, cliffs, waves, vectors, whole in pool.map(Sweep.cliffs, list(all_sweeps(options))):
            counts = classes.setdefault((sweep.kind, sweep.name), [0, 0, 0, 0, 0, 0])
            for i, count in enumerate((1, bool(cliffs), len(cliffs), waves, vectors, not whole)):
                counts[i] += count
            if options.list:
                for a, b, ratio in cliffs:
                    print(f"{sweep.title()}: from {a} to {b} times {ratio:.3g}")
    print("| kind, along | sweeps | with a cliff | cliffs | jumps by waves | jumps from one row to two |")
    print("|---|---|---|---|---|---|")
    for (kind, name), counts in sorted(classes.items()):
        print(f"| {kind}, {name} | " + " | ".join(str(count) for count in counts[:5]) + " |")
    total = [sum(column) for column in zip(*classes.values())]
    print("| all | " + " | ".join(str(count) for count in total[:5]) + " |")
    if total[5]:
        print(f"{total[5]} sweeps have sizes without an expected time")
    share = 100 * total[1] / total[0]
    print(f"{total[1]} of {total[0]} sweeps have a cliff that no wave explains: {share:.1f} %")
    return 1 if options.most is not None and share > options.most else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
