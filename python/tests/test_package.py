"""What the package promises as a package."""

import importlib.metadata
import inspect
import json
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


def test_import_is_light() -> None:
    """What takes long to import is imported when it is asked for."""
    code = "import sys, roofline; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    late = {"numpy", "pandas", "pyarrow", "matplotlib", "jax", "torch", "tempfile", "subprocess", "multiprocessing"}
    assert late.isdisjoint(run.stdout.split())


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


NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: str(file.stem))
def test_notebooks_are_stored_with_outputs(file: pathlib.Path) -> None:
    """./dev test --all executes them; here is seen that no one has cleared them or stored a failure."""
    cells = [cell for cell in json.loads(file.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert outputs and all(output["output_type"] != "error" for output in outputs)
    assert any("text/html" in output.get("data", {}) for output in outputs)


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) == 6
