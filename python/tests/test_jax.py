"""Functions of JAX: their lines, their collectives, and what cannot be lowered. Five of them beside XLA's own cost
analysis and sums by hand; python/tests/all and scripts/compare_with_jax.py take all."""

from __future__ import annotations

import html
import linecache
import pathlib
import pickle
import re
import sys
import types
from typing import Any

import pytest
from jax_comparison import answered, forms, wrong
from jax_functions import BF16, CASES, HAS_DEVICES, MLP, ROWS, Case, jax, jnp, mlp_loss, over, struct

import roofline as rl

NAMES = [
    "attention",
    "Transformer block's gradient",
    "convolution net's gradient",
    "scan of a checkpointed body, its gradient",
    "MLP's gradient over 2 x 4 devices",
]


@pytest.mark.parametrize("case", [each for each in CASES if each.name in NAMES], ids=lambda each: str(each.name))
def test_costs(case: Case) -> None:
    if case.devices > 1 and not HAS_DEVICES:
        pytest.skip("the process has another number of devices")
    assert wrong(case, forms(case)) == []
    assert answered(case) == []


def test_lines_of_the_users_code() -> None:
    answer = rl.jax(jax.grad(mlp_loss), MLP, ROWS, on="h100-sxm")
    lines = pathlib.Path(sys.modules["jax_functions"].__file__ or "").read_text().splitlines()
    places = [op.source.rsplit(":", 1) for op in answer.ops if op.opcode == "dot"]
    assert {pathlib.Path(file).name for file, _ in places} == {"jax_functions.py"}
    assert all('w["up"]' in lines[int(line) - 1] for _, line in places)
    assert answer.by_source[0].name.startswith(places[0][0])
    # jnp.sort has no line of its own; this one calls it.
    sort = rl.jax(lambda x: jnp.sort(x, 0), ROWS, on="h100-sxm").ops[0]
    file, line = sort.source.rsplit(":", 1)
    assert file == __file__
    assert "jnp.sort" in pathlib.Path(file).read_text().splitlines()[int(line) - 1]
    assert sort.scope.startswith("jit(<lambda>)/")
    # A function of JAX alone has the line of the question, and none of the package.
    alone = rl.jax(jnp.matmul, struct(8, 8), struct(8, 8), on="h100-sxm").lines[0]
    assert alone.source.startswith(f"{__file__}:") and "rl.jax(jnp.matmul" in alone.code


def test_shardings_become_collectives() -> None:
    if not HAS_DEVICES:
        pytest.skip("the process has another number of devices")
    shardings = (over("data", None), over(None, "model"), over("model", None))
    shapes = struct(8192, 4096, dtype=BF16), struct(4096, 16384, dtype=BF16), struct(16384, 4096, dtype=BF16)
    answer = rl.jax(
        lambda x, up, down: jnp.maximum(x @ up, 0) @ down,
        *shapes,
        on="h100-sxm:8",
        in_shardings=shardings,
        out_shardings=shardings[0],
    )
    # A device has an eighth of both products, and sums 4096 x 4096 numbers of two bytes with three others.
    assert answer.total.matmul_flops == 2 * 2 * 8192 * 4096 * 16384 / 8
    assert answer.total.collectives["all-reduce"].count == 1
    assert answer.total.collectives["all-reduce"].output_bytes == 4096 * 4096 * 2
    assert answer.total.expected_s > answer.total.lower_s > 0
    with pytest.raises(rl.Error, match="8 devices, but the slice"):
        rl.jax(lambda x: x.sum(), shapes[0], on="h100-sxm:4", in_shardings=(shardings[0],))


