"""Tables of a capture: selected lazily, read as NumPy arrays or Arrow data."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kymograph._selection import as_patterns
from kymograph._stacks import Stacks
from kymograph._table import Table

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

    from kymograph._analysis import Snapshot

    Integers = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]
    Texts = npt.NDArray[np.object_]


_NAN_OR_STRING = re.compile(r'-?(?:NaN|Infinity)|"(?:[^"\\]|\\.)*"')


def _without_nan(text: str) -> str:
    """Replace what Python's JSON has and JSON has not."""
    if "NaN" not in text and "Infinity" not in text:
        return text
    return _NAN_OR_STRING.sub(lambda found: found[0] if found[0].startswith('"') else "null", text)


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
    arguments : dict
        Values by name; empty if there are none. In Arrow, polars, Parquet, SQL and Spark it is a JSON text, or null.
        JSON has no NaN and no infinity: there they are null.
    running_ns, runnable_ns, blocked_ns : float64
        What the thread did in a scope: CPU time, time pushed off its CPU, time blocked; together `duration_ns`. NaN,
        in Arrow null, where its run states are not known throughout.
    site : uint32
        For scopes, the `site` in `Capture.sites`; else 0, null in Arrow.
    track_id, pid, host, rank, capture
        The track's id; the process's ID, host and rank; the path of the file.
    """

    _name = "spans"
    _nullable = frozenset({"category", "arguments", "running_ns", "runnable_ns", "blocked_ns", "site"})

    if TYPE_CHECKING:
        track: Texts
        kind: Texts
        name: Texts
        category: Texts
        start_ns: Integers
        duration_ns: Integers
        self_ns: Integers
        depth: npt.NDArray[np.uint16]
        flags: npt.NDArray[np.uint16]
        arguments: Texts
        running_ns: Floats
        runnable_ns: Floats
        blocked_ns: Floats

    def _array_of(self, name: str) -> npt.NDArray[Any]:
        array = self._arrays.get(name)
        if array is None and name == "arguments":
            texts = self._loaded[name]
            array = self._arrays[name] = np.empty(len(texts), dtype=object)
            array[:] = [json.loads(text) if text is not None else {} for text in texts]
            array.flags.writeable = False
        return super()._array_of(name)

    def _texts_of(self, name: str) -> list[str | None]:
        texts = super()._texts_of(name)
        return [text and _without_nan(text) for text in texts] if name == "arguments" else texts

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
        Select spans among those of the table; nothing is read before it has to be.

        Parameters
        ----------
        name, track : str or sequence of str, optional
            Patterns, in which ``*`` matches any text and ``?`` one byte; one must match. An empty list: no spans.
        start_ns, end_ns : int, optional
            Spans that overlap this range; nanoseconds on the capture's axis. Blocks outside are not read.
        process : int, optional
            Index into `Capture.processes`.
        host, rank, pid : optional
            Spans of processes with this host, rank or process ID.
        """
        return self._narrowed(
            names=as_patterns(name),
            tracks=as_patterns(track),
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

    if TYPE_CHECKING:
        stream: Texts
        number: npt.NDArray[np.uint64]
        start_ns: Integers
        duration_ns: Integers

    def select(self, *, stream: str | Sequence[str] | None = None, process: int | None = None) -> Self:
        """Return the frames of streams whose name matches a pattern, or of one process."""
        return self._narrowed(
            names=as_patterns(stream),
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
    _nullable = frozenset({"value"})

    if TYPE_CHECKING:
        name: Texts
        unit: Texts
        labels: Texts
        time_ns: Integers
        value: npt.NDArray[np.float64]
        stale: npt.NDArray[np.bool_]

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
            names=as_patterns(name),
            processes=self._of_processes(process, host, rank, pid),
        ).between(start_ns, end_ns)


class Sites(Table):
    """The code locations that opened scopes: process, site, name, function, file, line, kind."""

    _name = "sites"

    if TYPE_CHECKING:
        name: Texts
        function: Texts
        file: Texts
        line: npt.NDArray[np.uint32]
        kind: Texts


class Tracks(Table):
    """The lanes of spans: process, track_id, name, kind (thread, async, queue), os_thread_id."""

    _name = "tracks"

    if TYPE_CHECKING:
        track_id: npt.NDArray[np.uint32]
        name: Texts
        kind: Texts


class MetricDeclarations(Table):
    """The declarations of metrics: name, unit, labels, kind, and the provenance of their values."""

    _name = "metrics"


class Phases(Table):
    """The phases between sync points of a process: process, number, start_ns, duration_ns."""

    _name = "phases"

    if TYPE_CHECKING:
        number: npt.NDArray[np.uint64]
        start_ns: Integers
        duration_ns: Integers


class Messages(Table):
    """Texts at a point in time: process, track, time_ns, text."""

    _name = "messages"

    if TYPE_CHECKING:
        track: Texts
        time_ns: Integers
        text: Texts


class Damages(Table):
    """
    What could not be read so far, or was left out when opening.

    Columns
    -------
    capture : str
        The path of the file.
    start_byte, size_bytes : int64
        Where it is in the file; -1 if the file as a whole was left out.
    what : str
        What is wrong with it.
    """

    _name = "damages"

    if TYPE_CHECKING:
        capture: Texts
        start_byte: Integers
        size_bytes: Integers
        what: Texts

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self:
        """Return those of a snapshot."""
        import numpy as np  # noqa: PLC0415

        rows = [
            (capture["path"], damage["offset"], damage["size"], damage["what"])
            for capture in snapshot.captures()
            for damage in capture["damages"]
        ]
        for complaint in snapshot.complaints:
            path, _, what = complaint.partition(": ")
            rows.append((path, -1, -1, what or complaint))
        whole = cls(snapshot)
        for name, column in zip(whole.columns, zip(*rows, strict=True) if rows else ((),) * 4, strict=True):
            whole._loaded[name] = np.array(column, np.int64) if name in {"start_byte", "size_bytes"} else list(column)
        return whole[:]


class Processes(Table):
    """The processes: boot_id, command_line, offset_ns (added to its times), bound_ns (the error bound of that)."""

    _name = "processes"


TABLES: Mapping[str, type[Table]] = {
    table._name: table
    for table in (Spans, Frames, Samples, Sites, Tracks, MetricDeclarations, Phases, Messages, Processes, Stacks)
}
