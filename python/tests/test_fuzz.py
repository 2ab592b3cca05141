"""Whatever is asked, the answer is an answer, or an exception that says what is wrong; nothing crashes.

The gate takes the same examples each time. ROOFLINE_FUZZ=N takes N random ones of each test, as ./dev test --all does.
"""

import functools
import inspect
import json
import math
import os
import pathlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import pandas
import pytest
from conftest import ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import roofline as rl

RANDOM = int(os.environ.get("ROOFLINE_FUZZ", "0"))
DATA = pathlib.Path(__file__).parent / "data"
MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
TINY = {
    "model_type": "llama", "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512, "max_position_embeddings": 512,
}  # fmt: skip
# A question of each function that is answered in milliseconds.
QUESTIONS: dict[str, tuple[Callable[..., Any], list[Any], dict[str, Any]]] = {
    "op": (rl.op, [MATMUL], {"on": "h200", "dims": {"B": 1, "D": 8, "F": 8}}),
    "machine": (rl.machine, ["h200"], {}),
    "model": (rl.model, [TINY], {"seq": 128}),
    "train": (rl.train, [TINY], {"on": "h100-sxm:2", "batch_tokens": 1024, "seq": 128, "mesh": {"fsdp": 2}}),
    "serve": (rl.serve, [TINY], {"on": "h100-sxm", "prompt": 16, "output": 4, "batch": 2}),
    "validate": (rl.validate, [DATA / "all_gather.csv"], {"on": "h100-sxm:8"}),
    "fit": (rl.fit, [DATA / "all_gather.csv"], {}),
    "hlo": (rl.hlo, [ROOT / "docs" / "examples" / "mlp.hlo"], {"on": "h100-sxm:4"}),
    "trace": (rl.trace, [DATA / "kernels.csv"], {"on": "h100-sxm"}),
    "jax": (rl.jax, [len, []], {"on": "h100-sxm"}),
    "plan.train": (rl.plan.train, [TINY], {"on": "h100-sxm:2", "batch_tokens": 1024, "seq": 128, "limit": 20,
                                           "threads": 1}),
    "plan.serve": (rl.plan.serve, [TINY], {"on": "h100-sxm:1", "prompt": 16, "output": 4, "threads": 1,
                                           "aggregated": True}),
    "plan.fleet": (rl.plan.fleet, [DATA / "fleet.toml"], {"threads": 1}),
    "plan.design": (rl.plan.design, [], {"base": "h200", "vary": {"hbm.bandwidth": "2..4TB/s"}, "steps": 2,
                                         "cost": ROOT / "docs" / "examples" / "chip-costs.toml",
                                         "workloads": ROOT / "docs" / "examples" / "design-workloads.toml"}),
    "plan.merge": (rl.plan.merge, [["part.json"]], {}),
}  # fmt: skip
# These name files that are written, or are handed to JAX as they are.
LEFT_OUT = {"output", "rocprof", "perfetto", "static_argnums", "donate_argnums", "in_shardings", "out_shardings"}


class Strange:
    """What numbers and texts may do instead of being one."""

    def __index__(self) -> int:
        return -1

    def __len__(self) -> int:
        return 2**62

    def __repr__(self) -> str:
        return "\0\n" * 100


class Config:
    """A configuration of an unknown class."""

    def __init__(self, keys: Any) -> None:
        self.model_type, self.keys = "unknown", keys

    def to_dict(self) -> Any:
        return self.keys


def recursive() -> list[Any]:
    itself: list[Any] = []
    itself.append(itself)
    return itself


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


TEXTS = st.one_of(
    st.text(max_size=30),
    st.text(st.characters(exclude_categories=()), max_size=10),
    st.sampled_from([MATMUL, "h200", "h100-sxm:2", "B=1,D=8", "B=1..4", "--json", "-", "--", "*2", "none", "\n", "=",
                     "B=99999999999999999999", "-1", "1e400", "nan", "inf", "\0", "é" * 3000, "[" * 3000, "(" * 500,
                     "fsdp=2", "4Ki", "1024", "bf16", "fp8", "full", "adam", "4/8", "%", "..", ",,,", "{}", "\ufeff"]),
)  # fmt: skip
NUMBERS = st.one_of(
    st.integers(), st.integers(-(2**70), 2**70), st.floats(), st.complex_numbers(), st.fractions(), st.decimals(),
    st.sampled_from([10**400, -(10**400), 2**63, -(2**63), 0, 1, True, np.float16("nan"), np.longdouble(3), np.int8(-1),
                     np.uint64(2**64 - 1), np.bool_(True), np.datetime64("2026-01-01"), np.str_("8"), np.void(b"12")]),
)  # fmt: skip
ARRAYS = st.sampled_from([
    np.array(3), np.array([1, 2]), np.array([[1], [2]]), np.zeros((0, 3), int), np.array([1.0, math.nan]),
    np.arange(8)[::-2], np.arange(4, dtype=">i8"), np.array(["a", "b"]), np.array([1, "a", None], dtype=object),
    np.array([10**30], dtype=object), np.ma.masked_array([1, 2], [True, False]), np.array([True]),
    np.broadcast_to(np.int64(3), (2**40,)), np.broadcast_to(np.float64(3), (2**20, 2**20)), range(10**12), range(0),
    range(10**30), np.zeros(3, dtype=[("a", int)]), np.array([1 + 2j]), np.array([2**63], dtype=np.uint64),
    pandas.Series([1, 2]), pandas.DataFrame({"op": ["x"], "bytes": [math.nan]}), pandas.DataFrame(), memoryview(b"12"),
])  # fmt: skip
OBJECTS = st.sampled_from([
    object(), int, len, lambda: 1, Strange(), mock.MagicMock(), Config({}), Config(TINY), Config(None),
    Config({"a": object()}), recursive(), deep(50), deep(900), iter([1]), ..., NotImplemented, ValueError("x"),
    pathlib.Path("absent.toml"), pathlib.Path("/"), pathlib.Path("x\0y"), b"\xff\xfe", bytearray(b"x"), {1, 2},
])  # fmt: skip
VALUES = st.recursive(
    st.one_of(TEXTS, NUMBERS, ARRAYS, OBJECTS, st.none(), st.booleans(), st.binary(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(TEXTS, st.integers(), st.sampled_from("BDFX")), inner, max_size=3),
        st.tuples(inner, inner),
    ),
    max_leaves=5,
)


