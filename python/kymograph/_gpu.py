"""
GPU work of PyTorch and CuPy: scopes that are timed by the GPU itself.

A scope records an event on the current stream when it opens and when it closes; the GPU stores the time when it reaches
the event. A separate thread polls which events have passed, never waits for the GPU, and records the time between the
two events as a span on the stream's track.

An event's time is only known relative to another event. At intervals, an event is therefore recorded on an idle stream,
and the CPU's clock is read before and after it: this pair ties the two clocks together. The GPU's clock runs slightly
faster or slower; two pairs with a distance in time give its rate.
"""

from __future__ import annotations

import atexit
import itertools
import os
import sys
import threading
from collections import deque
from dataclasses import dataclass, field
from time import monotonic_ns, sleep
from types import TracebackType
from typing import Any, TypeAlias

from kymograph import _record
from kymograph._decorating import ScopeDecorator
from kymograph._gpu_libraries import GpuLibrary, Gpus, relax_captures

__all__ = ["flush", "gpu_scope"]

Value: TypeAlias = int | float | bool | str

_POLL_S = 0.005
#: The clocks are synchronised at this interval; after a failure, and until their rates are known, at the shorter one.
_RENEWAL_NS = 1_000_000_000
_RETRY_NS = 100_000_000
_ATTEMPTS = 8
_PATIENCE_NS = 2_000_000
#: An event on an idle stream passes within this time, even if that is noticed later.
_LATENCY_NS = 20_000
#: A pair with a greater error than this does not replace one that is younger than the time below it.
_TIGHT_NS = 50_000
_OLD_NS = 10_000_000_000
#: The clocks' rates come from pairs at this distance, with this relative error.
_BASELINE_NS = 1_000_000_000
_RATE_BOUND = 2e-5
_GREATEST_DRIFT = 1e-3
#: Flows from a scope to its GPU span have the scope's number plus this, which keeps them distinct from the program's.
_FLOW = 1 << 63
#: The recorder accepts this many arguments per span.
_MOST_ARGUMENTS = 8
_MOST_PENDING = 65_536
_MOST_FAILURES = 8


def _say(text: str) -> None:
    """Write one line to stderr, like the recorder."""
    if sys.stderr is not None:
        sys.stderr.write(f"kymo: {text}\n")


@dataclass(slots=True)
class _Anchor:
    """An event whose time on the CPU's clock is known, with the error `bound_ns`."""

    event: Any
    cpu_ns: int
    bound_ns: int


