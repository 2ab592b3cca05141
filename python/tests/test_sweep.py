"""Sweeps over arrays and compiled questions answer as single questions do."""

import json
import math
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from conftest import Program
from hypothesis import given, settings
from hypothesis import strategies as st

import roofline as rl

MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
SHARDED = "bf16[B, D] * bf16[D, F_X] -> bf16[B, F]"
CAUSAL = "softmax(mask(bf16[B, T, H] * bf16[B, S, H]))"
SIZES = {"D": 8192, "F": 8192}


def test_columns_are_those_of_json(program: Program) -> None:
    sizes = np.arange(1, 513)
    sweep = rl.op(MATMUL, on="h100-sxm", dims={"B": sizes, **SIZES})
    text = program("op", MATMUL, "--on", "h100-sxm", "--dims", "D=8192,F=8192", "--sweep", "B=1..512", "--json")
    points = json.loads(text)["sweep"]
    assert sweep.shape == (512,) and sweep.points == 512 and sweep.machine == "h100-sxm5"
    for key in ("flops", "lower_s", "sequential_s", "expected_s", "upper_s", "peak_fraction"):
        assert sweep[key].tolist() == [point[key] for point in points]
    assert sweep.time_s["hbm"].tolist() == [point["time_s"]["hbm"] for point in points]
    assert sweep.bytes["hbm"]["read"].tolist() == [point["bytes"]["hbm"]["read"] for point in points]
    assert sweep.intensity["hbm"].tolist() == [point["intensity"]["hbm"] for point in points]
    assert sweep.bound_by.tolist() == [point["bound_by"] for point in points]
    assert sweep.to_json() == text
    frame = sweep.to_pandas()
    assert frame["B"].tolist() == sizes.tolist() and frame["time_s.hbm"].tolist() == sweep.time_s["hbm"].tolist()


def test_broadcast() -> None:
    rows, columns = np.array([[64], [128]]), [1024, 2048, 4096]
    sweep = rl.op(MATMUL, on="tpu-v5e", dims={"B": rows, "D": columns, "F": "4Ki"})
    assert sweep.shape == (2, 3) and sweep.lower_s.shape == (2, 3)
    for i, b in enumerate([64, 128]):
        for j, d in enumerate(columns):
            one = rl.op(MATMUL, on="tpu-v5e", dims={"B": b, "D": d, "F": 4096})
            assert sweep.lower_s[i, j] == pytest.approx(one.lower_s, rel=1e-12)
            assert sweep.dims["D"][i, j] == d


@pytest.mark.parametrize(
    ("text", "on", "mesh"),
    [(SHARDED, "tpu-v5e:2x2", {"X": 4}), (MATMUL, "tpu-v5e", None), (MATMUL, "h100-sxm", None)],
)
def test_points_are_single_answers(text: str, on: str, mesh: dict[str, int] | None) -> None:
    sizes = [1, 7, 256, 4096, 100_000]
    sweep = rl.op(text, on=on, mesh=mesh, dims={"B": sizes, **SIZES})
    compiled = rl.op(text, on=on, mesh=mesh, dims=SIZES).compile()
    assert compiled.dims == ("B",)
    for i, size in enumerate(sizes):
        one = rl.op(text, on=on, mesh=mesh, dims={"B": size, **SIZES})
        point = compiled(B=size)
        for key in ("lower_s", "sequential_s", "upper_s"):
            assert sweep[key][i] == pytest.approx(one[key], rel=1e-12)
            assert getattr(point, key) == sweep[key][i]
        assert sweep.bound_by[i] == point.bound_by == one.bound_by
        assert point.bytes["hbm"]["read"] == one.bytes.hbm.read


def test_compiled_formulas() -> None:
    one_chip = rl.op(MATMUL, on="tpu-v5e", dims=SIZES).compile()
    sharded = rl.op(SHARDED, on="tpu-v5e:2x2", mesh={"X": 4}, dims=SIZES).compile()
    assert one_chip.has_formulas and not sharded.has_formulas
    named = rl.op(MATMUL, on="tpu-v5e", dims={"B": 8, **SIZES}).compile("B", "F")
    assert named(B=16, F=32).flops == 2 * 16 * 8192 * 32
    many = named(B=np.array([16, 17]), F=32)
    assert many.flops.tolist() == [2 * 16 * 8192 * 32, 2 * 17 * 8192 * 32]
    assert named(B=np.int32(16), F=32.0).flops == named(B=16, F=32).flops


@pytest.mark.parametrize("dims", [{}, {"B": 1, "X": 1}, {"C": 1}, {"B": 0}, {"B": -5}, {"B": math.nan}, {"B": 1.5},
                                  {"B": "8"}, {"B": None}, {"B": 2**70}, {"B": []}])  # fmt: skip
