"""Energy and memory of a part of a program, without a capture."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType

from kymograph import _analysis
from kymograph._analysis import PowerSource
from kymograph.bench._records import MemorySnapshot, PowerSample


@dataclass(frozen=True, slots=True)
class EnergyReport:
    """
    Energy over a time range.

    `unknown_s` is the part of `duration_s` in which the source could not be read; its energy is not in `energy_j`.
    `is_counted`: from an energy counter, not from integrated power. `bound_j`: the joules are at most so far off, for
    the time that is known; infinite if the counter did not move. It is not in the JSON.
    """

    energy_j: float = 0.0
    mean_watts: float = 0.0
    peak_watts: float = 0.0
    duration_s: float = 0.0
    samples: int = 0
    unknown_s: float = 0.0
    is_counted: bool = False
    label: str = ""
    bound_j: float = 0.0

    def to_json(self) -> str:
        """Return a compact JSON object with these names as keys."""
        return _analysis.energy_report_json(self)


def find_power_sources(sensors: Sequence[str] = (), *, root: str | os.PathLike[str] = "/") -> list[PowerSource]:
    """
    Return the power sources of this machine: first the machine's supply, if known, then each GPU.

    Parameters
    ----------
    sensors
        Names of sensors to use: ``["rapl"]``, ``["nvml"]``.
    root
        The root of the machine's files.

    Returns
    -------
    list of PowerSource
        Empty if nothing can be measured.

    Raises
    ------
    ValueError
        A sensor is unknown.
    """
    return _analysis.find_power_sources(list(sensors), os.fspath(root))


def integrate(samples: Iterable[tuple[float, float]]) -> float:
    """
    Integrate samples of ascending time with the trapezoidal rule.

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
    Adds up the energy of a source, which a thread reads at a fixed rate, and at start and stop.

    As a context manager it starts and stops; `report` then returns the result.

    Parameters
    ----------
    source
        The source; the default is the first of `find_power_sources`.
    hz
        0.1 to 1000.
    label
        The name of the report.
    kept_samples
        How many of the latest readings `samples` returns.

    Raises
    ------
    ValueError
        The rate is out of range.
    RuntimeError
        No source was given, and the machine has none.

    Examples
    --------
    >>> from kymograph.bench import FixedPowerSource, PowerTracker
    >>> with PowerTracker(FixedPowerSource(5.0)) as tracker:
    ...     pass
    >>> tracker.report().mean_watts
    5.0
    """

    def __init__(
        self, source: PowerSource | None = None, hz: float = 10.0, *, label: str = "", kept_samples: int = 0
    ) -> None:
        if source is None:
            sources = find_power_sources()
            if not sources:
                raise RuntimeError("this machine has no power that can be measured; `kymo doctor` says why")
            source = sources[0]
        self._source = source
        self._core = _analysis.PowerTrackerCore(source, hz, label, kept_samples)
        self._finalizer = weakref.finalize(self, self._core.stop)

    @property
    def source(self) -> PowerSource:
        """The source."""
        return self._source

    @property
    def is_running(self) -> bool:
        """Whether the thread is running."""
        return self._core.is_running()

    @property
    def samples(self) -> list[PowerSample]:
        """The latest readings whose power is known; `write_csv` takes them."""
        return [PowerSample(*row) for row in self._core.samples()]

    def start(self) -> bool:
        """Start again from zero; False if it is running already."""
        return self._core.start()

    def stop(self) -> EnergyReport:
        """Read once more, end the thread and return the result."""
        return EnergyReport(*self._core.stop())

    def report(self) -> EnergyReport:
        """Return the result so far."""
        return EnergyReport(*self._core.report())

    def sample(self, now_ns: int) -> None:
        """
        Take a reading manually, for callers with their own timing.

        Parameters
        ----------
        now_ns
            Its time by ``time.monotonic_ns()``; a reading earlier than the last one is ignored.
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
    """
    Peak and mean memory over snapshots in bytes, and sums over them; all zero for none.

    `process_peak` is the largest since the process began, also between snapshots.
    """

    label: str
    peak_rss: int = 0
    mean_rss: float = 0.0
    kv_cache_total: int = 0
    activation_total: int = 0
    temp_buffer_total: int = 0
    snapshots: int = 0
    process_peak: int = 0

    def to_json(self) -> str:
        """Return a compact JSON object with these names as keys."""
        return _analysis.memory_report_json(self)


class MemoryTracker:
    """
    Collects snapshots of this process's memory. One thread at a time.

    Parameters
    ----------
    label
        The name of the report.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._core = _analysis.MemoryTrackerCore(label)

    @property
    def label(self) -> str:
        """The name of the report."""
        return self._label

    @property
    def snapshots(self) -> list[MemorySnapshot]:
        """The snapshots so far."""
        return [MemorySnapshot(*row) for row in self._core.snapshots()]

    def snapshot(
        self, kv_cache_bytes: int = 0, activation_bytes: int = 0, temp_buffer_bytes: int = 0
    ) -> MemorySnapshot:
        """
        Take a snapshot; costs some microseconds.

        Parameters
        ----------
        kv_cache_bytes, activation_bytes, temp_buffer_bytes
            The parts of its memory that the caller knows.

        Returns
        -------
        MemorySnapshot
            The snapshot.
        """
        return MemorySnapshot(*self._core.snapshot(kv_cache_bytes, activation_bytes, temp_buffer_bytes))

    def report(self) -> MemoryReport:
        """Return the statistics of the snapshots."""
        return MemoryReport(*self._core.report())
