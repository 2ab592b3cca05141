"""What the tests share: the program whose answers the package's are compared with.

ROOFLINE_PROGRAM names it; otherwise it is that of the folder `build`."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Program:
    """The command line."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path

    def __call__(self, *words: str) -> str:
        """Returns the standard output of the program with these words."""
        plain = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
        done = subprocess.run([self.path, *words], capture_output=True, text=True, check=False, timeout=120, env=plain)
        return done.stdout


@pytest.fixture(scope="session")
def program() -> Program:
    path = pathlib.Path(os.environ.get("ROOFLINE_PROGRAM", ROOT / "build" / "roofline"))
    if not path.exists():
        pytest.skip(f"{path} is not built")
    return Program(path)
