"""Answers to questions."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _core, _html
from ._lines import SourceLine, code_of, lines_of
from ._records import Picture, Record, matplotlib_axes, wrapped
from ._words import Question, refuse_picture, refuse_report

if TYPE_CHECKING:
    import pandas

# Commands that answer fast, and without a clock.
_FAST = {"op", "machine", "model", "hlo"}


class Answer(Record):
    """The answer to a question, as attributes with the keys of JSON.

    Units are SI base units and stand in the key; a number that does not exist is None. The reference of JSON
    (docs/reference/json.md) defines every key.
    """

    __slots__ = ("_json", "_question", "_read", "status", "written")
    _lists: tuple[str, ...] = ("machines", "sweep", "plans", "rows")

    status: int
    """Exit status of the command line: 0, or 1 for a negative answer (nothing fits, a check failed); 2 if some of
    several machines could not be answered, which are in ``errors``."""
    written: list[str]
    """Names of files that were written."""

    def __init__(self, question: Question, status: int, text: str, written: list[str]) -> None:
        self._question = question
        self._json = text
        self._read: dict[str, Any] | None = None
        self.status = status
        self.written = written

    def _dict(self) -> dict[str, Any]:
        values = self._read
        if values is None:
            values = self._read = json.loads(self._json)
        return values

    def __reduce__(self) -> tuple[Any, ...]:
        question = self._question
        plain = (question.command, question.options, question.arguments, dict(question.texts))
        return _unpickled, (type(self), plain, self.status, self._json, self.written)

    @property
    def ok(self) -> bool:
        """Whether the answer is positive: a plan fits, a check holds."""
        return self.status == 0

    def to_json(self) -> str:
        """Returns what the command line prints with --json, to the byte."""
        return self._json

    def to_csv(self) -> str:
        """Asks again for comma-separated values in SI units."""
        return self._again("--csv")

    def to_markdown(self) -> str:
        """Asks again for a Markdown table."""
        return self._again("--md")

    def text(self) -> str:
        """Asks again for the text that the command line prints. A search is repeated for it."""
        return self._again()

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the rows of the answer as a frame of pandas: machines side by side, points of a sweep, plans; or the
        one row of a single answer. Keys inside keys are joined by dots: "time_s.hbm"."""
        import pandas

        values = self._dict()
        rows = next((values[key] for key in self._lists if isinstance(values.get(key), list) and values[key]), None)
        return pandas.json_normalize(rows if isinstance(rows, list) else [values])

    def svg(self, kind: str | None = None) -> str:
        """Asks again for a picture as SVG. A search is repeated for it. ``kind`` is one of several pictures: of an
        operation roofline, sweep, mesh or timeline, of a comparison with measurements scatter or frontier.

        Raises Error: this kind of answer has no picture, or only one.
        """
        refuse_picture(self._question.command, kind)
        form = ["--svg=picture.svg"] + ([] if kind is None else [f"--plot={kind}"])
        return _ask(self._question, *form)[2]

    def to_html(self) -> str:
        """Asks again for the report: an HTML document of one file with the answer, pictures, the derivation and the
        sources of its figures. A search is repeated for it.

        Raises Error: this kind of answer has no report.
        """
        refuse_report(self._question.command)
        return _ask(self._question, "--html=report.html")[4]

    def plot(self, ax: Any = None, kind: str | None = None) -> Any:
        """Draws the answer: a Picture (SVG) without ``ax``; with axes of matplotlib, or True for new ones, the times of
        the resources as bars on these axes, which are returned."""
        if ax is None:
            return Picture(self.svg(kind))
        axes = matplotlib_axes(ax)
        times = {key: value for key, value in self._times().items() if isinstance(value, float)}
        axes.barh(list(times), list(times.values()))
        axes.invert_yaxis()
        axes.set_xlabel("seconds")
        axes.set_title(self._title())
        return axes

    def _times(self) -> dict[str, Any]:
        times = self._dict().get("time_s")
        return times if isinstance(times, dict) else {}

    def _again(self, *form: str) -> str:
        return _ask(self._question, *form)[1]

    def _title(self) -> str:
        question = self._question
        return " ".join([question.command, *question.arguments]).split("\n")[0][:100]

    def __repr__(self) -> str:
        values = self._dict()
        facts = []
        for key in ("machine", "expected_s", "step_s", "lower_s", "ttft_s", "tpot_s", "params", "bound_by"):
            if isinstance(values.get(key), (int, float, str)):
                facts.append(f"{key}={_html.number(key, values[key])}")
        for key in self._lists:
            if isinstance(values.get(key), list) and values[key]:
                facts.append(f"{len(values[key])} {key}")
        return f"<roofline.{type(self).__name__}: {self._title()}: {', '.join(facts) or 'answered'}>"

    def __str__(self) -> str:
        return self.text() if self._question.command in _FAST else repr(self)

    def _repr_html_(self) -> str:
        return _html.answer_page(
            self._question.command, self._title(), self._dict(), self._times(), self._bound(), self._picture()
        )

    def _bound(self) -> Any:
        return self._dict().get("bound_by")

    def _picture(self) -> str:
        return ""


