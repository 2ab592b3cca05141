"""All modules of PyTorch beside torch.utils.flop_counter and sums by hand."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from torch_comparison import answer, counted, wrong
from torch_modules import CASES, Case


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.name))
def test_flops(case: Case) -> None:
    assert wrong(case, counted(case), answer(case)) == []


def test_there_are_enough() -> None:
    assert len(CASES) >= 30
    assert sum(case.flops is not None for case in CASES) <= 4
