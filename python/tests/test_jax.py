"""Functions of JAX: their lines, their collectives, and what cannot be lowered. Five of them beside XLA's own cost
analysis and sums by hand; python/tests/all and scripts/compare_with_jax.py take all."""

from __future__ import annotations

import pathlib
import re
import sys

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
