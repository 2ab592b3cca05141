"""The options of the command line under the names that they have as keyword arguments."""

from __future__ import annotations

import functools
from typing import NamedTuple

from . import _core

# Names of options that are keywords of Python, by command.
_NAMES = {("plan train", "for"): "objective", ("plan serve", "for"): "objective", ("plan design", "for"): "workloads"}
# Options about the form of an answer, by command or of all; answers have methods for these forms.
_FORMS = {"json", "csv", "md", "color", "svg", "png", "html", "plot", "all-roofs", "explain"}
_FORMS_OF = {"train": {"program"}, "hlo": {"program"}, "model": {"program", "training", "remat", "layers", "list"}}


class Option(NamedTuple):
    name: str
    """As the command line spells it: "batch-tokens"."""
    keyword: str
    """The same as an argument: "batch_tokens"."""
    help: str
    value: str
    """What its value looks like; "" if it takes none."""
    positional: bool
    repeated: bool


@functools.cache
def commands() -> dict[str, dict[str, Option]]:
    """Returns the options of each command by keyword."""
    known: dict[str, dict[str, Option]] = {}
    for command, name, text, value, positional, repeated in _core.options():
        options = known.setdefault(command, {})
        if name in _FORMS or name in _FORMS_OF.get(command, ()):
            continue
        keyword = _NAMES.get((command, name), name.replace("-", "_"))
        options[keyword] = Option(name, keyword, text, value, positional, repeated)
    return known


@functools.cache
def forms() -> dict[str, set[str]]:
    """Returns the names of the options about the form of an answer, by command."""
    found: dict[str, set[str]] = {}
    for command, name, *_ in _core.options():
        if name in _FORMS:
            found.setdefault(command, set()).add(name)
    return found


@functools.cache
def any_named(name: str) -> Option | None:
    """Returns an option of any command with this name."""
    for options in commands().values():
        for option in options.values():
            if option.name == name and not option.positional:
                return option
    return None
