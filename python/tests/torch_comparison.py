"""Compares the FLOPs of `rl.torch` with those of torch.utils.flop_counter, or with sums by hand."""

from __future__ import annotations

from typing import Any

from torch_modules import Case, nn, torch

import roofline as rl


def counted(case: Case) -> float:
    """What flop_counter counts when the module runs."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as mode:
        case.module(*case.args)
    return float(mode.get_total_flops())


def answer(case: Case) -> Any:
    return rl.torch(case.module, case.args, on="h100-sxm")


def wrong(case: Case, flops: float, ours: Any) -> list[str]:
    """What differs without a reason, and reasons that nothing needs."""
    said = []
    expected = flops if case.flops is None else case.flops
    if not case.unknown and ours.total.matmul_flops != expected:
        said.append(f"{ours.total.matmul_flops} FLOPs of matmuls and convolutions, expected {expected}")
    if case.flops is not None and case.flops == flops:
        said.append(f"flop_counter's count is equal, though {case.otherwise}")
    unknown = [each for each in ours.unknown if not case.unknown or case.unknown not in each]
    if unknown or bool(case.unknown) != bool(ours.unknown):
        said.append(f"unknown: {ours.unknown}")
    if not ours.total.lower_s > 0:
        said.append("no lower bound")
    if isinstance(case.module, nn.Module) and case.module.__class__.__module__ == "torch_modules":
        lost = [op.name for op in ours.ops if not op.source]
        if lost:
            said.append(f"no source line: {lost}")
    return said


__all__ = ["answer", "counted", "torch", "wrong"]
