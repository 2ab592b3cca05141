"""How answers show themselves in notebooks, in light and dark."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from . import _core

_STYLE = """<style>
.rl-answer{font:13px/1.45 system-ui,sans-serif;color:var(--jp-content-font-color1,CanvasText);color-scheme:light dark}
.rl-answer table{border-collapse:collapse;margin:.4em 0;color:inherit;background:none}
.rl-answer td,.rl-answer th{padding:1px 10px 1px 0;text-align:left;border:0;background:none;color:inherit}
.rl-answer td.n{text-align:right;font-variant-numeric:tabular-nums}
.rl-answer .bar{display:inline-block;height:.75em;background:#0072b2;vertical-align:baseline;min-width:1px}
.rl-answer .bound .bar{background:#d55e00}
.rl-answer .weak{opacity:.7}
.rl-answer svg{max-width:100%;height:auto}
@media (prefers-color-scheme:dark){.rl-answer .bar{background:#56b4e9}.rl-answer .bound .bar{background:#e69f00}}
</style>"""

# Units by the end of a key.
_UNITS = (
    ("flops_per_s", "FLOP/s"),
    ("bytes_per_s", "B/s"),
    ("_Bps", "B/s"),
    ("flops", "FLOP"),
    ("bytes", "B"),
    ("bytes_per_chip", "B"),
    ("tokens_per_s", "1/s"),
    ("per_s", "1/s"),
    ("_s", "s"),
    ("_j", "J"),
    ("_w", "W"),
    ("_hz", "Hz"),
)


def number(key: str, value: Any) -> str:
    """A value of JSON as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        if abs(value) >= 1e-300 or value == 0:
            unit = next((unit for end, unit in _UNITS if key.endswith(end)), "")
            if unit or isinstance(value, float):
                return _core.quantity_text(float(value), unit)
        return str(value)
    return str(value)


def bars(title: str, times: Mapping[str, Any], key: str, bound: Any) -> str:
    """A bar for each time or size of a mapping."""
    known = {name: value for name, value in times.items() if isinstance(value, (int, float)) and name != "total"}
    most = max(known.values(), default=0)
    if most <= 0:
        return ""
    rows = []
    for name, value in known.items():
        mark = ' class="bound"' if name == bound else ""
        note = "&larr; the bound" if name == bound else ""
        rows.append(
            f'<tr{mark}><td>{escape(name)}</td><td class="n">{escape(number(key, value))}</td>'
            f'<td style="width:20em"><span class="bar" style="width:{100 * value / most:.1f}%"></span></td>'
            f'<td class="weak">{note}</td></tr>'
        )
    return f"<table><tr><th colspan=4>{escape(title)}</th></tr>{''.join(rows)}</table>"


def table(values: Mapping[str, Any]) -> str:
    """The plain values of a mapping, a row each."""
    rows = [
        f'<tr><td class="weak">{escape(key)}</td><td class="n">{escape(number(key, value))}</td></tr>'
        for key, value in values.items()
        if isinstance(value, (int, float, str)) and key != "schema"
    ]
    return f"<table>{''.join(rows)}</table>" if rows else ""


def grid(rows: list[dict[str, Any]], most: int = 20) -> str:
    """A table with a row for each of several mappings, and the values that all of them have as columns."""
    if not rows:
        return ""
    keys = [key for key, value in rows[0].items() if isinstance(value, (int, float, str))]
    head = "".join(f"<th>{escape(key)}</th>" for key in keys)
    body = ""
    for row in rows[:most]:
        cells = [number(key, row[key]) if row.get(key) is not None else "" for key in keys]
        body += "<tr>" + "".join(f'<td class="n">{escape(cell)}</td>' for cell in cells) + "</tr>"
    left = f'<p class="weak">{len(rows) - most} more</p>' if len(rows) > most else ""
    return f"<table><tr>{head}</tr>{body}</table>{left}"


def page(title: str, *parts: str, svg: str = "") -> str:
    shown = f"<details><summary>picture</summary>{svg}</details>" if svg else ""
    return f'<div class="rl-answer">{_STYLE}<b>{escape(title)}</b>{"".join(parts)}{shown}</div>'
