"""How answers show themselves in notebooks, in light and dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from . import _core
from ._error import in_python_terms
from ._lines import SourceLine

_STYLE = """<style>
.rl-answer{font:13px/1.45 system-ui,sans-serif;color:var(--jp-content-font-color1,inherit);overflow-x:auto}
.rl-answer table{border-collapse:collapse;margin:.4em 0;color:inherit;background:none}
.rl-answer td,.rl-answer th{padding:1px 10px 1px 0;text-align:left;border:0;background:none;color:inherit}
.rl-answer td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.rl-answer th{white-space:nowrap}.rl-answer th.n{text-align:right}.rl-answer code{color:inherit;background:none}
.rl-answer p{margin:.2em 0}.rl-answer summary{cursor:pointer}
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
    ("bytes_per_token", "B"),
    ("bytes_sequence", "B"),
    ("flops_per_token", "FLOP"),
    ("tokens_per_s", "1/s"),
    ("_per_s", "1/s"),
    ("_s", "s"),
    ("_j", "J"),
    ("_w", "W"),
    ("_hz", "Hz"),
)

_SHARES = ("error", "fraction", "mfu", "share")


def number(key: str, value: Any) -> str:
    """A value of JSON as people read it. The unit is that of its key, or of the mapping that it is in: "error.mean"."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (int, float)):
        return str(value)
    for part in reversed(key.split(".")):
        if part.endswith(_SHARES):
            return f"{100 * value:.3g} %"
        unit = next((unit for end, unit in _UNITS if part.endswith(end)), "")
        if unit and (abs(value) >= 1e-300 or value == 0):
            return _core.quantity_text(float(value), unit)
    if isinstance(value, float) and not value.is_integer() and abs(value) >= 1e-300:
        return _core.quantity_text(value, "")
    return f"{int(value):,}" if 10_000 <= abs(value) < 1e300 else str(value)


def bars(title: str, times: Mapping[str, Any], key: str, bound: Any, mark: str = "the bound") -> str:
    """A bar for each time or size of a mapping; that of ``bound`` in another colour, with a note."""
    known = {name: value for name, value in times.items() if isinstance(value, (int, float)) and name != "total"}
    most = max(known.values(), default=0)
    if most <= 0:
        return ""
    rows = []
    for name, value in known.items():
        row = ' class="bound"' if name == bound else ""
        note = f"&larr; {escape(mark)}" if name == bound else ""
        rows.append(
            f'<tr{row}><td>{escape(name)}</td><td class="n">{escape(number(key, value))}</td>'
            f'<td style="width:20em"><span class="bar" style="width:{100 * value / most:.1f}%"></span></td>'
            f'<td class="weak">{note}</td></tr>'
        )
    return f"<table><tr><th colspan=4>{escape(title)}</th></tr>{''.join(rows)}</table>"


def table(values: Mapping[str, Any]) -> str:
    """The plain values of a mapping, a row each. Not among them: what a clock says of the search, and the command that
    repeats it in a shell."""
    rows = [
        f'<tr><td class="weak">{escape(key.rpartition(".")[2])}</td>'
        f'<td class="n">{escape(number(key, value))}</td></tr>'
        for key, value in values.items()
        if isinstance(value, (int, float, str)) and key not in ("schema", "search_s", "command")
    ]
    return f"<table>{''.join(rows)}</table>" if rows else ""


def at(row: Mapping[str, Any], path: str) -> Any:
    """The value inside mappings, "plan.mesh"; None where there is none. A figure with its source is its value."""
    value: Any = row
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return value.get("value") if isinstance(value, Mapping) else value


def grid(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = (), most: int = 20) -> str:
    """A table with a row for each of several mappings. Its columns are those of ``columns`` in which some row has a
    value, else the plain values of the first row."""
    if not rows:
        return ""
    keys = [path for path in columns if any(at(row, path) not in (None, "") for row in rows)]
    if not keys:
        keys = [key for key, value in rows[0].items() if isinstance(value, (int, float, str))]
    texts = {key for key in keys if all(isinstance(at(row, key) or "", str) for row in rows)}
    align = {key: "" if key in texts else ' class="n"' for key in keys}
    head = "".join(f"<th{align[key]}>{escape(key)}</th>" for key in keys)
    body = ""
    for row in rows[:most]:
        cells = {key: number(key, value) if (value := at(row, key)) is not None else "" for key in keys}
        body += "<tr>" + "".join(f"<td{align[key]}>{escape(cell)}</td>" for key, cell in cells.items()) + "</tr>"
    left = f'<p class="weak">{len(rows) - most} more</p>' if len(rows) > most else ""
    return f"<table><tr>{head}</tr>{body}</table>{left}"


# What else the page of an answer shows, by command: lists with the columns of their tables, and mappings.
_PLAN = ("plan.mesh", "plan.zero", "plan.microbatches", "plan.schedule", "plan.remat", "step_s", "mfu", "tokens_per_s",
         "memory_bytes.total", "bound_by", "fits")  # fmt: skip
_TABLES: dict[str, dict[str, tuple[str, ...]]] = {
    "op": {
        "ops": ("op", "flops", "bytes.hbm.read", "bytes.hbm.write", "lower_s", "expected_s", "bound_by"),
        "collectives": ("kind", "tensor", "axes", "bytes", "count", "time_s", "expected_s"),
    },
    "machine": {
        "peaks": ("unit", "dtype", "accumulator", "flops_per_s"),
        "memory": ("level", "label", "capacity_bytes", "bandwidth_bytes_per_s"),
        "network": ("tier", "label", "topology", "domain", "chip_bandwidth_bytes_per_s"),
    },
    "model": {"flops_per_token": (), "params_by": ()},
    "train": {"step": (), "plans": _PLAN},
    "plan train": {"plans": _PLAN},
    "validate": {
        "error": (),
        "groups": ("by", "name", "operation", "rows", "below_lower", "error.mean", "error.median", "error.p90"),
    },
    "fit": {
        "laws": (),
        "exchanges": (),
        "kernels": ("machine", "kind", "dtype", "software", "variant", "rows", "error.bound", "error.fitted",
                    "error.held_out"),
    },
    "trace": {"ops": ("name", "count", "flops", "bytes", "lower_s", "measured_s", "bound_by")},
}  # fmt: skip


def answer_page(
    command: str, title: str, values: Mapping[str, Any], times: Mapping[str, Any], bound: Any, svg: str
) -> str:
    """The page of an answer: times and memory as bars, its values, its rows, its notes."""
    shown = dict.fromkeys(("machines", "sweep", "plans", "rows"), ()) | _TABLES.get(command, {})
    memory = values.get("memory_bytes")
    parts = [bars("time", times, "_s", bound)]
    parts.append(bars("memory", memory, "bytes", None) if isinstance(memory, Mapping) else "")
    parts.append(table(values))
    for key, columns in shown.items():
        value = values.get(key)
        if isinstance(value, Mapping):
            parts.append(_titled(key, table({f"{key}.{each}": of for each, of in value.items()})))
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            if command == "op" and key == "ops" and len(value) == 1:
                continue  # its figures stand above
            parts.append(_titled(key, grid(value, columns)))
    notes = [f"<p>{escape(in_python_terms(note))}</p>" for note in values.get("notes") or []]
    return page(title, *parts, folded("notes", "".join(notes)), svg=svg)


def _titled(title: str, content: str) -> str:
    return f"<p><b>{escape(title)}</b></p>{content}" if content else ""


def module_page(title: str, values: Mapping[str, Any], lines: Sequence[SourceLine], svg: str) -> str:
    """What a module takes, the lines that take longest, its memory and its kernels."""
    total = values["total"]
    memory = values.get("memory_bytes") or {}
    sizes = {key: memory[key] for key in ("arguments", "peak", "capacity") if key in memory}
    keys = ("name", "opcode", "count", "flops", "bytes", "lower_s", "expected_s", "bound_by", "source")
    ops = values["ops"]
    notes = "".join(f"<p>{escape(in_python_terms(note))}</p>" for note in values.get("notes", []))
    full = sizes.get("capacity") is not None and sizes["peak"] > sizes["capacity"]
    return page(
        title,
        table(total),
        _line_bars(lines),
        bars("memory", sizes, "bytes", "peak" if full else None, "does not fit"),
        *(f'<p class="weak">unknown: {escape(gap)}</p>' for gap in values.get("unknown", [])),
        folded(f"{len(ops)} kernels", grid(ops, keys)),
        folded("notes", notes),
        svg=svg,
    )


def _line_bars(lines: Sequence[SourceLine], most: int = 10) -> str:
    """A bar for each of the lines that take longest, with the resource that bounds it and its text."""
    if not lines or lines[0].time_s <= 0:
        return ""
    rows = [
        f'<tr><td>{escape(line.source)}</td><td class="n">{escape(number("_s", line.time_s))}</td>'
        f'<td class="n">{100 * line.share:.1f} %</td>'
        f'<td style="width:12em"><span class="bar" style="width:{100 * line.time_s / lines[0].time_s:.1f}%"></span>'
        f"</td>"
        f'<td class="weak">{escape(line.bound_by or "")}</td><td><code>{escape(line.code)}</code></td></tr>'
        for line in lines[:most]
    ]
    left = f'<p class="weak">{len(lines) - most} more</p>' if len(lines) > most else ""
    head = '<th>source line</th><th class="n">time</th><th class="n">share</th><th></th><th>bound by</th><th></th>'
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>{left}"


def folded(title: str, content: str) -> str:
    """A part that is shown when its title is clicked."""
    return f"<details><summary>{escape(title)}</summary>{content}</details>" if content else ""


def page(title: str, *parts: str, svg: str = "") -> str:
    return f'<div class="rl-answer">{_STYLE}<b>{escape(title)}</b>{"".join(parts)}{folded("picture", svg)}</div>'
