"""All functions of JAX beside XLA's own cost analysis and sums by hand."""

from __future__ import annotations

import pytest
from jax_comparison import answered, forms, wrong
from jax_functions import CASES, HAS_DEVICES, Case


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.name))
def test_costs(case: Case) -> None:
    if case.devices > 1 and not HAS_DEVICES:
        pytest.skip("the process has another number of devices")
    assert wrong(case, forms(case)) == []
    assert answered(case) == []


def test_there_are_sums_by_hand() -> None:
    assert sum(bool(case.matmul_flops) for case in CASES) >= 10