def _unpickled(kind: type[Answer], question: tuple[Any, ...], *more: Any) -> Answer:
    return kind(Question(*question), *more)


def _ask(question: Question, *form: str) -> tuple[int, str, str, list[str], str]:
    return _core.ask(question.words(*form), dict(question.texts), question.command not in _FAST)


def answered(kind: type[Answer], question: Question) -> Any:
    """Asks and returns the answer."""
    status, text, _, written, _ = _ask(question, "--json")
    return kind(question, status, text, written)


class OpAnswer(Answer):
    """What an operation or a program takes on a machine.

    The lower bound, ``lower_s``, is a time that no run can beat; ``expected_s`` is predicted by models that were fitted
    to measurements, with the mean relative error ``expected_error``.
    """

    __slots__ = ()

    machine: str
    """Id of the machine."""
    chips: int
    dims: Record
    """Size of each named dimension; None where it has none."""
    flops: int | float | None
    """All FLOPs of one chip."""
    bytes: Record
    """By memory level: ``read`` and ``write``, bytes of one chip."""
    intensity: Record
    """FLOP per byte, by memory level."""
    time_s: Record
    """Busy time of each resource in seconds: ``math``, ``vector``, memory levels, network tiers."""
    lower_s: float | None
    """Lower bound in seconds: everything overlaps."""
    sequential_s: float | None
    """Seconds if only the work inside each statement overlaps."""
    upper_s: float | None
    """Seconds without any overlap, at published rates."""
    expected_s: float | None
    """Expected time in seconds; None where a part has no model."""
    expected_error: float | None
    bound_by: str | None
    """The resource that takes longest."""
    peak_fraction: float | None
    notes: list[str]
    """Assumptions behind the numbers."""
    sources: list[Record]
    """The figures that the times rest on, each with its source."""
    ops: list[Record]
    """The same figures for each statement."""

    def compile(self, *dims: str) -> Compiled:
        """Keeps the question, to be asked again at other sizes: ``q = answer.compile("B"); q(B=256).lower_s``.

        ``dims`` are the dimensions whose sizes follow; by default those that have none. A call takes microseconds for a
        program on one chip without masks; others are laid out anew in each call. Raises Error: a dimension that the
        program does not have; another one without a size; several machines.
        """
        from ._sweep import Compiled

        free = dims or tuple(name for name, size in self._dict().get("dims", {}).items() if size is None)
        return Compiled(self._question, tuple(free))

    def explain(self) -> str:
        """Asks again for the derivation: formulas, sizes, figures with their sources."""
        return self._again("--explain")

    def _picture(self) -> str:
        values = self._dict()
        return self.svg() if values.get("lower_s") is not None else ""


class MachineAnswer(Answer):
    """A machine, with the source of every figure. It can stand in place of a machine's name: ``on=rl.machine("h200")``.
    """

    __slots__ = ()

    machine: str
    """Its id."""
    name: str
    vendor: str
    kind: str
    peaks: list[Record]
    """Peak rates by unit and dtype, FLOP/s."""
    memory: list[Record]
    """Memory levels: capacity in bytes and bandwidth in bytes per second."""
    network: list[Record]
    notes: list[str]

    def _as_argument(self, keyword: str) -> tuple[list[str], list[str], Mapping[str, str | bytes]]:
        """The words and the what-ifs of this machine, as an argument of another question."""
        sets = [each for each in self._question.options if each.startswith("--set=")]
        return list(self._question.arguments), sets if keyword == "on" else [], self._question.texts


