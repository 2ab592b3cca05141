"""What the package promises as a package."""

import importlib.metadata
import inspect
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import ROOT, Program

import roofline as rl

PACKAGE = pathlib.Path(rl.__file__).parent
FUNCTIONS = [rl.op, rl.machine, rl.model, rl.train, rl.serve, rl.validate, rl.fit, rl.trace, rl.plan.train,
             rl.plan.serve, rl.plan.fleet, rl.plan.design, rl.plan.merge]  # fmt: skip


def test_version(program: Program) -> None:
    assert program("--version") == f"roofline {rl.__version__}\n"
    try:
        assert importlib.metadata.version("roofline") == rl.__version__
    except importlib.metadata.PackageNotFoundError:
        pass  # the package of the build folder is not installed


def test_typed() -> None:
    assert (PACKAGE / "py.typed").exists()


def test_import_is_fast() -> None:
    """50 ms, without numpy, which is imported when arrays are asked for. Processor time, because others may compile."""
    code = "import sys, time; t = time.process_time(); import roofline; " \
           "print(time.process_time() - t, 'numpy' in sys.modules)"  # fmt: skip
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
            for _ in range(7)]  # fmt: skip
    assert min(float(seconds) for seconds, _ in runs) < 0.05
    assert {numpy for _, numpy in runs} == {"False"}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: f"{each.__module__}.{each.__name__}")
def test_documented(function: object) -> None:
    """Each function describes all of its arguments."""
    text = inspect.getdoc(function)
    assert text is not None and "Raises:" in text
    described = set(re.findall(r"^    (\w+): ", text, re.M)) - {"Error"}
    assert described == set(inspect.signature(function).parameters)  # type: ignore[arg-type]


def test_everything_is_documented() -> None:
    for name in rl.__all__:
        if name != "__version__":
            assert inspect.getdoc(getattr(rl, name)), name


def test_functions_have_the_options_of_the_command_line() -> None:
    script = ROOT / "scripts" / "python_signatures.py"
    if not script.exists():
        pytest.skip("not in the repository")
    words: list[str | pathlib.Path] = [sys.executable, script, "--check", "--package", PACKAGE.parent]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
