"""Finds the parts of tables that a query reads: DuckDB plans the query with empty tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kymograph._selection import EARLIEST, LATEST, Selection
from kymograph._table import Table

# Optimizers that would hide scans of the empty tables, or the columns that a scan reads.
_HIDING_OPTIMIZERS = ("statistics_propagation", "empty_result_pullup", "top_n", "late_materialization")

_COMPARISON = r"\(?(start_ns|time_ns) ?(>=|<=|!=|=|>|<) ?(-?\d+)\)?"
_CONJUNCTION = re.compile(rf"\(?{_COMPARISON}(?: AND {_COMPARISON})*\)?")


@dataclass(frozen=True)
class Scans:
    """The columns of each table that a query reads, and the time range that matters to it."""

    columns: dict[str, set[str]]
    stretches: dict[str, tuple[int, int]]


#: A table without a reader: what is in it is known when the captures are open.
CREATE_DAMAGES = "create table damages(capture text, start_byte bigint, size_bytes bigint, what text)"


def _bounds(filters: Iterable[str]) -> tuple[int, int]:
    """Return a range with all rows that pass; only plain comparisons of times are used, DuckDB applies the rest."""
    start, end = EARLIEST, LATEST
    for text in filters:
        if _CONJUNCTION.fullmatch(text) is None:
            continue
        for _, sign, number in re.findall(_COMPARISON, text):
            value = int(number)
            # A span without duration is only in ranges that extend beyond it on both sides.
            if sign in (">", ">=", "="):
                start = max(start, value - 1)
            if sign in ("<", "<=", "="):
                end = min(end, value + 1)
    return max(start, EARLIEST), min(end, LATEST)


def _as_list(entry: Any) -> list[str]:
    return [entry] if isinstance(entry, str) else [str(each) for each in entry or ()]


def _walk(node: Mapping[str, Any], columns: dict[str, set[str]], stretches: dict[str, tuple[int, int]]) -> None:
    info = node.get("extra_info")
    if isinstance(info, dict) and "Table" in info and "Projections" in info:
        table = str(info["Table"]).rsplit(".", 1)[-1]
        columns.setdefault(table, set()).update(_as_list(info["Projections"]))
        start, end = _bounds(_as_list(info.get("Filters")))
        # A table that is read twice needs the union of both ranges.
        known = stretches.get(table, (start, end))
        stretches[table] = (min(start, known[0]), max(end, known[1]))
    for child in node.get("children", ()):
        _walk(child, columns, stretches)


def find_scans(module: Any, tables: Mapping[str, Table], query: str, parameters: object) -> Scans:
    """
    Plan a query.

    Parameters
    ----------
    module : module
        DuckDB.
    tables : dict
        The tables by their names in the query.
    query : str
        The query.
    parameters : sequence or dict, optional
        The parameters of the query.

    Returns
    -------
    Scans
        Tables that are not in it are read as a whole, because nothing is known about them.
    """
    columns: dict[str, set[str]] = {}
    stretches: dict[str, tuple[int, int]] = {}
    connection = module.connect()
    try:
        for name, table in tables.items():
            connection.register("source", type(table)(table._snapshot, Selection(processes=())))
            connection.execute(f"create table {name} as from source limit 0")
            connection.unregister("source")
        connection.execute(CREATE_DAMAGES)
        known = {row[0] for row in connection.execute("select name from duckdb_optimizers()").fetchall()}
        connection.execute("set explain_output = 'physical_only'")
        # A filter applied by the scan itself hides its column from the scan's output, so two plans are needed.
        for hiding, taken in ((("filter_pushdown",), (columns, {})), ((), ({}, stretches))):
            disabled = ",".join(name for name in (*_HIDING_OPTIMIZERS, *hiding) if name in known)
            connection.execute(f"set disabled_optimizers = '{disabled}'")
            for _, plan in connection.execute("explain (format json) " + query, parameters).fetchall():
                for node in json.loads(plan):
                    _walk(node, *taken)
    except (module.Error, ValueError, TypeError, AttributeError):
        # A statement without a plan, or an error, whose message is better when the query runs.
        return Scans({}, {})
    finally:
        connection.close()
    return Scans(columns, stretches)
