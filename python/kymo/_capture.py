"""Captures: opened lazily, followed while they grow, read as tables."""

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
    One or several recordings on one time axis, opened by `kymo.open`.

    Opening reads headers only. Data is read on demand: only the needed blocks are decoded, with the GIL released. Times
    are int64 nanoseconds of CLOCK_MONOTONIC of the first capture's machine. Arrays and tables stay valid after the
    capture is closed. Threads may share a capture.
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
            table = cache[name] = TABLES[name](self._snapshot(), self._selection)
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
        """The time of the first event, or the start of the view."""
        return max(self._snapshot().range[0], self._selection.start_ns)

    @property
    def end_ns(self) -> int:
        """The time of the last event, or the end of the view."""
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
        The facts of the first process: about its run, from labels and from ``set_info``.

        The facts of all processes are ``[process["infos"] for process in capture.process_info]``.
        """
        processes = self._snapshot().processes()
        infos: dict[str, str] = processes[0]["infos"] if processes else {}
        return infos

    @property
    def process_info(self) -> list[dict[str, Any]]:
        """The processes: pid, host, rank, command_line, alignment of clocks, infos."""
        return self._snapshot().processes()

    @property
    def damages(self) -> list[str]:
        """The parts that could not be read so far or were left out when opening."""
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
        Compute statistics: the numbers of ``kymo stats --json``.

        Parameters
        ----------
        site, track : str or sequence of str, optional
            Patterns for names of sites and spans, or of tracks; one must match.
        frames : (int, int), optional
            First and last frame of each process's main stream, numbered from 1, both included.
        phase : int, optional
            The phase with this number in each process.
        by_process : bool
            Keep processes separate; else equal sites, streams and metrics of several processes are combined.

        Returns
        -------
        dict
            ``sites``, ``spans``, ``frame_streams``, ``metrics`` and ``locks`` are lists of rows, by descending total;
            durations are in nanoseconds. Percentiles of metrics are by nearest rank; each sample counts once. A span
            with ``unresolved`` is GPU work whose times are unknown. A view counts only the parts inside its range.

        Raises
        ------
        KeyError
            A pattern matches nothing, or there is no such frame or phase.
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
        Attribute the energy: the numbers of ``kymo stats --energy --json``.

        Parameters
        ----------
        by : {"site", "span", "frame", "phase", "source"}, optional
            Return only this list of rows.
        by_process : bool
            Keep processes separate.
        power_sources : sequence of str
            The sources to add up: a metric's name, a label's value, or a full name. Empty: the machine's supply.
        idle_watts : float, optional
            Power of the idle machine; by default the least mean over a second.

        Returns
        -------
        dict, or list of dict
            Joules with their error bounds; None if the source could not be read. They cover the whole capture.

        Raises
        ------
        ValueError
            `by` has another value, or this is a view: energy is only available for whole captures.
        """
        if by is not None and by not in ENERGY_LISTS:
            raise ValueError(f"energy by {by!r}: there are {', '.join(ENERGY_LISTS)}")
        if self._selection != Selection():
            raise ValueError("energy is told of whole captures, not of a view")
        found = self._snapshot().energy(by_process=by_process, power_sources=list(power_sources), idle_watts=idle_watts)
        return found if by is None else found[ENERGY_LISTS[by]]

    def compare(self, other: Capture | Path | Iterable[Path], *, seed: int = 1) -> dict[str, Any]:
        """
        Test whether another recording differs from this one by more than chance, like ``kymo compare --json``.

        Parameters
        ----------
        other : Capture, path, or iterable of paths
            The new side. Each file is a run. With one per side, verdicts hold for these recordings only and end with
            "here"; three or more show how much equal runs vary.
        seed : int
            The seed of the random numbers, which makes results reproducible.

        Returns
        -------
        dict
            ``compared``: rows with a verdict, "worse" first. For "unclear" ones, ``more_runs`` is about how many
            more runs per side would settle it. ``only_in_base``, ``only_in_new``, ``other_units``, ``configuration``.

        Raises
        ------
        ValueError
            This or the other capture is a view.
        """
        new = other if isinstance(other, Capture) else open(other)
        if self._selection != Selection() or new._selection != Selection():
            raise ValueError("whole captures are compared, not views")
        base_paths = [os.fsencode(capture["path"]) for capture in self.captures]
        new_paths = [os.fsencode(capture["path"]) for capture in new.captures]
        return compare(base_paths, new_paths, seed=seed)

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
            A view with the new spans and samples; the first one has all existing data. Read frames, messages and
            similar tables from the capture itself, which is at the same state.
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
        Draw frames, tracks and metrics as SVG, like notebooks show a capture.

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
        Files ``*.kymo``, or directories of these.
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
    reader = Reader([os.fsencode(each) for each in paths], align_by_sync_points=align_by_sync_points)
    return Capture(reader, tuple(paths))
