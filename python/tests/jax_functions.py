"""Functions of JAX whose costs the tests compare: with XLA's own analyses, and with sums by hand.

Shapes are small, because XLA compiles each function, and unequal, so that no two sizes can be confused.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp, lax, P = jax.numpy, jax.lax, jax.sharding.PartitionSpec
Mesh, NamedSharding = jax.sharding.Mesh, jax.sharding.NamedSharding

F32, F16, BF16, I32, I8 = jnp.float32, jnp.float16, jnp.bfloat16, jnp.int32, jnp.int8


def struct(*sizes: int, dtype: Any = F32) -> Any:
    return jax.ShapeDtypeStruct(sizes, dtype)


# What XLA does when it makes HLO of StableHLO, before it counts.
FOLDED = "equal constants become one, and what is multiplied by one, computed of constants, or not used, vanishes"
ONES = "a broadcast that makes a dimension of size 1 larger has one more step"
IOTA = "an iota of several dimensions is one of one dimension and a broadcast"
ONE_OPERAND = "the only operand of a branch stands in no tuple"
SPLIT = "an all_to_all between two dimensions has a reshape and a transpose"


@dataclass
class Case:
    """A function, its arguments, and the FLOPs of its matmuls and convolutions in one device by hand, if they are
    known: loops as often as they run."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    matmul_flops: float | None = None
    shardings: dict[str, Any] = field(default_factory=dict)
    devices: int = 1
    # Why XLA's count of the StableHLO is another one, if it is.
    otherwise: str = ""
    # Of a while loop whose length depends on values one iteration is counted.
    data_dependent: bool = False

    def jitted(self) -> Any:
        return jax.jit(self.function, **self.shardings)


# --- Layers


def norm(x: Any, scale: Any, bias: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + bias


def attention(q: Any, k: Any, v: Any) -> Any:
    """Causal attention over [batch, time, heads, size]."""
    scores = jnp.einsum("bthd,bshd->bhts", q, k) / math.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
    return jnp.einsum("bhts,bshd->bthd", weights, v)


def block(w: dict[str, Any], x: Any) -> Any:
    """A layer of a Transformer."""
    y = norm(x, w["scale1"], w["bias1"])
    q, k, v = (jnp.einsum("btm,mhd->bthd", y, w[each]) for each in "qkv")
    x = x + jnp.einsum("bthd,hdm->btm", attention(q, k, v), w["o"])
    y = norm(x, w["scale2"], w["bias2"])
    return x + jax.nn.gelu(y @ w["up"]) @ w["down"]


def loss(w: dict[str, Any], x: Any) -> Any:
    return jnp.mean(block(w, x) ** 2)


def mlp(w: dict[str, Any], x: Any) -> Any:
    return jnp.tanh(x @ w["up"]) @ w["down"]


def mlp_loss(w: dict[str, Any], x: Any) -> Any:
    return jnp.mean(mlp(w, x) ** 2)


def conv(x: Any, kernel: Any, **options: Any) -> Any:
    options = {"window_strides": (1, 1), "padding": "SAME", **options}
    return lax.conv_general_dilated(x, kernel, dimension_numbers=("NHWC", "HWIO", "NHWC"), **options)


def conv_net(w: dict[str, Any], images: Any) -> Any:
    x = jax.nn.relu(conv(images, w["first"]))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = jax.nn.relu(conv(x, w["second"], window_strides=(2, 2)))
    return x.mean((1, 2)) @ w["out"]


depthwise = partial(conv, feature_group_count=8)
dilated = partial(conv, rhs_dilation=(2, 2), padding="VALID")


def gradient(function: Callable[..., Any], *argnums: int) -> Callable[..., Any]:
    found: Callable[..., Any] = jax.grad(lambda *args: jnp.sum(function(*args) ** 2), argnums)
    return found


def adam(w: Any, m: Any, v: Any, g: Any) -> Any:
    m = 0.9 * m + 0.1 * g
    v = 0.99 * v + 0.01 * g * g
    return w - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v


def cross_entropy(logits: Any, labels: Any) -> Any:
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1).mean()


