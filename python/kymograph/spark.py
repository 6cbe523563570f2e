"""
Captures of a fleet as tables of Apache Spark.

>>> import kymograph.spark
>>> kymograph.spark.register(spark)                                           # doctest: +SKIP
>>> spans = spark.read.format("kymo").option("table", "spans").load("captures/")  # doctest: +SKIP
>>> kymograph.spark.sql(spark, "select name, count(*) from spans group by name", "captures/")  # doctest: +SKIP

Needs Spark 4 (the extra ``kymograph[spark]``). Every worker machine needs the package ``kymograph`` and the captures
under the same paths. The driver reads the captures' declarations and positions of blocks; workers read blocks, each a
part of a capture, into Arrow batches.

Options:

``table``
    ``spans`` (the default), ``frames``, ``samples``, ``metrics`` (their declarations), ``sites``, or ``damages``: what
    of a capture cannot be read, after a pass over it.
``from_ns``, ``to_ns``
    A time range: whole spans and frames that overlap it; samples in it.
``host``, ``rank``, ``run``, ``site``
    Patterns (``*``, ``?``), separated by commas. ``site`` is the name of a span, frame stream, metric or site,
    depending on the table.
``partition_bytes``
    The stored bytes of a capture that a task reads: 64 MiB by default.

Filters of a query on ``start_ns``, ``time_ns``, ``host``, ``rank``, ``run``, ``pid``, ``capture`` and ``name`` work
like options: blocks that cannot have such rows are not read. Spark does not tell a source in Python which columns a
query needs: `sql` finds out, and so does a schema given with ``.schema(...)``. Other columns are not computed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kymograph._analysis import Query, Reader, Snapshot
from kymograph._capture import without_repeats
from kymograph._fleet import run_of
from kymograph._selection import Selection

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import BooleanType, DoubleType, IntegerType, LongType, StringType, StructField, StructType
except ImportError as error:
    raise ImportError(f"kymograph.spark needs Spark 4 and pyarrow: pip install 'kymograph[spark]' ({error})") from error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["KymoDataSource", "register", "sql"]

_WHO = "host string, rank string, pid bigint, run string, capture string"
_SCHEMAS = {
    "spans": f"{_WHO}, track string, kind string, name string, category string, start_ns bigint, duration_ns bigint, "
    "self_ns bigint, depth int, flags int, async_id bigint, arguments string",
    "frames": f"{_WHO}, stream string, number bigint, start_ns bigint, duration_ns bigint",
    "samples": f"{_WHO}, name string, unit string, labels string, time_ns bigint, value double, stale boolean",
    "metrics": f"{_WHO}, name string, unit string, labels string, kind string, source string, step double, "
    "renewal_ns bigint, window_ns bigint, estimated boolean, total boolean, renewal_measured boolean",
    "sites": f"{_WHO}, name string, function string, file string, line bigint, kind string",
    "damages": "capture string, start_byte bigint, size_bytes bigint, what string",
}
_TYPES = {
    "string": StringType(),
    "bigint": LongType(),
    "int": IntegerType(),
    "double": DoubleType(),
    "boolean": BooleanType(),
}
_OPTIONS = {"table", "path", "paths", "from_ns", "to_ns", "host", "rank", "run", "site", "partition_bytes"}
_ALL_TIME = (-(2**63), 2**63 - 1)
_OPEN_END = 2**63 - 1


def register(spark: SparkSession) -> None:
    """
    Register the format ``kymo`` in a session and enable filter pushdown.

    Parameters
    ----------
    spark : SparkSession
        Its ``spark.sql.python.filterPushdown.enabled`` is set.
    """
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    spark.dataSource.register(KymoDataSource)


def sql(
    spark: SparkSession,
    query: str,
    captures: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    **options: str | int,
) -> DataFrame:
    """
    Query captures in Spark's SQL. Only the columns and blocks that the query needs are read.

    Parameters
    ----------
    spark : SparkSession
        Its own views with the names of tables are put aside meanwhile; use it from one thread.
    query : str
        Its views are spans, frames, samples, metrics, sites and damages.
    captures : path or sequence of paths
        Files or directories, which workers see under the same paths.
    **options
        Those of the format, besides ``table``.

    Returns
    -------
    DataFrame
        The answer. The query was planned once more before, without data, to learn which columns it needs. Through
        Spark Connect that cannot be learned, and all columns are read.
    """
    register(spark)
    several = [captures] if isinstance(captures, str | os.PathLike) else captures
    paths = [os.fspath(path) for path in several]
    schemas = {table: KymoDataSource({"table": table}).schema() for table in _SCHEMAS}
    with _own_views(spark):
        needed = _columns_of(spark, query, schemas) if hasattr(spark, "_jsparkSession") else {}
        for table, schema in schemas.items():
            columns = needed.get(table, set(schema.fieldNames()))
            # A query that needs no column still counts the rows.
            kept = [field for field in schema if field.name in columns] or [schema["capture"]]
            reader = spark.read.format("kymo").schema(StructType(kept)).options(table=table, **options)
            reader.load(paths[0] if len(paths) == 1 else paths).createOrReplaceTempView(table)
        return spark.sql(query)


@contextlib.contextmanager
def _own_views(spark: SparkSession) -> Iterator[None]:
    """Give the session's views with names of tables back at the end."""
    temporary = [view.name for view in spark.catalog.listTables() if view.isTemporary and view.name in _SCHEMAS]
    before = {name: spark.table(name) for name in temporary}
    try:
        yield
    finally:
        for table in _SCHEMAS:
            if table in before:
                before[table].createOrReplaceTempView(table)
            else:
                spark.catalog.dropTempView(table)


