"""Whatever is asked, the answer is an answer or an Error that says what to do."""

import copy
import math
import pathlib
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import roofline as rl

MATMUL = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"


def error_of(function: Any, *args: Any, **kwargs: Any) -> rl.Error:
    with pytest.raises(rl.Error) as caught:
        function(*args, **kwargs)
    return caught.value


def test_points_into_the_text() -> None:
    error = error_of(rl.op, "bf16[B, D] * bf16[D, F] -> bf16[B, G]", on="h100-sxm")
    assert isinstance(error, ValueError)
    assert error.place is not None and (error.place.line, error.place.column) == (1, 28)
    assert str(error) == textwrap.dedent("""\
        error: the result has dimension `G`, which no operand has
          1 | bf16[B, D] * bf16[D, F] -> bf16[B, G]
            |                            ^
        hint: the operands have B, D, F""")


def test_nearest_names() -> None:
    assert error_of(rl.op, MATMUL, on="h100-sxn").hint == "did you mean `h100-sxm`?"
    assert error_of(rl.op, MATMUL, onn="h100-sxm").hint == "did you mean `on`?"
    assert error_of(rl.train, "llama-3.1-8b", on="h100-sxm:8", batch_token=1).hint == "did you mean `batch_tokens`?"
    assert error_of(rl.plan.train, "llama-3.1-8b", on="h200:8", objectiv="time").hint == "did you mean `objective`?"
    assert error_of(rl.model, "llama-3.1-8c").hint.startswith("did you mean")
    assert error_of(rl.op, MATMUL, on="h200", json=True).code == "unknown_keyword"


def test_missing_arguments() -> None:
    assert error_of(rl.op, MATMUL).message == "op() needs `on`"
    assert error_of(rl.train, on="h200").message == "train() needs `model`"
    assert error_of(rl.plan.design, base="h200").code == "missing_argument"
    assert error_of(rl.op, MATMUL, "h200", on="h200").hint.startswith("name the others")
    assert error_of(rl.op, MATMUL, MATMUL).hint.startswith("name the others")


def test_python_terms() -> None:
    batch = error_of(rl.train, "llama-3.1-8b", on="h100-sxm:8")
    assert batch.hint == 'give its tokens, batch_tokens="4Mi", or assume a utilization, mfu=0.4'
    sized = error_of(rl.op, MATMUL, on="h200", sweep="B=1..4")
    assert sized.hint == 'give it: dims={"D": 4096}'
    for error in (batch, sized, error_of(rl.op, MATMUL, on="h200", dims="B=x"), error_of(rl.op, "x", on="h200")):
        assert "--" not in str(error)


def test_errors_can_be_sent() -> None:
    error = error_of(rl.op, "bf16[B, D", on="h200")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert str(again) == str(error) and again.place == error.place and again.code == error.code


@pytest.mark.parametrize("value", [object(), 3.5, math.nan, b"\xff", lambda: 1, {1: 2}, np.zeros((2, 2)), True, (), int,
                                   np.complex64(1)])  # fmt: skip
@pytest.mark.parametrize("argument", ["on", "dims", "mesh", "set", "tile", "software", "expert_groups", "calibration"])
def test_wrong_types(argument: str, value: Any) -> None:
    arguments: dict[str, Any] = {"on": "h200", "dims": {"B": 1, "D": 8, "F": 8}}
    try:
        rl.op(MATMUL, **{**arguments, argument: value})
    except rl.Error as error:
        assert error.message


WRONG_MODELS = [object(), 3, None, {"a": object()}, {}, [], "", "-", "/", "\0", b"\xff\xfe", "\ud800"]


@pytest.mark.parametrize("model", WRONG_MODELS)
def test_wrong_models(model: Any) -> None:
    assert error_of(rl.train, model, on="h200:8", batch_tokens="64Ki").message
    assert error_of(rl.serve, model, on="h200:8").message


def test_no_numbers() -> None:
    for value in (int, np.complex64(1), 1 + 2j):
        error = error_of(rl.op, MATMUL, on="h200", expert_groups=value)
        assert error.message.startswith("`expert_groups` is ") and error.hint.startswith("it is a text or a number")


def test_recursive_list() -> None:
    itself: list[Any] = []
    itself.append(itself)
    assert "lists in lists" in error_of(rl.fit, itself).message
    assert "lists in lists" in error_of(rl.op, MATMUL, on=itself).message


def test_recursive_model() -> None:
    keys: dict[str, Any] = {"model_type": "llama"}
    keys["itself"] = keys
    assert "JSON" in error_of(rl.model, keys).message


def test_files(tmp_path: pathlib.Path) -> None:
    assert "cannot open" in error_of(rl.op, tmp_path / "absent.roof", on="h200").message
    assert "absent.csv" in error_of(rl.validate, tmp_path / "absent.csv").message
    assert error_of(rl.validate, tmp_path).message
    assert error_of(rl.model, tmp_path / "x.json").message
    assert "standard input" in error_of(rl.validate, "-").hint
    broken = tmp_path / "chip.toml"
    broken.write_text("id = \n")
    place = error_of(rl.op, MATMUL, on=broken).place
    assert place is not None and place.source == str(broken) and place.line == 1


def test_a_file_that_was_read_may_be_written_later(tmp_path: pathlib.Path) -> None:
    """The command line refuses to replace its input; a session asks many questions."""
    file = tmp_path / "roofs.csv"
    for _ in range(2):
        assert rl.machine("h100-sxm", rocprof=file).written == [str(file)]
        error_of(rl.validate, file)


TEXTS = st.one_of(
    st.text(max_size=40),
    st.sampled_from([MATMUL, "h200", "h100-sxm:8", "B=1,D=8", "B=1..4", "--json", "-", "--", "*2", "none", "\n", "="]),
)
VALUES = st.recursive(
    st.one_of(
        TEXTS, st.none(), st.booleans(), st.integers(), st.floats(), st.binary(max_size=8), st.complex_numbers(),
        st.sampled_from([object(), int, np.float32(3), np.int8(-1), np.array([1, 2]), np.array(["a"]), range(3)]),
    ),  # fmt: skip
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
FAST = {"op": rl.op, "machine": rl.machine, "model": rl.model, "validate": rl.validate, "trace": rl.trace}


@settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(FAST)), st.lists(VALUES, max_size=2), st.dictionaries(
    st.one_of(st.text(max_size=8), st.sampled_from(["on", "dims", "mesh", "set", "tile", "sweep", "strict", "seq"])),
    VALUES, max_size=4))  # fmt: skip
def test_hostile_arguments(name: str, args: list[Any], kwargs: dict[str, Any]) -> None:
    try:
        FAST[name](*args, **kwargs)  # type: ignore[operator]
    except rl.Error as error:
        assert str(error).startswith("error: ")
    except TypeError as error:
        # Python itself reports an argument that is given twice.
        assert "multiple values" in str(error)


SEARCHES = {
    "train": 'rl.plan.train("llama-3.1-70b", on="h100-sxm:8x16", batch_tokens="4Mi", threads=1)',
    "serve": 'rl.plan.serve("deepseek-v3", on="gb200:72x2", prompt="8k", output="1k", tpot="30ms", threads=1)',
}


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_interrupt(search: str) -> None:
    """An interrupt ends a search of minutes, as KeyboardInterrupt."""
    code = textwrap.dedent(f"""
        import roofline as rl
        print("searching", flush=True)
        try:
            {search}
        except KeyboardInterrupt:
            print("interrupted")
    """)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None and child.stdout.readline() == "searching\n"
        time.sleep(1)
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=30)[0] == "interrupted\n"
        assert time.monotonic() - began < 10
