"""Modules of PyTorch whose FLOPs the tests compare with torch.utils.flop_counter. Sizes are unequal, so that no two can
be confused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional

# Why we count otherwise.
CAUSAL = "flop_counter counts the whole square of causal attention, of which half is not computed"
VECTOR = "flop_counter has no rule for a matrix times a vector"
PADDING = "flop_counter counts products with padding"
GROUPS = "for the gradient of a grouped convolution's weight flop_counter multiplies the channels of all groups"


@dataclass
class Case:
    """A module or a function, and its arguments. `flops` are those of matmuls and convolutions by hand, where
    flop_counter has others, for the reason `otherwise`."""

    name: str
    module: Any
    args: tuple[Any, ...]
    flops: float | None = None
    otherwise: str = ""
    # What has no rule, if anything.
    unknown: str = ""


def tensor(*sizes: int, dtype: Any = torch.float32) -> Any:
    return torch.zeros(sizes, dtype=dtype)


def whole(*sizes: int, below: int) -> Any:
    return torch.randint(0, below, sizes)


class MLP(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int = 24, hidden: int = 56) -> None:
        super().__init__()
        self.up, self.gate = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width)

    def forward(self, x: Any) -> Any:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Attention(nn.Module):  # type: ignore[misc]
    """Grouped attention with rotary embeddings: `groups` heads of keys and values."""

    def __init__(self, width: int = 24, heads: int = 4, groups: int = 2, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.groups, self.size, self.causal = heads, groups, width // heads, causal
        self.q, self.o = nn.Linear(width, width), nn.Linear(width, width)
        self.k, self.v = (nn.Linear(width, groups * self.size) for _ in range(2))

    def rotated(self, x: Any) -> Any:
        angles = torch.arange(x.shape[-2])[:, None] / 10000 ** (torch.arange(0, self.size, 2) / self.size)
        table = torch.cat((angles, angles), -1)
        half = torch.cat((-x[..., self.size // 2 :], x[..., : self.size // 2]), -1)
        return x * table.cos() + half * table.sin()

    def forward(self, x: Any) -> Any:
        def split(y: Any, heads: int) -> Any:
            return y.view(*y.shape[:2], heads, self.size).transpose(1, 2)

        q, k = self.rotated(split(self.q(x), self.heads)), self.rotated(split(self.k(x), self.groups))
        v = split(self.v(x), self.groups)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, enable_gqa=True)
        return self.o(y.transpose(1, 2).flatten(2))


class Block(nn.Module):  # type: ignore[misc]
    """A layer of a Transformer."""

    def __init__(self, width: int = 24, causal: bool = False, groups: int = 4) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.LayerNorm(width)
        self.attention, self.mlp = Attention(width, groups=groups, causal=causal), MLP(width)

    def forward(self, x: Any) -> Any:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Language(nn.Module):  # type: ignore[misc]
    """A small language model and its loss."""

    def __init__(self, words: int = 90, width: int = 24) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(words, width), nn.Linear(width, words, bias=False)
        self.layers = nn.ModuleList(Block(width) for _ in range(2))

    def forward(self, ids: Any, targets: Any) -> Any:
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        return F.cross_entropy(self.head(x).flatten(0, 1), targets.flatten())


class Manual(nn.Module):  # type: ignore[misc]
    """Attention as its formula, with a mask."""

    def forward(self, q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v


class Expert(nn.Module):  # type: ignore[misc]
    """Tokens go to the best two of several experts, computed densely."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(24, 5)
        self.up, self.down = nn.Parameter(tensor(5, 24, 40)), nn.Parameter(tensor(5, 40, 24))

    def forward(self, x: Any) -> Any:
        weights, chosen = self.router(x).softmax(-1).topk(2)
        gates = torch.zeros(x.shape[0], 5).scatter(1, chosen, weights)
        hidden = torch.einsum("td,edf->tef", x, self.up).relu()
        return torch.einsum("tef,efd,te->td", hidden, self.down, gates)


