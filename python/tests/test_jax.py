"""Functions of JAX beside XLA's own cost analysis, and beside sums by hand."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

import roofline as rl

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
jax = pytest.importorskip("jax")
jnp = jax.numpy
S = jax.ShapeDtypeStruct
F32, BF16, I32 = jnp.float32, jnp.bfloat16, jnp.int32


def mlp(weights: dict[str, Any], x: Any) -> Any:
    hidden = jnp.tanh(x @ weights["up"])
    return jnp.mean((hidden @ weights["down"]) ** 2)


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bthd,bshd->bhts", q, k) / 8
    return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores), v)


def layers(x: Any, w: Any) -> Any:
    return jax.lax.scan(lambda c, each: (jnp.sin(c @ each), None), x, w)[0]


def convolution(x: Any, k: Any) -> Any:
    return jax.lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


WEIGHTS = {"up": S((256, 1024), F32), "down": S((1024, 256), F32)}
ROWS = S((512, 256), F32)
HEADS = S((2, 64, 4, 32), F32)
STACK = S((6, 128, 128), F32)
UP = 2 * 512 * 256 * 1024

# A function, its arguments, and the FLOPs of its matmuls by hand: loops as often as they run.
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], float]] = {
    "matmul": (lambda a, b: a @ b, (ROWS, S((256, 64), F32)), 2 * 512 * 256 * 64),
    "forward": (mlp, (WEIGHTS, ROWS), 2 * UP),
    # Backward: both weights, and the hidden layer, but not the input.
    "gradient": (jax.grad(mlp), (WEIGHTS, ROWS), 5 * UP),
    "attention": (attention, (HEADS, HEADS, HEADS), 2 * 2 * 2 * 4 * 64 * 64 * 32),
    "scan": (layers, (S((32, 128), F32), STACK), 6 * 2 * 32 * 128 * 128),
    "scan's gradient": (
        jax.grad(lambda x, w: layers(x, w).sum(), argnums=(0, 1)),
        (S((32, 128), F32), STACK),
        3 * 6 * 2 * 32 * 128 * 128,
    ),
    # 3 taps in each direction, 2 at each of the two edges: 3 * 16 - 2 meet an element.
    "convolution": (convolution, (S((2, 16, 16, 8), F32), S((3, 3, 8, 32), F32)), 2 * 2 * 46 * 46 * 8 * 32),
    "norm": (lambda x: x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True)), (ROWS,), 0),
    "embedding": (lambda t, i: t[i], (S((1000, 64), F32), S((32,), I32)), 0),
}


def test_other_functions_are_answered() -> None:
    for name, (function, arguments) in OTHERS.items():
        answer = rl.jax(function, *arguments, on="h100-sxm")
        # Nothing but its name is known of a bound of 0: all of these read something.
        assert answer.total.lower_s > 0, name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_matmuls_by_hand(name: str) -> None:
    function, arguments, flops = FUNCTIONS[name]
    answer = rl.jax(function, *arguments, on="h100-sxm")
    assert answer.total.matmul_flops == flops
    assert answer.total.lower_s > 0
    assert answer.unknown == []


def block(x: Any, w: dict[str, Any]) -> Any:
    """A layer of a Transformer."""
    norm = x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
    q, k, v = (jnp.einsum("btd,dhk->bthk", norm, w[each]) for each in "qkv")
    x = x + jnp.einsum("bthk,hkd->btd", attention(q, k, v), w["o"])
    return x + jax.nn.gelu(x @ w["up"]) @ w["down"]


SQUARE = S((64, 64), F32)
VECTOR = S((4096,), F32)
IMAGES = S((2, 16, 16, 8), F32)
PROJECTION = S((64, 4, 16), F32)
LAYER = {"q": PROJECTION, "k": PROJECTION, "v": PROJECTION, "o": S((4, 16, 64), F32)}
LAYER |= {"up": S((64, 256), F32), "down": S((256, 64), F32)}
TOKENS = S((2, 32, 64), F32)

# More functions, of which XLA's own analysis is the only other count.
OTHERS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "block": (block, (TOKENS, LAYER)),
    "block's gradient": (jax.grad(lambda x, w: block(x, w).sum(), argnums=1), (TOKENS, LAYER)),
    "matmul in bf16": (lambda a: a @ a, (S((64, 64), BF16),)),
    "matmul of integers": (lambda a: a @ a, (S((64, 64), I32),)),
    "matrix and vector": (lambda a, b: a @ b, (SQUARE, S((64,), F32))),
    "dot": (jnp.dot, (VECTOR, VECTOR)),
    "outer": (jnp.outer, (VECTOR, S((16,), F32))),
    "batches": (lambda a, b: jnp.einsum("bij,bjk->bik", a, b), (S((4, 8, 16), F32), S((4, 16, 8), F32))),
    "two sums": (lambda a, b: jnp.einsum("ijk,jkl->il", a, b), (S((4, 8, 16), F32), S((8, 16, 8), F32))),
    "layer norm": (lambda x: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True)), (ROWS,)),
    "softmax": (jax.nn.softmax, (ROWS,)),
    "logsumexp": (lambda x: jax.nn.logsumexp(x, -1), (ROWS,)),
    "sum": (jnp.sum, (ROWS,)),
    "argmax": (lambda x: jnp.argmax(x, -1), (ROWS,)),
    "sort": (jnp.sort, (VECTOR,)),
    "top k": (lambda x: jax.lax.top_k(x, 4), (ROWS,)),
    "cumulative sum": (jnp.cumsum, (VECTOR,)),
    "transpose": (jnp.transpose, (ROWS,)),
    "reshape": (lambda x: x.reshape(128, 1024) + 1, (ROWS,)),
    "concatenate": (lambda x: jnp.concatenate([x, 2 * x]), (ROWS,)),
    "pad": (lambda x: jnp.pad(x, 3), (ROWS,)),
    "slice": (lambda x: x[3:9] * 2, (ROWS,)),
    "roll": (lambda x: jnp.roll(x, 3, 0), (ROWS,)),
    "where": (lambda x: jnp.where(x > 0, x, 0), (ROWS,)),
    "one hot": (lambda i: jax.nn.one_hot(i, 32), (S((64,), I32),)),
    "update": (lambda x: x.at[3].set(1.0), (ROWS,)),
    "scatter": (lambda x, i: x.at[i].add(1.0), (VECTOR, S((16,), I32))),
    "embedding's gradient": (jax.grad(lambda t, i: t[i].sum()), (S((1000, 64), F32), S((32,), I32))),
    "while": (lambda x: jax.lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 2), (0, x))[1], (ROWS,)),
    "cond": (lambda x: jax.lax.cond(x.sum() > 0, jnp.sin, lambda y: y @ y, x), (SQUARE,)),
    "vmap": (jax.vmap(lambda x, y: x @ y), (S((4, 8, 8), F32), S((4, 8), F32))),
    "strides": (lambda x, k: jax.lax.conv(x, k, (2, 2), "VALID"), (S((2, 3, 16, 16), F32), S((8, 3, 3, 3), F32))),
    "pooling": (lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), (IMAGES,)),
    "convolution's gradient": (
        jax.grad(lambda x, k: convolution(x, k).sum(), argnums=(0, 1)),
        (IMAGES, S((3, 3, 8, 32), F32)),
    ),
}


@pytest.mark.parametrize("name", [*FUNCTIONS, *OTHERS])
def test_as_xla_counts(name: str) -> None:
    function, arguments = (FUNCTIONS | OTHERS)[name][:2]
    compiled = jax.jit(function).lower(*arguments).compile()
    said = compiled.cost_analysis()
    ours = rl.hlo(compiled.as_text(), cost="xla")
    if name == "top k":  # a custom call of this backend, for which XLA enters -1
        assert len(ours.unknown) == 1
        return
    assert ours.unknown == []
    assert ours.total.flops == pytest.approx(said.get("flops", 0), rel=1e-6)
    assert ours.total.transcendentals == pytest.approx(said.get("transcendentals", 0), rel=1e-6)
    assert ours.total.bytes == pytest.approx(said["bytes accessed"], rel=1e-6)


def test_lines_of_the_users_code() -> None:
    answer = rl.jax(mlp, WEIGHTS, ROWS, on="h100-sxm")
    file, line = answer.ops[0].source.rsplit(":", 1)
    assert file == __file__
    assert "weights[" in pathlib.Path(file).read_text().splitlines()[int(line) - 1]


def test_shardings_become_collectives() -> None:
    if jax.device_count() < 8:
        pytest.skip("the process has another number of devices")
    mesh = jax.make_mesh((2, 4), ("data", "model"))
    spec = jax.sharding.PartitionSpec
    axes = ("data", None), (None, "model"), ("model", None)
    over = [jax.sharding.NamedSharding(mesh, spec(*each)) for each in axes]
    shapes = S((8192, 4096), BF16), S((4096, 16384), BF16), S((16384, 4096), BF16)
    answer = rl.jax(
        lambda x, up, down: jnp.maximum(x @ up, 0) @ down,
        *shapes,
        on="h100-sxm:8",
        in_shardings=tuple(over),
        out_shardings=over[0],
    )
    # A device has an eighth of both products, and sums 4096 x 4096 numbers of two bytes with three others.
    assert answer.total.matmul_flops == 2 * 2 * 8192 * 4096 * 16384 / 8
    assert answer.total.collectives["all-reduce"].count == 1
    assert answer.total.collectives["all-reduce"].output_bytes == 4096 * 4096 * 2
    assert answer.total.expected_s > answer.total.lower_s > 0
    with pytest.raises(rl.Error, match="8 devices, but the slice"):
        rl.jax(lambda x: x.sum(), shapes[0], on="h100-sxm:4", in_shardings=(over[0],))


def test_wrong_functions() -> None:
    with pytest.raises(rl.Error, match="a function is needed"):
        rl.jax(3, on="h100-sxm")  # type: ignore[arg-type]
    with pytest.raises(rl.Error, match="cannot lower"):
        rl.jax(lambda x: x if x.sum() > 0 else -x, ROWS, on="h100-sxm")
    with pytest.raises(rl.Error, match="cannot lower"):
        rl.jax(lambda a, b: a @ b, ROWS, ROWS, on="h100-sxm")
    with pytest.raises(rl.Error, match="jitted already"):
        rl.jax(jax.jit(jnp.sin), ROWS, on="h100-sxm", static_argnums=0)
    with pytest.raises(rl.Error, match="no machine"):
        rl.jax(jnp.sin, ROWS, on="h100-sxmm")
