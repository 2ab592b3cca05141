"""Plain parts of answers: objects with attributes that are also mappings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from . import _core
from ._error import Error


def wrapped(value: Any) -> Any:
    """Makes records of the dicts in a value of JSON."""
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [wrapped(each) for each in value]
    return value


class Record(Mapping[str, Any]):
    """A part of an answer. ``record.key`` and ``record["key"]`` are the same.

    Numbers are in SI base units, which stand in the key: ``_s`` seconds, ``bytes`` bytes; rates are per second. A
    number that does not exist is None.
    """

    __slots__ = ("_values",)

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def _dict(self) -> dict[str, Any]:
        return self._values

    def __getitem__(self, key: str) -> Any:
        return wrapped(self._dict()[key])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_values":
            raise AttributeError(name)
        values = self._dict()
        if name in values:
            return wrapped(values[name])
        near = _core.nearest(name, list(values))
        raise AttributeError(f"there is no `{name}`" + (f"; did you mean `{near}`?" if near else ""))

    def __iter__(self) -> Iterator[str]:
        return iter(self._dict())

    def __len__(self) -> int:
        return len(self._dict())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._dict() == other._dict()

    __hash__ = None  # type: ignore[assignment]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(key for key in self._dict() if key.isidentifier())]

    def __repr__(self) -> str:
        return repr(self._dict())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._dict(),)

    def to_dict(self) -> dict[str, Any]:
        """Returns a copy as plain dicts and lists."""
        copied: dict[str, Any] = json.loads(json.dumps(self._dict()))
        return copied


class Picture:
    """A drawing as SVG, which notebooks show."""

    __slots__ = ("svg",)

    def __init__(self, svg: str) -> None:
        self.svg = svg
        """The text of the SVG."""

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<roofline.Picture: {len(self.svg)} bytes of SVG>"

    def save(self, path: str) -> None:
        """Writes the SVG to a file. Raises OSError."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)


def matplotlib_axes(ax: Any) -> Any:
    """Returns axes to draw on: those that are given, or new ones for True. Raises Error without matplotlib."""
    if ax is not True:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise Error("absent", "matplotlib is absent", "pip install matplotlib, or leave `ax` out for SVG") from None
    return pyplot.subplots(layout="constrained")[1]
