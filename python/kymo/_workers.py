"""Makes ``multiprocessing`` workers close their capture: forked ones end without exit handlers."""

from __future__ import annotations

import os
import sys
from typing import Any

from kymo import _record


def _close_at_worker_end(_anchor: Any) -> None:
    util: Any = sys.modules["multiprocessing.util"]
    # After the worker's own finalizers: larger priorities come first.
    util.Finalize(None, _record.disable, exitpriority=-1000)


def follow_this_fork() -> None:
    """Register this process if it is a newly forked worker that records."""
    # A child that is not a multiprocessing worker runs no after-forkers, so this does nothing there.
    util: Any = sys.modules.get("multiprocessing.util")
    if util is not None and _record.is_recording():
        util.register_after_fork(_record, _close_at_worker_end)


def _is_worker() -> bool:
    process: Any = sys.modules.get("multiprocessing.process")
    # The second is the state of a spawned worker during its imports.
    return process is not None and (
        process.parent_process() is not None or getattr(process.current_process(), "_inheriting", False)
    )


def follow_forks() -> None:
    """Handle the workers that this process forks from now on, and this one if it is one."""
    os.register_at_fork(after_in_child=follow_this_fork)
    if _is_worker():
        util: Any = sys.modules["multiprocessing.util"]
        util.register_after_fork(_record, _close_at_worker_end)
        _close_at_worker_end(None)
