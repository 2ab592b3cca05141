"""Functions of JAX: what they should take on a machine, without running them."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import pathlib
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from ._answers import HloAnswer
from ._error import Error
from ._lines import with_cells
from ._questions import hlo
from ._types import Machines
from ._words import NamedText


def _module() -> Any:
    try:
        jax = importlib.import_module("jax")
    except ImportError:
        raise Error("no_jax", "JAX is not installed in this environment", "pip install jax") from None
    _keep_out_of_sources()
    return jax


@functools.cache
def _keep_out_of_sources() -> None:
    """The line of a kernel is one of the user's code, and none of this package, which calls it."""
    with contextlib.suppress(ImportError, AttributeError):  # versions of JAX without it
        util = importlib.import_module("jax.extend.source_info_util")
        util.register_exclusion(os.path.dirname(__file__))


def _traced_anew(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as another object. JAX keeps traces by function, and would not see that a function that this one
    calls has changed since, as in a notebook whose cells are run again."""

    @functools.wraps(function, updated=())
    def again(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return again


def _lowered(jax: Any, function: Callable[..., Any], args: Sequence[Any], options: dict[str, Any]) -> Any:
    if not callable(function):
        hint = "rl.jax(f, *args, on=..)"
        raise Error("bad_argument", f"a function is needed, not {type(function).__name__}", hint)
    if hasattr(function, "lower"):  # a function that is compiled already
        if options:
            given = ", ".join(options)
            message = f"the function is jitted already, and {given} is given"
            raise Error("bad_argument", message, f"give {given} to jax.jit")
        jitted = function
    else:
        jitted = jax.jit(_traced_anew(function), **options)
    try:
        return cast(Any, jitted).lower(*args)
    except Exception as error:  # whatever tracing raises: the user's function is run on abstract arrays
        first = str(error).strip().split("\n")[0]
        raise Error(
            "cannot_lower",
            f"JAX cannot lower the function: {type(error).__name__}: {first}",
            "call jax.jit(f).lower(*args) to see where; shapes must not depend on values, and arguments must be "
            "arrays, jax.ShapeDtypeStruct or static",
        ) from error


def _compiled(lowered: Any, **options: Any) -> Any:
    try:
        return lowered.compile(**options)
    except Exception as error:  # of XLA or of the backend
        first = str(error).strip().split("\n")[0]
        message = f"XLA cannot compile the function: {type(error).__name__}: {first}"
        raise Error("cannot_compile", message, "call jax.jit(f).lower(*args).compile() to see where") from error


def _partitioned(lowered: Any) -> str:
    """The module of one device, as the partitioner of XLA leaves it: before a backend changes dtypes and fuses."""
    import tempfile  # slow to import

    with tempfile.TemporaryDirectory() as folder:
        _compiled(lowered, compiler_options={"xla_dump_to": folder, "xla_dump_hlo_pass_re": ".*spmd.*"})
        found = sorted(pathlib.Path(folder).glob("*.after_spmd-partitioning.*.txt"))
        if not found:
            raise Error("no_partitions", "XLA's partitioner left no module", "give the compiled module: compiled=True")
        return found[-1].read_text()


def jax(
    function: Callable[..., Any],
    *args: Any,
    on: Machines | None = None,
    compiled: bool = False,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Sequence[int] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    **options: Any,
) -> HloAnswer:
    """What a function of JAX should take on a machine, what limits it, and which of its lines cost most.

    Nothing is computed: the function is lowered, and its module is answered for as by `hlo()`. Counts and times are
    those of one device and one call; each of `ops` has the line of your code in `source`.

    Args:
        function: A function of arrays, or the result of `jax.jit`.
        args: Its arguments: arrays, `jax.ShapeDtypeStruct` (then nothing is allocated), or trees of them.
        on: A machine or slice ("h100-sxm:8") with as many chips as the module has devices, or several. Only
            `cost="xla"`, which counts as XLA does, needs none.
        compiled: Whether the module is the one that XLA compiles for the devices of this process, with its fusions
            and dtypes: right on the machine itself, wrong for another one (a CPU computes bf16 in f32). By default it
            is the module before any backend: of shardings over several devices, the part of one as XLA's partitioner
            leaves it; `XLA_FLAGS=--xla_force_host_platform_device_count=256` has as many devices as you ask about.
        in_shardings, out_shardings, static_argnums, donate_argnums: As for `jax.jit`.
        options: Those of `hlo()`: `set`, `loops`, `cost`, `software`, `calibration` ...

    Raises:
        Error: JAX is not installed, the function cannot be lowered for these arguments, or an error of `hlo()`.
    """
    module = _module()
    given = {
        "in_shardings": in_shardings,
        "out_shardings": out_shardings,
        "static_argnums": static_argnums,
        "donate_argnums": donate_argnums,
    }
    lowered = _lowered(module, function, args, {key: value for key, value in given.items() if value is not None})
    if compiled:
        text = _compiled(lowered).as_text()
    elif re.search(r"mhlo\.num_partitions = ([2-9]|1\d)", lowered.as_text()[:10_000]):
        text = _partitioned(lowered)
    else:
        text = lowered.as_text(debug_info=True)
    text, cells = with_cells(text)
    named = NamedText(text)
    name = getattr(function, "__name__", "")
    named.name = f"{name}.hlo" if name.isidentifier() else ""
    return hlo(named, on=on, **options).with_code(cells)
