"""Modules of PyTorch, where it is installed: FLOPs beside torch.utils.flop_counter, lines, what cannot be exported.
Recorded graphs are read without it."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import sys
from typing import Any

import pytest

import roofline as rl

RECORDED = pathlib.Path(__file__).resolve().parents[2] / "tests" / "cases" / "torch"

torch: Any = None if importlib.util.find_spec("torch") is None else importlib.import_module("torch")


def test_recorded_graphs_are_read_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    file = RECORDED / "mlp.json"
    answer = rl.torch(file, on="h100-sxm")
    # 36 rows by three matrices of 24 x 56.
    assert answer.total.matmul_flops == 3 * 2 * 36 * 24 * 56
    assert answer.total == rl.torch(str(file), on="h100-sxm").total == rl.hlo(file, on="h100-sxm").total
    assert {op.scope for op in answer.ops} <= {"MLP", "MLP/up", "MLP/gate", "MLP/down"}
    assert all(re.fullmatch(r"torch_modules\.py:\d+", op.source) for op in answer.ops)


def test_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(rl.Error, match="PyTorch is not installed") as caught:
        rl.torch(len, ([],), on="h100-sxm")
    assert caught.value.hint is not None
    assert "rl.torch_graph" in caught.value.hint


def test_wrong_files(tmp_path: pathlib.Path) -> None:
    with pytest.raises(rl.Error, match="args"):
        rl.torch(RECORDED / "mlp.json", (1,), on="h100-sxm")
    file = tmp_path / "graph.json"
    file.write_text((RECORDED / "mlp.json").read_text().replace("float32[3,12,24]", "float32[s0,12,24]"))
    with pytest.raises(rl.Error, match=r"(?s)size that is not known: s0.*dims=\{'s0': 8\}"):
        rl.torch(file, on="h100-sxm")
    file.write_text('{"nodes": [')
    with pytest.raises(rl.Error, match="the file ends in the middle"):
        rl.torch(file, on="h100-sxm")


if torch is not None:
    from torch_comparison import answer, counted, wrong
    from torch_modules import CASES, F, Block, Case, gradient, nn, tensor, weights

    NAMES = [
        "MLP's gradient",
        "grouped attention",
        "causal attention",
        "Transformer block's gradient",
        "convolution net",
        "language model and loss",
    ]

    @pytest.mark.parametrize("case", [each for each in CASES if each.name in NAMES], ids=lambda each: str(each.name))
    def test_flops(case: Case) -> None:
        assert wrong(case, counted(case), answer(case)) == []

    def test_nothing_is_allocated() -> None:
        with torch.device("meta"):
            block = Block(24 * 512)
            x = torch.empty(8, 4096, 24 * 512)
        whole = rl.torch(block.to(torch.bfloat16), (x.to(torch.bfloat16),), on="h100-sxm")
        assert whole.total.matmul_flops > 1e12
        assert whole.unknown == []

    def test_attention_of_meta_tensors_is_fused() -> None:
        q = torch.empty(2, 4, 12, 6, device="meta")
        ours = rl.torch(torch.func.grad(lambda q: F.scaled_dot_product_attention(q, q, q).sum()), (q,), on="h100-sxm")
        # Two products forwards, and five backwards.
        assert ours.total.matmul_flops == 7 * 2 * 2 * 4 * 12 * 12 * 6

    def test_lines_of_the_users_code() -> None:
        block = Block()
        ours = rl.torch(gradient(block), (weights(block), tensor(3, 12, 24)), on="h100-sxm")
        lines = pathlib.Path(sys.modules["torch_modules"].__file__ or "").read_text().splitlines()
        places = [op.source.rsplit(":", 1) for op in ours.ops if op.opcode == "dot"]
        assert len(places) > 20  # forwards and backwards
        assert {pathlib.Path(file).name for file, _ in places} == {"torch_modules.py"}
        assert all("self." in lines[int(line) - 1] for _, line in places)
        forward = rl.torch(block, (tensor(3, 12, 24),), on="h100-sxm")
        assert {op.scope for op in forward.ops if op.opcode == "dot"} >= {"Block/attention/q", "Block/mlp/down"}

    def test_exported_programs_and_graph_modules() -> None:
        module, x = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.ReLU(), nn.Dropout(0.1)), tensor(5, 6)
        traced = torch.fx.symbolic_trace(module)
        with pytest.raises(rl.Error, match="have no shapes"):
            rl.torch(traced, on="h100-sxm")
        exported = rl.torch(torch.export.export(module, (x,)), on="h100-sxm")
        given = rl.torch(traced, (x,), on="h100-sxm")
        torch.fx.passes.shape_prop.ShapeProp(traced).propagate(x)
        called = rl.torch(traced, on="h100-sxm")  # modules are called by their classes
        assert called.unknown == []
        assert exported.total.flops == given.total.flops == called.total.flops
        assert exported.total.bytes == called.total.bytes
        assert exported.total.matmul_flops == 2 * 5 * 6 * 8

    def test_modules_of_other_classes_are_unknown() -> None:
        class Mine(nn.Module):  # type: ignore[misc]
            def forward(self, x: Any) -> Any:
                return x * 2

        class Tracer(torch.fx.Tracer):  # type: ignore[misc]
            def is_leaf_module(self, module: Any, name: str) -> bool:
                return True

        module = nn.Sequential(Mine(), nn.Linear(6, 8))
        traced = torch.fx.GraphModule(module, Tracer().trace(module))
        torch.fx.passes.shape_prop.ShapeProp(traced).propagate(tensor(5, 6))
        ours = rl.torch(traced, on="h100-sxm")
        assert len(ours.unknown) == 1
        assert "Mine: its FLOPs are unknown" in ours.unknown[0]
        assert ours.total.matmul_flops == 2 * 5 * 6 * 8

    def test_dynamic_shapes() -> None:
        dynamic = torch.export.export(nn.Linear(6, 8), (tensor(5, 6),), dynamic_shapes=({0: torch.export.Dim("rows")},))
        with pytest.raises(rl.Error, match="sizes that are not known: s") as caught:
            rl.torch(dynamic, on="h100-sxm")
        symbol = re.findall(r"s\d+", caught.value.message)[0]
        assert symbol in (caught.value.hint or "")
        ours = rl.torch(dynamic, on="h100-sxm", dims={symbol: 40})
        assert ours.total.matmul_flops == 2 * 40 * 6 * 8
        with pytest.raises(rl.Error, match="no size of the graph depends on rows"):
            rl.torch(dynamic, on="h100-sxm", dims={symbol: 40, "rows": 40})
        with pytest.raises(rl.Error, match="no positive whole number"):
            rl.torch(dynamic, on="h100-sxm", dims={symbol: 0})

    def test_wrong_modules() -> None:
        linear, x = nn.Linear(6, 8), tensor(5, 6)
        with pytest.raises(rl.Error, match="is needed, not int"):
            rl.torch(3, (x,), on="h100-sxm")
        with pytest.raises(rl.Error, match="the module needs `args`"):
            rl.torch(linear, on="h100-sxm")
        with pytest.raises(rl.Error, match="are a tuple, not Tensor"):
            rl.torch(linear, x, on="h100-sxm")
        with pytest.raises(rl.Error, match="(?s)cannot export the module.*torch.export.export"):
            rl.torch(linear, (tensor(5, 7),), on="h100-sxm")
        with pytest.raises(rl.Error, match="(?s)cannot be traced.*shapes must not depend on values"):
            rl.torch(lambda x: x[x > 0] if x.sum() > 0 else x, (x,), on="h100-sxm")
        with pytest.raises(rl.Error, match="has its arguments already"):
            rl.torch(torch.export.export(linear, (x,)), (x,), on="h100-sxm")
        with pytest.raises(rl.Error, match="no machine"):
            rl.torch(linear, (x,), on="h100-sxmm")
        with pytest.raises(rl.Error, match="sett"):
            rl.torch(linear, (x,), on="h100-sxm", sett="hbm.bandwidth=*2")

    def test_the_live_graph_is_the_recorded_one() -> None:
        """The form of records does not change unnoticed; scripts/compare_with_torch.py --record writes them anew."""
        (case,) = (each for each in CASES if each.name == "MLP")
        ours = rl.hlo(rl.torch_graph(case.module, case.args), on="h100-sxm").total
        assert ours == rl.torch(RECORDED / "mlp.json", on="h100-sxm").total
