"""Captures: opened lazily, followed while they grow, read as tables."""

from __future__ import annotations

import html
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kymograph._analysis import Reader, Snapshot
from kymograph._answers import Answers
from kymograph._errors import check_readable, warn, warn_of
from kymograph._metrics import Metrics
from kymograph._partitions import Partition, cut_partitions
from kymograph._selection import Selection
from kymograph._stacks import Stacks
from kymograph._table import Table
from kymograph._tables import TABLES, Damages, Frames, Messages, Phases, Processes, Samples, Sites, Spans, Tracks

if TYPE_CHECKING:
    from typing_extensions import Self

    from kymograph._widget import CaptureWidget

    Path = str | os.PathLike[str]


#: The flag of spans that had not ended when the capture did.
_STILL_OPEN = 2


class Capture(Answers):
    """
    One or several recordings on one time axis, opened by `kymo.open`.

    Opening reads headers only. Data is read on demand: only the needed blocks are decoded, with the GIL released. Times
    are int64 nanoseconds of CLOCK_MONOTONIC of the first capture's machine. Arrays and tables stay valid after the
    capture is closed. Threads may share a capture.
    """

    def __init__(
        self, reader: Reader | None = None, paths: tuple[str, ...] = (), selection: Selection | None = None
    ) -> None:
        if not isinstance(reader, Reader):
            raise TypeError(
                "a Capture is not made by its class: kymo.open(path) opens one, kymo.capture(path) records one"
            )
        self._reader: Reader | None = reader
        self._paths = paths
        self._selection = selection or Selection()
        self._cache: dict[str, Any] = {}
        #: Whether spans that have not ended yet are left out, since a later view has them.
        self._has_later_view = False

    def _open_reader(self) -> Reader:
        reader = self._reader
        if reader is None:
            raise ValueError("the capture is closed")
        return reader

    def _opened(self, other: Capture | Path | Iterable[Path]) -> Capture:
        return other if isinstance(other, Capture) else open(other)

    def _snapshot(self) -> Snapshot:
        # A thread that reads while another one refreshes fills the old cache.
        cache = self._cache
        reader = self._open_reader()
        snapshot: Snapshot | None = cache.get("snapshot")
        if snapshot is None:
            snapshot = cache["snapshot"] = reader.snapshot()
        return snapshot

    def _table(self, name: str) -> Any:
        cache = self._cache
        table = cache.get(name)
        if table is None:
            table = cache[name] = self._select(name, self._selection)
        return table

    def _select(self, name: str, selection: Selection) -> Any:
        table = TABLES[name](self._snapshot(), selection)
        if name == "spans" and self._has_later_view:
            return table[(table["flags"] & _STILL_OPEN) == 0]
        return table

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that were opened."""
        return self._paths

    @property
    def spans(self) -> Spans:
        """The spans: scopes, async spans, GPU work."""
        table: Spans = self._table("spans")
        return table

    @property
    def frames(self) -> Frames:
        """The frames of all streams."""
        table: Frames = self._table("frames")
        return table

    @property
    def samples(self) -> Samples:
        """The samples of all metrics in one table."""
        table: Samples = self._table("samples")
        return table

    @property
    def sites(self) -> Sites:
        """The code locations that opened scopes."""
        table: Sites = self._table("sites")
        return table

    @property
    def tracks(self) -> Tracks:
        """The lanes of spans."""
        table: Tracks = self._table("tracks")
        return table

    @property
    def phases(self) -> Phases:
        """The stretches between sync points."""
        table: Phases = self._table("phases")
        return table

    @property
    def stacks(self) -> Stacks:
        """The sampled call stacks."""
        table: Stacks = self._table("stacks")
        return table

    @property
    def messages(self) -> Messages:
        """The messages."""
        table: Messages = self._table("messages")
        return table

    @property
    def processes(self) -> Processes:
        """The processes as a table; `process_info` has more about them."""
        table: Processes = self._table("processes")
        return table

    @property
    def metrics(self) -> Metrics:
        """The metrics by name, as NumPy arrays."""
        cache = self._cache
        metrics = cache.get("metrics mapping")
        if not isinstance(metrics, Metrics):
            metrics = cache["metrics mapping"] = Metrics(self._snapshot(), self._selection)
        return metrics

    def table(self, name: str) -> Table:
        """
        Return a table by its name.

        Parameters
        ----------
        name : str
            spans, frames, samples, sites, tracks, metrics, phases, messages, processes or damages.

        Raises
        ------
        KeyError
            There is no such table.
        """
        if name == Damages._name:
            return self.damages
        if name not in TABLES:
            raise KeyError(f"no table {name!r}; there are {', '.join(TABLES)}, {Damages._name}")
        table: Table = self._table(name)
        return table

    @property
    def duration_ns(self) -> int:
        """From the first event to the last."""
        return max(self.end_ns - self.start_ns, 0)

    @property
    def info(self) -> dict[str, str]:
        """
        The facts of the process that started the recording: about its run, from labels and from ``set_info``.

        Of unrelated processes, it is the first. The facts of all are
        ``[process["infos"] for process in capture.process_info]``.
        """
        processes = self._snapshot().processes()
        starters = {process["infos"].get("starter") for process in processes}
        started = [process for process in processes if str(process["pid"]) in starters]
        infos: dict[str, str] = (started or processes)[0]["infos"] if processes else {}
        return infos

    @property
    def process_info(self) -> list[dict[str, Any]]:
        """The processes: pid, host, rank, command_line, alignment of clocks, infos."""
        return self._snapshot().processes()

    @property
    def damages(self) -> Damages:
        """The parts that could not be read so far, or were left out when opening, as a table."""
        return Damages.of(self._snapshot())

    @property
    def drops(self) -> list[dict[str, Any]]:
        """
        Recorded and lost events of each track.

        Rows of track, process, recorded_scopes, dropped_scopes, dropped_others (arguments, samples and other events).
        """
        return self._snapshot().totals()

    @property
    def is_closed(self) -> bool:
        """Whether every file was closed cleanly, so that nothing will be appended."""
        return all(capture["is_closed"] for capture in self._snapshot().captures())

    def between(self, start_ns: int | None = None, end_ns: int | None = None) -> Capture:
        """
        Return a view of a time range, which shares the files.

        Parameters
        ----------
        start_ns, end_ns : int or None
            Nanoseconds on the capture's axis; the end is exclusive. None: no limit. Spans and frames that overlap the
            range are in the view with their whole duration; statistics count the part inside. If blocks outside the
            range would be needed for `self_ns`, it is an upper bound (flag 16).
        """
        return self._view(self._selection.between(start_ns, end_ns))

    def _view(self, selection: Selection) -> Capture:
        return Capture(self._open_reader(), self._paths, selection)

    def partitions(self, scopes: int = 4_000_000) -> list[Partition]:
        """
        Cut the captures into parts for several readers.

        Parameters
        ----------
        scopes : int
            Approximate maximum of scope events per partition; a capture with fewer is one partition.

        Returns
        -------
        list of Partition
            Each row of a table is in exactly one of them. Spans that began in an earlier partition may lack arguments,
            and their self time is an upper bound (marked in `flags`).
        """
        return cut_partitions(self._snapshot(), scopes)

    def partition(self, part: Partition) -> Capture:
        """
        Return a view of a partition: its tables and metrics.

        Parameters
        ----------
        part : Partition
            One of `partitions`, of this capture or of another that has the file.

        Raises
        ------
        KeyError
            This capture does not have the file.
        """
        for index, capture in enumerate(self.captures):
            if os.path.realpath(capture["path"]) == os.path.realpath(part.path):
                blocks = ((index, part.first_block, part.end_block),)
                return self._view(replace(self._selection, blocks=blocks))
        raise KeyError(f"the capture does not have {part.path!r}; it was opened from {', '.join(self._paths)}")

    def refresh(self) -> bool:
        """
        Look for appended data, and for new files in the opened directories.

        Returns
        -------
        bool
            Whether there was anything new. Tables returned earlier do not change.
        """
        reader = self._open_reader()
        self._cache = {}
        return reader.refresh()

    def follow(self, *, poll_s: float = 0.1, timeout_s: float | None = None) -> Iterator[Capture]:
        """
        Follow growing files: yield a view of the new data at each step, until they are closed.

        Parameters
        ----------
        poll_s : float
            Seconds between looks.
        timeout_s : float, optional
            End after this many seconds without new data.

        Yields
        ------
        Capture
            A view with the tables and metrics of the new spans and samples; the first one has all existing data. Each
            span is in one view: that in which it ended, or the last one. Read frames, messages and similar tables from
            the capture itself, which is at the same state.
        """
        seen: dict[str, int] = {}
        quiet_since = time.monotonic()
        while True:
            is_over = self.is_closed
            blocks = []
            snapshot = self._snapshot()
            for index, capture in enumerate(snapshot.captures()):
                count = len(snapshot.blocks(index)[0])
                first = seen.get(capture["path"], 0)
                if count > first:
                    blocks.append((index, first, 2**62 if is_over else count))
                    seen[capture["path"]] = count
            if blocks:
                quiet_since = time.monotonic()
                view = self._view(replace(self._selection, blocks=tuple(blocks)))
                view._has_later_view = not is_over
                yield view
            if is_over or (timeout_s is not None and time.monotonic() - quiet_since > timeout_s):
                return
            while not self.refresh():
                if timeout_s is not None and time.monotonic() - quiet_since > timeout_s:
                    return
                time.sleep(poll_s)

    def overview(self, width: int = 960) -> str:
        """
        Draw frames, tracks and metrics as SVG, like notebooks show a capture.

        Parameters
        ----------
        width : int
            Pixels, 320 to 4096.
        """
        start_ns, end_ns = self._selection.start_ns, self._selection.end_ns
        if self._selection.blocks:
            start_ns, end_ns = self.start_ns, self.end_ns
        return self._snapshot().overview(start_ns=start_ns, end_ns=end_ns, width=min(max(width, 320), 4096))

    def widget(self, height: int = 560) -> CaptureWidget:
        """
        Show the capture in a notebook, in the panel of ``kymo serve``. Needs the extra ``kymograph[widget]``.

        The page and the capture go to the browser through the notebook's own connection, so that it works for a kernel
        on another machine, and without a network. It shows what was there at the call; the view of a stretch of time
        begins with that.

        Parameters
        ----------
        height : int
            Pixels, 200 to 4096.

        Returns
        -------
        CaptureWidget
            A widget, which a notebook shows as the value of a cell.

        Raises
        ------
        ImportError
            There is no anywidget.
        ValueError
            The captures have more than 256 MiB together.
        FileNotFoundError
            A file is gone, or the package was built without the page.
        """
        from kymograph._widget import CaptureWidget  # noqa: PLC0415

        begin_ns, end_ns = self._snapshot().range
        is_view = self.start_ns < self.end_ns and (self.start_ns, self.end_ns) != (begin_ns, end_ns)
        stretch = (self.start_ns - begin_ns, self.end_ns - begin_ns) if is_view else None
        return CaptureWidget(self, stretch, min(max(height, 200), 4096))

    def _repr_svg_(self) -> str:
        return self.overview()

    def _repr_html_(self) -> str:
        return f"<div><code>{html.escape(repr(self))}</code></div>{self.overview()}"

    def close(self) -> None:
        """Close the files. Tables and arrays returned earlier stay valid."""
        self._reader = None
        self._cache = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Return the number of files."""
        return len(self._snapshot().captures())

    def __repr__(self) -> str:
        if self._reader is None:
            return f"<kymograph.Capture {', '.join(self._paths)}: closed>"
        captures = self._snapshot().captures()
        state = "" if all(capture["is_closed"] for capture in captures) else ", growing or not closed"
        size = sum(capture["bytes"] for capture in captures)
        files = f"{len(captures)} files, " if len(captures) != 1 else ""
        seconds = self.duration_ns / 1e9
        return f"<kymograph.Capture {', '.join(self._paths)}: {files}{size / 1e6:.3g} MB, {seconds:.6g} s{state}>"