def test_jitted_and_compiled() -> None:
    jitted = jax.jit(lambda x, n: (x @ x) * n, static_argnums=1)
    before = rl.jax(jitted, struct(64, 64), 3, on="h100-sxm")
    after = rl.jax(jitted, struct(64, 64), 3, on="h100-sxm", compiled=True)
    same = rl.jax(lambda x, n: (x @ x) * n, struct(64, 64), 3, on="h100-sxm", static_argnums=1)
    assert before.total.matmul_flops == after.total.matmul_flops == same.total.matmul_flops == 2 * 64**3
    assert "the module is not scheduled yet" in " ".join(before.notes)
    assert "the module is not scheduled yet" not in " ".join(after.notes)
    counted = rl.jax(jitted, struct(64, 64), 3, cost="xla")
    assert counted.machine is None
    assert counted.total.flops == jitted.lower(struct(64, 64), 3).cost_analysis()["flops"]


def test_modules_from_files_and_texts(tmp_path: pathlib.Path) -> None:
    text = jax.jit(mlp_loss).lower(MLP, ROWS).as_text(debug_info=True)
    file = tmp_path / "step.mlir"
    file.write_text(text)
    one, other = rl.hlo(text, on="h100-sxm"), rl.hlo(file, on="h100-sxm")
    assert one.total == other.total
    assert other.module == str(file)


def test_answers_show_themselves() -> None:
    answer = rl.jax(jax.grad(mlp_loss), MLP, ROWS, on="tpu-v5p")
    page = answer._repr_html_()
    for each in (answer.ops[0].name, answer.by_source[0].name, "<svg"):
        assert each in page
    assert re.fullmatch(r"<roofline.HloAnswer: .*: machine=tpu-v5p, flops=.*FLOP, bytes=.*lower_s=.*>", repr(answer))
    frame = answer.to_pandas()
    assert frame["flops"].sum() == pytest.approx(answer.total.flops)
    assert list(frame["source"]) == [op.source for op in answer.ops]
    assert "2 machines" in repr(rl.jax(jnp.sin, ROWS, on=["h100-sxm", "h200"]))
    assert "flops=" in repr(rl.jax(jnp.sin, ROWS, cost="xla"))
    assert rl.jax(mlp_loss, MLP, ROWS, on="tpu-v5p").module == "mlp_loss.hlo"
    assert rl.jax(lambda x: x, ROWS, on="tpu-v5p").module == "module.hlo"


def test_wrong_functions() -> None:
    with pytest.raises(rl.Error, match="a function is needed"):
        rl.jax(3, on="h100-sxm")  # type: ignore[arg-type]
    with pytest.raises(rl.Error, match="cannot lower"):
        rl.jax(lambda x: x if x.sum() > 0 else -x, ROWS, on="h100-sxm")
    with pytest.raises(rl.Error, match="cannot lower"):
        rl.jax(lambda a, b: a @ b, ROWS, ROWS, on="h100-sxm")
    with pytest.raises(rl.Error, match="(?s)cannot lower.*shapes must not depend on values"):
        rl.jax(lambda x: x[x > 0], ROWS, on="h100-sxm")
    with pytest.raises(rl.Error, match="cannot lower.*str"):
        rl.jax(jnp.sin, "rows", on="h100-sxm")
    with pytest.raises(rl.Error, match="jitted already"):
        rl.jax(jax.jit(jnp.sin), ROWS, on="h100-sxm", static_argnums=0)
    with pytest.raises(rl.Error, match="no machine"):
        rl.jax(jnp.sin, ROWS, on="h100-sxmm")
    with pytest.raises(rl.Error, match="on"):
        rl.jax(jnp.sin, ROWS)
    with pytest.raises(rl.Error, match="sett"):
        rl.jax(jnp.sin, ROWS, on="h100-sxm", sett="hbm.bandwidth=*2")


def test_dynamic_shapes() -> None:
    jax_export = pytest.importorskip("jax.export")
    (size,) = jax_export.symbolic_shape("b")
    with pytest.raises(rl.Error, match="size"):
        rl.jax(jnp.sin, jax.ShapeDtypeStruct((size, 4), jnp.float32), on="h100-sxm")


