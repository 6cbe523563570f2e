"""The table of sampled stacks, and the rows of their functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from kymograph._table import Table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from typing_extensions import NotRequired

    Integers = npt.NDArray[np.int64]
    Texts = npt.NDArray[np.object_]


class Stacks(Table):
    """
    The call stacks that ``kymo record --stacks`` sampled, block by block.

    Columns
    -------
    process : uint32
        Index into `Capture.processes`: the thread's process, or its observer if that is not in the capture.
    thread : str
        The kernel's name of the thread.
    os_thread_id : uint64
        The kernel's number of the thread.
    time_ns : int64
        Nanoseconds; of a wait its end.
    blocked_ns : int64
        Above 0: a wait of this length.
    unsampled_ns : int64
        Above 0: the sum of waits before, all about as long, whose stacks were not taken and which are likely to be this
        one. 0 in both columns: the thread was on a CPU.
    sampled_waits : uint32
        How many waits whose stacks were taken say so, those less than 50 ms apart as one; 0: none, and the stack
        is unknown.
    cpu : uint32
        The CPU.
    file : str, line : uint32
        Where in the source of the innermost function; empty and 0 if it is not known.
    function, stack : str
        The innermost function, and all of them, ``"main;draw"``, the outermost first.
    """

    _name = "stacks"

    if TYPE_CHECKING:
        thread: Texts
        os_thread_id: npt.NDArray[np.uint64]
        time_ns: Integers
        blocked_ns: Integers
        unsampled_ns: Integers
        sampled_waits: npt.NDArray[np.uint32]
        cpu: npt.NDArray[np.uint32]
        function: Texts
        file: Texts
        line: npt.NDArray[np.uint32]
        stack: Texts


class FunctionRow(TypedDict):
    """The samples and waits of a function; joules where power was recorded, None where it could not be read."""

    name: str
    module: str
    file: str
    line: NotRequired[int | None]
    self: int
    total: int
    self_blocked_ns: int
    self_blocked_bound_ns: int
    total_blocked_ns: int
    total_blocked_bound_ns: int
    self_joules: NotRequired[float | None]
    self_bound_joules: NotRequired[float | None]
    total_joules: NotRequired[float | None]
    total_bound_joules: NotRequired[float | None]
