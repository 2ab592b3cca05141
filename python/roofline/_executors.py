"""Questions that are divided among the workers of an executor of concurrent.futures."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future
from queue import SimpleQueue
from typing import Any, TypeVar

from . import _core
from ._error import Error
from ._sweep import MOST_POINTS, MOST_SPREAD_POINTS, Sweep, sizes_of, sweep_of
from ._words import Question, file_names

R = TypeVar("R")

# Searches of threads of this process, which an interrupt ends. Other processes have none.
_stops: dict[str, _core.Stop] = {}
_numbers = itertools.count()
# Searches that an interrupt has ended in this process.
_interrupted: set[str] = set()


def executor_of(given: Any) -> Any:
    """Returns what takes tasks: an executor, or that of a client of Dask. Raises Error: it is neither."""
    if not hasattr(given, "submit"):
        raise _refused(
            given,
            f"`executor` is of the class {type(given).__name__}",
            "give an executor of concurrent.futures, such as ProcessPoolExecutor(8), or a client of dask.distributed",
        )
    if not hasattr(given, "get_executor"):
        return given
    try:
        return given.get_executor()
    except Exception as problem:
        raise _closed(given, problem) from None


def workers_of(executor: Any) -> int:
    """Returns the number of workers of an executor; one for each core where it does not say."""
    for name in ("num_workers", "_max_workers"):
        number = getattr(executor, name, None)
        if isinstance(number, int) and number > 0:
            return number
    try:
        return int(sum(executor._client.nthreads().values())) or 1
    except Exception:  # it is not that of Dask, or its client is closed, as the first task tells
        return os.cpu_count() or 1


def with_files(question: Question) -> Question:
    """Returns the question with the contents of the files that it names, which workers need not have."""
    texts = dict(question.texts)
    for name in file_names(question):
        if name not in texts and os.path.isfile(name):
            with open(name, encoding="utf-8", errors="replace", newline="") as file:
                texts[name] = file.read()
    return question._replace(texts=texts)


def asked(stop: str, words: list[str], texts: dict[str, str | bytes]) -> str:
    """What a worker does with a part of a search. Returns the answer's text.

    An interrupt of a terminal reaches workers, too. Those that have a next part already leave it.
    """
    if stop in _interrupted:
        raise KeyboardInterrupt
    try:
        return _core.ask(words, texts, True, _stops.get(stop))[1]
    except KeyboardInterrupt:
        _interrupted.add(stop)
        raise


class _Lost:
    """Parts that came back from no worker."""

    def __init__(self) -> None:
        self.parts: set[int] = set()
        self.here: list[int] = []
        self.why = ""

    def add(self, part: int, problem: BaseException) -> None:
        self.parts.add(part)
        self.why = self.why or _reason(problem)

    def warn(self, parts: int) -> None:
        if not self.parts:
            return
        others = len(self.parts) - len(self.here)
        answered = [f"{others} by other workers"] if others else []
        answered += [f"{len(self.here)} by this process"] if self.here else []
        warnings.warn(
            f"{len(self.parts)} of {parts} parts were lost with their workers ({self.why}) and were answered again, "
            f"{' and '.join(answered)}",
            RuntimeWarning,
            stacklevel=_outside(),
        )


def _outside() -> int:
    """The level of the caller of the package, for a warning that the caller of this function gives."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    return level


