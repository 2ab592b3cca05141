"""ONNX models: names, paths and bytes, sizes of their dimensions, and what is wrong with them."""

from __future__ import annotations

import pathlib

import pytest

import roofline as rl

MODELS = pathlib.Path(__file__).parents[2] / "tests" / "onnx"


def test_sizes_of_dimensions() -> None:
    file = MODELS / "mlp.onnx"
    one = rl.hlo(file, dims={"batch": 5}, on="h100-sxm")
    assert one.total.matmul_flops == 2 * 5 * 32 * 128 + 2 * 5 * 128 * 16
    assert [op.name for op in one.ops] == ["up/Gemm", "down/MatMul"]
    other = rl.hlo(file.read_bytes(), dims="batch=5", on="h100-sxm")
    assert other.total == one.total
    with pytest.raises(rl.Error, match="dimensions without a size: batch") as caught:
        rl.hlo(file, on="h100-sxm")
    assert caught.value.hint == 'give them: dims={"batch": 1}'
    with pytest.raises(rl.Error, match="only ONNX models"):
        rl.hlo("HloModule m\nENTRY e { ROOT x = f32[2] parameter(0) }\n", dims={"batch": 5}, on="h100-sxm")


def test_unknown_operators_are_named() -> None:
    answer = rl.hlo(MODELS / "custom.onnx", on="h100-sxm")
    assert any("com.example.Mystery" in gap for gap in answer.unknown)


def test_attention_of_onnx_runtime_is_one_kernel() -> None:
    answer = rl.hlo(MODELS / "runtime.onnx", on="h100-sxm")
    # Scores and sums of values: 2 batches, 8 heads, 16 x 16 pairs, 32 numbers.
    assert answer.total.matmul_flops == 2 * 2 * 2 * 8 * 16 * 16 * 32
    (kernel,) = [op for op in answer.ops if op.matmul_flops > 0]
    assert kernel.name == "attention"
    assert answer.unknown == []


def test_counts_as_xla_gives_them() -> None:
    counted = rl.hlo(MODELS / "convnet.onnx", cost="xla").total
    # A window lacks its first row and column at the border; the depthwise kernel on both sides.
    assert counted.matmul_flops == 2 * 2 * 8 * 3 * 23 * 23 + 2 * 2 * 8 * 22 * 22
