"""Stand-ins for PyTorch and CuPy on a GPU that does as a test says."""

from __future__ import annotations

import importlib.machinery
import types

import numpy as np

SECOND = 1_000_000_000


class Gpu:
    """
    A GPU whose clock runs too fast by a factor. What is recorded on a stream passes when the test says so (`run`), on
    side streams at once.
    """

    def __init__(self) -> None:
        self.now = 100 * SECOND
        self.drift = 1 + 80e-6
        self.events_made = 0
        self.queries = 0
        self.side_delay_ns = 6_000
        self.error: Exception | None = None
        self.is_capturing = False

    def tick(self, ns: int = 1_000) -> int:
        self.now += ns
        return self.now

    def check(self) -> None:
        if self.error is not None:
            raise self.error


class Stream:
    def __init__(self, gpu: Gpu, device: int = 0, handle: int = 0, is_side: bool = False) -> None:
        self.gpu = gpu
        self.device_index = device
        self.cuda_stream = self.ptr = handle
        self.is_side = is_side
        self.waiting: list[Event] = []

    def run(self, *times: int) -> None:
        """Let the next events pass, each at its time of the processor's clock."""
        for time in times:
            self.waiting.pop(0).passed_ns = time

    def is_capturing(self) -> bool:
        return self.gpu.is_capturing


class Event:
    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.passed_ns: int | None = None
        self.stream: Stream | None = None
        gpu.events_made += 1

    def record(self, stream: Stream) -> None:
        self.gpu.check()
        self.passed_ns = None
        self.stream = stream
        if stream.is_side:
            self.passed_ns = self.gpu.tick() + self.gpu.side_delay_ns
        else:
            stream.waiting.append(self)

    def query(self) -> bool:
        self.gpu.check()
        self.gpu.queries += 1
        self.gpu.tick()
        return self.passed_ns is not None and (self.stream is None or self.gpu.now >= self.passed_ns)

    @property
    def ptr(self) -> Event:
        return self

    def elapsed_time(self, other: Event) -> float:
        self.gpu.check()
        assert self.passed_ns is not None
        assert other.passed_ns is not None
        return float(np.float32((other.passed_ns - self.passed_ns) * self.gpu.drift / 1e6))

    def synchronize(self) -> None:
        raise AssertionError("nobody may wait for the GPU")


def make_torch(gpu: Gpu, streams: list[Stream]) -> types.ModuleType:
    def no_waiting() -> None:
        raise AssertionError("nobody may wait for the GPU")

    torch = types.ModuleType("torch")
    torch.__spec__ = importlib.machinery.ModuleSpec("torch", None)
    torch.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
        is_available=lambda: True,
        current_stream=lambda: streams[-1],
        is_current_stream_capturing=lambda: gpu.is_capturing,
        Stream=lambda device, priority: Stream(gpu, device, 99, is_side=True),
        Event=lambda enable_timing: Event(gpu),
        synchronize=no_waiting,
    )
    return torch


def make_cupy(gpu: Gpu, streams: list[Stream]) -> types.ModuleType:
    class Device:
        def __init__(self, number: int) -> None:
            self.number = number

        def __enter__(self) -> None: ...
        def __exit__(self, *_: object) -> None: ...

    def query(event: Event) -> int:
        try:
            return 0 if event.query() else 600
        except RuntimeError:
            return 999

    cupy = types.ModuleType("cupy")
    cupy.__spec__ = importlib.machinery.ModuleSpec("cupy", None)
    cupy.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
        runtime=types.SimpleNamespace(getDeviceCount=lambda: 1, getDevice=lambda: 0, eventQuery=query, is_hip=False),
        get_current_stream=lambda: streams[-1],
        Device=Device,
        Stream=lambda non_blocking: Stream(gpu, 0, 99, is_side=True),
        Event=lambda: Event(gpu),
        get_elapsed_time=lambda begin, end: begin.elapsed_time(end),
    )
    return cupy
