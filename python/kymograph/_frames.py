"""``kymo.frames``: a loop whose rounds are frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import Generic, TypeVar

from kymograph._record import drop_frame, end_frame, frame_mark, scope

T = TypeVar("T")


class FrameLoop(Generic[T]):
    """What `frames` returns: iterates over the items, with a frame around each round."""

    def __init__(self, items: Iterable[T], stream: str | None, wait: str) -> None:
        self._items = items
        self._stream = stream
        self._wait = wait

    def __iter__(self) -> Iterator[T]:
        iterator = iter(self._items)
        try:
            while True:
                frame_mark(self._stream)
                with scope(self._wait):
                    try:
                        item = next(iterator)
                    except BaseException as end:
                        drop_frame(self._stream)
                        if isinstance(end, StopIteration):
                            return
                        raise
                yield item
        finally:
            end_frame(self._stream)

    def __len__(self) -> int:
        """Return the number of items, if what is iterated over has one."""
        if not isinstance(self._items, Sized):
            raise TypeError(f"object of type {type(self._items).__name__!r} has no len()")
        return len(self._items)


def frames(items: Iterable[T], stream: str | None = None, *, wait: str = "wait for data") -> FrameLoop[T]:
    """
    Iterate over items, such as a data loader's batches, with a frame for each round of the loop.

    A frame begins with the wait for its item, which is a scope of its own, and ends with the round, also where the loop
    is left by ``break`` or an exception. The end of the items, or their failure, begins no frame. A later loop on the
    same stream goes on where this one ended: its first frame includes the time between. A stream of its own keeps a
    validation apart.

    Parameters
    ----------
    items : iterable
        What the loop is over.
    stream : str, optional
        The frame stream; None is the program's main one.
    wait : str
        The name of the scope around the wait for an item.

    Returns
    -------
    FrameLoop
        An iterable, with the length of `items` if that has one.

    Examples
    --------
    >>> for batch in kymo.frames([1, 2, 3]):
    ...     pass
    """
    return FrameLoop(items, stream, wait)