def spread(
    given: Any, work: Callable[..., R], tasks: Sequence[tuple[Any, ...]], here: Callable[[int], R] | None = None
) -> list[R]:
    """Calls ``work`` with each of the tasks on the workers of an executor. Returns the results in order.

    A task whose worker is lost is handed to another one, and then done in this process, by ``here`` if it is given; a
    warning says so. Raises Error: what ``work`` raises as one; an executor that is closed; workers that cannot run the
    package. What is pending is cancelled then, as it is by an interrupt.
    """
    executor = executor_of(given)
    ended: SimpleQueue[int] = SimpleQueue()
    pending: dict[int, Future[R]] = {}
    results: dict[int, R] = {}
    lost = _Lost()

    def submit(i: int) -> None:
        try:
            future = executor.submit(work, *tasks[i])
        except BrokenExecutor as problem:
            lost.add(i, problem)
            lost.here.append(i)
            return
        except Exception as problem:
            raise _closed(given, problem) from None
        pending[i] = future
        future.add_done_callback(lambda _: ended.put(i))

    try:
        for i in range(len(tasks)):
            submit(i)
        while pending:
            i = ended.get()
            future = pending.pop(i)
            try:
                results[i] = future.result()
            except Error:
                raise
            except (ImportError, AttributeError, pickle.PicklingError) as problem:
                raise _refused(
                    given,
                    f"a worker cannot do its part: {_reason(problem)}",
                    f"install roofline {_core.__version__} where the workers run",
                ) from None
            except Exception as problem:  # its worker was killed, or what the executor makes of that
                if i in lost.parts:
                    lost.here.append(i)
                else:
                    lost.add(i, problem)
                    submit(i)
        for i in lost.here:
            results[i] = work(*tasks[i]) if here is None else here(i)
    except BaseException:
        for each in pending.values():
            each.cancel()
        raise
    lost.warn(len(tasks))
    return [results[i] for i in range(len(tasks))]


def _reason(problem: BaseException) -> str:
    text = str(problem).strip().split("\n")[0][:200]
    return f"{type(problem).__name__}: {text}" if text else type(problem).__name__


def _closed(given: Any, problem: BaseException) -> Error:
    return _refused(
        given,
        f"`executor` takes no work: {_reason(problem)}",
        "make a new executor, or ask before it is closed: with ProcessPoolExecutor() as executor: ...",
    )


def _refused(given: Any, message: str, hint: str) -> Error:
    shown = f"executor={given!r}".split("\n")[0][:80]
    return Error("bad_executor", message, hint, ("executor", 1, len("executor=") + 1, shown, len("executor=") + 1))


class Stopping:
    """Ends the searches of threads of this process when it is left by an exception."""

    def __enter__(self) -> str:
        self.key = f"{os.getpid()}-{next(_numbers)}"
        _stops[self.key] = _core.Stop()
        return self.key

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        stop = _stops.pop(self.key)
        if kind is not None:
            stop.set()


def part_count(given: Any, parts: Any) -> int:
    """Returns the number of parts that are asked for, or one for each worker."""
    if parts is None:
        return workers_of(executor_of(given))
    if isinstance(parts, bool) or not isinstance(parts, int) or parts < 1:
        raise Error("bad_argument", f"`parts` is {parts!r}", "give a whole number, such as 64")
    return parts


# At most so many parts for each worker, so that fast workers do more of them, and a lost one loses little.
_PARTS_PER_WORKER = 4


def search_in_parts(question: Question, given: Any, parts: Any) -> Question:
    """Searches the parts of a search for a training plan. Returns the question that merges their results.

    This process searches the leading sets of axes, whose times the workers need to reject slower plans early.
    """
    number = part_count(given, parts)
    question = with_files(question)
    greet(given)
    texts = dict(question.texts)
    with Stopping() as stop:
        leading = asked(stop, question.words("--part=leading", "--json"), texts)
        if parts is None:
            number = max(1, min(_PARTS_PER_WORKER * number, json.loads(leading)["rest"]))
        texts["leading.json"] = leading
        threads = () if any(each.startswith("--threads=") for each in question.options) else ("--threads=1",)

        def words(i: int, *more: str) -> list[str]:
            return question.words(f"--part={i + 1}/{number}", "--leading=leading.json", "--json", *more)

        found = spread(
            given,
            asked,
            [(stop, words(i, *threads), texts) for i in range(number)],
            lambda i: asked(stop, words(i), texts),
        )
    files = {"leading.json": leading, **{f"part-{i + 1}.json": text for i, text in enumerate(found)}}
    return Question("plan", tuple(f"--merge={name}" for name in files), (), files)


