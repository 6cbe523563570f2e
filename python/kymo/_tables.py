"""Tables of a capture: selected lazily, read as NumPy arrays or Arrow data."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kymo._analysis import Snapshot
from kymo._selection import COLUMNS, Selection, as_patterns, unknown_key

if TYPE_CHECKING:
    from typing_extensions import Self

    Array = npt.NDArray[Any]

#: The cheapest column of each table, used for counting its rows.
_CHEAPEST = {"spans": "depth", "samples": "stale"}


def _make_array(loaded: Any) -> Array:
    """Return the reader's data of a column as an array."""
    array: Array
    if isinstance(loaded, tuple):
        codes, texts = loaded
        # -1 (none) selects the last text.
        categories = np.array([*texts, None], dtype=object)
        array = categories[codes]
    elif isinstance(loaded, list):
        array = np.array(loaded, dtype=object)
    else:
        array = loaded
    array.flags.writeable = False
    return array


class Table:
    """
    A table of a capture. Columns are read on first use, and only the parts of the file that they need.

    ``table["start_ns"]`` or ``table.start_ns`` is a column as a read-only NumPy array; iterating yields the names of
    the columns. pyarrow, polars, pandas and DuckDB accept the table itself, through ``__arrow_c_stream__``, batch by
    batch: ``pyarrow.table(spans)``, ``polars.DataFrame(spans)``, ``pandas.DataFrame.from_arrow(spans)``,
    ``duckdb.sql("from spans")``. Threads may share a table; other Python threads can run while it is read.
    """

    _name = ""

    def __init__(
        self,
        snapshot: Snapshot,
        selection: Selection | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._selection = selection or Selection()
        self._columns = tuple(columns) if columns is not None else COLUMNS[self._name]
        self._loaded: dict[str, Any] = {}
        self._arrays: dict[str, Array] = {}
        self._count: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __len__(self) -> int:
        if self._count is None:
            loaded = next(iter(self._loaded.values()), None)
            if loaded is None:
                cheapest = _CHEAPEST.get(self._name, "process")
                self._count = self._snapshot.count(self._selection.query(self._name, [cheapest]))
            else:
                self._count = len(loaded[0] if isinstance(loaded, tuple) else loaded)
        return self._count

    def __getitem__(self, name: str) -> Array:
        if name not in self._columns:
            raise unknown_key(f"column of {self._name}", name, self._columns)
        return self.to_numpy([name])[name]

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_") or name not in self._columns:
            message = f"{type(self).__name__} has no column {name!r}; it has {', '.join(COLUMNS[type(self)._name])}"
            raise AttributeError(message, name=name, obj=self)
        return self[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._columns]

    def _load(self, names: Sequence[str]) -> None:
        missing = [name for name in names if name not in self._loaded]
        if missing:
            self._loaded.update(self._snapshot.columns(self._selection.query(self._name, missing)))

    def to_numpy(self, columns: Sequence[str] | None = None) -> dict[str, Array]:
        """
        Read columns in one pass.

        Parameters
        ----------
        columns : sequence of str, optional
            Their names; all columns by default.

        Returns
        -------
        dict of str to numpy.ndarray
            One-dimensional, read-only arrays of the same length. Times and durations are int64 nanoseconds on the
            capture's axis. Names are arrays of ``str``, which share the texts.

        Raises
        ------
        KeyError
            There is no such column.
        """
        names = list(self._columns if columns is None else columns)
        for name in names:
            if name not in self._columns:
                raise unknown_key(f"column of {self._name}", name, self._columns)
        self._load(names)
        return {name: self._array_of(name) for name in names}

    def _array_of(self, name: str) -> Array:
        array = self._arrays.get(name)
        if array is None:
            array = self._arrays[name] = _make_array(self._loaded[name])
        return array

    def codes(self, name: str) -> tuple[npt.NDArray[np.int32], list[str]]:
        """
        Read a column of names as numbers.

        Parameters
        ----------
        name : str
            A column whose values are names.

        Returns
        -------
        codes : numpy.ndarray
            int32; -1 for none.
        texts : list of str
            The text of each code.

        Raises
        ------
        KeyError
            There is no such column, or its values are not names.
        """
        self[name]
        loaded = self._loaded[name]
        if not isinstance(loaded, tuple):
            raise KeyError(f"column {name!r} of {self._name} is not made of names")
        return loaded[0], list(loaded[1])

    def with_columns(self, columns: Sequence[str]) -> Self:
        """
        Return the table with only these columns, in this order.

        Raises
        ------
        KeyError
            There is no such column.
        """
        for name in columns:
            if name not in COLUMNS[self._name]:
                raise unknown_key(f"column of {self._name}", name, COLUMNS[self._name])
        return type(self)(self._snapshot, self._selection, columns)

    def between(self, start_ns: int | None, end_ns: int | None) -> Self:
        """
        Return the rows that overlap a time range.

        Parameters
        ----------
        start_ns, end_ns : int or None
            Nanoseconds on the capture's axis; the end is exclusive. None: no limit.
        """
        return type(self)(self._snapshot, self._selection.between(start_ns, end_ns), self._columns)

    def _narrowed(self, **changes: Any) -> Self:
        return type(self)(self._snapshot, replace(self._selection, **changes), self._columns)

    def _of_processes(
        self, process: int | None, host: str | None, rank: str | int | None, pid: int | None
    ) -> tuple[int, ...] | None:
        """Return the ids of the matching processes; `process` is an index, as in the column."""
        if process is None and host is None and rank is None and pid is None:
            return self._selection.processes
        known = self._selection.processes
        return tuple(
            entry["id"]
            for index, entry in enumerate(self._snapshot.processes())
            if (process is None or index == process)
            and (host is None or entry["host"] == host)
            and (rank is None or entry["rank"] == str(rank))
            and (pid is None or entry["pid"] == pid)
            and (known is None or entry["id"] in known)
        )

    def __arrow_c_schema__(self) -> object:
        return self._snapshot.schema(self._selection.query(self._name, self._columns))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._snapshot.stream(self._selection.query(self._name, self._columns))

    def _head(self, rows: int) -> tuple[list[str], list[list[str]], bool]:
        shown = [name for name in self._columns if name not in ("capture", "track_id", "site", "metric")]
        # The rows shown are in the first blocks, so a long capture is not read completely.
        begun = self._snapshot.columns(self._selection.query(self._name, shown), rows + 1)
        columns = [_make_array(begun[name])[: rows + 1].tolist() for name in shown]
        lines = [[str(value) for value in line] for line in zip(*columns, strict=True)]
        return shown, lines[:rows], len(lines) > rows

    def __repr__(self) -> str:
        return f"<kymo.{type(self).__name__}: {', '.join(self._columns)}>"

    def _repr_html_(self) -> str:
        names, rows, is_cut = self._head(10)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(text[:80])}</td>" for text in row) + "</tr>" for row in rows)
        more = "<p>and more rows</p>" if is_cut else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


