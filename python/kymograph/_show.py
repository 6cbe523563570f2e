"""Tables as people read them: a few columns, times from the start of the capture, durations with units."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

_LONGEST = 60

#: What is shown of each table; columns that are left out can be asked for by `Table.with_columns`.
SHOWN: Mapping[str, tuple[str, ...]] = {
    "spans": ("start_ns", "duration_ns", "self_ns", "track", "name", "arguments"),
    "frames": ("stream", "number", "start_ns", "duration_ns"),
    "samples": ("time_ns", "name", "labels", "value", "unit"),
    "sites": ("name", "function", "file", "line", "kind"),
    "tracks": ("name", "kind", "os_thread_id", "pid"),
    "metrics": ("name", "labels", "unit", "kind", "source"),
    "phases": ("number", "start_ns", "duration_ns"),
    "damages": ("capture", "start_byte", "size_bytes", "what"),
    "stacks": ("time_ns", "thread", "blocked_ns", "function"),
    "messages": ("time_ns", "track", "text"),
    "processes": ("process", "host", "rank", "pid", "command_line"),
}

_UNITS = (("h", 3600e9), ("min", 60e9), ("s", 1e9), ("ms", 1e6), ("us", 1e3))


def duration(nanoseconds: int) -> str:
    """Write a duration with three digits and its unit: ``1.23 ms``."""
    for unit, factor in _UNITS:
        if abs(nanoseconds) >= factor:
            value = nanoseconds / factor
            return f"{value:.{max(0, 3 - len(str(abs(int(value)))))}f} {unit}"
    return f"{nanoseconds} ns"


def moment(nanoseconds: int) -> str:
    """Write a time since the start of the capture, to the microsecond: ``1.234567 s``."""
    return f"{nanoseconds / 1e9:.6f} s"


def _write(column: str, start_ns: int) -> Callable[[Any], str]:
    if column in ("start_ns", "time_ns"):
        return lambda value: moment(value - start_ns)
    if column.endswith("_ns"):
        return duration
    if column == "value":
        return lambda value: f"{value:.6g}"
    if column == "arguments":
        return lambda value: json.dumps(value, ensure_ascii=False) if value else ""
    return lambda value: "" if value is None else str(value)


class Shown(NamedTuple):
    """The first rows of a table as texts."""

    title: str
    columns: list[str]
    numeric: list[bool]
    rows: list[list[str]]
    rest: str


def show(title: str, names: Sequence[str], columns: Sequence[Sequence[Any]], start_ns: int, rest: str) -> Shown:
    """Write the values of some columns, each of which has a name."""
    texts = [[_write(name, start_ns)(value) for value in values] for name, values in zip(names, columns, strict=True)]
    kept = [index for index, name in enumerate(names) if name in ("name", "start_ns") or any(texts[index])]
    return Shown(
        title,
        [names[index].removesuffix("_ns") for index in kept],
        [not all(value is None or isinstance(value, str | dict) for value in columns[index]) for index in kept],
        [list(row) for row in zip(*(texts[index] for index in kept), strict=True)],
        rest,
    )


def _cut(text: str) -> str:
    text = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"


def as_text(shown: Shown) -> str:
    """Lay the rows out for a terminal."""
    lines = [shown.columns, *([_cut(text) for text in row] for row in shown.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    laid_out = [
        "  ".join(
            text.rjust(width) if is_numeric else text.ljust(width)
            for text, width, is_numeric in zip(line, widths, shown.numeric, strict=True)
        ).rstrip()
        for line in lines
    ]
    return "\n".join([shown.title, *(laid_out if shown.rows else []), *([shown.rest] if shown.rest else [])])


def as_html(shown: Shown) -> str:
    """Lay the rows out for a notebook."""
    align = ["right" if is_numeric else "left" for is_numeric in shown.numeric]
    cells = list(zip(shown.columns, align, strict=True))
    head = "".join(f'<th style="text-align:{side}">{html.escape(name)}</th>' for name, side in cells)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align:{side}">{html.escape(_cut(text))}</td>'
            for text, side in zip(row, align, strict=True)
        )
        + "</tr>"
        for row in shown.rows
    )
    rest = f"<p>{html.escape(shown.rest)}</p>" if shown.rest else ""
    return (
        f"<div>{html.escape(shown.title)}</div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"
    )