def version() -> str:
    """What a worker says first."""
    return _core.__version__


def greet(given: Any) -> None:
    """Asks a worker for its version before there is work. Raises Error: another one; those of spread()."""
    (its,) = spread(given, version, [()])
    if its != _core.__version__:
        message = f"a worker has roofline {its}, and this process {_core.__version__}"
        raise _refused(given, message, "install the same version everywhere")


# A part of a sweep takes at least so long, so that handing it over costs little.
_LEAST_S = 0.1
_SAMPLE = 256


def swept_flat(words: list[str], texts: dict[str, str | bytes], flat: dict[str, Any]) -> tuple[Any, ...]:
    """What a worker does with points of a sweep."""
    return _core.sweep(words, texts, flat)


def swept_in_parts(question: Question, arrays: Mapping[str, Any], given: Any, parts: Any) -> Sweep:
    """Answers a question at the sizes that arrays give together, runs of points apart from one another.

    Raises Error: a program over a mesh, whose layouts are chosen for all points together.
    """
    flat, shape = sizes_of(arrays, MOST_SPREAD_POINTS)
    question = with_files(question)
    words, texts = question.words(), dict(question.texts)
    points = next(iter(flat.values())).size
    cuts = _cuts(points, _sweep_parts(words, texts, flat, given, parts))
    runs = [{dim: sizes[begin:end] for dim, sizes in flat.items()} for begin, end in itertools.pairwise(cuts)]
    greet(given)
    answers = spread(given, swept_flat, [(words, texts, run) for run in runs])
    return sweep_of(question, flat, shape, joined(answers))


def _sweep_parts(words: list[str], texts: dict[str, str | bytes], flat: dict[str, Any], given: Any, parts: Any) -> int:
    """The number of parts; asks about the first points, whose errors are raised, and takes the time."""
    if json.loads(_core.ask(_first_point(words, flat), texts, False)[1])["mesh"]:
        message = "a sweep over a mesh is not divided, because layouts are chosen for all sizes together"
        raise Error("bad_request", message, "leave `executor` out")
    began = time.perf_counter()
    _core.sweep(words, texts, {dim: sizes[:1] for dim, sizes in flat.items()})
    once = time.perf_counter()
    _core.sweep(words, texts, {dim: sizes[: _SAMPLE + 1] for dim, sizes in flat.items()})
    point_s = max(0.0, time.perf_counter() - once - (once - began)) / _SAMPLE
    workers = part_count(given, parts)
    if parts is not None:
        return workers
    points = int(next(iter(flat.values())).size)
    return max(1, min(_PARTS_PER_WORKER * workers, int(points * point_s / _LEAST_S)), -(-points // MOST_POINTS))


def _first_point(words: list[str], flat: dict[str, Any]) -> list[str]:
    sizes = ",".join(f"{dim}={array[0]}" for dim, array in flat.items())
    return [words[0], f"--dims={sizes}", "--json", *words[1:]]


def _cuts(points: int, parts: int) -> list[int]:
    parts = min(parts, points)
    return [points * i // parts for i in range(parts + 1)]


def joined(answers: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Joins what the core says about runs of points."""
    import numpy as np

    machine, figures, _, first = answers[0]
    resources = list(dict.fromkeys([*first, *(each for answer in answers for each in answer[3])]))
    bounds = []
    columns: dict[tuple[str, ...], list[Any]] = {key: [] for answer in answers for key, _ in answer[1]}
    for _, known, bound, names in answers:
        found = dict(known)
        for key, values in columns.items():
            values.append(found[key] if key in found else np.full(bound.size, np.nan))
        bounds.append(np.array([*(resources.index(name) for name in names), len(resources)])[bound])
    together = [(key, np.concatenate(values)) for key, values in columns.items()]
    return machine, together, np.concatenate(bounds), resources
