"""Processes that a recording process starts: they join the recording, and close their capture when they end."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from kymograph import _control, _environment, _record

if TYPE_CHECKING:
    from collections.abc import Callable

# Called in a worker before its capture is closed.
before_end: list[Callable[[], None]] = []


def _close_at_worker_end(_anchor: Any) -> None:
    util: Any = sys.modules["multiprocessing.util"]
    # After the worker's own finalizers: larger priorities come first. Forked workers end without exit handlers.
    util.Finalize(None, _end_worker, exitpriority=-1000)


def _end_worker() -> None:
    for finish in before_end:
        finish()
    _control.end_process()


def follow_this_fork() -> None:
    """Register this process if it is a newly forked worker that records."""
    # A child that is not a multiprocessing worker runs no after-forkers, so this does nothing there.
    util: Any = sys.modules.get("multiprocessing.util")
    if util is not None and _record.is_recording():
        util.register_after_fork(_record, _close_at_worker_end)


def _is_multiprocessing_worker() -> bool:
    process: Any = sys.modules.get("multiprocessing.process")
    # The second is the state of a spawned worker during its imports.
    return process is not None and (
        process.parent_process() is not None or getattr(process.current_process(), "_inheriting", False)
    )


def _is_of_fork_server() -> bool:
    """Tell whether this process is `multiprocessing`'s fork server, or one of its workers."""
    return any(word.startswith("from multiprocessing.forkserver ") for word in sys.orig_argv)


def _is_fork_server() -> bool:
    # Its workers, unlike itself, know how to ask it for workers of their own.
    server: Any = sys.modules.get("multiprocessing.forkserver")
    return _is_of_fork_server() and getattr(server._forkserver, "_forkserver_alive_fd", None) is None


def _join_recording() -> None:
    if not _environment.is_worker() or not os.environ.get("KYMO_RECORD"):
        return
    if _is_fork_server():
        os.register_at_fork(after_in_child=_join_from_server)
    elif not _is_of_fork_server():
        _record.enable()
    else:
        _join_from_server()


def _join_from_server() -> None:
    if not _record.is_recording() and _record.enable():
        follow_this_fork()


def follow_forks() -> None:
    """Handle the workers that this process forks from now on, and this one if it is one."""
    os.register_at_fork(after_in_child=follow_this_fork)
    _join_recording()
    if _is_multiprocessing_worker() and not _is_fork_server():
        util: Any = sys.modules["multiprocessing.util"]
        util.register_after_fork(_record, _close_at_worker_end)
        _close_at_worker_end(None)
