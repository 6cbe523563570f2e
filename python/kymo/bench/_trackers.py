"""Energy and memory of a stretch of a program, without a capture."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType

from kymo import _analysis
from kymo._analysis import PowerSource
from kymo.bench._records import MemorySnapshot


@dataclass(frozen=True, slots=True)
class EnergyReport:
    """
    Energy of a stretch of time.

    `unknown_s` is the part of `duration_s` in which the source could not be read: its energy is not in `energy_j`.
    `is_counted`: from an energy counter, not from integrated power.
    """

    energy_j: float = 0.0
    mean_watts: float = 0.0
    peak_watts: float = 0.0
    duration_s: float = 0.0
    samples: int = 0
    unknown_s: float = 0.0
    is_counted: bool = False

    def to_json(self) -> str:
        """Return a compact JSON object with these names."""
        return _analysis.energy_report_json(self)


def find_power_sources(sensors: Sequence[str] = (), *, root: str | os.PathLike[str] = "/") -> list[PowerSource]:
    """
    Return what can be measured on this machine: first what feeds the machine, where it is known, then each GPU.

    Parameters
    ----------
    sensors
        Names that narrow it down: ``["rapl"]``, ``["nvml"]``.
    root
        Where the machine's files lie.

    Returns
    -------
    list of PowerSource
        Empty where nothing can be measured.

    Raises
    ------
    ValueError
        A sensor is not known.
    """
    return _analysis.find_power_sources(list(sensors), os.fspath(root))


def integrate(samples: Iterable[tuple[float, float]]) -> float:
    """
    Return the joules under samples of ascending time, by trapezoids.

    Parameters
    ----------
    samples
        Pairs of seconds and watts.

    Returns
    -------
    float
        Joules; 0 for fewer than two samples.
    """
    return _analysis.integrate(list(samples))


class PowerTracker:
    """
    Adds up the energy of a source: a thread that reads it so many times a second, and at start and stop.

    As a context manager it starts and stops; `report` then tells what came out.

    Parameters
    ----------
    source
        What is read; the default is the first of `find_power_sources`.
    hz
        0.1 to 1000.

    Raises
    ------
    ValueError
        The rate is out of range.
    RuntimeError
        No source was given, and the machine has none.

    Examples
    --------
    >>> from kymo.bench import FixedPowerSource, PowerTracker
    >>> with PowerTracker(FixedPowerSource(5.0)) as tracker:
    ...     pass
    >>> tracker.report().mean_watts
    5.0
    """

    def __init__(self, source: PowerSource | None = None, hz: float = 10.0) -> None:
        if source is None:
            sources = find_power_sources()
            if not sources:
                raise RuntimeError("this machine has no power that can be measured; `kymo doctor` says why")
            source = sources[0]
        self._source = source
        self._core = _analysis.PowerTrackerCore(source, hz)
        self._finalizer = weakref.finalize(self, self._core.stop)

    @property
    def source(self) -> PowerSource:
        """What is read."""
        return self._source

    @property
    def is_running(self) -> bool:
        """Whether its thread reads the source."""
        return self._core.is_running()

    def start(self) -> bool:
        """Begin anew. False where it is running already."""
        return self._core.start()

    def stop(self) -> EnergyReport:
        """Read once more, end the thread and return what came out."""
        return EnergyReport(*self._core.stop())

    def report(self) -> EnergyReport:
        """Return what came out so far."""
        return EnergyReport(*self._core.report())

    def sample(self, now_ns: int) -> None:
        """
        Take a reading by hand, for callers with a pace of their own.

        Parameters
        ----------
        now_ns
            Its time, as of ``time.monotonic_ns()``; one that is earlier than the last is left out.
        """
        self._core.sample(now_ns)

    def __enter__(self) -> PowerTracker:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """Greatest and mean memory of snapshots in bytes, and sums over them; all zero for none."""

    label: str
    peak_rss: int = 0
    mean_rss: float = 0.0
    kv_cache_total: int = 0
    activation_total: int = 0
    temp_buffer_total: int = 0
    snapshots: int = 0

    def to_json(self) -> str:
        """Return a compact JSON object with these names."""
        return _analysis.memory_report_json(self)


class MemoryTracker:
    """
    Collects snapshots of this process's memory. One thread at a time.

    Parameters
    ----------
    label
        What the report is called.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._core = _analysis.MemoryTrackerCore(label)

    @property
    def label(self) -> str:
        """What the report is called."""
        return self._label

    @property
    def snapshots(self) -> list[MemorySnapshot]:
        """The snapshots that were taken."""
        return [MemorySnapshot(*row) for row in self._core.snapshots()]

    def snapshot(
        self, kv_cache_bytes: int = 0, activation_bytes: int = 0, temp_buffer_bytes: int = 0
    ) -> MemorySnapshot:
        """
        Take a snapshot; some microseconds.

        Parameters
        ----------
        kv_cache_bytes, activation_bytes, temp_buffer_bytes
            What the caller knows of its memory.

        Returns
        -------
        MemorySnapshot
            This one.
        """
        return MemorySnapshot(*self._core.snapshot(kv_cache_bytes, activation_bytes, temp_buffer_bytes))

    def report(self) -> MemoryReport:
        """Return what the snapshots amount to."""
        return MemoryReport(*self._core.report())