def _columns_of(session: SparkSession, query: str, schemas: Mapping[str, StructType]) -> dict[str, set[str]]:
    """Return the columns of each table that the plan of a query refers to."""
    nothing = session.sparkContext.emptyRDD()
    for table, schema in schemas.items():
        session.createDataFrame(nothing, schema).createOrReplaceTempView(table)
    plan: Any = session.sql(query)._jdf.queryExecution().optimizedPlan()
    used = _ids_of(plan.output())
    leaves: list[list[tuple[int, str]]] = []
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        inner = [*_each(node.children()), *_each(node.subqueries())]
        if node.children().isEmpty():
            leaves.append([(attribute.exprId().id(), attribute.name()) for attribute in _each(node.output())])
        else:
            used |= _ids_of(node.references())
        # The answer of a subquery is used by what contains it.
        for plan_of_subquery in _each(node.subqueries()):
            used |= _ids_of(plan_of_subquery.output())
        waiting += inner
    tables = {tuple(schema.fieldNames()): table for table, schema in schemas.items()}
    needed: dict[str, set[str]] = {}
    for leaf in leaves:
        table_of_leaf = tables.get(tuple(name for _, name in leaf))
        if table_of_leaf is not None:
            needed.setdefault(table_of_leaf, set()).update(name for number, name in leaf if number in used)
    return needed


def _each(things: Any) -> Iterator[Any]:
    iterator = things.iterator()
    while iterator.hasNext():
        yield iterator.next()


def _ids_of(attributes: Any) -> set[int]:
    return {attribute.exprId().id() for attribute in _each(attributes)}


@dataclass
class _Choice:
    """A superset of the wanted rows: Spark filters each row again."""

    start_ns: int = _ALL_TIME[0]
    end_ns: int = _ALL_TIME[1]
    names: list[str] = field(default_factory=list)
    processes: list[tuple[str, list[str]]] = field(default_factory=list)

    def takes(self, process: Mapping[str, Any], capture: str) -> bool:
        """Tell whether rows of a process may be wanted."""
        facts = {
            "host": process["host"],
            "rank": process["rank"],
            "pid": str(process["pid"]),
            "run": run_of(process["infos"], capture),
            "capture": capture,
        }
        return all(any(_fits(pattern, facts[column]) for pattern in patterns) for column, patterns in self.processes)

    def narrow(self, column: str, patterns: list[str]) -> None:
        """Restrict the selection to rows that match one of the patterns."""
        if column != "name":
            self.processes.append((column, patterns))
        elif not self.names:
            self.names = patterns


@dataclass
class _Part(InputPartition):
    """Some blocks of a capture, and the offset of its times to the common axis."""

    capture: str
    first: int
    end: int
    shift_ns: int
    label: str


class KymoDataSource(DataSource):
    """The format ``kymo``. The module's documentation lists its options."""

    @classmethod
    def name(cls) -> str:
        """Return its name for ``spark.read.format``."""
        return "kymo"

    def _table(self) -> str:
        unknown = set(self.options) - {name.lower() for name in _OPTIONS}
        if unknown:
            raise ValueError(f"kymo has no option {', '.join(sorted(unknown))}; it has {', '.join(sorted(_OPTIONS))}")
        table = str(self.options.get("table", "spans"))
        if table not in _SCHEMAS:
            raise ValueError(f"there is no table {table!r}; the tables are {', '.join(_SCHEMAS)}")
        return table

    def schema(self) -> StructType:
        """Return the columns of the table."""
        columns = [column.split() for column in _SCHEMAS[self._table()].split(", ")]
        return StructType([StructField(name, _TYPES[kind]) for name, kind in columns])

    def reader(self, schema: StructType) -> KymoReader:
        """Return a reader for the requested columns."""
        return KymoReader(self._table(), schema, dict(self.options))