def layers(x: Any, w: Any) -> Any:
    return lax.scan(lambda c, each: (jnp.sin(c @ each), None), x, w)[0]


def newton(x: Any) -> Any:
    """A loop that ends by its values."""

    def step(state: Any) -> Any:
        y, _ = state
        following = 0.5 * (y + x / y)
        return following, jnp.abs(following - y).max()

    return lax.while_loop(lambda s: s[1] > 1e-6, step, (x, jnp.float32(1)))[0]


# --- Eight devices

HAS_DEVICES = jax.device_count() >= 8
MESH = Mesh(np.array(jax.devices()[:8]).reshape(2, 4), ("data", "model")) if HAS_DEVICES else None
LINE = Mesh(np.array(jax.devices()[:8]), ("x",)) if HAS_DEVICES else None


def over(*axes: Any) -> Any:
    return NamedSharding(MESH, P(*axes)) if MESH else None


def mapped(function: Callable[..., Any], into: Any, out: Any) -> Callable[..., Any]:
    return jax.shard_map(function, mesh=LINE, in_specs=into, out_specs=out) if LINE else function


def ring(x: Any) -> Any:
    """Sums up what goes around a ring of 8."""
    total = x
    for _ in range(7):
        x = lax.ppermute(x, "x", [(i, (i + 1) % 8) for i in range(8)])
        total = total + x
    return total


# --- The functions

BLOCK = {"up": struct(48, 192), "down": struct(192, 48), "o": struct(4, 12, 48)}
BLOCK |= {each: struct(48, 4, 12) for each in "qkv"}
BLOCK |= {each: struct(48) for each in ("scale1", "bias1", "scale2", "bias2")}
TOKENS = struct(2, 16, 48)
# Four projections, scores and values, and the MLP.
BLOCK_FLOPS = 2 * 2 * 16 * 48 * (4 * 48 + 2 * 192) + 2 * 2 * 2 * 4 * 16 * 16 * 12
HEADS = struct(2, 64, 4, 32)
MLP = {"up": struct(256, 1024), "down": struct(1024, 256)}
ROWS = struct(512, 256)
UP_FLOPS = 2 * 512 * 256 * 1024
IMAGES = struct(2, 16, 16, 8)
NET = {"first": struct(3, 3, 8, 16), "second": struct(3, 3, 16, 32), "out": struct(32, 10)}
# Of a 3-tap window over 16 places with padding, 3 * 16 - 2 taps meet an element; over 8 places in steps of 2 with
# padding at one end, 3 * 4 - 1 do.
NET_FLOPS = 2 * 2 * 46 * 46 * 8 * 16 + 2 * 2 * 11 * 11 * 16 * 32 + 2 * 2 * 32 * 10
TABLE, INDICES = struct(1000, 64), struct(32, dtype=I32)