def test_compiled_refuses(dims: dict[str, object]) -> None:
    compiled = rl.op(MATMUL, on="tpu-v5e", dims=SIZES).compile("B")
    with pytest.raises(rl.Error) as caught:
        compiled(**dims)
    assert caught.value.hint


@pytest.mark.parametrize("sizes", [np.array([1.0, np.nan]), np.array([1.5]), np.array([0]), np.array([-1, 2]), [],
                                   np.array(["a"]), np.array([True]), np.array([2**63], dtype=np.uint64),
                                   np.array([None]), [[1], [1, 2]], np.array([np.inf])])  # fmt: skip
def test_refused_sizes(sizes: object) -> None:
    with pytest.raises(rl.Error) as caught:
        rl.op(MATMUL, on="tpu-v5e", dims={"B": sizes, **SIZES})  # type: ignore[dict-item]
    assert caught.value.code == "bad_size" and caught.value.hint


def test_refused_sweeps() -> None:
    with pytest.raises(rl.Error, match="do not fit together"):
        rl.op(MATMUL, on="tpu-v5e", dims={"B": [1, 2], "D": [1, 2, 3], "F": 8})
    with pytest.raises(rl.Error, match="one machine"):
        rl.op(MATMUL, on=["tpu-v5e", "h200"], dims={"B": [1, 2], **SIZES})
    with pytest.raises(rl.Error, match="no dimension `Q`"):
        rl.op(MATMUL, on="tpu-v5e", dims={"Q": [1, 2], **SIZES})
    with pytest.raises(rl.Error, match="needs a size for `D`"):
        rl.op(MATMUL, on="tpu-v5e", dims={"B": [1, 2]})
    with pytest.raises(rl.Error, match="more than 1000000 points"):
        rl.op(MATMUL, on="tpu-v5e", dims={"B": np.arange(1, 1_000_003), **SIZES})
    many = np.broadcast_to(np.int64(3), (2**40,))  # takes no memory, and a list of it would take 16 TB
    values: list[Any] = [many, (many, many), [[many]]]
    for value in values:
        with pytest.raises(rl.Error, match="a sweep of B has more than 1000000 points"):
            rl.op(MATMUL, on="h200", dims={"B": value, "D": 8, "F": 8})


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 2**31), st.integers(1, 2**20), st.integers(1, 2**20))
def test_a_compiled_point_is_the_formula(b: int, d: int, f: int) -> None:
    compiled = _kept.setdefault("matmul", rl.op(MATMUL, on="h100-sxm").compile())
    point = compiled(B=b, D=d, F=f)
    assert point.flops == pytest.approx(2.0 * b * d * f, rel=1e-14)
    read, written = 2.0 * (b * d + d * f), 2.0 * b * f
    assert point.time_s["hbm"] == pytest.approx((read + written) / 3.35e12, rel=1e-14)
    assert point.lower_s == max(point.time_s.values())


_kept: dict[str, rl.Compiled] = {}


def test_pickled() -> None:
    compiled = pickle.loads(pickle.dumps(rl.op(MATMUL, on="tpu-v5e", dims=SIZES).compile()))
    assert compiled(B=256).flops == 2 * 256 * 8192 * 8192
    sweep = rl.op(MATMUL, on="tpu-v5e", dims={"B": [1, 2], **SIZES})
    again = pickle.loads(pickle.dumps(sweep))
    assert again.lower_s.tolist() == sweep.lower_s.tolist() and again.to_json() == sweep.to_json()


def test_threads() -> None:
    def ask(size: int) -> float:
        lower = rl.op(MATMUL, on="h100-sxm", dims={"B": size, **SIZES}).lower_s
        assert lower is not None
        return lower

    sizes = list(range(1, 65))
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, sizes)) == [ask(size) for size in sizes]


def test_the_interpreter_runs_meanwhile() -> None:
    """The GIL is released: another thread counts during a long sweep."""
    counted, done = 0, threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.wait(0.001):
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    rl.op(MATMUL, on="h100-sxm", dims={"B": np.arange(1, 1_000_001), **SIZES})
    done.set()
    thread.join()
    assert counted >= 5


def test_fork() -> None:
    compiled = rl.op(MATMUL, on="tpu-v5e", dims=SIZES).compile()
    expected = compiled(B=256).lower_s
    child = os.fork()
    if child == 0:
        same = compiled(B=256).lower_s == expected
        asked = rl.op(MATMUL, on="tpu-v5e", dims={"B": 256, **SIZES}).lower_s == expected
        os._exit(0 if same and asked else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_shown() -> None:
    sweep = rl.op(MATMUL, on="h100-sxm", dims={"B": np.arange(1, 100), **SIZES})
    assert "<svg" in sweep._repr_html_()
    assert isinstance(sweep.plot(), rl.Picture)
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("svg")
    assert len(sweep.plot(ax=True).lines) == 3
