"""Switching recording on and off. What ends a recording waits for GPU scopes and ends the open frames."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable

from kymograph import _environment, _record, _run_files

__all__ = ["disable", "enable", "flush", "stop_capture"]

_TIMEOUT_S = 10.0


def _wait_for_gpus() -> bool:
    """Wait for GPU scopes, if the program has any."""
    gpu = sys.modules.get("kymograph._gpu")
    return gpu is None or bool(gpu.flush(_TIMEOUT_S))


def enable() -> bool:
    """
    Arm what the KYMO_* environment variables ask for.

    Without any of them set nothing happens and nothing is recorded. Processes that this one starts record as well, from
    when they import the package.

    Returns
    -------
    bool
        Whether something is recorded now.
    """
    is_on = _record.enable()
    if is_on and os.environ.get("KYMO_RECORD"):
        os.environ.setdefault(_environment.STARTER, str(os.getpid()))
    return is_on


def flush() -> bool:
    """
    Hand everything recorded before the call to the capture and to every sink.

    Also waits for GPU scopes, ten seconds at most.

    Returns
    -------
    bool
        False if that took longer than ten seconds.
    """
    is_whole = _wait_for_gpus()
    return _record.flush() and is_whole


def stop_capture() -> bool:
    """
    Finish the capture, including everything recorded before the call and GPU scopes.

    Workers that `capture` or `start_capture` handed the recording down to finish theirs as well. The call waits for
    that, two seconds at most.

    Returns
    -------
    bool
        False if there is no capture.
    """
    return _finish(_record.stop_capture)


def leave_capture() -> None:
    """Finish the capture, and keep what is handed down to other processes."""
    _wait_for_gpus()
    _record.end_frames()
    _record.stop_capture()


def _finish(stop: Callable[[], bool | None]) -> bool:
    _wait_for_gpus()
    _record.end_frames()
    with _environment.lock:
        followers = _run_files.Followers(_record.capture_path())
        try:
            # A child that another thread forks meanwhile needs the variables to know what it belongs to.
            was_running = bool(stop())
        finally:
            _environment.take_back()
    followers.wait()
    return was_running


def disable() -> None:
    """Stop recording: finish captures, as `stop_capture` does, and remove sinks. `enable` starts again."""
    _finish(_record.disable)


def end_process() -> None:
    """Finish everything in a process that ends by ``_exit``, and leave no shared memory behind."""
    _wait_for_gpus()
    _record.end_frames()
    _record.end_process()


atexit.register(_record.end_frames)
