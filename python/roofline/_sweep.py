"""Operations at many sizes: sweeps over arrays, and compiled questions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import _core, _html
from ._error import Error
from ._records import Picture, Record, matplotlib_axes
from ._words import Question

if TYPE_CHECKING:
    import numpy as np
    import pandas
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def is_array(value: Any) -> bool:
    """Whether a size is one of several: an array of numpy with a dimension, a list, a tuple or a range."""
    return isinstance(value, (list, tuple, range)) or getattr(value, "ndim", 0) > 0


# The core answers at most so many points at once.
MOST_POINTS = 1_000_000
# Those of an executor's sweep, whose arrays are in this process.
MOST_SPREAD_POINTS = 1_000_000_000
MOST_DIMENSIONS = 64  # of an array of numpy


def sizes_of(arrays: Mapping[str, Any], most: int = MOST_POINTS) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Broadcasts sizes of dimensions against one another. Returns flat arrays of int64, and the common shape.

    Raises Error: sizes that are no whole numbers, are below 1 or cannot be broadcast; more than ``most`` points, before
    memory is taken for them.
    """
    import numpy as np

    for dim, value in arrays.items():
        _refuse_more(dim, _count(value), most)
    whole = {dim: _whole(dim, value) for dim, value in arrays.items()}
    try:
        together = np.broadcast_arrays(*whole.values())
        _refuse_more(", ".join(arrays), together[0].size, most)
    except ValueError as problem:
        if isinstance(problem, Error):
            raise
        shapes = ", ".join(f"{dim} {array.shape}" for dim, array in whole.items())
        raise Error("bad_size", f"the shapes of the sizes do not fit together: {shapes}", "broadcast them") from None
    flat = {dim: np.ascontiguousarray(array).reshape(-1) for dim, array in zip(whole, together, strict=True)}
    return flat, together[0].shape


def _count(value: Any, depth: int = 0) -> float:
    """The number of given sizes. All items of a list of arrays are assumed to be as long as its first one."""
    try:
        size = getattr(value, "size", None)
        if isinstance(size, int) or not hasattr(value, "__len__"):
            return size if isinstance(size, int) else 1
        inner = value[0] if isinstance(value, list | tuple) and value and depth < MOST_DIMENSIONS else None
        return len(value) * (_count(inner, depth + 1) if hasattr(inner, "__len__") else 1)
    except OverflowError:  # of a range
        return math.inf


def _refuse_more(dims: str, points: float, most: int) -> None:
    if points > most:
        hint = "sweep in parts, or give an executor" if most == MOST_POINTS else "sweep in parts"
        raise Error("bad_size", f"a sweep of {dims} has more than {most} points", hint)


def _whole(dim: str, value: Any) -> Any:
    import numpy as np

    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError) as problem:
        raise Error("bad_size", f"the sizes of `{dim}` are no array: {problem}", "give whole numbers") from None
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise Error("bad_size", f"a size of `{dim}` is not finite", "remove NaN and infinity")
        if (array != np.rint(array)).any() or (abs(array) >= 2.0**63).any():
            raise Error("bad_size", f"a size of `{dim}` is no whole number", "round it: numpy.rint(sizes).astype(int)")
    elif array.dtype.kind not in "iu":
        raise Error("bad_size", f"the sizes of `{dim}` are of the dtype {array.dtype}", "give whole numbers")
    elif array.dtype.kind == "u" and array.size and int(array.max()) >= 2**63:
        raise Error("bad_size", f"a size of `{dim}` is too large", "give sizes below 2**63")
    return array.astype(np.int64)


