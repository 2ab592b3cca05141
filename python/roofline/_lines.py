"""Lines of the code that a module was made of."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple


class SourceLine(NamedTuple):
    """A line of your code, and what the kernels that come from it take."""

    source: str
    """File and line, "step.py:13", or the cell of a notebook, "In[3]:13"; "(no source line)" for kernels that have
    none."""
    code: str
    """The text of the line; "" where it is not known."""
    time_s: float
    """Expected seconds where all kernels have them, else lower bounds."""
    share: float
    """The part of the time of all lines."""
    bound_by: str | None
    """The resource that bounds most of this time."""
    flops: float
    bytes: float


def with_cells(text: str) -> tuple[str, dict[str, str]]:
    """Names the cells of a notebook in a module as IPython does, "In[3]", and not by files that do not exist. Returns
    the module, and the files by these names."""
    # An import would take half a second where no notebook runs.
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    named = getattr(getattr(get_ipython(), "compile", None), "format_code_name", None)
    if named is None:
        return text, {}
    cells: dict[str, str] = {}
    for file in list(linecache.cache):
        name = named(file) if f'"{file}"' in text else None
        if name is not None:
            text = text.replace(f'"{file}"', f'"{name[1]}"')
            cells[name[1]] = file
    return text, cells


def code_of(values: Mapping[str, Any], files: Mapping[str, str]) -> dict[str, str]:
    """Returns the text of each line that the kernels of an answer come from, by "file:line". ``files`` are those of
    names that stand for others."""
    found = {}
    for op in values.get("ops") or []:
        place = op["source"]
        if place is not None and place not in found:
            name, _, line = place.rpartition(":")
            if line.isdigit():
                found[place] = linecache.getline(files.get(name, name), int(line)).strip()
    return found


def lines_of(values: Mapping[str, Any], code: Mapping[str, str]) -> list[SourceLine]:
    """Returns the lines of an answer, those that take longest first."""
    key = "lower_s" if values["total"]["expected_s"] is None else "expected_s"
    bounds: dict[str, dict[str, float]] = {}
    for op in values["ops"]:
        seconds = op[key] or op["lower_s"]
        if seconds and op["bound_by"] is not None:
            of_line = bounds.setdefault(op["source"] or "(no source line)", {})
            of_line[op["bound_by"]] = of_line.get(op["bound_by"], 0.0) + seconds
    whole = sum(line["time_s"] for line in values["by_source"]) or 1.0
    return [
        SourceLine(
            line["name"],
            code.get(line["name"], ""),
            line["time_s"],
            line["time_s"] / whole,
            max(bounds.get(line["name"], {None: 0.0}).items(), key=lambda each: each[1])[0],
            line["flops"],
            line["bytes"],
        )
        for line in values["by_source"]
    ]
