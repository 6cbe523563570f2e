"""Captures in SQL, through DuckDB (the extra ``kymograph[sql]``)."""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kymograph._capture import Capture
from kymograph._capture import open as open_capture
from kymograph._selection import COLUMNS
from kymograph._sql_plan import CREATE_DAMAGES, Scans, find_scans
from kymograph._tables import TABLES

if TYPE_CHECKING:
    import duckdb

    Captures = Capture | str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

# Columns of a span that are correct only if everything up to its end was read. Blocks before its start are not needed.
_NEEDING_ALL = frozenset({"self_ns", "flags", "arguments"})


def _import_duckdb() -> Any:
    try:
        import duckdb  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("kymograph.sql needs DuckDB: pip install 'kymograph[sql]'") from error
    return duckdb


def connect(captures: Captures, query: str = "", parameters: object = None) -> duckdb.DuckDBPyConnection:
    """
    Return a DuckDB connection with the tables of captures as views.

    Parameters
    ----------
    captures : Capture, path, or iterable of paths
        The captures to read.
    query : str
        If the connection is for one query: columns and time ranges that it does not need are not read.
    parameters : sequence or dict, optional
        The parameters of the query.

    Returns
    -------
    duckdb.DuckDBPyConnection
        In memory, with the views spans, frames, samples, metrics, sites, tracks, phases, messages and processes. They
        are streams: each scan reads the captures again, and memory does not grow with their size. The table damages
        has what was found when the captures were opened.

    Raises
    ------
    ImportError
        DuckDB is not installed: ``pip install 'kymograph[sql]'``.
    """
    module = _import_duckdb()
    capture = captures if isinstance(captures, Capture) else open_capture(captures)
    tables = {name: capture.table(name) for name in TABLES}
    scans = find_scans(module, tables, query, parameters) if query else Scans({}, {})
    connection: duckdb.DuckDBPyConnection = module.connect()
    connection.execute(CREATE_DAMAGES)
    for row in capture.damages:
        connection.execute("insert into damages values (?, ?, ?, ?)", list(row.values()))
    for name, table in tables.items():
        known = COLUMNS[name]
        needed = scans.columns.get(name, known)
        columns = [column for column in known if column in needed]
        shown = table.with_columns(columns or ["depth" if name == "spans" else "process"])
        start_ns, end_ns = scans.stretches.get(name, (None, None))
        connection.register(name, shown.between(start_ns, None if _NEEDING_ALL & {*columns} else end_ns))
    return connection


def sql(query: str, captures: Captures, parameters: object = None) -> duckdb.DuckDBPyRelation:
    """
    Query captures in SQL.

    Parameters
    ----------
    query : str
        A DuckDB query over the views spans, frames, samples, metrics, sites, tracks, phases, messages and processes.
        Their columns are those of the tables of `Capture`. Times are nanoseconds.
    captures : Capture, path, or iterable of paths
        The captures to query; also a view from `Capture.between`.
    parameters : sequence or dict, optional
        Values for ``?`` or ``$name`` in the query.

    Returns
    -------
    duckdb.DuckDBPyRelation
        ``fetchall()``, ``df()``, ``pl()``, ``arrow()`` and similar run it. Only the columns that it needs are read, as
        a stream. If it compares ``start_ns`` or ``time_ns`` with numbers, only blocks that may match are read.

    Raises
    ------
    ImportError
        DuckDB is not installed: ``pip install 'kymograph[sql]'``.
    duckdb.Error
        The query is wrong.
    ValueError
        It is not a query that returns rows.

    Examples
    --------
    >>> kymo.sql("select name, sum(self_ns) / 1e6 as ms from spans group by name order by ms desc", "run.kymo")
    """
    connection = connect(captures, query, parameters)
    relation = connection.sql(query) if parameters is None else connection.sql(query, params=parameters)
    if relation is None:
        raise ValueError("the query gives no rows: kymograph.sql is for questions")
    return relation


def main(argv: Sequence[str]) -> int:
    """
    Run ``python -m kymograph sql``.

    Parameters
    ----------
    argv : sequence of str
        The arguments after ``sql``.

    Returns
    -------
    int
        The exit code: 0, or 1 after an error, which is reported on stderr.
    """
    parser = argparse.ArgumentParser(
        prog="python -m kymograph sql",
        description="Ask captures in SQL, through DuckDB.",
        epilog="Views: " + "; ".join(f"{name} ({', '.join(columns)})" for name, columns in COLUMNS.items()),
    )
    parser.add_argument("captures", nargs="+", metavar="CAPTURE", help="files or directories")
    parser.add_argument(
        "query", metavar="QUERY", help='such as "select name, sum(duration_ns) from spans group by all"'
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="print CSV")
    form.add_argument("--json", action="store_true", help="print a JSON array of objects")
    options = parser.parse_args(argv)
    try:
        duckdb_error = _import_duckdb().Error
    except ImportError as error:
        print(f"kymo: {error}", file=sys.stderr)
        return 1
    try:
        _print_answer(connect(options.captures, options.query), options)
    except BrokenPipeError:
        # The reader of the output has closed the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, OSError, duckdb_error) as error:
        print(f"kymo: {error}", file=sys.stderr)
        return 1
    return 0


def _print_answer(connection: duckdb.DuckDBPyConnection, options: argparse.Namespace) -> None:
    if not options.csv and not options.json:
        relation = connection.sql(options.query)
        if relation is not None:
            relation.show()
        return
    answer = connection.execute(options.query)
    names = [column[0] for column in answer.description or []]
    if options.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
    separator = "[\n"
    while rows := answer.fetchmany(10_000):
        for row in rows:
            if options.csv:
                writer.writerow(row)
            else:
                print(separator + json.dumps(dict(zip(names, row, strict=True)), default=str), end="")
                separator = ",\n"
    if options.json:
        print("\n]" if separator != "[\n" else "[]")
    sys.stdout.flush()