class Sweep(Mapping[str, Any]):
    """The answer for an operation at many sizes, as arrays of the shape that the given sizes have together.

    ``sweep.key`` and ``sweep["key"]`` are the same. A figure that a point does not have is NaN. Units are SI base
    units.
    """

    __slots__ = ("_columns", "_question", "dims", "machine", "shape")

    machine: str
    """Id of the machine."""
    dims: dict[str, NDArray[np.int64]]
    """The sizes that were given as arrays, broadcast."""
    shape: tuple[int, ...]
    lower_s: Floats
    """Lower bound in seconds."""
    sequential_s: Floats
    upper_s: Floats
    expected_s: Floats
    """Expected time in seconds; NaN where a part has no model."""
    flops: Floats
    peak_fraction: Floats
    bound_by: NDArray[np.str_]
    """The resource that takes longest; "" where nothing takes time."""
    time_s: dict[str, Floats]
    """Busy seconds of each resource."""
    bytes: dict[str, dict[str, Floats]]
    """By memory level: ``read`` and ``write``."""
    intensity: dict[str, Floats]

    def __init__(self, question: Question, machine: str, dims: dict[str, Any], columns: dict[str, Any]) -> None:
        self._question = question
        self.machine = machine
        self.dims = dims
        self.shape = next(iter(dims.values())).shape
        self._columns = columns

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._columns:
            raise AttributeError(f"there is no `{name}`")
        return self._columns[name]

    def __getitem__(self, key: str) -> Any:
        return self._columns[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._columns]

    def __reduce__(self) -> tuple[Any, ...]:
        question = self._question
        plain = (question.command, question.options, question.arguments, dict(question.texts))
        return _unpickled, (plain, self.machine, self.dims, self._columns)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    @property
    def points(self) -> int:
        """Number of points."""
        return int(next(iter(self.dims.values())).size)

    def to_dict(self) -> dict[str, Any]:
        """Returns the arrays by key."""
        return dict(self._columns)

    def to_json(self) -> str:
        """Asks again for JSON. For sizes of one dimension it is what the command line prints with --sweep and --json,
        to the byte."""
        return _core.sweep_json(self._question.words(), dict(self._question.texts), sizes_of(self.dims)[0])

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a frame with a row for each point; keys inside keys are joined by dots: "time_s.hbm"."""
        import pandas

        columns: dict[str, Any] = {dim: sizes.reshape(-1) for dim, sizes in self.dims.items()}
        for key, values in _flat(self._columns, ()):
            columns[".".join(key)] = values.reshape(-1)
        return pandas.DataFrame(columns)

    def plot(self, ax: Any = None) -> Any:
        """Draws the times against the sizes: a Picture (SVG) without ``ax``; with axes of matplotlib, or True for new
        ones, curves on these axes, which are returned."""
        if ax is None:
            return Picture(self._svg())
        axes = matplotlib_axes(ax)
        dim, sizes = next(iter(self.dims.items()))
        for key, label in (("lower_s", "lower bound"), ("expected_s", "expected"), ("upper_s", "no overlap")):
            axes.plot(sizes.reshape(-1), self._columns[key].reshape(-1), label=label)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(dim)
        axes.set_ylabel("seconds")
        axes.legend()
        return axes

    def _svg(self) -> str:
        if len(self.dims) != 1:
            raise Error("bad_request", "a picture is of the sizes of one dimension", "give `ax` and draw yourself")
        import numpy as np

        ((dim, sizes),) = self.dims.items()
        few = np.unique(sizes)
        few = few[np.unique(np.linspace(0, few.size - 1, min(few.size, 400)).astype(int))]
        form = (f"--sweep={dim}={','.join(map(str, few.tolist()))}", "--svg=picture.svg", "--plot=sweep")
        return _core.ask(self._question.words(*form), dict(self._question.texts), False)[2]

    def __repr__(self) -> str:
        return f"<roofline.Sweep: {self.points} points of {', '.join(self.dims)} on {self.machine}>"

    def _repr_html_(self) -> str:
        stride = max(1, self.points // 20)
        rows = []
        for i in range(0, self.points, stride):
            row: dict[str, Any] = {dim: int(sizes.reshape(-1)[i]) for dim, sizes in self.dims.items()}
            for key in ("lower_s", "expected_s", "upper_s", "peak_fraction"):
                value = float(self._columns[key].reshape(-1)[i])
                row[key] = value if value == value else ""
            row["bound_by"] = str(self._columns["bound_by"].reshape(-1)[i])
            rows.append(row)
        svg = self._svg() if len(self.dims) == 1 and self.points > 1 else ""
        return _html.page(repr(self).strip("<>"), _html.grid(rows, most=len(rows)), svg=svg)


def _unpickled(question: tuple[Any, ...], machine: str, dims: dict[str, Any], columns: dict[str, Any]) -> Sweep:
    return Sweep(Question(*question), machine, dims, columns)


def _flat(values: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, (*path, key))
        else:
            yield (*path, key), value


def swept(question: Question, arrays: Mapping[str, Any]) -> Sweep:
    """Answers a question at the sizes that arrays give together."""
    flat, shape = sizes_of(arrays)
    return sweep_of(question, flat, shape, _core.sweep(question.words(), dict(question.texts), flat))


def sweep_of(question: Question, flat: dict[str, Any], shape: tuple[int, ...], answer: tuple[Any, ...]) -> Sweep:
    """Makes a sweep of what the core says about flat sizes."""
    import numpy as np

    machine, figures, bound, resources = answer
    columns: dict[str, Any] = {}
    for key, values in figures:
        at = columns
        for outer in key[:-1]:
            at = at.setdefault(outer, {})
        at[key[-1]] = values.reshape(shape)
    columns["bound_by"] = np.array([*resources, ""])[bound].reshape(shape)
    dims = {dim: sizes.reshape(shape) for dim, sizes in flat.items()}
    return Sweep(question, machine, dims, columns)


class Figures(Record):
    """The figures of an operation at one point: ``lower_s``, ``expected_s``, ``time_s`` and so on, as OpAnswer has
    them. (Compiled questions answer with an object of the extension that has the same attributes.)"""

    __slots__ = ()

    lower_s: float
    sequential_s: float
    upper_s: float
    expected_s: float | None
    bound_by: str | None
    flops: float
    time_s: dict[str, float]
    bytes: dict[str, dict[str, float]]
    intensity: dict[str, float]
    peak_fraction: float | None


class Compiled:
    """A question that is kept and asked again at other sizes: ``q(B=256).lower_s``.

    With numbers it answers with Figures, with arrays of numpy with a Sweep.
    """

    __slots__ = ("_at", "_compiled", "_question", "dims")

    dims: tuple[str, ...]
    """Dimensions whose sizes each call gives."""

    def __init__(self, question: Question, dims: tuple[str, ...]) -> None:
        self.dims = dims
        self._question = _without_sizes(question, dims)
        self._compiled = _core.Compiled(self._question.words(), dict(question.texts), list(dims))
        self._at = self._compiled.at

    @property
    def has_formulas(self) -> bool:
        """Whether a call only evaluates formulas, in microseconds. Otherwise it lays the program out anew."""
        return self._compiled.has_formulas

    def __call__(self, **sizes: Any) -> Any:
        """Returns the figures at these sizes. Raises Error: a dimension that is missing or is not one of ``dims``; a
        size that is no whole number or is below 1."""
        return self._at(**sizes) or self._carefully(sizes)

    def _carefully(self, sizes: dict[str, Any]) -> Any:
        """Answers where the sizes are no plain int, or not those of the dimensions."""
        for dim in sizes:
            if dim not in self.dims:
                near = _core.nearest(dim, list(self.dims))
                hint = f"did you mean `{near}`?" if near else f"this question has {', '.join(self.dims)}"
                raise Error("unknown_dimension", f"the question leaves no size of `{dim}` open", hint)
        for dim in self.dims:
            if dim not in sizes:
                raise Error("unsized", f"the size of `{dim}` is missing", f"give it: {dim}=1024")
        flat, shape = sizes_of(sizes)
        if shape:
            return swept(self._question, sizes)
        return self._at(**{dim: int(array[0]) for dim, array in flat.items()})

    def __reduce__(self) -> tuple[Any, ...]:
        question = self._question
        plain = (question.command, question.options, question.arguments, dict(question.texts))
        return _compiled_again, (plain, self.dims)

    def __repr__(self) -> str:
        return f"<roofline.Compiled: {' '.join(self._question.arguments)[:80]} by {', '.join(self.dims)}>"


def _compiled_again(question: tuple[Any, ...], dims: tuple[str, ...]) -> Compiled:
    return Compiled(Question(*question), dims)


def _without_sizes(question: Question, dims: tuple[str, ...]) -> Question:
    """The same question without the sizes of some dimensions."""
    kept = []
    for option in question.options:
        if option.startswith("--dims="):
            sizes = [each for each in option[7:].split(",") if each.split("=")[0].strip() not in dims]
            if not sizes:
                continue
            option = "--dims=" + ",".join(sizes)
        kept.append(option)
    return question._replace(options=tuple(kept))
