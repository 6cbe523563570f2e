"""``kymo.energy``: the joules of a part of the program while it runs, from the sensors of power."""

from __future__ import annotations

import math
import os
import sys
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType

from kymograph import _record
from kymograph._analysis import PowerSource, PowerTrackerCore, explain_missing_power, find_power_sources

__all__ = ["SourceEnergy", "energy"]

_NAN = math.nan
#: The recorder keeps this much of a text.
_MOST_TEXT = 200


@dataclass(frozen=True)
class SourceEnergy:
    """
    What one source of power says of a window.

    Attributes
    ----------
    name : str
        The source, such as ``cpu_energy package=0 domain=package-0``.
    joules, bound : float
        The energy, and how far off it is at most, for the time in which the source could be read. NaN: not known.
    unknown_s : float
        Seconds of the window in which it could not be read.
    """

    name: str
    joules: float
    bound: float
    unknown_s: float


class _Sources:
    """
    The machine's sources of power. Finding them takes milliseconds, so windows hand them on.

    A source is read by one window at a time: windows that are open at the same time have sources of their own.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew, as in a forked child: open files and drivers belong to the parent."""
        self._idle: list[list[PowerSource]] = []
        self._lock = threading.Lock()
        self._why: str | None = None
        self._owner = os.getpid()

    def take(self) -> tuple[list[PowerSource], int]:
        with self._lock:
            if self._idle:
                return self._idle.pop(), self._owner
        return find_power_sources([], "/"), self._owner

    def give_back(self, sources: list[PowerSource], owner: int) -> None:
        if sources and owner == self._owner:
            with self._lock:
                self._idle.append(sources)

    def why(self) -> str:
        """Return why there are none, which the first window without any says on stderr too."""
        with self._lock:
            if self._why is None:
                self._why = explain_missing_power("/") or "no sensor of this machine measures power"
                if sys.stderr is not None:
                    sys.stderr.write(f"kymo: joules are not known here: {self._why}\n")
            return self._why


_sources = _Sources()
os.register_at_fork(after_in_child=_sources.forget)


class energy:  # noqa: N801
    """
    A ``with`` statement that tells the joules of its block, also while it runs.

    The energy is that of the machine's supply and of each GPU, whoever uses it. In a capture the window is a scope,
    with the arguments ``joules`` and ``bound_joules``, or ``energy_unknown`` with the reason. It needs no capture.

    Where nothing can be read, the joules are NaN and `why` has the reason, which is said on stderr once. The program
    goes on.

    Parameters
    ----------
    name : str
        The name of the scope.
    hz : float
        How often a thread for each source reads it, 0.1 to 1000. More often: a smaller bound.
    sources : sequence of PowerSource, optional
        Which to add up, from ``kymograph.bench``; one must not be read elsewhere meanwhile. None: those of
        ``find_power_sources()``, which the first window looks for; this takes some milliseconds, with GPUs more.

    Raises
    ------
    ValueError
        The rate is out of range.

    Examples
    --------
    >>> with kymo.energy("epoch") as e:  # doctest: +SKIP
    ...     train()
    >>> print(e.joules, "J, at most", e.bound, "off")  # doctest: +SKIP
    """

    def __init__(self, name: str, /, *, hz: float = 10.0, sources: Sequence[PowerSource] | None = None) -> None:
        if not 0.1 <= hz <= 1000:
            raise ValueError(f"hz must be 0.1 to 1000, not {hz!r}")
        self._scope = _record.scope(name)
        self._hz = hz
        self._given = sources
        self._found: list[PowerSource] = []
        self._owner = 0
        self._trackers: list[tuple[str, PowerTrackerCore]] = []
        self._results: tuple[SourceEnergy, ...] | None = None
        self._no_source = ""

    @property
    def sources(self) -> tuple[SourceEnergy, ...]:
        """What each source says: of the block, or so far."""
        if self._results is not None:
            return self._results
        return tuple(_energy_of(name, tracker.report()) for name, tracker in self._trackers)

    @property
    def joules(self) -> float:
        """The joules of the sources whose energy is known; NaN if that is none."""
        return _sum(source.joules for source in self.sources)

    @property
    def bound(self) -> float:
        """How far off `joules` are at most: the sum over these sources."""
        return _sum(source.bound for source in self.sources)

    @property
    def why(self) -> str:
        """What is not in `joules`, and why; empty if nothing is missing."""
        reasons = [self._no_source] if self._no_source else []
        for source in self.sources:
            if math.isnan(source.joules) and source.unknown_s == 0:
                reasons.append(f"{source.name} showed no energy in this time")
            elif math.isnan(source.joules):
                reasons.append(f"{source.name} could not be read")
            elif source.unknown_s > 0:
                reasons.append(f"{source.name} could not be read for {source.unknown_s:.3g} s")
        return "; ".join(reasons)

    def __enter__(self) -> energy:
        self._results = None
        if self._given is None:
            self._found, self._owner = _sources.take()
        used = self._found if self._given is None else list(self._given)
        self._no_source = "" if used else _sources.why() if self._given is None else "no source was given"
        self._trackers = [(source.name, PowerTrackerCore(source, self._hz, "", 0)) for source in used]
        self._scope.__enter__()
        for _, tracker in self._trackers:
            tracker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._results = tuple(_energy_of(name, tracker.stop()) for name, tracker in self._trackers)
        self._trackers = []
        _sources.give_back(self._found, self._owner)
        self._found = []
        if not math.isnan(self.joules):
            self._scope.argument("joules", self.joules)
            self._scope.argument("bound_joules", self.bound)
        if self.why:
            self._scope.argument("energy_unknown", self.why[:_MOST_TEXT])
        self._scope.__exit__(kind, error, traceback)

    def __repr__(self) -> str:
        missing = f", without: {self.why}" if self.why else ""
        return f"<kymograph.energy {self.joules:.6g} J, at most {self.bound:.3g} off{missing}>"


def _energy_of(name: str, report: tuple[float, float, float, float, int, float, bool, str, float]) -> SourceEnergy:
    joules, _, _, duration_s, _, unknown_s, _, _, bound = report
    # A counter that never moved says nothing of a window.
    is_known = duration_s > unknown_s and math.isfinite(bound)
    return SourceEnergy(name, joules if is_known else _NAN, bound if is_known else _NAN, unknown_s)


def _sum(values: Iterable[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) if known else _NAN
