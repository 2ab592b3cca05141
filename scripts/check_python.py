#!/usr/bin/env python3
"""Checks the Python package: its functions have the options of the command line, its types hold (mypy), and its tests
pass.

usage: check_python.py --program FILE --package DIR     the package that stands in DIR: build/python
       check_python.py --program FILE --package DIR --all    only the tests of python/tests/all (Dask, MPI and Ray, as
                                                        python/requirements-all.txt installs them, all functions of
                                                        JAX and modules of PyTorch), the notebooks, and a
                                                        longer fuzz of the arguments. If all of it passes,
                                                        python/tests/all/record.txt says so
       check_python.py --program FILE --package DIR --sanitized    the tests and that fuzz with an extension module that
                                                        clang built with AddressSanitizer and UBSan, without JAX,
                                                        whose own code is not built so: build-sanitize/python
       check_python.py --program FILE --wheel           a wheel that is built, installed and looked at (auditwheel) in a
                                                        fresh environment
    --program FILE   the program that the package is compared with: build/roofline

It runs in an environment with the tools of python/requirements-test.txt. Prints what fails, then 'N passed, N failed,
N skipped'; exits with 1 if anything failed."""

import argparse
import importlib.metadata
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import textwrap
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

    def script(self, title, words):
        """Runs a check that ends with 'N passed, N failed, N skipped'."""
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
        counts = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", done.stdout, re.M)
        passed, failed, skipped = map(int, counts[-1]) if counts else (0, 1, 0)
        if failed or done.returncode != 0:
            print(f"{title} failed:\n{done.stdout}{done.stderr}")
            failed = max(failed, 1)
        self.passed, self.failed, self.skipped = self.passed + passed, self.failed + failed, self.skipped + skipped

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


# Random examples of each test of test_fuzz.py.
FUZZ = "2000"
FUZZ_SANITIZED = "300"


def check_clusters(tally, python, package, program):
    environment = {**os.environ, "ROOFLINE_PROGRAM": str(program), "PYTHONPATH": str(package),
                   "MYPYPATH": f"{package}:{TESTS}", "MYPY_CACHE_DIR": str(ROOT / "build" / "mypy")}
    folder = TESTS / "all"
    tally.run("mypy of these tests", [python, "-m", "mypy", "--strict", "--python-executable", python,
                                      *sorted(folder.glob("*.py"))], env=environment, cwd=folder)
    tally.pytest(python, environment, folder)
    tally.script("the notebooks", [python, "-B", ROOT / "scripts" / "notebooks.py", "--package", package])
    tally.pytest(python, {**environment, "ROOFLINE_FUZZ": FUZZ}, TESTS / "test_fuzz.py")
    if not tally.failed:
        write_record(tally, "all packages")


RECORD = TESTS / "all" / "record.txt"
RECORD_HEAD = "# Last passes of the Python checks of `./dev test --all`, written by scripts/check_python.py."


def write_record(tally, kind):
    """Says what the last pass of a kind was of: the commit, counts, the versions of the packages."""
    lines = RECORD.read_text(encoding="utf-8").split("\n\n") if RECORD.exists() else []
    others = [each.strip() for each in lines if each.strip() and not each.startswith(("#", f"{kind}:"))]
    names = ["dask", "distributed", "hypothesis", "ipykernel", "jax", "mpi4py", "nbclient", "numpy", "pandas", "ray"]
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True,
                            check=False).stdout.strip() or "unknown"
    text = (f"{kind}: commit {commit}; {tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped; "
            f"Python {platform.python_version()}, {versions}")
    blocks = [RECORD_HEAD, *sorted([*others, "\n".join(textwrap.wrap(text, 120))])]
    RECORD.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def check_sanitized(tally, python, package, program):
    """Runs the tests with the runtime of the sanitizers loaded before the interpreter, whose own leaks do not count."""
    clang = subprocess.run(["clang++-19", "-print-file-name=libclang_rt.asan-x86_64.so"], capture_output=True,
                           text=True, check=True)
    environment = {**os.environ, "ROOFLINE_PROGRAM": str(program), "PYTHONPATH": str(package),
                   "LD_PRELOAD": clang.stdout.strip(), "PYTHONMALLOC": "malloc", "ROOFLINE_FUZZ": FUZZ_SANITIZED,
                   "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:abort_on_error=1:handle_segv=1",
                   "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}
    names = ["answers", "errors", "executors", "fuzz", "sweep"]
    tally.pytest(python, environment, *(TESTS / f"test_{name}.py" for name in names))
    if not tally.failed:
        write_record(tally, "sanitizers")


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
    parser.add_argument("--sanitized", action="store_true")
    arguments = parser.parse_args()
    tally = Tally()
    if arguments.wheel:
        check_wheel(tally, arguments.program)
    elif arguments.sanitized:
        check_sanitized(tally, sys.executable, arguments.package, arguments.program)
    elif arguments.all:
        check_clusters(tally, sys.executable, arguments.package, arguments.program)
    else:
        check_package(tally, sys.executable, arguments.package, arguments.program)
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