CASES = [
    Case("matmul in f32", lambda a, b: a @ b, (ROWS, struct(256, 64)), 2 * 512 * 256 * 64),
    Case("matmul in bf16", lambda a, b: a @ b, (struct(96, 128, dtype=BF16), struct(128, 80, dtype=BF16)),
         2 * 96 * 128 * 80),
    Case("matmul of f16, summed in f32", lambda a, b: jnp.matmul(a, b, preferred_element_type=F32),
         (struct(96, 128, dtype=F16), struct(128, 80, dtype=F16)), 2 * 96 * 128 * 80),
    Case("matmul of int8, summed in int32", lambda a, b: jnp.matmul(a, b, preferred_element_type=I32),
         (struct(96, 128, dtype=I8), struct(128, 80, dtype=I8)), 2 * 96 * 128 * 80),
    Case("dot of two vectors", jnp.dot, (struct(4096), struct(4096))),
    Case("matrix and vector", lambda a, b: a @ b, (ROWS, struct(256))),
    Case("dot_general: last two with first two, one batch",
         lambda a, b: lax.dot_general(a, b, (((2, 3), (1, 0)), ((0,), (2,)))),
         (struct(3, 5, 7, 11), struct(11, 7, 3, 13)), 2 * 3 * 5 * 7 * 11 * 13),
    Case("einsum of three", lambda a, b, c: jnp.einsum("ij,jkl,lm->ikm", a, b, c),
         (struct(16, 24), struct(24, 8, 12), struct(12, 20))),
    Case("einsum over two batches", lambda a, b: jnp.einsum("abij,abjk->abik", a, b),
         (struct(2, 3, 16, 24), struct(2, 3, 24, 8)), 2 * 2 * 3 * 16 * 24 * 8),
    Case("attention", attention, (HEADS,) * 3, 2 * 2 * 2 * 4 * 64 * 64 * 32, otherwise=FOLDED),
    Case("attention's gradient", gradient(attention, 0, 1, 2), (HEADS,) * 3, 3 * 2 * 2 * 2 * 4 * 64 * 64 * 32,
         otherwise=FOLDED),
    Case("Transformer block", block, (BLOCK, TOKENS), BLOCK_FLOPS, otherwise=FOLDED),
    # Each matmul twice more, for its two operands.
    Case("Transformer block's gradient", jax.value_and_grad(loss, (0, 1)), (BLOCK, TOKENS), 3 * BLOCK_FLOPS,
         otherwise=FOLDED),
    # The input needs no gradient.
    Case("MLP's gradient", jax.grad(mlp_loss), (MLP, ROWS), 5 * UP_FLOPS),
    Case("layer norm", norm, (ROWS, struct(256), struct(256)), 0, otherwise=ONES),
    Case("layer norm's gradient", gradient(norm, 0, 1, 2), (ROWS, struct(256), struct(256)), 0, otherwise=FOLDED),
    Case("Adam", adam, (ROWS,) * 4, 0),
    Case("cross-entropy's gradient", jax.grad(cross_entropy), (struct(64, 1000), struct(64, dtype=I32)), 0,
         otherwise=FOLDED),
    Case("convolution net", conv_net, (NET, IMAGES), NET_FLOPS, otherwise=FOLDED),
    Case("convolution net's gradient", jax.grad(lambda w, x: conv_net(w, x).sum()), (NET, IMAGES), otherwise=FOLDED),
    # One channel in, one out, eight times.
    Case("depthwise convolution", depthwise, (IMAGES, struct(3, 3, 1, 8)), 2 * 2 * 46 * 46 * 8),
    Case("depthwise convolution's gradient", gradient(depthwise, 0, 1), (IMAGES, struct(3, 3, 1, 8)),
         otherwise=FOLDED),
    # A window of 5 over 16 places: 12 results of 3 taps.
    Case("dilated convolution", dilated, (IMAGES, struct(3, 3, 8, 24)), 2 * 2 * 12 * 12 * 9 * 8 * 24),
    Case("dilated convolution's gradient", gradient(dilated, 0, 1), (IMAGES, struct(3, 3, 8, 24)), otherwise=FOLDED),
    Case("sums along both axes", lambda x: (x.sum(0), x.max(1), x.prod()), (ROWS,), 0),
    Case("argmax", lambda x: jnp.argmax(x, -1), (ROWS,), 0, otherwise=IOTA),
    Case("sort", lambda x: jnp.sort(x, 0), (ROWS,), 0),
    Case("top k", lambda x: lax.top_k(x, 4), (ROWS,), 0),
    Case("cumulative sum", lambda x: jnp.cumsum(x, 1), (ROWS,), 0, otherwise=FOLDED),
    Case("gather of rows", lambda t, i: t[i] * 2, (TABLE, INDICES), 0),
    Case("scatter of rows", lambda t, i, x: t.at[i].add(x), (TABLE, INDICES, struct(32, 64)), 0),
    Case("embedding's gradient", jax.grad(lambda t, i: (t[i] ** 2).sum()), (TABLE, INDICES), 0, otherwise=FOLDED),
    Case("scan", layers, (struct(32, 128), struct(6, 128, 128)), 6 * 2 * 32 * 128 * 128),
    Case("scan's gradient", gradient(layers, 0, 1), (struct(32, 128), struct(6, 128, 128)), 18 * 2 * 32 * 128 * 128,
         otherwise=FOLDED),
    Case("scan of a checkpointed body, its gradient",
         gradient(lambda x, w: lax.scan(jax.checkpoint(lambda c, each: (jnp.sin(c @ each), None)), x, w)[0], 0, 1),
         (struct(32, 128), struct(6, 128, 128)), otherwise=FOLDED),
    Case("while_loop", newton, (ROWS,), 0, data_dependent=True),
    Case("fori_loop", lambda x: lax.fori_loop(0, 5, lambda i, y: y @ y + i, x), (struct(64, 64),), 5 * 2 * 64**3),
    Case("cond", lambda x: lax.cond(x.sum() > 0, jnp.sin, lambda y: y @ y, x), (struct(64, 64),), 2 * 64**3,
         otherwise=ONE_OPERAND),
    Case("vmap of a matrix and a vector", jax.vmap(lambda x, y: x @ y), (struct(4, 8, 24), struct(4, 24))),
    Case("vmap over a shared matrix", jax.vmap(lambda x, w: jnp.tanh(x @ w), (0, None)),
         (struct(4, 8, 24), struct(24, 40)), 2 * 4 * 8 * 24 * 40),
    Case("random numbers", lambda x: x * jax.random.bernoulli(jax.random.key(0), 0.9, x.shape), (ROWS,), 0,
         otherwise=FOLDED),
    Case("MLP over 2 x 4 devices", mlp, (MLP, ROWS), 2 * UP_FLOPS / 8, devices=8,
         shardings={"in_shardings": ({"up": over(None, "model"), "down": over("model", None)}, over("data", None)),
                    "out_shardings": over("data", None)}),
    Case("MLP's gradient over 2 x 4 devices", jax.grad(mlp_loss), (MLP, ROWS), 5 * UP_FLOPS / 8, devices=8,
         shardings={"in_shardings": ({"up": over(None, "model"), "down": over("model", None)}, over("data", None))}),
    Case("outer product", jnp.outer, (struct(4096), struct(16)), 0, otherwise=ONES),
    Case("softmax", jax.nn.softmax, (ROWS,), 0, otherwise=ONES),
    Case("logsumexp", lambda x: jax.nn.logsumexp(x, -1), (ROWS,), 0, otherwise=FOLDED),
    Case("transpose", lambda x: x.T + 1, (ROWS,), 0),
    Case("concatenate and pad", lambda x: jnp.pad(jnp.concatenate([x, 2 * x]), 3), (ROWS,), 0),
    Case("slice and roll", lambda x: jnp.roll(x[3:9], 2, 0) * 2, (ROWS,), 0),
    Case("where", lambda x: jnp.where(x > 0, x, 0), (ROWS,), 0),
    Case("one hot", lambda i: jax.nn.one_hot(i, 32), (struct(64, dtype=I32),), 0, otherwise=ONES),
    Case("update of a row", lambda x: x.at[3].set(1.0), (ROWS,), 0, otherwise=FOLDED),
    Case("shard_map: psum", mapped(lambda a, b: lax.psum(a @ b, "x"), (P(None, "x"), P("x")), P()),
         (struct(64, 256), struct(256, 32)), 2 * 64 * 32 * 32, devices=8),
    Case("shard_map: all_gather", mapped(lambda a, b: lax.all_gather(a, "x", tiled=True) @ b, (P("x"), P(None, "x")),
                                         P(None, "x")), (struct(64, 32), struct(32, 128)), 2 * 64 * 32 * 16, devices=8),
    Case("shard_map: all_to_all", mapped(lambda a: jnp.exp(lax.all_to_all(a, "x", 1, 0, tiled=True)), P("x"),
                                         P(None, "x")), (struct(64, 32),), 0, devices=8, otherwise=SPLIT),
    Case("shard_map: psum_scatter", mapped(lambda a, b: lax.psum_scatter(a @ b, "x", tiled=True),
                                           (P(None, "x"), P("x")), P("x")),
         (struct(64, 256), struct(256, 32)), 2 * 64 * 32 * 32, devices=8),
    Case("shard_map: ppermute", mapped(ring, P("x"), P("x")), (struct(64, 32),), 0, devices=8),
]
