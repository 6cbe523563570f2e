"""The parts of PyTorch and CuPy that GPU scopes need: streams, and events timed by the GPU."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["GpuLibrary", "Gpus", "relax_captures"]


_RELAXED = 2
_NOT_READY = 600


def relax_captures() -> None:
    """
    Let this thread query events while others capture graphs.

    By default CUDA forbids such queries to all threads, and a query would break another thread's capture.
    """
    for library, function in [
        ("libcuda.so.1", "cuThreadExchangeStreamCaptureMode"),
        ("libamdhip64.so", "hipThreadExchangeStreamCaptureMode"),
    ]:
        with contextlib.suppress(OSError, AttributeError):
            mode = ctypes.c_int(_RELAXED)
            getattr(ctypes.CDLL(library), function)(ctypes.byref(mode))


class GpuLibrary(Protocol):
    """A library's events. May be used from any thread; nothing here waits for the GPU."""

    def current_stream(self) -> tuple[Any, int, int]:
        """Return the current stream, its device, and its handle; 0: the default stream."""

    def is_capturing(self, stream: Any) -> bool:
        """Tell whether work submitted to a stream is captured into a graph."""

    def side_stream(self, device: int) -> Any:
        """Return a separate stream that the others do not wait for."""

    def new_event(self, device: int) -> Any:
        """Return an event with timing."""

    def record(self, event: Any, stream: Any) -> None:
        """Record an event in a stream, after the work submitted so far."""

    def has_passed(self, event: Any) -> bool:
        """Tell whether the GPU has reached an event."""

    def elapsed_ms(self, begin: Any, end: Any) -> float:
        """Return the milliseconds between two events that have passed."""


class Torch:
    """PyTorch's events, on CUDA and ROCm."""

    def __init__(self, module: Any) -> None:
        self._cuda = module.cuda
        if not self._cuda.is_available():
            raise RuntimeError("PyTorch finds no GPU")

    def current_stream(self) -> tuple[Any, int, int]:
        """Return the current stream."""
        stream = self._cuda.current_stream()
        return stream, stream.device_index, stream.cuda_stream

    def is_capturing(self, stream: Any) -> bool:  # noqa: ARG002
        """Tell whether the current stream is captured into a graph."""
        return bool(self._cuda.is_current_stream_capturing())

    def side_stream(self, device: int) -> Any:
        """Return a high-priority stream: PyTorch's streams come from a pool, where these are seldom in use."""
        return self._cuda.Stream(device=device, priority=-1)

    def new_event(self, device: int) -> Any:  # noqa: ARG002
        """Return an event; its device is that of the stream in which it is first recorded."""
        return self._cuda.Event(enable_timing=True)

    def record(self, event: Any, stream: Any) -> None:
        """Record an event in a stream."""
        event.record(stream)

    def has_passed(self, event: Any) -> bool:
        """Tell whether the GPU has reached an event."""
        return bool(event.query())

    def elapsed_ms(self, begin: Any, end: Any) -> float:
        """Return the milliseconds between two events."""
        return float(begin.elapsed_time(end))


class CuPy:
    """CuPy's events."""

    def __init__(self, module: Any) -> None:
        self._cuda = module.cuda
        if self._cuda.runtime.getDeviceCount() < 1:
            raise RuntimeError("CuPy finds no GPU")

    def current_stream(self) -> tuple[Any, int, int]:
        """Return the current stream."""
        stream = self._cuda.get_current_stream()
        return stream, int(self._cuda.runtime.getDevice()), int(stream.ptr)

    def is_capturing(self, stream: Any) -> bool:
        """Tell whether a stream is captured. Not to be called while another stream that it waits for is captured."""
        try:
            return bool(stream.is_capturing())
        except RuntimeError:
            return not self._cuda.runtime.is_hip  # HIP has no such graphs

    def side_stream(self, device: int) -> Any:
        """Return a separate stream."""
        with self._cuda.Device(device):
            return self._cuda.Stream(non_blocking=True)

    def new_event(self, device: int) -> Any:
        """Return an event of a device."""
        with self._cuda.Device(device):
            return self._cuda.Event()

    def record(self, event: Any, stream: Any) -> None:
        """Record an event in a stream."""
        event.record(stream)

    def has_passed(self, event: Any) -> bool:
        """Tell whether the GPU has reached an event; `done` would also be False for a lost GPU."""
        status = self._cuda.runtime.eventQuery(event.ptr)
        if status not in (0, _NOT_READY):
            raise RuntimeError(f"error {status}")
        return bool(status == 0)

    def elapsed_ms(self, begin: Any, end: Any) -> float:
        """Return the milliseconds between two events."""
        return float(self._cuda.get_elapsed_time(begin, end))


_LIBRARIES: dict[str, Callable[[Any], GpuLibrary]] = {"torch": Torch, "cupy": CuPy}


class Gpus:
    """
    Finds the library by which a program uses its GPU.

    Prefers a library that is imported already to one that is only installed, and PyTorch to CuPy.

    Parameters
    ----------
    say
        Called once with a message if there is no GPU.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._seen: tuple[bool, bool] | None = None
        self._has_said = False

    @staticmethod
    def _imported() -> tuple[bool, bool]:
        return "torch" in sys.modules, "cupy" in sys.modules

    def may_be_there(self) -> bool:
        """Tell whether a search is worthwhile: whether anything was imported since the last one."""
        return self._seen != self._imported()

    def find(self) -> GpuLibrary | None:
        """Return the library; None, with a message the first time, if there is none."""
        reasons = []
        imported = [name for name in _LIBRARIES if name in sys.modules]
        for name in [*imported, *(name for name in _LIBRARIES if name not in imported)]:
            try:
                if name not in imported and importlib.util.find_spec(name) is None:
                    continue
                return _LIBRARIES[name](importlib.import_module(name))
            except Exception as error:  # a partly installed library may raise anything
                reasons.append(f"{name}: {error}")
        self._seen = self._imported()
        if not self._has_said:
            self._has_said = True
            why = "; ".join(reasons) or "neither PyTorch nor CuPy is installed"
            self._say(f"GPU scopes are measured on the processor only: {why}")
        return None