class Net(nn.Module):  # type: ignore[misc]
    """A small convolution net with a residual connection."""

    def __init__(self, padding: int = 0) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 5, stride=2, padding=padding), nn.Conv2d(8, 8, 1)
        self.norm1, self.norm2 = nn.BatchNorm2d(8, track_running_stats=False), nn.GroupNorm(2, 8)
        self.out = nn.Linear(8, 10)

    def forward(self, x: Any) -> Any:
        x = F.max_pool2d(F.relu(self.norm1(self.first(x))), 2)
        x = x + F.dropout(self.norm2(self.second(x)), 0.1, training=self.training)
        return F.log_softmax(self.out(F.adaptive_avg_pool2d(x, 1).flatten(1)), -1)


class Shapes(nn.Module):  # type: ignore[misc]
    """Operations that only move numbers, and matmuls of several forms."""

    def forward(self, x: Any, y: Any) -> Any:
        a, b = x.split([4, 6], dim=-1)
        z = torch.stack((a, a.flip(0))).permute(1, 2, 0, 3).reshape(6, -1)
        table = torch.cat((b, b.roll(1, 0)), 1)[:, 2:9].repeat(1, 2).t()
        rows = z.index_select(0, torch.tensor([0, 3, 2]))
        updated = z.index_put((torch.tensor([1]),), torch.ones(1, z.shape[1]))
        norm = torch.linalg.vector_norm(updated, dim=-1) + z.var(-1) + z.cumsum(0).amax(1) + z.logsumexp(-1)
        return (table @ rows[:, :1].new_ones(x.shape[0], 2)).sum() + (y @ y.mT).mean() + torch.outer(norm, norm).sum()


def gradient(module: Any) -> Callable[..., Any]:
    """The gradient of the sum of the module's squared results with respect to its parameters."""

    def loss(weights: Any, *args: Any) -> Any:
        return (torch.func.functional_call(module, weights, args) ** 2).sum()

    return torch.func.grad(loss)  # type: ignore[no-any-return]


def weights(module: Any) -> dict[str, Any]:
    return dict(module.named_parameters())


def of_gradient(name: str, module: Any, *args: Any, **options: Any) -> Case:
    return Case(name, gradient(module), (weights(module), *args), **options)


def conv(name: str, layer: Any, *sizes: int, **options: Any) -> Case:
    return Case(name, layer, (tensor(*sizes),), **options)


def conv_gradient(name: str, function: Callable[..., Any], x: Any, weight: Any, **options: Any) -> Case:
    """The gradients of the input and of the weight."""
    return Case(name, torch.func.grad(lambda x, weight: (function(x, weight) ** 2).sum(), (0, 1)), (x, weight), **options)


def sdpa(q: Any, k: Any, v: Any) -> Any:
    return F.scaled_dot_product_attention(q, k, v)


def sdpa_loss(q: Any, k: Any, v: Any) -> Any:
    return (sdpa(q, k, v) ** 2).sum()


def biased(q: Any, k: Any, v: Any, bias: Any) -> Any:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


def adam(w: Any, m: Any, v: Any, g: Any) -> Any:
    m, v = m.lerp(g, 0.1), v * 0.99 + 0.01 * g * g
    return w.addcdiv(m, v.sqrt() + 1e-8, value=-1e-3), m, v


Q, K = tensor(2, 4, 12, 6), tensor(2, 4, 20, 6)
ROWS = tensor(3, 12, 24)

