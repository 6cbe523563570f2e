"""The calls that hand over what was recorded: they wait for the GPU's part of it where there is one."""

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
    Return after everything recorded before the call was handed to the capture and to every sink.

    Waits for GPU scopes as well, ten seconds at most.

    Returns
    -------
    bool
        False where that took longer than ten seconds.
    """
    is_whole = _wait_for_gpus()
    return _record.flush() and is_whole


def stop_capture() -> bool:
    """
    Finish the capture: everything recorded until now is in it, GPU scopes as well.

    Returns
    -------
    bool
        False where there is no capture.
    """
    _wait_for_gpus()
    return _record.stop_capture()


def disable() -> None:
    """Stop recording: captures are finished, sinks removed. `enable` starts anew."""
    _wait_for_gpus()
    _record.disable()