class Spans(Table):
    """
    Scopes, async spans, GPU work: everything with a name and a duration on a track, in the order of ends.

    Columns
    -------
    process : uint32
        Index into `Capture.processes`.
    track, kind, name, category : str
        `kind` is thread, async or queue; `category` is None for most.
    start_ns, duration_ns, self_ns : int64
        Nanoseconds; `self_ns` excludes the scopes directly inside.
    depth, flags : uint16
        `depth` is the number of open scopes below it. `flags` is a sum of: 1 something else ended it (the scope around
        it, its thread); 2 it had not ended when the capture did; 4 it began before the selected range; 8 it ended after
        the range; 16 its content was not read completely, so `self_ns` is an upper bound and arguments may be missing;
        32 the block with its end is damaged.
    async_id : uint64
        The id of async spans, else 0.
    arguments : str
        A JSON object, or None. `arguments` as an attribute is a list of dicts.
    site : uint32
        For scopes, the `site` in `Capture.sites`; else 0, null in Arrow.
    track_id, pid, host, rank, capture
        The track's id; the process's ID, host and rank; the path of the file.
    """

    _name = "spans"

    @property
    def arguments(self) -> list[dict[str, Any]]:
        """The arguments of each span; an empty dict if there are none."""
        return [json.loads(text) if text is not None else {} for text in self["arguments"]]

    def select(
        self,
        *,
        name: str | Sequence[str] | None = None,
        track: str | Sequence[str] | None = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
        process: int | None = None,
        host: str | None = None,
        rank: str | int | None = None,
        pid: int | None = None,
    ) -> Self:
        """
        Select spans; nothing is read yet.

        Parameters
        ----------
        name, track : str or sequence of str, optional
            Patterns, in which ``*`` matches any text and ``?`` one byte; one must match.
        start_ns, end_ns : int, optional
            Spans that overlap this range; nanoseconds on the capture's axis. Blocks outside are not read.
        process : int, optional
            Index into `Capture.processes`.
        host, rank, pid : optional
            Spans of processes with this host, rank or process ID.
        """
        return self._narrowed(
            names=as_patterns(name) or self._selection.names,
            tracks=as_patterns(track) or self._selection.tracks,
            processes=self._of_processes(process, host, rank, pid),
        ).between(start_ns, end_ns)


