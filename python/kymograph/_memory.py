"""``kymo.memory_scope``: a scope that tells how the process's memory changed in it."""

from __future__ import annotations

import resource
import sys
from types import TracebackType

from kymograph import _record
from kymograph._decorating import ScopeDecorator

__all__ = ["memory_scope"]

#: The unit of `ru_maxrss`.
_PEAK_UNIT = 1 if sys.platform == "darwin" else 1024


class memory_scope(ScopeDecorator):  # noqa: N801
    """
    A scope with the change of the process's memory as arguments.

    - ``rss_change_bytes``: resident memory at the end less that at the beginning, negative if it fell
    - ``rss_peak_bytes``: the process's greatest resident memory so far, where it rose in this scope
    - ``block_change``, if asked for: the same for the blocks of Python's allocator, mostly objects up to 512 bytes

    A value that cannot be read is left out. All threads of the process count. Memory that a library keeps for reuse
    does not show. May be used as a decorator of functions that are neither generators nor asynchronous, and
    as a context by one thread at a time.

    Parameters
    ----------
    name : str
        The name of the scope.
    blocks : bool
        Count the allocator's blocks as well.
    **arguments : int, float, bool or str
        Recorded with the scope, at most 5.

    Notes
    -----
    Memory is read at both ends, from /proc/self/statm: about 16 us a scope, 6 of them within it. Counting blocks walks
    the allocator's pools: 13 us more for each million of small objects. Nothing is read while scopes are not recorded.
    The kernel gathers its counts for each thread or core, and may be some hundred KiB off for each. The recorder's own
    pool counts as well: it grows to 16 MiB in the first moments.

    Examples
    --------
    >>> with kymo.memory_scope("load", blocks=True):
    ...     rows = list(range(1000))
    """

    def __init__(self, name: str, /, *, blocks: bool = False, **arguments: int | float | bool | str) -> None:
        self._name = name
        self._blocks = blocks
        self._arguments = arguments
        self._open: list[tuple[_record.scope, int, int, int] | None] = []

    def _recreate_cm(self) -> memory_scope:
        return memory_scope(self._name, blocks=self._blocks, **self._arguments)

    def __enter__(self) -> memory_scope:
        if not _record.is_recording_scopes():
            self._open.append(None)
            return self
        scope = _record.scope(self._name, **self._arguments)
        blocks = sys.getallocatedblocks() if self._blocks else 0
        self._open.append((scope, blocks, _peak_bytes(), _record.current_memory_bytes()))
        scope.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        opened = self._open.pop()
        if opened is None:
            return
        scope, blocks, peak_bytes, resident_bytes = opened
        now_bytes = _record.current_memory_bytes()
        if now_bytes != 0 and resident_bytes != 0:
            scope.argument("rss_change_bytes", now_bytes - resident_bytes)
        if (highest_bytes := _peak_bytes()) > peak_bytes:
            scope.argument("rss_peak_bytes", highest_bytes)
        if self._blocks and (count := sys.getallocatedblocks()) != 0:
            scope.argument("block_change", count - blocks)
        scope.__exit__(kind, error, trace)


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _PEAK_UNIT