def fuzzed(examples: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    chosen: Any = settings(max_examples=RANDOM or examples, derandomize=not RANDOM, deadline=None, database=None,
                           suppress_health_check=list(HealthCheck))  # fmt: skip
    return chosen  # type: ignore[no-any-return]


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder of its own, for names of files."""
    monkeypatch.chdir(tmp_path_factory.mktemp("fuzz"))
    yield


def ask(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Asks. Returns the answer, or None where an exception says what is wrong."""
    try:
        return function(*args, **kwargs)
    except rl.Error as error:
        assert error.code and error.message
        assert str(error).startswith("error: ")
    except (TypeError, ValueError) as error:
        assert str(error)
    return None


@functools.cache
def keywords(name: str) -> list[str]:
    return [each for each in inspect.signature(QUESTIONS[name][0]).parameters if each not in LEFT_OUT]


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_questions_are_answered(name: str) -> None:
    function, args, kwargs = QUESTIONS[name]
    if name in ("jax", "plan.merge"):
        pytest.skip("its arguments are no function, no parts")
    try:
        assert function(*args, **kwargs).to_json().startswith("{")
    except rl.Error as error:
        if error.code != "absent":  # the solver of plan.fleet()
            raise


@fuzzed(250)
@given(st.data())
def test_arguments(data: st.DataObject) -> None:
    """One to three arguments of a question that would be answered are something else."""
    name = data.draw(st.sampled_from(sorted(QUESTIONS)))
    function, args, kwargs = QUESTIONS[name]
    args, kwargs = list(args), dict(kwargs)
    for keyword in data.draw(st.lists(st.sampled_from(keywords(name)), min_size=1, max_size=3)):
        value = data.draw(VALUES)
        place = keywords(name).index(keyword)
        if place < len(args):
            args[place] = value
        else:
            kwargs[keyword] = value
    answer = ask(function, *args, **kwargs)
    if isinstance(answer, rl.Answer):
        json.loads(answer.to_json())
        assert isinstance(answer._repr_html_(), str) and repr(answer)


@fuzzed(100)
@given(st.dictionaries(st.sampled_from(["B", "D", "F", "X", "", "é", "B_X"]), st.one_of(ARRAYS, NUMBERS, VALUES),
                       max_size=4))  # fmt: skip
def test_sizes(dims: dict[str, Any]) -> None:
    ask(rl.op, MATMUL, on="h200", dims=dims)
    ask(rl.op, MATMUL, on="h200", dims={"B": 1, "D": 8, "F": 8, **dims})
    ask(compiled(), **dims)
    ask(compiled(), **{"B": 1, "D": 8, "F": 8, **dims})


@functools.cache
def compiled() -> rl.Compiled:
    return rl.op(MATMUL, on="h200").compile()


@fuzzed(60)
@given(st.text("bf1632[]()*,;:=->BDFX_\n#+/ repeatfusemaxsoftmax{}0123456789.", max_size=80))
def test_programs(text: str) -> None:
    ask(rl.op, text, on="h200", dims={"B": 1, "D": 8, "F": 8})


COLUMNS = ["op", "accelerator", "n_devices", "bytes", "time_us", "m", "n", "k", "dtype_in", "dtype_out", "measured_s"]


@fuzzed(60)
@given(st.dictionaries(st.sampled_from(COLUMNS), st.lists(st.one_of(
    st.none(), st.integers(), st.floats(), st.text(max_size=5), st.sampled_from(["all_gather", "h100-sxm:8", "bf16"]),
), min_size=3, max_size=3)))  # fmt: skip
def test_frames(columns: dict[str, list[Any]]) -> None:
    frame = pandas.DataFrame(columns)
    for function in (rl.validate, rl.fit, rl.trace):
        ask(function, frame, on="h100-sxm")
