"""Splits captures into parts for several readers."""

from __future__ import annotations

from dataclasses import dataclass

from kymograph._analysis import Snapshot
from kymograph._selection import EARLIEST, LATEST


@dataclass(frozen=True)
class Partition:
    """
    A part of a capture for one reader, to be opened with `Capture.partition`. Can be pickled.

    Attributes
    ----------
    path : str
        The file.
    capture : int
        Its index into `Capture.captures`.
    first_block, end_block : int
        Its blocks of events; all partitions together cover the capture.
    start_ns, end_ns : int
        Their time range, on the axis of the capture that created the partition.
    scopes : int
        Approximate number of scope events.
    offset_ns : int
        The offset that was added to this file's times to align them with that axis; 0 for files of the first one's
        machine. A reader that opens only this file gets times without it.
    """

    path: str
    capture: int
    first_block: int
    end_block: int
    start_ns: int
    end_ns: int
    scopes: int
    offset_ns: int = 0


def cut_partitions(snapshot: Snapshot, scopes: int) -> list[Partition]:
    """Split the captures into partitions of about this many scope events."""
    parts = []
    offsets = {process["capture"]: process["offset_ns"] for process in snapshot.processes()}
    for index, capture in enumerate(snapshot.captures()):
        starts, ends, counts, _ = snapshot.blocks(index)
        first = 0
        while True:
            end, total = first, 0
            while end < len(counts) and (end == first or total + int(counts[end]) <= scopes):
                total += int(counts[end])
                end += 1
            is_last = end == len(counts)
            has_blocks = end > first
            parts.append(
                Partition(
                    path=capture["path"],
                    capture=index,
                    first_block=first,
                    end_block=2**62 if is_last else end,
                    start_ns=int(starts[first:end].min()) if has_blocks else EARLIEST,
                    end_ns=int(ends[first:end].max()) if has_blocks and not is_last else LATEST,
                    scopes=total,
                    offset_ns=offsets.get(index, 0),
                )
            )
            if is_last:
                break
            first = end
    return parts
