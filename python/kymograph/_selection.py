"""The rows and columns of a capture's tables, and their selection."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kymograph._analysis import Query

#: The range of all times, in nanoseconds.
EARLIEST = -(2**63)
LATEST = 2**63 - 1

#: The columns of each table. Process columns are last.
COLUMNS: dict[str, tuple[str, ...]] = {
    "spans": (
        "process",
        "track",
        "kind",
        "name",
        "category",
        "start_ns",
        "duration_ns",
        "self_ns",
        "depth",
        "flags",
        "async_id",
        "arguments",
        "running_ns",
        "runnable_ns",
        "blocked_ns",
        "site",
        "track_id",
        "pid",
        "host",
        "rank",
        "capture",
    ),
    "frames": ("process", "stream", "number", "start_ns", "duration_ns", "pid", "host", "rank", "capture"),
    "samples": (
        "process",
        "name",
        "unit",
        "labels",
        "time_ns",
        "value",
        "stale",
        "metric",
        "pid",
        "host",
        "rank",
        "capture",
    ),
    "sites": ("process", "site", "name", "function", "file", "line", "kind", "pid", "host", "rank", "capture"),
    "tracks": ("process", "track_id", "name", "kind", "os_thread_id", "pid", "host", "rank", "capture"),
    "metrics": (
        "process",
        "metric",
        "name",
        "unit",
        "labels",
        "kind",
        "source",
        "step",
        "renewal_ns",
        "window_ns",
        "estimated",
        "total",
        "renewal_measured",
        "pid",
        "host",
        "rank",
        "capture",
    ),
    "phases": ("process", "number", "start_ns", "duration_ns", "pid", "host", "rank", "capture"),
    "damages": ("capture", "start_byte", "size_bytes", "what"),
    "stacks": (
        "process",
        "thread",
        "os_thread_id",
        "time_ns",
        "blocked_ns",
        "unsampled_ns",
        "sampled_waits",
        "cpu",
        "function",
        "file",
        "line",
        "stack",
        "pid",
        "host",
        "rank",
        "capture",
    ),
    "messages": ("process", "track", "time_ns", "text", "pid", "host", "rank", "capture"),
    "processes": (
        "process",
        "boot_id",
        "command_line",
        "offset_ns",
        "bound_ns",
        "pid",
        "host",
        "rank",
        "capture",
    ),
}


#: The lists of rows in the result of `Capture.energy`.
ENERGY_LISTS = {
    "site": "sites",
    "span": "spans",
    "frame": "frame_streams",
    "phase": "phases",
    "source": "power_sources",
}


def unknown_key(what: str, name: object, known: Sequence[str]) -> KeyError:
    """Return an error for an unknown name that suggests similar names."""
    near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    shown = near or list(known)[:12]
    hint = "did you mean" if near else "there are"
    listing = ", ".join(repr(entry) for entry in shown)
    return KeyError(f"no {what} {name!r}; {hint} {listing}" if shown else f"no {what} {name!r}: there are none")


@dataclass(frozen=True)
class Selection:
    """A selection of rows of a capture's tables."""

    start_ns: int = EARLIEST
    end_ns: int = LATEST
    names: tuple[str, ...] = ()
    tracks: tuple[str, ...] = ()
    processes: tuple[int, ...] | None = None
    blocks: tuple[tuple[int, int, int], ...] = ()

    def between(self, start_ns: int | None, end_ns: int | None) -> Selection:
        """Restrict it to a time range."""
        return replace(
            self,
            start_ns=self.start_ns if start_ns is None else max(self.start_ns, int(start_ns)),
            end_ns=self.end_ns if end_ns is None else min(self.end_ns, int(end_ns)),
        )

    def query(self, table: str, columns: Sequence[str]) -> Query:
        """Return the selection as a query for the reader."""
        # Ids count from 1, so 0 alone selects nothing.
        processes = [] if self.processes is None else list(self.processes) or [2**32 - 1]
        return Query(
            table,
            columns=list(columns),
            start_ns=self.start_ns,
            end_ns=self.end_ns,
            names=list(self.names),
            tracks=list(self.tracks),
            processes=processes,
            blocks=list(self.blocks),
        )


def as_patterns(given: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Accept one pattern or several; None: whatever there is."""
    return (given,) if isinstance(given, str) else None if given is None else tuple(given)