def test_without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(rl.Error, match="JAX is not installed") as caught:
        rl.jax(len, [], on="h100-sxm")
    assert caught.value.hint == "pip install jax"


def scaled(x: Any) -> Any:
    return SCALE(x)


SCALE: Any = lambda x: x + 1  # noqa: E731


def test_functions_that_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX itself would answer for the trace that it kept."""
    assert rl.jax(scaled, ROWS, on="h100-sxm").total.matmul_flops == 0
    monkeypatch.setattr(sys.modules[__name__], "SCALE", lambda x: x @ x.T)
    rows, size = ROWS.shape
    assert rl.jax(scaled, ROWS, on="h100-sxm").total.matmul_flops == 2 * rows * size * rows


def test_lines_with_their_text(tmp_path: pathlib.Path) -> None:
    answer = rl.jax(jax.grad(mlp_loss), MLP, ROWS, on="h100-sxm")
    first = answer.lines[0]
    assert first.source == answer.by_source[0].name and first.time_s == answer.by_source[0].time_s
    assert first.code == 'return jnp.tanh(x @ w["up"]) @ w["down"]'
    assert sum(line.share for line in answer.lines) == pytest.approx(1)
    # The bound of a line is that of the kernels that take most of its time.
    key = "lower_s" if answer.total.expected_s is None else "expected_s"
    times: dict[str, float] = {}
    for op in answer.ops:
        if op.source == first.source:
            times[op.bound_by] = times.get(op.bound_by, 0) + op[key]
    assert first.bound_by == max(times, key=lambda bound: times[bound])
    again = pickle.loads(pickle.dumps(answer))
    assert again.lines == answer.lines
    assert html.escape(first.code) in answer._repr_html_()
    # A module from a file reads no other files.
    file = tmp_path / "step.mlir"
    file.write_text(jax.jit(mlp_loss).lower(MLP, ROWS).as_text(debug_info=True))
    assert {line.code for line in rl.hlo(file, on="h100-sxm").lines} == {""}
    assert rl.jax(jnp.sin, ROWS, on=["h100-sxm", "h200"]).lines == []


def test_cells_of_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell has the name that IPython shows for it, not that of a file in /tmp that does not exist."""
    file = "/tmp/ipykernel_1/2.py"
    code = "def double(x):\n    return x @ x.T\n"
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    names: dict[str, Any] = {}
    exec(compile(code, file, "exec"), names)

    class Shell:
        class compile:  # noqa: N801
            @staticmethod
            def format_code_name(name: str) -> tuple[str, str] | None:
                return ("Cell", "In[7]") if name == file else None

    shell = types.ModuleType("IPython")
    shell.get_ipython = Shell  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", shell)
    answer = rl.jax(names["double"], ROWS, on="h100-sxm")
    assert [(line.source, line.code) for line in answer.lines] == [("In[7]:2", "return x @ x.T")]
    del linecache.cache[file]


def test_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """on="this" is the machine that `roofline measure cpu` described."""
    file = tmp_path / "this.toml"
    monkeypatch.setenv("ROOFLINE_THIS", str(file))
    with pytest.raises(rl.Error, match="this machine has not been measured") as caught:
        rl.jax(jnp.matmul, struct(64, 64), struct(64, 64), on="this")
    assert caught.value.hint == "roofline measure cpu"
    file.write_text(THIS)
    total = rl.jax(jnp.matmul, struct(512, 512), struct(512, 512), on="this").total
    assert total.bound_by == "math" and total.lower_s == pytest.approx(2 * 512**3 / 100e9, rel=1e-12)


THIS = """
id = "this"
name = "two cores"

[[matmul]]
dtype = "f32"
value = "100 GFLOP/s"
source = "by hand"

[[memory]]
level = "hbm"
capacity = { value = "16 GB", source = "by hand" }
bandwidth = { value = "20 GB/s", source = "by hand" }
"""
