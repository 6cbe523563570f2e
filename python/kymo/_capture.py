"""Captures: opened lazily, followed while they grow, handed out as tables."""

from __future__ import annotations

import html
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kymo._analysis import Reader, Snapshot, compare
from kymo._errors import check_readable
from kymo._metrics import Metrics
from kymo._partitions import Partition, cut_partitions
from kymo._selection import ENERGY_LISTS, Selection, as_patterns
from kymo._tables import TABLES, Frames, Messages, Phases, Processes, Samples, Sites, Spans, Table, Tracks

if TYPE_CHECKING:
    from typing_extensions import Self

    Path = str | os.PathLike[str]


class Capture:
    """
    One or several recordings on one time axis; `kymo.open` makes it.

    Opening reads headers only. Times are int64 nanoseconds of CLOCK_MONOTONIC of the first capture's machine. What is
    asked of it is read then, by decoding only the blocks that are needed, with the GIL released; arrays and tables stay
    good after the capture is closed. Threads may share a capture.
    """

    def __init__(self, reader: Reader, paths: tuple[str, ...], selection: Selection | None = None) -> None:
        self._reader: Reader | None = reader
        self._paths = paths
        self._selection = selection or Selection()
        self._cache: dict[str, Any] = {}

    def _open_reader(self) -> Reader:
        reader = self._reader
        if reader is None:
            raise ValueError("the capture is closed")
        return reader

    def _snapshot(self) -> Snapshot:
        # What a thread reads while another one refreshes goes into the cache of before.
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
            table = cache[name] = TABLES[name](self._snapshot(), self._selection)
        return table

    @property
    def paths(self) -> tuple[str, ...]:
        """What was opened."""
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
        """The places in the code that opened scopes."""
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
    def messages(self) -> Messages:
        """The messages."""
        table: Messages = self._table("messages")
        return table

    @property
    def processes(self) -> Processes:
        """The processes as a table; `info` says more of them."""
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
            spans, frames, samples, sites, tracks, metrics, phases, messages or processes.

        Raises
        ------
        KeyError
            There is no such table.
        """
        if name not in TABLES:
            raise KeyError(f"no table {name!r}; there are {', '.join(TABLES)}")
        table: Table = self._table(name)
        return table

    @property
    def start_ns(self) -> int:
        """The time of the first event, or where the view begins."""
        return max(self._snapshot().range[0], self._selection.start_ns)

    @property
    def end_ns(self) -> int:
        """The time of the last event, or where the view ends."""
        return min(self._snapshot().range[1], self._selection.end_ns)

    @property
    def duration_ns(self) -> int:
        """From the first event to the last."""
        return max(self.end_ns - self.start_ns, 0)

    @property
    def captures(self) -> list[dict[str, Any]]:
        """The files: path, bytes, is_closed, recorder, clock, damages, closing_facts."""
        return self._snapshot().captures()

    @property
    def info(self) -> dict[str, str]:
        """
        The facts that the first process recorded of its run, of labels and of ``set_info``.

        Those of all: ``[process["infos"] for process in capture.process_info]``.
        """
        processes = self._snapshot().processes()
        infos: dict[str, str] = processes[0]["infos"] if processes else {}
        return infos

    @property
    def process_info(self) -> list[dict[str, Any]]:
        """The processes: pid, host, rank, command_line, how their clocks were aligned, infos."""
        return self._snapshot().processes()

    @property
    def damages(self) -> list[str]:
        """What could not be read so far, and what was left out when opening."""
        snapshot = self._snapshot()
        found = [
            f"{capture['path']}: {damage['size']} bytes at byte {damage['offset']}: {damage['what']}"
            for capture in snapshot.captures()
            for damage in capture["damages"]
        ]
        return found + list(snapshot.complaints)

    @property
    def drops(self) -> list[dict[str, Any]]:
        """
        What each track recorded and lost.

        Rows of track, process, recorded_scopes, dropped_scopes, dropped_others (arguments, samples and other events).
        """
        return self._snapshot().totals()

    @property
    def is_closed(self) -> bool:
        """Whether every file was closed cleanly: nothing will be appended to it."""
        return all(capture["is_closed"] for capture in self._snapshot().captures())

    def between(self, start_ns: int | None = None, end_ns: int | None = None) -> Capture:
        """
        Return a view of a stretch of time, which shares the files.

        Parameters
        ----------
        start_ns, end_ns : int or None
            Nanoseconds on the capture's axis; the end does not belong to it. None: no limit. Spans and frames that
            overlap the stretch are in the view with all of their duration; statistics count the part within. Where
            blocks outside were needed for it, `self_ns` of a span is an upper bound (flag 16).
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
            About how many scope events a partition may have; a capture with fewer is one partition.

        Returns
        -------
        list of Partition
            Each row of a table is in exactly one of them. Spans that began in an earlier partition may lack arguments,
            and their self time is an upper bound (`flags` says so).
        """
        return cut_partitions(self._snapshot(), scopes)

    def partition(self, part: Partition) -> Capture:
        """
        Return a view of a partition.

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

    def stats(
        self,
        *,
        site: str | Sequence[str] | None = None,
        track: str | Sequence[str] | None = None,
        frames: tuple[int, int] | None = None,
        phase: int | None = None,
        by_process: bool = False,
    ) -> dict[str, Any]:
        """
        Add up what ran: the numbers of ``kymo stats --json``.

        Parameters
        ----------
        site, track : str or sequence of str, optional
            Patterns for names of sites and spans, of tracks; one must fit.
        frames : (int, int), optional
            Frames of the main stream of each process, counted from 0, both included.
        phase : int, optional
            The phase of this number in each process.
        by_process : bool
            Keep processes apart; else equal sites, streams and metrics of several processes are one.

        Returns
        -------
        dict
            ``sites``, ``spans``, ``frame_streams``, ``metrics`` and ``locks`` are lists of rows, by falling total;
            durations are in nanoseconds. A span with ``unresolved`` is GPU work whose times are not known. In a view,
            what reaches beyond its stretch counts with the part within.

        Raises
        ------
        KeyError
            A pattern fits nothing, or there is no such frame or phase.
        """
        return self._snapshot().statistics(
            start_ns=self._selection.start_ns,
            end_ns=self._selection.end_ns,
            sites=list(as_patterns(site)),
            threads=list(as_patterns(track)),
            frames=frames,
            phase=phase,
            by_process=by_process,
        )

    def energy(
        self,
        by: str | None = None,
        *,
        by_process: bool = False,
        power_sources: Sequence[str] = (),
        idle_watts: float | None = None,
    ) -> Any:
        """
        Share out the joules: the numbers of ``kymo stats --energy --json``.

        Parameters
        ----------
        by : {"site", "span", "frame", "phase", "source"}, optional
            Return this list of rows alone.
        by_process : bool
            Keep processes apart.
        power_sources : sequence of str
            Which sources to add up: a metric's name, a label's value, a full name. None: what feeds the machine.
        idle_watts : float, optional
            Power of the idle machine; else the least mean of a second.

        Returns
        -------
        dict, or list of dict
            Joules with their bounds; None where the source could not be read. They are those of the whole capture.

        Raises
        ------
        ValueError
            `by` is none of these, or this is a view of a part: energy is told of whole captures.
        """
        if by is not None and by not in ENERGY_LISTS:
            raise ValueError(f"energy by {by!r}: there are {', '.join(ENERGY_LISTS)}")
        if self._selection != Selection():
            raise ValueError("energy is told of whole captures, not of a view")
        found = self._snapshot().energy(by_process=by_process, power_sources=list(power_sources), idle_watts=idle_watts)
        return found if by is None else found[ENERGY_LISTS[by]]

    def compare(self, other: Capture | Path | Iterable[Path], *, seed: int = 1) -> dict[str, Any]:
        """
        Tell whether another recording differs from this one by more than chance, as ``kymo compare --json``.

        Parameters
        ----------
        other : Capture, path, or iterable of paths
            The new side. Each file is a run; three or more a side tell what runs differ in anyway.
        seed : int
            What resampling begins with: the same gives the same numbers.

        Returns
        -------
        dict
            ``compared``: rows with a verdict, worse first; ``only_in_base``, ``only_in_new``, ``other_units``,
            ``configuration``.

        Raises
        ------
        ValueError
            This or the other is a view of a part.
        """
        new = other if isinstance(other, Capture) else open(other)
        if self._selection != Selection() or new._selection != Selection():
            raise ValueError("whole captures are compared, not views")
        base_paths = [os.fsencode(capture["path"]) for capture in self.captures]
        new_paths = [os.fsencode(capture["path"]) for capture in new.captures]
        return compare(base_paths, new_paths, seed=seed)

    def refresh(self) -> bool:
        """
        Look for what was appended, and for new files in directories that were opened.

        Returns
        -------
        bool
            Whether there was anything. Tables that were handed out before stay as they are.
        """
        reader = self._open_reader()
        self._cache = {}
        return reader.refresh()

    def follow(self, *, poll_s: float = 0.1, timeout_s: float | None = None) -> Iterator[Capture]:
        """
        Follow files that grow: yield a view of what each step brought, until they are closed.

        Parameters
        ----------
        poll_s : float
            Seconds between looks.
        timeout_s : float, optional
            End after so many seconds in which nothing came.

        Yields
        ------
        Capture
            A view with the spans and samples of what came; the first one has what is there already. Frames, messages
            and the like are read from the capture itself, which stands at the same moment.
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
                yield self._view(replace(self._selection, blocks=tuple(blocks)))
            if is_over or (timeout_s is not None and time.monotonic() - quiet_since > timeout_s):
                return
            while not self.refresh():
                if timeout_s is not None and time.monotonic() - quiet_since > timeout_s:
                    return
                time.sleep(poll_s)

    def overview(self, width: int = 960) -> str:
        """
        Draw frames, tracks and metrics as SVG, as notebooks show a capture.

        Parameters
        ----------
        width : int
            Pixels, 320 to 4096.
        """
        return self._snapshot().overview(
            start_ns=self._selection.start_ns, end_ns=self._selection.end_ns, width=min(max(width, 320), 4096)
        )

    def _repr_svg_(self) -> str:
        return self.overview()

    def _repr_html_(self) -> str:
        return f"<div><code>{html.escape(repr(self))}</code></div>{self.overview()}"

    def close(self) -> None:
        """Let go of the files. Tables and arrays that were handed out stay good."""
        self._reader = None
        self._cache = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Return how many files it is made of."""
        return len(self._snapshot().captures())

    def __repr__(self) -> str:
        if self._reader is None:
            return f"<kymo.Capture {', '.join(self._paths)}: closed>"
        captures = self._snapshot().captures()
        state = "" if all(capture["is_closed"] for capture in captures) else ", growing or not closed"
        size = sum(capture["bytes"] for capture in captures)
        files = f"{len(captures)} files, " if len(captures) != 1 else ""
        seconds = self.duration_ns / 1e9
        return f"<kymo.Capture {', '.join(self._paths)}: {files}{size / 1e6:.3g} MB, {seconds:.6g} s{state}>"


def open(  # noqa: A001
    path: Path | Iterable[Path], *, align_by_sync_points: bool = False
) -> Capture:
    """
    Open a capture, several, or directories of captures on one time axis.

    Parameters
    ----------
    path : path or iterable of paths
        Files ``*.kymo``, or directories of such.
    align_by_sync_points : bool
        Captures of different boots are aligned by the lowest sync point that they share with the first one, rather than
        by wall clock. Costs a pass over them.

    Returns
    -------
    Capture
        Only headers have been read. A context manager.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    PermissionError
        It may not be read.
    CaptureError
        It is no capture, or a directory holds none; a ValueError with `path` and `offset`.
    """
    if isinstance(path, bytes) or not isinstance(path, str | os.PathLike | Iterable):
        raise TypeError(f"a path is a str or os.PathLike, not {type(path).__name__}")
    paths = [os.fspath(path)] if isinstance(path, str | os.PathLike) else [os.fspath(each) for each in path]
    if not paths:
        raise ValueError("no path was given")
    for each in paths:
        check_readable(each)
    reader = Reader([os.fsencode(each) for each in paths], align_by_sync_points=align_by_sync_points)
    return Capture(reader, tuple(paths))
