#!/usr/bin/env python3
"""Runs the program with tiny sizes on ranks that mpirun starts.

The tests cover every collective that a layout can derive, errors, and `measure network` with the file that it writes.

usage: check_ranks.py --program build/roofline --mpirun mpirun
Prints a line per failure, then 'N passed, N failed, N skipped'; exits with 1 if something failed, and with 0 if there
is no mpirun.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent

# Ranks, program, mesh, sizes, and words in the names of the exchanges that must take place.
RUNS = [
    (2, "f32[B, D_X] * f32[D_X, F] -> f32[B, F]", "X=2", "B=32,D=64,F=48", ["over X"]),
    (2, "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]", "X=2", "B=32,D=64,F=48", ["over X"]),
    (2, "f32[B, D_X] * f32[D_X, F] -> f32[B_X, F]", "X=2", "B=32,D=64,F=48", ["reduce-scatter"]),
    (2, "f32[B_X, D] -> f32[B, D]", "X=2", "B=32,D=64", ["all-gather"]),
    (4, "f32[B, D]{U_X} -> f32[B, D]", "X=4", "B=4,D=6", ["over X"]),
    (4, "f32[B_X, D] -> f32[B, D_X]", "X=4", "B=32,D=64", ["all-to-all"]),
    (4, "f32[B_XY, D] -> f32[B_YX, D]", "X=2,Y=2", "B=32,D=64", ["permute"]),
    (4, "f32[B_X, D_Y] * f32[D_Y, F] -> f32[B_X, F]", "X=2,Y=2", "B=32,D=64,F=48", ["over Y"]),
    (2, "f32[B, D] at X=0 -> f32[B, D] at X=1", "X=2", "B=32,D=64", ["send"]),
    (4, "f32[B, D] at X=1 -> f32[B, D]", "X=4", "B=32,D=64", ["broadcast"]),
    (4, "f32[B, D] at X=1 -> f32[B_X, D]", "X=4", "B=32,D=64", ["scatter"]),
    (4, "f32[B_X, D] -> f32[B, D] at X=3", "X=4", "B=32,D=64", ["gather"]),
    # Statistics of sharded rows; also in bf16, where the maximum is computed in f32.
    (2, "X : bf16[B, D_X]; Y : bf16[B, D_X] = softmax[D](X)", "X=2", "B=8,D=4096", ["statistics of X over X"]),
    (4, "X : f32[B, D_X]; Y : f32[B, D_X] = layernorm[D](X)", "X=4", "B=8,D=4096", ["statistics of X over X"]),
    # Halo exchanges: over one hop and over several, of keys and values, and of their gradients in the other direction.
    (4, "Q : bf16[T_X, H]; K : bf16[S_X, H]; V : bf16[S_X, H]; "
     "O : bf16[T_X, H] = softmax[S](causal[T,S,W](Q *_H K)) *_S V",
     "X=4", "T=64,S=64,H=16,W=9", ["permute K", "permute V"]),
    (4, "Q : f32[T_X, H]; K : f32[S_X, H]; P : f32[T_X, S] = causal[T,S,W](Q *_H K)", "X=4", "T=1024,S=1024,H=64,W=300",
     ["2 hops"]),
    (2, "Q : f32[T_X, H]; V : f32[S_X, H]; G : f32[T_X, H]; fuse { P : f32[T_X, S] = causal[T,S,W](G *_H V); "
     "K : f32[S_X, H] = P *_T Q }", "X=2", "T=64,S=64,H=16,W=9", ["permute V", "permute K"]),
    (4, "X : f32[B, T_X, D]; C : f32[Q, D]; Y : f32[B, T_X, D] = conv[T](X, C)", "X=4", "B=8,T=64,D=8,Q=4",
     ["permute X"]),
    (2, "X : f32[B, T_X, D]; Y : f32[B, T_X, D] = X + prior[T](X)", "X=2", "B=8,T=64,D=8", ["permute X"]),
    (2, "E : f32[V_X, D]; I : int32[B]; Y : f32[B, D] = gather[V](E, I)", "X=2", "B=8,V=4096,D=8", ["over X"]),
]


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, what, right, saw=""):
        if right:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {what}\n{saw}")


class Launcher:
    def __init__(self, mpirun, program, folder):
        version = subprocess.run([mpirun, "--version"], capture_output=True, text=True).stdout
        self.start = [mpirun]
        if "Open MPI" in version or "OpenRTE" in version:
            self.start += ["--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
        self.program = program
        self.this = folder / "this.toml"
        shutil.copy(HERE / "four_cores.toml", self.this)

    def __call__(self, ranks, *words):
        start = self.start + ["-n", str(ranks)] if ranks else []
        environment = dict(os.environ, ROOFLINE_THIS=str(self.this), OMPI_MCA_rmaps_base_oversubscribe="1")
        return subprocess.run(start + [self.program, *words], capture_output=True, text=True, env=environment,
                              timeout=100)


def check_runs(launch, checks):
    for ranks, program, mesh, sizes, words in RUNS:
        done = launch(ranks, "run", program, "--mesh", mesh, "--dims", sizes, "--quick", "--json")
        what = f"{ranks} ranks: {program}"
        try:
            answer = json.loads(done.stdout)
        except json.JSONDecodeError:
            checks.check(what, False, done.stdout + done.stderr)
            continue
        exchanges = [stage["text"] for stage in answer["stages"] if stage["exchange"]]
        right = answer["check"]["right"] and answer["check"]["elements"] > 0 and answer["ranks"] == ranks
        right = right and answer["measured_s"] > 0 and answer["lower_s"] > 0
        right = right and answer["hot_s"] > 0 and answer["sets"]["count"] > 1
        checks.check(what, right and done.returncode == 0, done.stdout + done.stderr)
        checks.check(f"{what}: {words}", all(any(word in text for text in exchanges) for word in words), str(exchanges))


def check_stuck(launch, checks):
    """Tests that a hanging rank ends the job."""
    words = ["run", "f32[B, D_X] * f32[D_X, F] -> f32[B, F]", "--mesh", "X=2", "--dims", "B=512,D=4k,F=4k",
             "--thorough", "--rank-timeout", "2"]
    environment = dict(os.environ, ROOFLINE_THIS=str(launch.this))
    job = subprocess.Popen(launch.start + ["-n", "2", launch.program, *words], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, env=environment)
    ranks = []
    for _ in range(200):
        ranks = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and parent_of(pid) == job.pid]
        if len(ranks) >= 2:
            break
        time.sleep(0.05)
    time.sleep(1.5)
    if ranks:
        os.kill(max(ranks), signal.SIGSTOP)
    try:
        job.wait(timeout=60)
        errors = job.communicate()[1]
        checks.check("a rank that stands still", job.returncode != 0 and "stuck or has ended" in errors, errors)
    except subprocess.TimeoutExpired:
        for pid in ranks:
            os.kill(pid, signal.SIGKILL)
        job.kill()
        checks.check("a rank that stands still", False, "the job went on")


def parent_of(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None


def check_sweep(launch, checks):
    words = ["run", "f32[B, D_X] * f32[D_X, F] -> f32[B, F]", "--mesh", "X=2", "--dims", "B=8,F=16", "--sweep",
             "D=16..64*2", "--quick"]
    done = launch(2, *words, "--json")
    try:
        points = json.loads(done.stdout)["sweep"]
    except (json.JSONDecodeError, KeyError):
        checks.check("a sweep over ranks", False, done.stdout + done.stderr)
        return
    checks.check("every size of a sweep", [point["dims"] for point in points] == [{"D": d} for d in (16, 32, 64)])
    checks.check("each is right", all(point["check"]["right"] and point["measured_s"] > 0 for point in points))
    # The work grows with D, but the exchanged bytes do not.
    work, exchanges = ([[stage["lower_s"] for stage in point["stages"] if stage["exchange"] == which][0]
                        for point in points] for which in (False, True))
    checks.check("only the work grows", work[0] < work[2] and len(set(exchanges)) == 1, f"{work} {exchanges}")
    text = launch(2, *words).stdout
    lines = sum(line.split()[:1] in (["16"], ["32"], ["64"]) for line in text.splitlines())
    checks.check("a line a size", lines == 3, text)
    checks.check("what takes longer is said", "measured: " in text and "by lower bounds: " in text, text)


def check_pictures(launch, checks):
    words = ["run", "f32[B, D_X] * f32[D_X, F] -> f32[B, F]", "--mesh", "X=2", "--quick"]
    for kind, sizes in [("sweep", ["--dims", "B=8,F=16", "--sweep", "D=16..64*2"]),
                        ("roofline", ["--dims", "B=8,D=16,F=16"])]:
        picture = launch.this.with_name(f"{kind}.svg")
        done = launch(2, *words, *sizes, "--plot", kind, "--svg", str(picture))
        drawn = picture.read_text() if picture.exists() else ""
        checks.check(f"a picture of ranks: {kind}", done.returncode == 0 and drawn.endswith("</svg>\n"),
                     done.stderr + drawn[-200:])
        checks.check(f"measured times stand on it: {kind}", "measured" in drawn, drawn[-2000:])


def check_refusals(launch, checks):
    program = "f32[B, D_X] * f32[D_X, F] -> f32[B, F]"
    sizes = ["--dims", "B=8,D=8,F=8"]
    for ranks, words, said in [
        (2, ["--mesh", "X=4", *sizes], "mpirun -n 4 roofline run"),
        (None, ["--mesh", "X=4", *sizes], "mpirun -n 4 roofline run"),
        (2, sizes, "--mesh"),
        (2, ["--mesh", "X=2", "--dims", "B=8,D=9,F=8"], "is not divisible"),
        (2, ["--mesh", "X=2", "--dims", "B=2M,D=8,F=2M"], "of memory"),
        (2, ["--mesh", "X=2", "--sweep", "B=1..4*2", "--dims", "D=8"], "F"),
        (2, ["--mesh", "X=2", *sizes, "--plot", "sweep", "--svg", str(launch.this.with_name("run.svg"))], "sweep"),
    ]:
        done = launch(ranks, "run", program, *words)
        lines = [line for line in done.stderr.splitlines() if line.startswith("error")]
        checks.check(f"refused: {ranks} ranks, {words}", done.returncode != 0 and said in done.stderr, done.stderr)
        checks.check(f"said once: {ranks} ranks, {words}", len(lines) == 1 and not done.stdout,
                     done.stdout + done.stderr)
    checks.check("no empty picture", not launch.this.with_name("run.svg").exists())
    alone = launch(None, "measure", "network")
    checks.check("measure network by itself", alone.returncode == 2 and "mpirun -n 2" in alone.stderr, alone.stderr)


def check_measure(launch, checks):
    for ranks in (2, 4):
        done = launch(ranks, "measure", "network", "--quick", "--json")
        try:
            answer = json.loads(done.stdout)
        except json.JSONDecodeError:
            checks.check(f"measure network, {ranks} ranks", False, done.stdout + done.stderr)
            continue
        kinds = {row["kind"] for row in answer["rows"]}
        wanted = {"send", "permute", "all_gather", "reduce_scatter", "all_reduce", "all_to_all"}
        members = {row["members"] for row in answer["rows"]}
        checks.check("every operation", kinds == wanted, str(kinds))
        checks.check("every size of group that divides", members == {n for n in (2, 4) if n <= ranks}, str(members))
        # The measurement replaces the tier, so no measured time is below the lower bound that follows from the tier.
        table = launch.this.with_name("this-network.csv")
        judged = launch(None, "validate", str(table), "--on", str(launch.this), "--json")
        verdict = json.loads(judged.stdout)
        checks.check("no row below its bound", judged.returncode == 0 and verdict["below_lower"] == 0, judged.stdout)
        checks.check("every row is predicted", verdict["rows"] == len(answer["rows"]), judged.stdout[:2000])
        priced = launch(None, "op", "f32[B_X, D] -> f32[B, D]", "--mesh", f"X={ranks}", "--dims", "B=1024,D=1024",
                        "--on", f"this:{ranks}", "--json")
        price = json.loads(priced.stdout)
        checks.check("the machine has a network now", price["lower_s"] > 0 and price["expected_s"] >= price["lower_s"],
                     priced.stdout)


def check_plans(launch, checks):
    words = ["plan", "train", "llama-3.1-8b", "--on", "h100-sxm:8", "--batch-tokens", "32Ki", "--seq", "4096",
             "--without", "sequence,context,pipeline", "--remat", "full", "--microbatches", "1", "--zero", "1"]
    whole = launch(None, *words)
    ranks = launch(3, *words)
    checks.check("a search is complete", whole.returncode == 0 and "plans were looked at" in whole.stdout, whole.stderr)
    checks.check("ranks answer as one process does", ranks.stdout == whole.stdout, ranks.stdout + ranks.stderr)
    for wrong, said in [(["--part", "1/2"], "each of the ranks takes a part"), (["--mesh", "tensor=3"], "divide")]:
        done = launch(2, *words, *wrong)
        lines = [line for line in done.stderr.splitlines() if line.startswith("error")]
        checks.check(f"a search that is refused: {wrong}", done.returncode != 0 and said in done.stderr, done.stderr)
        checks.check(f"said once: {wrong}", len(lines) == 1 and not done.stdout, done.stdout + done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--mpirun", default="mpirun")
    options = parser.parse_args()
    if shutil.which(options.mpirun) is None:
        print("there is no mpirun here\n0 passed, 0 failed, 1 skipped")
        return 0
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        launch = Launcher(options.mpirun, str(pathlib.Path(options.program).resolve()), pathlib.Path(folder))
        check_runs(launch, checks)
        check_sweep(launch, checks)
        check_stuck(launch, checks)
        check_pictures(launch, checks)
        check_refusals(launch, checks)
        check_measure(launch, checks)
        check_plans(launch, checks)
    print(f"{checks.passed} passed, {checks.failed} failed, 0 skipped")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
