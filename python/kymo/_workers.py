"""Has workers of ``multiprocessing`` close their capture: forked ones end without what a process runs at its end."""

from __future__ import annotations

import os
import sys
from typing import Any

from kymo import _record


def _close_at_worker_end(_anchor: Any) -> None:
    util: Any = sys.modules["multiprocessing.util"]
    # After what the worker itself asked for: larger priorities come first.
    util.Finalize(None, _record.disable, exitpriority=-1000)


def follow_this_fork() -> None:
    """Take care of this process if it is a worker that was just forked and records."""
    # A child that is no worker of multiprocessing runs no after-forkers: this does nothing there.
    util: Any = sys.modules.get("multiprocessing.util")
    if util is not None and _record.is_recording():
        util.register_after_fork(_record, _close_at_worker_end)


def _is_worker() -> bool:
    process: Any = sys.modules.get("multiprocessing.process")
    # The second is the state of a worker that was started anew, while it imports what it needs.
    return process is not None and (
        process.parent_process() is not None or getattr(process.current_process(), "_inheriting", False)
    )


def follow_forks() -> None:
    """Take care of the workers that this process forks from now on, and of this one if it is one."""
    os.register_at_fork(after_in_child=follow_this_fork)
    if _is_worker():
        util: Any = sys.modules["multiprocessing.util"]
        util.register_after_fork(_record, _close_at_worker_end)
        _close_at_worker_end(None)
