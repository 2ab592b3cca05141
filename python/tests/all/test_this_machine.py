"""Functions of JAX on the machine that the tests run on, as `roofline measure cpu` describes it: each has a prediction
and a time. How far they are apart is for people to read (docs/method/experiments.md); no test asserts a time."""

import csv
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def test_predicted_and_timed(tmp_path: pathlib.Path) -> None:
    program = pathlib.Path(os.environ.get("ROOFLINE_PROGRAM", ROOT / "build" / "roofline"))
    machine, table = tmp_path / "this.toml", tmp_path / "times.csv"
    measured = subprocess.run([program, "measure", "cpu", "--quick", "-o", machine], capture_output=True, text=True,
                              check=False, timeout=300)  # fmt: skip
    if measured.returncode == 3:
        pytest.skip(f"nothing can be measured here: {measured.stderr}")
    assert measured.returncode == 0, measured.stderr
    script = ROOT / "scripts" / "time_jax_here.py"
    plain = {**os.environ, "ROOFLINE_THIS": str(machine)}
    done = subprocess.run([sys.executable, "-B", script, "--csv", table], capture_output=True, text=True, check=False,
                          timeout=600, env=plain)  # fmt: skip
    print(done.stdout)
    rows = list(csv.DictReader(table.open()))
    assert len(rows) == 10, done.stderr
    for row in rows:
        assert float(row["lower_s"]) > 0 and float(row["measured_s"]) > 0 and row["bound_by"]
