"""Compares what `rl.hlo` counts as XLA with what XLA counts itself, and matmuls with sums by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jax_functions import ONE_OPERAND, Case, jax

import roofline as rl

KEYS = {"flops": "flops", "transcendentals": "transcendentals", "bytes": "bytes accessed"}


@dataclass
class Counts:
    """What one form of a module costs."""

    form: str
    ours: dict[str, float]
    xla: dict[str, float]

    @property
    def equal(self) -> bool:
        return all(abs(self.ours[key] - self.xla[key]) <= 1e-6 * max(1, abs(self.xla[key])) for key in KEYS)


def counts(form: str, text: str, said: dict[str, float] | None, unknown: int) -> Counts:
    """XLA enters -1 for the FLOPs and bytes of a custom call that it does not know; those are added again."""
    total = rl.hlo(text, cost="xla").total
    xla = {key: float((said or {}).get(name, 0)) for key, name in KEYS.items()}
    xla["flops"] += unknown
    xla["bytes"] += unknown
    return Counts(form, {key: float(total[key]) for key in KEYS}, xla)


def forms(case: Case) -> list[Counts]:
    """The module after the compiler; the HLO that XLA makes of the StableHLO, which it counts for `lowered`; that HLO
    as StableHLO again; and the StableHLO as JAX writes it."""
    lowered = case.jitted().lower(*case.args)
    compiled = lowered.compile()
    said, before = lowered.cost_analysis(), lowered.compiler_ir("hlo")
    text = before.as_hlo_text()
    unknown = text.count(" custom-call(")
    again: Any = jax._src.lib._jax.mlir.xla_computation_to_mlir_module(before)
    return [
        counts("compiled", compiled.as_text(), compiled.cost_analysis(), compiled.as_text().count(" custom-call(")),
        counts("HLO", text, said, unknown),
        counts("StableHLO of it", again.decode() if isinstance(again, bytes) else again, said, unknown),
        counts("StableHLO", lowered.as_text(), said, unknown),
    ]


def wrong(case: Case, found: list[Counts]) -> list[str]:
    """What differs without a reason, and reasons that nothing needs."""
    said = []
    for each in found:
        # What XLA simplifies is simplified in its own HLO; only the tuple of a branch is written again.
        excused = each.form == "StableHLO" or (each.form == "StableHLO of it" and case.otherwise == ONE_OPERAND)
        if not each.equal and not (case.otherwise and excused):
            said.append(f"{each.form}: {each.ours}, XLA {each.xla}")
        if each.equal and each.form == "StableHLO" and case.otherwise:
            said.append(f"the StableHLO's counts are equal, though {case.otherwise}")
    return said


def answered(case: Case) -> list[str]:
    """What is wrong with the answer of `rl.jax` for a machine."""
    answer = rl.jax(case.jitted(), *case.args, on=f"h100-sxm:{case.devices}" if case.devices > 1 else "h100-sxm")
    said = []
    if case.matmul_flops is not None and answer.total.matmul_flops != case.matmul_flops:
        said.append(f"{answer.total.matmul_flops} FLOPs of matmuls, by hand {case.matmul_flops}")
    if not answer.total.lower_s > 0:
        said.append("no lower bound")
    if bool(answer.unknown) != case.data_dependent:
        said.append(f"unknown: {answer.unknown}")
    # Of instructions that it merges XLA keeps the scopes, `a;b`, but no line.
    lost = [op.name for op in answer.ops if not op.source and ";" not in op.scope]
    if lost:
        said.append(f"no source line: {lost}")
    return said