class ModelAnswer(Answer):
    """Parameters, FLOPs and memory of a model. It can stand in place of a model's name: ``rl.train(rl.model(...))``."""

    __slots__ = ()

    model: str
    params: int
    """All parameters."""
    params_active: int
    """Parameters that take part in the computation of one token."""
    context: int
    """Longest sequence in tokens."""
    seq: int
    flops_per_token: Record
    """``forward`` and ``train``, in FLOP."""
    kv_bytes_per_token: int
    weight_bytes: int
    layers: list[Record]
    notes: list[str]

    def _as_argument(self, keyword: str) -> tuple[list[str], list[str], Mapping[str, str | bytes]]:
        """The words of this model, as an argument of another question."""
        return list(self._question.arguments), [], self._question.texts

    def program(self, *, training: bool = False, remat: str | None = None) -> str:
        """Returns the forward pass, or a training step with the recomputation ``remat``, as a program in the notation.
        """
        form = ["--program"] + (["--training"] if training else []) + ([] if remat is None else [f"--remat={remat}"])
        return self._again(*form)


class TrainAnswer(Answer):
    """A training step: its time, its memory, and the run."""

    __slots__ = ()

    model: str
    machine: str
    chips: int
    plan: Record
    """Degrees of parallelism, micro-batches, recomputation."""
    step: Record
    """``lower_s``, ``sequential_s``, ``expected_s``, ``expected_error``, ``upper_s`` of a step, in seconds."""
    step_s: float | None
    """The step time behind the rates, in seconds."""
    time_s: Record
    """Busy time of each resource in seconds."""
    memory_bytes: Record
    """Bytes that one chip holds at its peak, by kind."""
    fits: bool
    mfu: float | None
    """Model FLOPs utilisation."""
    tokens_per_s: float | None
    bound_by: str | None
    usd: float | None
    """Cost of the run with ``tokens``."""
    notes: list[str]
    plans: list[Record]

    def program(self) -> str:
        """Asks again for the step as a program in the notation."""
        return self._again("--program")

    def explain(self) -> str:
        """Asks again for the derivation of the step: formulas, sizes, figures with their sources."""
        return self._again("--explain")


class ServeAnswer(Answer):
    """A served model: latency, throughput, memory and cost."""

    __slots__ = ()

    model: str
    machine: str
    chips: int
    ttft_s: float | None
    """Time to the first token, in seconds."""
    tpot_s: float | None
    """Time per output token, in seconds."""
    tokens_per_s: float | None
    tokens_per_s_per_chip: float | None
    usd_per_million_tokens: float | None
    fits: bool
    max_batch: int | None
    prefill: Record
    decode: Record
    frontier: list[Record]
    notes: list[str]

    def explain(self) -> str:
        """Asks again for the derivation of a decode step."""
        return self._again("--explain")

    def _times(self) -> dict[str, Any]:
        decode = self._dict().get("decode")
        return decode["time_s"] if isinstance(decode, dict) else {}

    def _bound(self) -> Any:
        decode = self._dict().get("decode")
        return decode.get("bound_by") if isinstance(decode, dict) else None


class PlanAnswer(Answer):
    """The answer of a search. ``plans`` are the best ones of different kinds."""

    __slots__ = ()

    plans: list[Record]
    notes: list[str]


class _TableAnswer(Answer):
    """An answer whose frame has the rows of its CSV."""

    __slots__ = ()

    def to_pandas(self) -> pandas.DataFrame:
        """Asks again for rows of figures in SI units."""
        import pandas

        return pandas.read_csv(io.StringIO(self.to_csv()))


class ValidateAnswer(_TableAnswer):
    """Predictions beside measurements. ``to_pandas()`` has a row for each measurement."""

    __slots__ = ()

    rows: int
    """Number of rows that were compared."""
    skipped: int
    below_lower: int
    """Rows that were faster than their lower bound."""
    error: Record
    """``mean``, ``median`` and ``p90`` of the relative error."""
    groups: list[Record]
    """The same by operation, system, size ..."""
    worst: list[Record]
    passed: bool
    """Whether no row beats its bound and the mean error is at most ``max_error``."""
    notes: list[str]


class FitAnswer(_TableAnswer):
    """Models fitted to measurements, with their errors. ``to_pandas()`` has a row for each law."""

    __slots__ = ()

    rows: int
    """Measurements that models were fitted to."""
    laws: list[Record]
    """Models of collectives."""
    kernels: list[Record]
    exchanges: list[Record]


