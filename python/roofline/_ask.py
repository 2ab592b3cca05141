"""Functions that ask."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar, cast

from . import _core
from ._answers import Answer, OpAnswer, answered
from ._error import Error
from ._sweep import Sweep, is_array, swept
from ._words import question_of, unknown_keyword

P = ParamSpec("P")
R = TypeVar("R")


def question(function: Callable[P, R]) -> Callable[P, R]:
    """Makes an Error of arguments that the function does not have or that are missing."""
    code = function.__code__
    keywords = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    required = keywords[: code.co_argcount - len(function.__defaults__ or ())] + tuple(
        name for name in keywords[code.co_argcount :] if name not in (function.__kwdefaults__ or {})
    )
    name = f"{function.__module__.removeprefix('roofline.').removeprefix('_questions')}.{function.__name__}".strip(".")

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for keyword in kwargs:
            if keyword not in keywords:
                raise unknown_keyword(name, keyword, keywords)
        if len(args) > code.co_argcount:
            hint = "name the others: " + ", ".join(f"{each}=.." for each in keywords[code.co_argcount :][:3])
            raise Error("bad_argument", f"{name}() takes {code.co_argcount} arguments without a name", hint)
        for i, keyword in enumerate(required):
            if keyword not in kwargs and not (keyword in keywords[: code.co_argcount] and i < len(args)):
                raise Error("missing_argument", f"{name}() needs `{keyword}`", f"see help(roofline.{name})")
        return function(*args, **kwargs)

    return checked


def ask(command: str, given: Mapping[str, Any], kind: type[Answer]) -> Answer:
    """Asks a question with the given values of arguments."""
    return cast(Answer, answered(kind, question_of(command, given)))


def ask_parts(command: str, given: Mapping[str, Any], kind: type[Answer]) -> Answer:
    """Asks for a search that an executor may be given for, which searches parts of it."""
    executor, parts, given = taken(given)
    if executor is None:
        return ask(command, given, kind)
    for keyword in ("part", "output", "emit", "sweep"):
        if given.get(keyword) is not None:
            message = f"`executor` divides one search into parts, and `{keyword}` is given"
            raise Error("bad_request", message, "leave one of the two out")
    from ._executors import search_in_parts

    return cast(Answer, answered(kind, search_in_parts(question_of(command, given), executor, parts)))


def taken(given: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Returns the executor, the number of parts, and the other values. Raises Error: parts without an executor."""
    others = {keyword: value for keyword, value in given.items() if keyword not in ("executor", "parts")}
    if given["executor"] is None and given["parts"] is not None:
        raise Error("bad_request", "`parts` is given, and no executor", "add `executor`, whose workers do them")
    return given["executor"], given["parts"], others


def models() -> list[str]:
    """Returns the names of all models that ``model()`` and others know."""
    return _core.models()


def ask_op(given: Mapping[str, Any]) -> OpAnswer | Sweep:
    """Asks about an operation: at one point, or at the sizes in arrays."""
    executor, parts, given = taken(given)
    dims = given.get("dims")
    arrays = {dim: sizes for dim, sizes in dims.items() if is_array(sizes)} if isinstance(dims, Mapping) else {}
    if not arrays:
        if executor is not None:
            message = "`executor` divides a sweep, and no size in `dims` is an array"
            raise Error("bad_request", message, "leave it out, or give one dimension an array of sizes")
        return cast(OpAnswer, answered(OpAnswer, question_of("op", given)))
    others = {dim: size for dim, size in dims.items() if dim not in arrays} if isinstance(dims, Mapping) else {}
    question = question_of("op", {**given, "dims": others or None})
    sizes = {str(dim): each for dim, each in arrays.items()}
    if executor is None:
        return swept(question, sizes)
    from ._executors import swept_in_parts

    return swept_in_parts(question, sizes, executor, parts)