class Frames(Table):
    """
    The frames between the marks of frame streams.

    Columns
    -------
    process : uint32
        Index into `Capture.processes`.
    stream : str
        Empty for the main stream.
    number : uint64
        Counts from 1 in each stream.
    start_ns, duration_ns : int64
        Nanoseconds.
    """

    _name = "frames"

    def select(self, *, stream: str | Sequence[str] | None = None, process: int | None = None) -> Self:
        """Return the frames of streams whose name matches a pattern, or of one process."""
        return self._narrowed(
            names=as_patterns(stream) or self._selection.names,
            processes=self._of_processes(process, None, None, None),
        )


class Samples(Table):
    """
    The samples of all metrics in one table, block by block.

    Columns
    -------
    process : uint32
        Index into `Capture.processes`.
    name, unit, labels : str
        Those of the metric; labels have the form ``"rail=GPU, board=1"``.
    time_ns : int64
        Nanoseconds.
    value : float64
        NaN (null in Arrow) if it could not be read.
    stale : bool
        The source had no new value since an earlier sample.
    metric : uint32
        The `metric` in `Capture.metrics.declarations`.
    """

    _name = "samples"

    def select(
        self,
        *,
        name: str | Sequence[str] | None = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
        process: int | None = None,
        host: str | None = None,
        rank: str | int | None = None,
        pid: int | None = None,
    ) -> Self:
        """Select samples; the parameters are those of `Spans.select`."""
        return self._narrowed(
            names=as_patterns(name) or self._selection.names,
            processes=self._of_processes(process, host, rank, pid),
        ).between(start_ns, end_ns)


class Sites(Table):
    """The code locations that opened scopes: process, site, name, function, file, line, kind."""

    _name = "sites"


class Tracks(Table):
    """The lanes of spans: process, track_id, name, kind (thread, async, queue), os_thread_id."""

    _name = "tracks"


class MetricDeclarations(Table):
    """The declarations of metrics: name, unit, labels, kind, and the provenance of their values."""

    _name = "metrics"


class Phases(Table):
    """The phases between sync points of a process: process, number, start_ns, duration_ns."""

    _name = "phases"


class Messages(Table):
    """Texts at a point in time: process, track, time_ns, text."""

    _name = "messages"


class Processes(Table):
    """The processes: boot_id, command_line, offset_ns (added to its times), bound_ns (the error bound of that)."""

    _name = "processes"


TABLES: Mapping[str, type[Table]] = {
    table._name: table
    for table in (Spans, Frames, Samples, Sites, Tracks, MetricDeclarations, Phases, Messages, Processes)
}