class TraceAnswer(_TableAnswer):
    """A profile beside its bounds and expected times. ``to_pandas()`` has a row for each operation.

    Of a table of kernels that hardware counters counted, ``steps``, ``by_kind`` and ``causes`` are empty."""

    __slots__ = ()

    machine: str
    steps: list[Record]
    """Of a recorded profile: ``name``, ``seconds`` and whether it is ``warm_up``."""
    total: Record
    """Of an average step: ``measured_s``, ``expected_s`` or ``lower_s``, and how its time divides."""
    by_kind: list[Record]
    """Of a recorded profile: ``kind``, ``measured_s`` and ``should_s``, what that should take."""
    causes: list[Record]
    """Of a recorded profile: why a step takes longer than its kernels should, ``name`` and ``seconds``."""
    ops: list[Record]
    """By operation, the longest first: times, FLOPs, bytes, what bounds it, and ``win_s``."""
    notes: list[str]


class HloAnswer(_TableAnswer):
    """What an XLA module costs: the work of one device in one run. ``to_pandas()`` has a row for each kernel."""

    __slots__ = ("_code",)

    module: str
    machine: str | None
    """None where XLA's rules count (``cost="xla"``)."""
    devices: int
    """Devices that execute the module."""
    total: Record
    """``flops``, ``matmul_flops``, ``bytes``, ``lower_s``, ``sequential_s``, ``expected_s``, ``collectives`` ..."""
    memory_bytes: Record | None
    """``arguments``, ``peak``, ``capacity``, and what is ``largest`` at the peak."""
    by_source: list[Record]
    """By source line: ``name``, ``time_s``, ``flops``, ``bytes``; those that take longest first."""
    by_scope: Record
    """The tree of the framework's scopes: the same, and ``parts``."""
    ops: list[Record]
    """By kernel, the longest first: counts and times of all its executions, ``bound_by``, ``source``, ``scope``."""
    unknown: list[str]
    """What is not counted, or only in part."""
    notes: list[str]

    def __init__(
        self, question: Question, status: int, text: str, written: list[str], code: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(question, status, text, written)
        self._code = code or {}

    def __reduce__(self) -> tuple[Any, ...]:
        make, values = super().__reduce__()
        return make, (*values, self._code)

    @property
    def lines(self) -> list[SourceLine]:
        """The lines of your code, those that take longest first; with their text where `jax()` could read it. Empty
        where several machines answer."""
        values = self._dict()
        return lines_of(values, self._code) if isinstance(values.get("total"), dict) else []

    def with_code(self, files: Mapping[str, str]) -> HloAnswer:
        """Returns the answer with the text of its lines, as `jax()` does; ``files`` are those of names that stand for
        others. It reads the files that the module names."""
        return HloAnswer(self._question, self.status, self._json, self.written, code_of(self._dict(), files))

    def __repr__(self) -> str:
        total = self._dict().get("total")
        if not isinstance(total, dict):
            return super().__repr__()
        keys = ("flops", "bytes", "lower_s", "expected_s")
        facts = [f"machine={self.machine}"] if isinstance(self._dict().get("machine"), str) else []
        facts += [f"{key}={_html.number(key, total[key])}" for key in keys if total.get(key) is not None]
        return f"<roofline.{type(self).__name__}: {self._title()}: {', '.join(facts)}>"

    def _times(self) -> dict[str, Any]:
        """Seconds of the lines that take longest: expected ones where all kernels have them, else lower bounds."""
        return {line.source: line.time_s for line in self.lines[:10]}

    def _repr_html_(self) -> str:
        if not isinstance(self._dict().get("total"), dict):
            return super()._repr_html_()
        return _html.module_page(self._title(), self._dict(), self.lines, self._picture())

    def _picture(self) -> str:
        total = self._dict().get("total")
        return self.svg() if isinstance(total, dict) and total.get("lower_s") else ""


if TYPE_CHECKING:
    from ._sweep import Compiled

__all__ = [
    "Answer",
    "FitAnswer",
    "HloAnswer",
    "MachineAnswer",
    "ModelAnswer",
    "OpAnswer",
    "PlanAnswer",
    "ServeAnswer",
    "TraceAnswer",
    "TrainAnswer",
    "ValidateAnswer",
    "answered",
    "wrapped",
]
