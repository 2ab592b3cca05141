"""Modules of PyTorch: what they should take on a machine, without running them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ._answers import HloAnswer
from ._error import Error
from ._questions import hlo
from ._torch_graph import torch_graph
from ._types import Machines


def torch(
    module: Any,
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    on: Machines | None = None,
    dims: Mapping[str, int] | None = None,
    **options: Any,
) -> HloAnswer:
    """What a module of PyTorch should take on a machine, what limits it, and which of its lines cost most.

    Nothing is computed: the module is exported, and its graph is answered for as by `hlo()`. Counts and times are
    those of one device and one call; each of `ops` has the line of your code in `source` and the path of its module in
    `scope`. An operation whose cost is not known is named in `unknown`, and its bytes are counted.

    Args:
        module: An `nn.Module` (`torch.export` traces it) or a function (`make_fx` does, also through
            `torch.func.grad`), with `args`; a `torch.export.ExportedProgram`; an `fx.GraphModule` whose nodes have
            shapes; or the path of a graph that `torch_graph()` recorded, for which PyTorch is not needed.
        args: Its arguments, a tuple: tensors, also on the device "meta" (then nothing is allocated), or trees of them.
        kwargs: Its arguments by name.
        on: A machine or slice ("h100-sxm:8") with as many chips as the graph has devices, or several. Only
            `cost="xla"`, which counts as XLA would count these operations, needs none.
        dims: Sizes of symbols in the shapes of a graph that was exported with dynamic shapes: {"s31": 8}.
        options: Those of `hlo()`: `set`, `cost`, `software`, `calibration` ...

    Raises:
        Error: PyTorch is not installed, the module cannot be exported for these arguments, a size is not known, or an
            error of `hlo()`.
    """
    if isinstance(module, str | os.PathLike):
        for name, value in {"args": args, "kwargs": kwargs, "dims": dims}.items():
            if value is not None:
                message = f"a recorded graph has its arguments already, and `{name}` is given"
                raise Error("bad_argument", message, "leave it out, or give the module")
        return hlo(module, on=on, **options)
    return hlo(torch_graph(module, args, kwargs, dims=dims), on=on, **options)
