"""Types of arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import numpy as np
    from numpy.typing import NDArray

    from ._answers import MachineAnswer, ModelAnswer


class Frame(Protocol):
    """A frame of pandas, or what has its to_csv()."""

    @property
    def columns(self) -> Any: ...
    def to_csv(self, *, index: bool) -> Any: ...


class ArrowTable(Protocol):
    """A table of Arrow."""

    @property
    def column_names(self) -> list[str]: ...
    def to_pandas(self) -> Any: ...


class Configuration(Protocol):
    """A configuration of transformers."""

    model_type: str

    def to_dict(self) -> dict[str, Any]: ...


class Client(Protocol):
    """A client of dask.distributed."""

    def get_executor(self) -> Any: ...


Text: TypeAlias = "str | os.PathLike[str]"
"""The name of a file, or with several lines its text."""
Number: TypeAlias = "int | float | np.integer[Any] | np.floating[Any]"
SizeLike: TypeAlias = "Number | str"
"""A size: 4096, "8k", "4Ki", or an expression of other sizes, "2*B"."""
Value: TypeAlias = "Number | str | os.PathLike[str] | Sequence[Number | str]"
"""A number or a text as the command line takes it: 4194304 or "4Mi"."""
Pairs: TypeAlias = "str | Mapping[str, Number | str] | Sequence[str | os.PathLike[str]] | os.PathLike[str]"
"""Values by name, {"data": 2, "tensor": 8}, or as the command line takes them, "data=2,tensor=8"."""
Sizes: TypeAlias = "str | Mapping[str, SizeLike] | Sequence[str]"
"""Sizes of dimensions by name: {"B": 256, "D": "8k"}."""
Array: TypeAlias = "NDArray[np.integer[Any]] | NDArray[np.floating[Any]] | Sequence[int] | range"
"""Several sizes of a dimension."""
Machine: TypeAlias = "str | os.PathLike[str] | MachineAnswer"
"""A machine or slice by name, or a machine file, or its text."""
Machines: TypeAlias = "Machine | Sequence[Machine]"
Model: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any] | Configuration | ModelAnswer"
"""A model by name, a config.json, its text or its content, or a configuration of transformers."""
Table: TypeAlias = "str | os.PathLike[str] | Frame | ArrowTable"
"""A CSV or Parquet file, the text of a CSV file, or a frame."""
Workers: TypeAlias = "Executor | Client"
"""An executor of concurrent.futures, or a client of dask.distributed."""
