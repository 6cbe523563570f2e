"""The calls that flush or end a recording; they wait for GPU scopes."""

from __future__ import annotations

import sys

from kymo import _record

__all__ = ["disable", "flush", "stop_capture"]

_TIMEOUT_S = 10.0


def _wait_for_gpus() -> bool:
    """Wait for GPU scopes, if the program has any."""
    gpu = sys.modules.get("kymo._gpu")
    return gpu is None or bool(gpu.flush(_TIMEOUT_S))


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

    Returns
    -------
    bool
        False if there is no capture.
    """
    _wait_for_gpus()
    return _record.stop_capture()


def disable() -> None:
    """Stop recording: finish captures and remove sinks. `enable` starts again."""
    _wait_for_gpus()
    _record.disable()
