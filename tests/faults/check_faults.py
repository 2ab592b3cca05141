#!/usr/bin/env python3
"""Runs commands in which one allocation after another fails, and one writing call after another (faults.cpp).

For every fault the program either answers as it does without the fault, or exits with status 1 and the error that it
is out of memory or cannot write. No signal ends it, and its output file is either complete or unchanged, without
leftovers.

usage: check_faults.py --program FILE --faults LIBRARY [--most N]
--most: at most this many allocations of a command fail, spread over all of them, including the first 100.
Prints all failures, then 'N passed, N failed'; exits with 1 if something failed.
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

PROGRAM = """X : bf16[B, D]; W : bf16[D, F]; Y : bf16[B, F] = X * W"""
COMMANDS = [
    ["op", PROGRAM, "--dims", "B=64,D=4096,F=4096", "--on", "h100-sxm"],
    ["op", PROGRAM, "--dims", "D=4096,F=4096", "--on", "h100-sxm", "--sweep", "B=1..64*2", "--json"],
    ["op", "bf16[B_X, D] * bf16[D, F] -> bf16[B, F_X]", "--dims", "B=64,D=4096,F=4096", "--on", "tpu-v5e:2x2",
     "--mesh", "X=4", "--md"],
    ["machine", "tpu-v5e", "--csv"],
    ["model", "llama-3.1-8b"],
    ["op", "bf16[B", "--on", "h100-sxm"],
]
WRITING = ["op", PROGRAM, "--dims", "B=64,D=64,F=64", "--on", "h100-sxm", "--svg", "plot.svg"]


class Faults:
    def __init__(self, program, library, folder):
        self.program = str(pathlib.Path(program).resolve())
        self.library = str(pathlib.Path(library).resolve())
        self.folder = folder
        self.passed = 0
        self.failed = 0

    def run(self, words, **faults):
        environment = dict(os.environ, LD_PRELOAD=self.library, **{k: str(v) for k, v in faults.items()})
        return subprocess.run([self.program, *words], cwd=self.folder, env=environment, capture_output=True, timeout=60)

    def counts(self, words):
        log = pathlib.Path(self.folder) / "counts"
        whole = self.run(words, FAULTS_LOG=log)
        allocations, calls = (int(word) for word in log.read_text().split())
        log.unlink()
        return whole, allocations, calls

    def judge(self, good, what):
        self.passed += good
        self.failed += not good
        if not good:
            print(what)

    def allocations(self, words, most):
        whole, count, _ = self.counts(words)
        step = max(1, (count - 100) // most)
        for number in [*range(1, min(count, 100) + 1), *range(101, count + 1, step)]:
            for on in (0, 1):
                got = self.run(words, FAULTY_NEW=number, FAULTS_ON=on)
                same = (got.returncode, got.stdout, got.stderr) == (whole.returncode, whole.stdout, whole.stderr)
                # Before the program has parsed its arguments, it does not know that it should answer in JSON.
                said = got.returncode == 1 and b"error: out of memory" in got.stderr and not got.stdout
                if "--json" in words and not said:
                    said = got.returncode == 1 and json.loads(got.stdout)["error"]["code"] == "out_of_memory"
                self.judge(same or said,
                           f"allocation {number}, on={on}, of {words}: {got.returncode} {got.stderr[-300:]}")

    def writes(self, words, before):
        plot = pathlib.Path(self.folder) / "plot.svg"
        whole, _, count = self.counts(words)
        drawn = plot.read_bytes()
        for number in range(1, count + 1):
            for on in (0, 1):
                plot.unlink(missing_ok=True)
                if before is not None:
                    plot.write_bytes(before)
                got = self.run(words, FAULTY_CALL=number, FAULTS_ON=on)
                left = plot.read_bytes() if plot.exists() else None
                kept = left in (before, drawn)
                alone = sorted(os.listdir(self.folder)) == (["plot.svg"] if left is not None else [])
                told = got.returncode == 1 or got.stdout == whole.stdout
                self.judge(kept and alone and told and got.returncode in (0, 1),
                           f"call {number}, on={on}, of {words}: {got.returncode} "
                           f"{os.listdir(self.folder)} {got.stderr}")
        plot.unlink(missing_ok=True)

    def closed(self):
        """Tests standard streams that are closed or full."""
        wrong = f"'{self.program}' op 'bf16[B' --on h100-sxm"
        right = f"'{self.program}' machine tpu-v5e"
        for command, status in ((f"{wrong} 2>&-", 2), (f"{wrong} 2>/dev/full", 2), (f"{right} >&-", 1),
                                (f"{right} >/dev/full", 1), (f"{right} <&- >/dev/null", 0),
                                (f"{right} <&- >&- 2>&-", 1)):
            got = subprocess.run(["/bin/sh", "-c", command], cwd=self.folder, capture_output=True)
            self.judge(got.returncode == status, f"{command}: {got.returncode} instead of {status}")

    def limited(self):
        """Tests that exceeding the file size limit is a failed write, not a signal."""
        got = subprocess.run(["/bin/sh", "-c", f"ulimit -f 1; '{self.program}' op '{PROGRAM}' --dims B=64,D=64,F=64 "
                              "--on h100-sxm --svg plot.svg"], cwd=self.folder, capture_output=True)
        self.judge(got.returncode == 1 and b"plot.svg" in got.stderr and not os.listdir(self.folder),
                   f"ulimit -f: {got.returncode} {got.stderr} {os.listdir(self.folder)}")

    def interrupted(self):
        """Tests that a signal at any time ends a long run."""
        words = ["run", "f32[B, D] * f32[D, F] -> f32[B, F]", "--dims", "B=4k,D=4k,F=4k", "--on", "h100-sxm"]
        for wait in (0.02, 0.3, 1.0):
            for name in (signal.SIGINT, signal.SIGTERM):
                process = subprocess.Popen([self.program, *words], cwd=self.folder, stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE)
                time.sleep(wait)
                process.send_signal(name)
                status = process.wait(timeout=60)
                errors = process.communicate()[1]
                # Before the program has installed its handler, the signal has its default effect.
                begun = status == 130 and b"interrupted" in errors
                self.judge(begun or (wait < 1 and status == -name), f"{name} after {wait} s: {status} {errors}")

    def overwritten(self):
        """Tests that modes and links are kept, inputs are not replaced, and FIFOs are refused as weight files."""
        folder = pathlib.Path(self.folder)
        (folder / "real.svg").write_text("old")
        (folder / "real.svg").chmod(0o640)
        (folder / "link.svg").symlink_to("real.svg")
        got = subprocess.run([self.program, *WRITING[:-1], "link.svg"], cwd=folder, capture_output=True)
        mode = (folder / "real.svg").stat().st_mode & 0o777
        self.judge(got.returncode == 0 and (folder / "link.svg").is_symlink() and mode == 0o640 and
                   "<svg" in (folder / "real.svg").read_text(), f"through a link: {got.returncode} {oct(mode)}")
        (folder / "mine.roof").write_text(PROGRAM)
        got = subprocess.run([self.program, "op", "mine.roof", "--dims", "B=64,D=64,F=64", "--on", "h100-sxm", "--svg",
                              "mine.roof"], cwd=folder, capture_output=True)
        self.judge(got.returncode == 1 and (folder / "mine.roof").read_text() == PROGRAM,
                   f"over its input: {got.returncode} {got.stderr}")
        os.mkfifo(folder / "model.safetensors")
        got = subprocess.run([self.program, "model", "model.safetensors"], cwd=folder, capture_output=True, timeout=20)
        self.judge(got.returncode == 2 and b"is a FIFO or device" in got.stderr,
                   f"a FIFO of weights: {got.returncode} {got.stderr}")

    def loaded(self):
        """Tests that modules are loaded only from folders that others cannot write to, and libraries never from the
        current folder."""
        modules = pathlib.Path(self.program).parent / "modules"
        if not (modules / "roofline-dnnl.so").exists():
            return
        folder = pathlib.Path(self.folder) / "copy"
        shutil.copytree(modules, folder / "modules")
        shutil.copy(self.program, folder / "roofline")
        run = [folder / "roofline", "run", "f32[B, D] * f32[D, F] -> f32[B, F]", "--dims", "B=8,D=8,F=8", "--quick",
               "--calibration", "none"]
        said = b"other users may write to"
        for mode, heard in ((0o755, False), (0o777, True)):
            (folder / "modules").chmod(mode)
            got = subprocess.run(run, cwd=self.folder, capture_output=True, timeout=120)
            self.judge((said in got.stdout + got.stderr) == heard, f"modules in a folder of mode {oct(mode)}: {got}")
        if os.geteuid() == 0:  # only root can assign a folder to a group that it is not a member of
            os.chown(folder / "modules", -1, 12345)
            (folder / "modules").chmod(0o775)
            got = subprocess.run(run, cwd=self.folder, capture_output=True, timeout=120)
            self.judge(said in got.stdout + got.stderr, f"modules in a folder that another group may write to: {got}")
        for name in ("libmpi.so.40", "libmpi.so.12"):
            (folder / name).write_text("no library")
        got = subprocess.run([self.program, "measure", "network", "--quick", "-o", "network.toml"], cwd=folder,
                             capture_output=True, timeout=120)
        self.judge(b"cannot be loaded" not in got.stderr, f"a library in the current folder: {got.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--faults", required=True)
    parser.add_argument("--most", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        faults = Faults(options.program, options.faults, folder)
        for words in COMMANDS:
            faults.allocations(words, options.most)
        for before in (None, b"what was there"):
            faults.writes(WRITING, before)
        faults.closed()
        faults.limited()
        faults.interrupted()
        faults.overwritten()
        faults.loaded()
    print(f"{faults.passed} passed, {faults.failed} failed")
    return 1 if faults.failed else 0


if __name__ == "__main__":
    sys.exit(main())
