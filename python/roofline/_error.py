"""Errors: what went wrong, where, and the remedy."""

from __future__ import annotations

import re
from typing import NamedTuple

from . import _core


class Place(NamedTuple):
    """A position in a text that you gave. Lines and columns count from 1; columns count bytes."""

    source: str
    """Name of the file, or "" for an argument."""
    line: int
    column: int
    text: str
    """The line itself, shortened to fit a screen."""
    caret: int
    """Column of the caret in ``text``."""


class Error(ValueError):
    """A question that cannot be answered.

    ``str(error)`` points into the text as the command line does: message, line with a caret, remedy.
    """

    code: str
    """Short and stable, for programs: "syntax", "unknown_dimension" ..."""
    message: str
    """One sentence without a final period."""
    hint: str
    """The remedy; "" if there is none."""
    place: Place | None
    """Where, if a text that you gave is wrong."""

    def __init__(
        self, code: str, message: str, hint: str = "", place: tuple[str, int, int, str, int] | None = None
    ) -> None:
        super().__init__(code, message, hint, place)
        self.code = code
        self.message = in_python_terms(message)
        self.hint = in_python_terms(hint)
        self.place = None if place is None else Place(in_python_terms(place[0]), *place[1:])

    def __str__(self) -> str:
        return _core.error_text(self.code, self.message, self.hint, self.place).rstrip("\n")


_OPTION = re.compile(r"--([a-z][a-z-]*[a-z])(?:[ =](?:<([^<>]*)>|([\w.:/+*@=,-]*[\w*+])))?")
_HELP = re.compile(r"(?:see )?roofline((?: [a-z]+)+) --help")
_COMMAND = re.compile(r"`roofline ((?:plan )?[a-z]+)`")


def in_python_terms(text: str) -> str:
    """Replaces options of the command line by keyword arguments: "--dims B=64" becomes `dims={"B": 64}`."""
    if "--" not in text and "roofline " not in text:
        return text
    text = _HELP.sub(lambda found: f"see help(roofline{'.'.join(['', *found[1].split()])})", text)
    text = _COMMAND.sub(lambda found: f"`roofline.{found[1].replace(' ', '.')}()`", text)
    return _OPTION.sub(_keyword, text)


def _keyword(found: re.Match[str]) -> str:
    from . import _options

    name, value = found[1], found[3]
    option = _options.any_named(name)
    if option is None:
        return found[0]
    rest = "" if value is None else found[0][len(name) + 2 :]
    if not option.value:
        return f"{option.keyword}=True{rest}"
    if value is None:
        return option.keyword if found[2] is None else f"{option.keyword}={rest[1:]}"
    pairs = [part.split("=", 1) for part in value.split(",")]
    if option.repeated and all(len(pair) == 2 for pair in pairs):
        return option.keyword + "={" + ", ".join(f'"{key}": {_literal(part)}' for key, part in pairs) + "}"
    if any(c.isdigit() or c in ":=" for c in value) or value in re.split(r"[|,\[\]:]+", option.value):
        return f"{option.keyword}={_literal(value)}"
    return option.keyword + rest


def _literal(text: str) -> str:
    return text if re.fullmatch(r"\d+(\.\d+)?", text) else f'"{text}"'


_core.set_error_class(Error)