def without_repeats(paths: list[str]) -> list[str]:
    """Leave out what names a capture or a directory once more, or a capture of a directory that is named too."""
    places = {os.path.realpath(path) for path in paths if os.path.isdir(path)}
    taken: set[str] = set()
    kept = []
    for path in paths:
        place = os.path.realpath(path)
        folders = {os.path.realpath(os.path.dirname(path) or "."), os.path.dirname(place)}
        is_in_directory = place.endswith(".kymo") and place not in places and not places.isdisjoint(folders)
        if is_in_directory or place in taken:
            warn(f"{path} is named more than once and counts once", UserWarning)
        else:
            taken.add(place)
            kept.append(path)
    return kept


def open(  # noqa: A001
    path: Path | Iterable[Path], *, align_by_sync_points: bool = False
) -> Capture:
    """
    Open a capture, several, or directories of captures on one time axis.

    Parameters
    ----------
    path : path or iterable of paths
        Files ``*.kymo``, or directories of these. Other files of a directory are left out and listed in
        `Capture.damages`; an empty file beside others, of a process that was killed at its start, is left out. A file
        that is named more than once counts once, with a warning.
    align_by_sync_points : bool
        Align captures of different boots by the lowest sync point that they share with the first one, rather than by
        wall clock. Costs a pass over them.

    Returns
    -------
    Capture
        The capture, with only headers read. It is a context manager.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    PermissionError
        A file may not be read.
    CaptureError
        A file is not a capture, or a directory contains none; a ValueError with `path` and `offset`.
    """
    if isinstance(path, bytes) or not isinstance(path, str | os.PathLike | Iterable):
        raise TypeError(f"a path is a str or os.PathLike, not {type(path).__name__}")
    paths = [os.fspath(path)] if isinstance(path, str | os.PathLike) else [os.fspath(each) for each in path]
    if not paths:
        raise ValueError("no path was given")
    for each in paths:
        check_readable(each)
    paths = without_repeats(paths)
    reader = Reader([os.fsencode(each) for each in paths], align_by_sync_points=align_by_sync_points)
    capture = Capture(reader, tuple(paths))
    warn_of(capture.captures)
    return capture
