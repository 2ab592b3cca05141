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


def models() -> list[str]:
    """Returns the names of all models that ``model()`` and others know."""
    return _core.models()


def ask_op(given: Mapping[str, Any]) -> OpAnswer | Sweep:
    """Asks about an operation: at one point, or at the sizes in arrays."""
    dims = given.get("dims")
    arrays = {dim: sizes for dim, sizes in dims.items() if is_array(sizes)} if isinstance(dims, Mapping) else {}
    if not arrays:
        return cast(OpAnswer, answered(OpAnswer, question_of("op", given)))
    others = {dim: size for dim, size in dims.items() if dim not in arrays} if isinstance(dims, Mapping) else {}
    return swept(question_of("op", {**given, "dims": others or None}), {str(dim): each for dim, each in arrays.items()})
