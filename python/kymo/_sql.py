"""Captures in SQL, through DuckDB (the extra ``kymo[sql]``)."""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kymo._capture import Capture
from kymo._capture import open as open_capture
from kymo._selection import COLUMNS, Selection
from kymo._tables import TABLES, Table

if TYPE_CHECKING:
    import duckdb

    Captures = Capture | str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

# What would hide from a plan which columns of a table are read, or that it is read at all, since the tables that are
# planned with are empty.
_HIDING_OPTIMIZERS = (
    "statistics_propagation",
    "empty_result_pullup",
    "filter_pushdown",
    "top_n",
    "late_materialization",
)


def _import_duckdb() -> Any:
    try:
        import duckdb  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("kymo.sql needs DuckDB: pip install 'kymo[sql]'") from error
    return duckdb


def _find_scans(node: Mapping[str, Any], found: dict[str, set[str]]) -> None:
    """Note which columns of which tables a plan reads."""
    info = node.get("extra_info")
    if isinstance(info, dict) and "Table" in info and "Projections" in info:
        columns = info["Projections"]
        table = str(info["Table"]).rsplit(".", 1)[-1]
        found.setdefault(table, set()).update([columns] if isinstance(columns, str) else columns)
    for child in node.get("children", ()):
        _find_scans(child, found)


def _find_columns(module: Any, tables: Mapping[str, Table], query: str, parameters: object) -> dict[str, set[str]]:
    """Let DuckDB plan the query with empty tables; what it does not tell is read as a whole."""
    connection = module.connect()
    try:
        for name, table in tables.items():
            connection.register("source", type(table)(table._snapshot, Selection(processes=())))
            connection.execute(f"create table {name} as from source limit 0")
            connection.unregister("source")
        optimizers = {row[0] for row in connection.execute("select name from duckdb_optimizers()").fetchall()}
        hiding = ",".join(name for name in _HIDING_OPTIMIZERS if name in optimizers)
        connection.execute(f"set disabled_optimizers = '{hiding}'")
        connection.execute("set explain_output = 'physical_only'")
        found: dict[str, set[str]] = {}
        for _, plan in connection.execute("explain (format json) " + query, parameters).fetchall():
            for node in json.loads(plan):
                _find_scans(node, found)
        return found
    except (module.Error, ValueError, TypeError, AttributeError):
        # Statements that cannot be explained, or a mistake, which is said better where the query is run.
        return {}
    finally:
        connection.close()


def connect(captures: Captures, query: str = "", parameters: object = None) -> duckdb.DuckDBPyConnection:
    """
    Return a DuckDB connection in which the tables of captures are views.

    Parameters
    ----------
    captures : Capture, path, or iterable of paths
        What to read.
    query : str
        If the connection is for one query: the columns that it does not need are not read.
    parameters : sequence or dict, optional
        Those of the query.

    Returns
    -------
    duckdb.DuckDBPyConnection
        In memory, with the views spans, frames, samples, metrics, sites, tracks, phases, messages and processes. They
        are streams: each scan reads the captures anew and memory does not grow with them.

    Raises
    ------
    ImportError
        DuckDB is not installed: ``pip install 'kymo[sql]'``.
    """
    module = _import_duckdb()
    capture = captures if isinstance(captures, Capture) else open_capture(captures)
    tables = {name: capture.table(name) for name in TABLES}
    needed = _find_columns(module, tables, query, parameters) if query else {}
    connection: duckdb.DuckDBPyConnection = module.connect()
    for name, table in tables.items():
        known = COLUMNS[name]
        columns = [column for column in known if column in needed[name]] if name in needed else list(known)
        shown = table.with_columns(columns or ["depth" if name == "spans" else "process"])
        connection.register(name, shown)
    return connection


def sql(query: str, captures: Captures, parameters: object = None) -> duckdb.DuckDBPyRelation:
    """
    Ask captures in SQL.

    Parameters
    ----------
    query : str
        What DuckDB understands, over the views spans, frames, samples, metrics, sites, tracks, phases, messages and
        processes; their columns are those of the tables of `Capture`. Times are nanoseconds.
    captures : Capture, path, or iterable of paths
        What to ask; a view of `Capture.between` as well.
    parameters : sequence or dict, optional
        What stands for ``?`` or ``$name`` in the query.

    Returns
    -------
    duckdb.DuckDBPyRelation
        ``fetchall()``, ``df()``, ``pl()``, ``arrow()`` and the like run it. Only the columns and blocks that it needs
        are read, as a stream.

    Raises
    ------
    ImportError
        DuckDB is not installed: ``pip install 'kymo[sql]'``.
    duckdb.Error
        The query is wrong.
    ValueError
        It gives no rows.

    Examples
    --------
    >>> kymo.sql("select name, sum(self_ns) / 1e6 as ms from spans group by name order by ms desc", "run.kymo")
    """
    connection = connect(captures, query, parameters)
    relation = connection.sql(query) if parameters is None else connection.sql(query, params=parameters)
    if relation is None:
        raise ValueError("the query gives no rows: kymo.sql is for questions")
    return relation


def main(argv: Sequence[str]) -> int:
    """
    Run ``python -m kymo sql``.

    Parameters
    ----------
    argv : sequence of str
        The arguments after ``sql``.

    Returns
    -------
    int
        The exit code: 0; 1 where something failed, which is said on stderr.
    """
    parser = argparse.ArgumentParser(
        prog="python -m kymo sql",
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
        # Who read the output has enough of it.
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