CASES = [
    Case("linear", nn.Linear(24, 40), (ROWS,)),
    Case("matmul of a vector", torch.matmul, (tensor(5, 7, 9), tensor(9)), flops=2 * 5 * 7 * 9, otherwise=VECTOR),
    Case("broadcast matmul", torch.matmul, (tensor(5, 1, 7, 9), tensor(3, 9, 4))),
    Case("addmm", torch.addmm, (tensor(4), tensor(7, 9), tensor(9, 4))),
    Case("baddbmm", torch.baddbmm, (tensor(3, 7, 4), tensor(3, 7, 9), tensor(3, 9, 4))),
    Case("MLP", MLP(), (ROWS,)),
    of_gradient("MLP's gradient", MLP(), ROWS),
    Case("attention of a library", sdpa, (Q, K, K)),
    Case("attention of a library, its gradient", torch.func.grad(sdpa_loss, (0, 1, 2)), (Q, K, K)),
    Case("attention with a bias", biased, (Q, K, K, tensor(4, 12, 20))),
    Case("attention by its formula", Manual(), (Q, Q, Q)),
    Case("grouped attention", Attention(), (ROWS,)),
    Case(
        "causal attention",
        Attention(causal=True),
        (ROWS,),
        # Projections of 36 rows by 24 x (24 + 12 + 12 + 24) weights; 4 heads of size 6 over half of 12 x 12 scores, twice.
        flops=2 * 36 * 24 * 72 + 2 * 2 * 3 * 4 * 6 * 12 * 12 / 2,
        otherwise=CAUSAL,
    ),
    Case("MultiheadAttention", nn.MultiheadAttention(24, 4, batch_first=True), (ROWS, ROWS, ROWS)),
    Case("Transformer block", Block(), (ROWS,)),
    of_gradient("Transformer block's gradient", Block(), ROWS),
    Case("language model and loss", Language(), (whole(3, 12, below=90), whole(3, 12, below=90))),
    of_gradient("language model's gradient", Language(), whole(3, 12, below=90), whole(3, 12, below=90)),
    Case("experts", Expert(), (tensor(18, 24),)),
    Case("LSTM", nn.LSTM(10, 12, batch_first=True), (tensor(2, 5, 10),), unknown="aten.lstm"),
    Case("convolution net", Net(), (tensor(2, 3, 33, 37),)),
    Case("batch norm, evaluated", nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)).eval(), (tensor(2, 3, 9, 11),)),
    of_gradient("convolution net's gradient", Net(), tensor(2, 3, 33, 37)),
    conv("conv1d with dilation", nn.Conv1d(6, 10, 3, dilation=2), 2, 6, 31),
    conv("conv3d", nn.Conv3d(2, 6, (2, 3, 1), stride=(1, 2, 2)), 2, 2, 5, 9, 8),
    conv("depthwise convolution", nn.Conv2d(8, 16, 3, groups=8), 2, 8, 11, 13),
    conv_gradient(
        "depthwise convolution's gradient",
        partial(F.conv2d, groups=8),
        tensor(2, 8, 11, 13),
        tensor(16, 1, 3, 3),
        # Forward, and once more for each of the gradients.
        flops=3 * 2 * (2 * 9 * 11) * 16 * 9,
        otherwise=GROUPS,
    ),
    conv("transposed convolution", nn.ConvTranspose2d(8, 6, 3, stride=2), 2, 8, 5, 7),
    conv_gradient(
        "transposed convolution's gradient",
        partial(F.conv_transpose2d, stride=2),
        tensor(2, 8, 5, 7),
        tensor(8, 6, 3, 3),
    ),
    conv_gradient(
        "convolution's gradient",
        partial(F.conv2d, stride=2, dilation=3),
        tensor(2, 6, 17, 21),
        tensor(10, 6, 3, 5),
    ),
    conv(
        "padded convolution",
        nn.Conv2d(3, 8, 3, padding=1),
        *(2, 3, 10, 12),
        # A window of 3 over n elements with one of padding on either side meets 3 n - 2 of them.
        flops=2 * 2 * 3 * 8 * (3 * 10 - 2) * (3 * 12 - 2),
        otherwise=PADDING,
    ),
    Case("shapes", Shapes(), (tensor(6, 10), tensor(4, 5, 7))),
    Case("Adam", adam, tuple(tensor(30, 40) for _ in range(4))),
]