class _Clock:
    """Converts times of one GPU's events to nanoseconds of CLOCK_MONOTONIC. Used by one thread."""

    def __init__(self, library: GpuLibrary, device: int) -> None:
        self._library = library
        self._device = device
        self._stream = library.side_stream(device)
        self._first: _Anchor | None = None
        self._latest: _Anchor | None = None
        self._rate = 1.0
        self._is_rate_known = False
        self._next_ns = 0

    def _take_anchor(self) -> _Anchor | None:
        """Record an event on an idle stream and poll until it has passed; None if the GPU does not answer."""
        event = self._library.new_event(self._device)
        before = monotonic_ns()
        self._library.record(event, self._stream)
        recorded = monotonic_ns()
        while True:
            has_passed = self._library.has_passed(event)
            after = monotonic_ns()
            if has_passed:
                # This thread may have had to wait for the interpreter before it could poll.
                latest = min(after, recorded + _LATENCY_NS)
                return _Anchor(event, (before + latest) // 2, after - before)
            if after - before > _PATIENCE_NS:
                return None

    def renew(self) -> None:
        """Synchronise the clocks again if the last time was long ago."""
        now = monotonic_ns()
        if now < self._next_ns:
            return
        self._next_ns = now + _RETRY_NS
        best: _Anchor | None = None
        for _ in range(_ATTEMPTS):
            anchor = self._take_anchor()
            if anchor is not None and (best is None or anchor.bound_ns < best.bound_ns):
                best = anchor
            if best is not None and best.bound_ns <= _TIGHT_NS:
                break
        if best is None:
            return
        is_tight = best.bound_ns <= _TIGHT_NS
        if is_tight and self._is_rate_known:
            self._next_ns = now + _RENEWAL_NS
        if is_tight or self._latest is None or now - self._latest.cpu_ns > _OLD_NS:
            self._adopt(best)

    def _adopt(self, anchor: _Anchor) -> None:
        self._latest = anchor
        if self._first is None:
            self._first = anchor
            return
        apart_ns = anchor.cpu_ns - self._first.cpu_ns
        ticks_ns = self._library.elapsed_ms(self._first.event, anchor.event) * 1e6
        bound_ns = anchor.bound_ns + self._first.bound_ns
        if apart_ns < _BASELINE_NS or bound_ns > _RATE_BOUND * apart_ns or ticks_ns <= 0:
            return
        rate = apart_ns / ticks_ns
        if abs(rate - 1) <= _GREATEST_DRIFT:
            self._rate = rate
            self._is_rate_known = True
        else:
            # One of the clocks was set or stood still, so earlier pairs are useless.
            self._first = anchor

    @property
    def is_known(self) -> bool:
        """Whether the clocks are synchronised."""
        return self._latest is not None

    def time_ns(self, event: Any) -> int:
        """Return the time at which an event passed."""
        assert self._latest is not None
        return self._latest.cpu_ns + round(self._library.elapsed_ms(self._latest.event, event) * 1e6 * self._rate)

    def duration_ns(self, begin: Any, end: Any) -> int:
        """Return the time from one event to another."""
        return max(0, round(self._library.elapsed_ms(begin, end) * 1e6 * self._rate))


@dataclass(slots=True)
class _Timing:
    """A scope between its two events."""

    device: int
    stream: Any
    track: str
    begin: Any
    issued_ns: int
    correlation: int
    end: Any = None
    name: str = ""
    category: str = ""
    arguments: dict[str, Value] = field(default_factory=dict)


class _Timer:
    """Opens and closes timings on any thread; a separate thread resolves them, in the order of each stream."""

    def __init__(self, library: GpuLibrary) -> None:
        self._library = library
        self._pools: dict[int, deque[Any]] = {}
        self._tracks: dict[tuple[int, int], str] = {}
        self._clocks: dict[int, _Clock] = {}
        self._closed: deque[_Timing] = deque()
        self._pending: dict[str, deque[_Timing]] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._done = threading.Condition()
        self._correlations = itertools.count(1)
        self._issued = 0
        self._resolved = 0
        self._lost = 0
        self._failures = 0
        self._has_failed = False
        self._is_over = False

    @property
    def lost(self) -> int:
        """Number of scopes whose GPU time is unknown."""
        return self._lost

    @property
    def is_over(self) -> bool:
        """Whether the GPU failed so often that it is not queried any more."""
        return self._failures >= _MOST_FAILURES

    def open(self) -> _Timing | None:
        """Mark the begin of a scope on the current stream; None if that is not possible."""
        if self.is_over or self._issued - self._resolved >= _MOST_PENDING:
            self._lose(None)
            return None
        try:
            stream, device, handle = self._library.current_stream()
            if self._library.is_capturing(stream):
                return None
            event = self._take_event(device)
            issued_ns = monotonic_ns()
            self._library.record(event, stream)
        except Exception as error:
            self._lose(error)
            return None
        return _Timing(device, stream, self._track_of(device, handle), event, issued_ns, next(self._correlations))

    def close(self, timing: _Timing, name: str, category: str, arguments: dict[str, Value]) -> None:
        """Mark the end of a scope on the stream on which it began."""
        try:
            if self._library.is_capturing(timing.stream):
                self._lose(None)
                return
            timing.end = self._take_event(timing.device)
            self._library.record(timing.end, timing.stream)
        except Exception as error:
            self._lose(error)
            return
        timing.name = name
        timing.category = category
        timing.arguments = arguments
        with self._lock:
            self._issued += 1
            self._closed.append(timing)
            if self._thread is None and not self._is_over:
                self._thread = threading.Thread(target=self._run, name="kymo GPU times", daemon=True)
                self._thread.start()
        if not self._wake.is_set():
            self._wake.set()

    def _take_event(self, device: int) -> Any:
        pool = self._pools.setdefault(device, deque())
        try:
            return pool.popleft()
        except IndexError:
            return self._library.new_event(device)

    def _track_of(self, device: int, handle: int) -> str:
        track = self._tracks.get((device, handle))
        if track is None:
            with self._lock:
                number = sum(1 for known, other in self._tracks if known == device and other != 0) + 1
                name = f"GPU {device}" if handle == 0 else f"GPU {device} stream {number}"
                track = self._tracks.setdefault((device, handle), name)
        return track

    def _lose(self, error: Exception | None) -> None:
        with self._lock:
            self._lost += 1
            if error is None:
                return
            self._failures += 1
            is_first = not self._has_failed
            self._has_failed = True
        if is_first:
            _say(f"times of GPU work are not known where the GPU says: {error}")
        if self._failures == _MOST_FAILURES:
            _say("the GPU went on failing, and is not asked for times any more")

    def step(self) -> bool:
        """Resolve the timings that have passed; return whether more are pending."""
        while self._closed:
            timing = self._closed.popleft()
            self._pending.setdefault(timing.track, deque()).append(timing)
        resolved = 0
        for timings in self._pending.values():
            while timings and self._resolve(timings[0]):
                timings.popleft()
                resolved += 1
        if resolved:
            with self._done:
                self._resolved += resolved
                self._done.notify_all()
        return self._resolved < self._issued

    def _resolve(self, timing: _Timing) -> bool:
        """Record a scope's span on its track; False if the GPU has not reached its end."""
        try:
            if not self.is_over and not self._library.has_passed(timing.end):
                return False
            if self.is_over:
                self._lose(None)
                return True
            clock = self._clocks.get(timing.device)
            if clock is None:
                clock = self._clocks[timing.device] = _Clock(self._library, timing.device)
            clock.renew()
            if not clock.is_known:
                return False
            # Work never runs before it was submitted: an earlier time is a clock error.
            start_ns = max(timing.issued_ns, clock.time_ns(timing.begin))
            duration_ns = clock.duration_ns(timing.begin, timing.end)
            _record.emit_span(timing.track, timing.name, start_ns, duration_ns, timing.category, **timing.arguments)
            _record.flow_end(_FLOW | timing.correlation, timing.track, start_ns)
        except Exception as error:
            self._lose(error)
            return True
        with self._lock:
            self._failures = 0
        self._pools[timing.device].extend((timing.begin, timing.end))
        return True

    def _run(self) -> None:
        relax_captures()
        while not self._is_over:
            self._wake.clear()
            is_more_to_come = self.step()
            if is_more_to_come:
                sleep(_POLL_S)
            elif not self._closed:
                self._wake.wait()

    def flush(self, timeout_s: float) -> bool:
        """Wait for the scopes closed before; False if that took too long."""
        if self._thread is None:
            return True
        with self._done:
            until = self._issued
            return self._done.wait_for(lambda: self._resolved >= until, timeout_s)

    def finish(self) -> None:
        """End the thread; work that the GPU does not finish within a second is lost."""
        self.flush(1.0)
        self._is_over = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(1.0)
        self._lost += self._issued - self._resolved
        if self._lost:
            _say(f"the times of {self._lost} GPU scopes are not known")


class _Gpu:
    """The process's only timer, created when the first scope needs it."""

    def __init__(self) -> None:
        self.timer: _Timer | None = None
        self._gpus = Gpus(_say)
        self._lock = threading.Lock()

    def find_timer(self) -> _Timer | None:
        timer = self.timer
        if timer is None and self._gpus.may_be_there():
            with self._lock:
                library = self._gpus.find() if self.timer is None else None
                if library is not None:
                    self.timer = _Timer(library)
                    atexit.register(self.timer.finish)
                timer = self.timer
        return timer

    def forget(self) -> None:
        """Reset in a forked child: the GPU and the thread belong to the parent."""
        if self.timer is not None:
            atexit.unregister(self.timer.finish)
            self.timer = None
        self._lock = threading.Lock()


_gpu = _Gpu()
os.register_at_fork(after_in_child=_gpu.forget)


class gpu_scope(ScopeDecorator):  # noqa: N801
    """
    A scope whose work runs on a GPU.

    On its thread it is a normal scope: the time for submitting the work. The GPU's time for the work is a span on the
    track of the stream that was current at the beginning ("GPU 0", "GPU 0 stream 1", ...). A flow leads from the scope
    to the span, and both carry the argument ``correlation``, a common number (if there are fewer than eight others). It
    never waits for the GPU: the span appears some milliseconds after the work is done. Without PyTorch or CuPy, or
    without a GPU, it is only a scope, and kymo says so once.

    While a stream is captured into a graph, nothing is measured on the GPU. May be used as a decorator of functions
    that are neither generators nor asynchronous, and as a context by one thread at a time.

    Parameters
    ----------
    name
        The name of the scope and of the span.
    category
        The category of the GPU span.
    **arguments
        Integers, floats, booleans or texts.

    Examples
    --------
    >>> with gpu_scope("forward", batch=3):
    ...     pass
    """

    def __init__(self, name: str, /, category: str = "gpu", **arguments: Value) -> None:
        self._name = name
        self._category = category
        self._arguments = arguments
        self._open: list[tuple[_record.scope | None, _Timing | None]] = []

    def _recreate_cm(self) -> gpu_scope:
        return gpu_scope(self._name, self._category, **self._arguments)

    def __enter__(self) -> gpu_scope:
        if not _record.is_recording_scopes():
            self._open.append((None, None))
            return self
        scope = _record.scope(self._name, **self._arguments)
        scope.__enter__()
        timer = _gpu.timer or _gpu.find_timer()
        timing = timer.open() if timer is not None else None
        if timing is not None:
            _record.flow_begin(_FLOW | timing.correlation)
            if len(self._arguments) < _MOST_ARGUMENTS:
                scope.argument("correlation", timing.correlation)
        self._open.append((scope, timing))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        scope, timing = self._open.pop()
        if timing is not None and _gpu.timer is not None:
            arguments = self._arguments
            if len(arguments) < _MOST_ARGUMENTS:
                arguments = {**arguments, "correlation": timing.correlation}
            _gpu.timer.close(timing, self._name, self._category, arguments)
        if scope is not None:
            scope.__exit__(kind, error, trace)


def flush(timeout_s: float) -> bool:
    """Wait for the scopes closed before; False if that took too long."""
    return _gpu.timer is None or _gpu.timer.flush(timeout_s)
