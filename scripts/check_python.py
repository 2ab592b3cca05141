#!/usr/bin/env python3
"""Checks the Python package: its functions have the options of the command line, its types hold (mypy), and its tests
pass.

usage: check_python.py --program FILE --package DIR     the package that stands in DIR: build/python
       check_python.py --program FILE --package DIR --all    only the tests of python/tests/all: Dask, MPI and Ray, as
                                                        python/requirements-all.txt installs them, and all functions
                                                        of JAX and modules of PyTorch
       check_python.py --program FILE --wheel           a wheel that is built, installed and looked at (auditwheel) in a
                                                        fresh environment
    --program FILE   the program that the package is compared with: build/roofline

It runs in an environment with the tools of python/requirements-test.txt. Prints what fails, then 'N passed, N failed,
N skipped'; exits with 1 if anything failed."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = ROOT / "python" / "tests"
GUIDE = ROOT / "docs" / "guide" / "python.md"


class Tally:
    """Counts of checks."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def run(self, title, words, **options):
        """Runs a check that passes or fails as a whole. Returns whether it passed."""
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **options)
        if done.returncode == 0:
            self.passed += 1
        else:
            self.failed += 1
            print(f"{title} failed:\n{done.stdout}{done.stderr}")
        return done.returncode == 0

    def pytest(self, python, environment, *tests):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder, "report.xml")
            done = subprocess.run(
                [python, "-B", "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", f"--junit-xml={report}",
                 f"--rootdir={ROOT}", *map(str, tests)],
                capture_output=True, text=True, check=False, env=environment, cwd=folder)
            if not report.exists():
                self.failed += 1
                print(done.stdout + done.stderr)
                return
            suite = xml.etree.ElementTree.parse(report).getroot().find("testsuite")
            count = {key: int(suite.get(key)) for key in ("tests", "failures", "errors", "skipped")}
        failed = count["failures"] + count["errors"]
        if failed:
            print(done.stdout)
        self.failed += failed
        self.skipped += count["skipped"]
        self.passed += count["tests"] - failed - count["skipped"]


def guide_code(python):
    """The examples of the guide as one program; those of JAX and PyTorch where they are installed."""
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.M | re.S)
    for name in ("jax", "torch"):
        if subprocess.run([python, "-c", f"import {name}"], capture_output=True, check=False).returncode != 0:
            blocks = [block for block in blocks if f"import {name}" not in block and f"rl.{name}(" not in block]
    return "\n".join(blocks)


def check_package(tally, python, package, program):
    environment = {**os.environ, "ROOFLINE_PROGRAM": str(program), "MYPY_CACHE_DIR": str(ROOT / "build" / "mypy")}
    if package:
        environment["PYTHONPATH"] = str(package)
        environment["MYPYPATH"] = f"{package}:{TESTS}"
        tally.run("the signatures", [sys.executable, "-B", ROOT / "scripts" / "python_signatures.py", "--check",
                                     "--package", package])
    mypy = [python, "-m", "mypy", "--strict", "--python-executable", python]
    tally.run("mypy of the package", [*mypy, "-p", "roofline"], env=environment, cwd=ROOT / "python" / "tests")
    tally.run("mypy of the tests", [*mypy, *sorted(TESTS.glob("*.py"))], env=environment, cwd=TESTS)
    # Classes of JAX have no types.
    tally.run("mypy of the guide", [*mypy, "--allow-untyped-calls", "-c", guide_code(python)], env=environment,
              cwd=TESTS)
    # JAX and PyTorch start threads, and other tests fork.
    threaded = [TESTS / "test_guide.py", TESTS / "test_jax.py", TESTS / "test_torch.py"]
    tally.pytest(python, environment, *(f"--ignore={each}" for each in [TESTS / "all", *threaded]), TESTS)
    tally.pytest(python, environment, *threaded)


def check_clusters(tally, python, package, program):
    environment = {**os.environ, "ROOFLINE_PROGRAM": str(program), "PYTHONPATH": str(package),
                   "MYPYPATH": f"{package}:{TESTS}", "MYPY_CACHE_DIR": str(ROOT / "build" / "mypy")}
    folder = TESTS / "all"
    tally.run("mypy of these tests", [python, "-m", "mypy", "--strict", "--python-executable", python,
                                      *sorted(folder.glob("*.py"))], env=environment, cwd=folder)
    tally.pytest(python, environment, folder)


def check_wheel(tally, program):
    with tempfile.TemporaryDirectory() as folder:
        # An installed package is found without PYTHONPATH, which also would reach the compiler's tools.
        began = time.monotonic()
        plain = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "CMAKE_"))}
        built = tally.run("the wheel", [sys.executable, "-m", "build", "--outdir", folder, ROOT], env=plain)
        print(f"  built from the sdist in {time.monotonic() - began:.0f} s")
        if not built:
            return
        wheel = next(pathlib.Path(folder).glob("*.whl"))
        # It takes Debian's libraries, of fmt and the solver, into the wheel, and names the systems that it is for.
        repaired = pathlib.Path(folder, "repaired")
        tools = {**plain, "PATH": f"{pathlib.Path(sys.executable).parent}:{plain['PATH']}"}
        if not tally.run("auditwheel", [sys.executable, "-m", "auditwheel", "repair", "-w", repaired, wheel],
                         env=tools):
            return
        wheel = next(repaired.glob("*.whl"))
        print(f"  {wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB")
        venv = pathlib.Path(folder, "venv")
        tally.run("the environment", [sys.executable, "-m", "venv", venv])
        python = venv / "bin" / "python"
        tally.run("the installation", [python, "-m", "pip", "install", "-q", wheel, "pytest", "hypothesis", "pandas",
                                       "pandas-stubs", "mypy", "matplotlib", "pyarrow"])
        check_package(tally, python, None, program)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=lambda text: pathlib.Path(text).resolve())
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--package", type=lambda text: pathlib.Path(text).resolve())
    chosen.add_argument("--wheel", action="store_true")
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    tally = Tally()
    if arguments.wheel:
        check_wheel(tally, arguments.program)
    elif arguments.all:
        check_clusters(tally, sys.executable, arguments.package, arguments.program)
    else:
        check_package(tally, sys.executable, arguments.package, arguments.program)
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