class KymoReader(DataSourceReader):
    """Reads a table of captures."""

    def __init__(self, table: str, schema: StructType, options: Mapping[str, str]) -> None:
        known = [column.split()[0] for column in _SCHEMAS[table].split(", ")]
        unknown = [name for name in schema.fieldNames() if name not in known]
        if unknown:
            raise ValueError(f"the table {table} has no column {', '.join(unknown)}; it has {', '.join(known)}")
        self._table = table
        self._schema = schema
        self._paths = _paths_of(options)
        self._partition_bytes = _integer(options, "partition_bytes", 64 << 20)
        if self._partition_bytes <= 0:
            raise ValueError(f"the option partition_bytes is {self._partition_bytes}: it must be above 0")
        self._choice = _Choice(
            start_ns=_integer(options, "from_ns", _ALL_TIME[0]), end_ns=_integer(options, "to_ns", _ALL_TIME[1])
        )
        for option, column in [("host", "host"), ("rank", "rank"), ("run", "run"), ("site", "name")]:
            if option in options:
                self._choice.narrow(column, [part.strip() for part in options[option].split(",")])

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802, Spark's name
        """Use filters to skip blocks; Spark applies all of them afterwards."""
        for each in filters:
            if len(getattr(each, "attribute", ())) == 1:
                self._note(type(each).__name__, each.attribute[0], each)
        return filters

    def _note(self, kind: str, column: str, each: Any) -> None:
        # A text is a pattern that matches at least itself.
        if column == ("stream" if self._table == "frames" else "name"):
            column = "name"
        elif column == "name":
            return
        if column in {"start_ns", "time_ns"} and kind != "In":
            self._note_time(kind, each)
        elif column in {"host", "rank", "run", "pid", "capture", "name"}:
            if kind in {"EqualTo", "EqualNullSafe"} and each.value is not None:
                self._choice.narrow(column, [str(each.value)])
            elif kind == "In":
                self._choice.narrow(column, [str(value) for value in each.value if value is not None])
            elif kind == "StringStartsWith":
                self._choice.narrow(column, [str(each.value) + "*"])

    def _note_time(self, kind: str, each: Any) -> None:
        choice = self._choice
        if kind in {"GreaterThan", "GreaterThanOrEqual", "EqualTo"} and each.value is not None:
            choice.start_ns = max(choice.start_ns, int(each.value))
        if kind in {"LessThan", "LessThanOrEqual", "EqualTo"} and each.value is not None:
            choice.end_ns = min(choice.end_ns, int(each.value) + 1, _ALL_TIME[1])

    def partitions(self) -> Sequence[_Part]:
        """Return the parts of captures that may contain wanted rows."""
        snapshot = Reader([os.fsencode(path) for path in without_repeats(self._paths)]).snapshot()
        captures = [str(capture["path"]) for capture in snapshot.captures()]
        processes = snapshot.processes()
        parts: list[_Part] = []
        for index, capture in enumerate(captures):
            here = [process for process in processes if process["capture"] == index]
            # The process of a capture without declarations is unknown, so it is only read if no process is selected.
            if any(self._choice.takes(process, capture) for process in here) or not (here or self._choice.processes):
                shift_ns = here[0]["offset_ns"] if here else 0
                parts += [
                    _Part(os.path.abspath(capture), first, end, shift_ns, capture)
                    for first, end in self._stretches(snapshot, index)
                ]
        return parts

    def _stretches(self, snapshot: Snapshot, capture: int) -> list[tuple[int, int]]:
        """Return the ranges of a capture's blocks for tasks, each of about partition_bytes."""
        if self._table in {"frames", "metrics", "sites", "damages"}:
            return [(0, _OPEN_END)]
        starts, ends, _, stored = snapshot.blocks(capture)
        begins = starts < self._choice.end_ns
        wanted = begins & (ends >= self._choice.start_ns)
        if begins.any():
            # Spans still open after the range are handled with the last block that begins in it.
            wanted[np.flatnonzero(begins)[-1]] = True
        stretches: list[tuple[int, int]] = []
        size = self._partition_bytes
        for block, (is_wanted, bytes_here) in enumerate(zip(wanted.tolist(), stored.tolist(), strict=True)):
            if not is_wanted:
                continue
            if stretches and stretches[-1][1] == block and size + bytes_here <= self._partition_bytes:
                stretches[-1] = (stretches[-1][0], block + 1)
                size += bytes_here
            else:
                stretches.append((block, block + 1))
                size = bytes_here
        if not len(starts):
            return [(0, _OPEN_END)]
        # Spans without an end, and data appended since to a growing capture, are read with the last block.
        if stretches and stretches[-1][1] == len(starts):
            stretches[-1] = (stretches[-1][0], _OPEN_END)
        return stretches

    def read(self, partition: _Part) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part."""
        snapshot = Reader([os.fsencode(partition.capture)]).snapshot()
        if self._table == "damages":
            yield from self._read_damages(snapshot, partition.label)
            return
        processes = snapshot.processes()
        chosen = [process["id"] for process in processes if self._choice.takes(process, partition.label)]
        if processes and not chosen:
            return
        names = self._schema.fieldNames()
        columns = ["process" if name == "run" else name for name in names if name != "capture"]
        query = Query(
            self._table,
            columns=list(dict.fromkeys(columns)) or ["process"],
            start_ns=_moved(self._choice.start_ns, partition.shift_ns),
            end_ns=_moved(self._choice.end_ns, partition.shift_ns),
            names=self._choice.names,
            tracks=[],
            processes=chosen if len(chosen) < len(processes) else [],
            blocks=[(0, partition.first, partition.end)],
        )
        runs = pa.array([*(run_of(process["infos"], partition.label) for process in processes), ""], pa.string())
        target = to_arrow_schema(self._schema)
        for batch in pa.RecordBatchReader.from_stream(_Stream(snapshot.stream(query))):
            if batch.num_rows:
                yield self._fit(batch, target, partition, runs)

    def _read_damages(self, snapshot: Snapshot, capture: str) -> Iterator[pa.RecordBatch]:
        """Yield what a pass over all blocks finds damaged."""
        snapshot.count(Selection().query("spans", ["depth"]))
        (found,) = snapshot.captures()
        if found["damages"]:
            keys = {"start_byte": "offset", "size_bytes": "size", "what": "what"}
            rows = [
                {"capture": capture, **{name: damage[key] for name, key in keys.items()}} for damage in found["damages"]
            ]
            yield pa.RecordBatch.from_pylist(rows, schema=to_arrow_schema(self._schema))

    def _fit(self, batch: pa.RecordBatch, target: pa.Schema, partition: _Part, runs: pa.Array) -> pa.RecordBatch:
        """Convert a batch for Spark: names as text, times on the common axis."""
        columns = []
        for wanted in target:
            if wanted.name == "capture":
                column = pa.repeat(pa.scalar(partition.label), batch.num_rows)
            elif wanted.name == "run":
                column = runs.take(pc.min_element_wise(batch.column("process").cast(pa.int64()), len(runs) - 1))
            else:
                column = batch.column(wanted.name)
            if pa.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            if wanted.name in {"start_ns", "time_ns"} and partition.shift_ns:
                column = pc.add(column, partition.shift_ns)
            columns.append(column.cast(wanted.type, safe=False))
        return pa.RecordBatch.from_arrays(columns, schema=target)


class _Stream:
    """An object from which pyarrow reads a stream."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._capsule


def _paths_of(options: Mapping[str, str]) -> list[str]:
    """Return the paths given to ``load``."""
    if "paths" in options:
        return [_local(path) for path in json.loads(options["paths"])]
    if "path" not in options:
        raise ValueError('say which captures to read: .load("captures/"), a directory or a file')
    return [_local(options["path"])]


def _local(path: str) -> str:
    scheme, separator, rest = path.partition("://")
    if not separator:
        return path.removeprefix("file:")
    if scheme != "file":
        raise ValueError(f"{path}: captures are read from files that every worker can open, not through {scheme}")
    return rest


def _integer(options: Mapping[str, str], name: str, default: int) -> int:
    text = options.get(name)
    try:
        return default if text is None else int(text)
    except ValueError:
        raise ValueError(f"the option {name} is {text!r}: it must be a whole number") from None


def _fits(pattern: str, text: str) -> bool:
    signs = {"*": ".*", "?": "."}
    return re.fullmatch("".join(signs.get(sign, re.escape(sign)) for sign in pattern), text, re.DOTALL) is not None


def _moved(time_ns: int, shift_ns: int) -> int:
    return time_ns if time_ns in _ALL_TIME else min(max(time_ns - shift_ns, _ALL_TIME[0]), _ALL_TIME[1])
