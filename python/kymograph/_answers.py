"""What a capture answers: statistics, joules, functions, comparisons and reasons."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from kymograph._analysis import Reader, Snapshot, compare
from kymograph._errors import warn_of, warn_of_stacks
from kymograph._selection import ENERGY_LISTS, Selection, as_patterns, unknown_key
from kymograph._stacks import FunctionRow

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from kymograph._capture import Capture
    from kymograph._results import (
        Comparison,
        EnergyExplanation,
        EnergyOptions,
        EnergyStatistics,
        Explanation,
        FrameEnergyRow,
        PhaseEnergyRow,
        PowerSourceRow,
        RunExplanation,
        SiteEnergyRow,
        SpanEnergyRow,
        Statistics,
        ThreadActivity,
    )

    Path = str | os.PathLike[str]


class Answers:
    """What `Capture` computes; the rest of it opens and reads."""

    _selection: Selection

    def _snapshot(self) -> Snapshot:
        raise NotImplementedError

    def _opened(self, other: Capture | Path | Iterable[Path]) -> Capture:
        raise NotImplementedError

    def _range(self) -> tuple[int, int]:
        """Return the time of the first event and of the last one, in a part of a capture of those in it."""
        snapshot = self._snapshot()
        stretches = []
        for index, first, end in self._selection.blocks:
            starts, ends, *_ = snapshot.blocks(index)
            if len(starts[first:end]) > 0:
                stretches.append((int(starts[first:end].min()), int(ends[first:end].max())))
        if not stretches:
            return snapshot.range
        return min(start for start, _ in stretches), max(end for _, end in stretches)

    def _refuse_part(self, what: str) -> None:
        """Raise an error in a view from `partition` or `follow`: what it lacks is in other parts."""
        if self._selection.blocks:
            raise ValueError(
                f"{what} told of a capture or of a stretch of time; a partition, or a step of follow(), "
                "has only its tables and metrics"
            )

    @property
    def start_ns(self) -> int:
        """The time of the first event, or the start of the view."""
        return max(self._range()[0], self._selection.start_ns)

    @property
    def end_ns(self) -> int:
        """The time of the last event, or the end of the view."""
        return min(self._range()[1], self._selection.end_ns)

    @property
    def captures(self) -> list[dict[str, Any]]:
        """The files: path, bytes, is_closed, recorder, clock, damages, closing_facts."""
        return self._snapshot().captures()

    def stats(
        self,
        *,
        site: str | Sequence[str] | None = None,
        track: str | Sequence[str] | None = None,
        frames: tuple[int, int] | None = None,
        phase: int | None = None,
        by_process: bool = False,
    ) -> Statistics:
        """
        Compute statistics: the numbers of ``kymo stats --json``, without its ``warnings`` and ``damage``.

        Parameters
        ----------
        site, track : str or sequence of str, optional
            Patterns for names of sites and spans, or of tracks; one must match.
        frames : (int, int), optional
            First and last frame of each process's main stream, numbered from 1, both included.
        phase : int, optional
            The phase with this number in each process.
        by_process : bool
            Keep processes separate; else equal sites, streams and metrics of several processes are combined.

        Returns
        -------
        dict
            ``sites``, ``spans``, ``frame_streams``, ``metrics`` and ``locks`` are lists of rows, by descending total;
            durations are in nanoseconds. Percentiles of metrics are by nearest rank; each sample counts once. A span
            with ``unresolved`` is GPU work whose times are unknown. A view counts only the parts inside its range.

        Raises
        ------
        KeyError
            A pattern matches nothing, the list of patterns is empty, or there is no such frame or phase.
        ValueError
            This is a view from `partition` or `follow`.
        """
        self._refuse_part("statistics are")
        snapshot = self._snapshot()
        found = snapshot.statistics(
            start_ns=self._selection.start_ns,
            end_ns=self._selection.end_ns,
            sites=_patterns("site", site),
            threads=_patterns("track", track),
            frames=frames,
            phase=phase,
            by_process=by_process,
        )
        warn_of(snapshot.captures())
        return found

    @overload
    def energy(self, by: None = None, **options: Unpack[EnergyOptions]) -> EnergyStatistics: ...
    @overload
    def energy(self, by: Literal["site"], **options: Unpack[EnergyOptions]) -> list[SiteEnergyRow]: ...
    @overload
    def energy(self, by: Literal["span"], **options: Unpack[EnergyOptions]) -> list[SpanEnergyRow]: ...
    @overload
    def energy(self, by: Literal["frame"], **options: Unpack[EnergyOptions]) -> list[FrameEnergyRow]: ...
    @overload
    def energy(self, by: Literal["phase"], **options: Unpack[EnergyOptions]) -> list[PhaseEnergyRow]: ...
    @overload
    def energy(self, by: Literal["source"], **options: Unpack[EnergyOptions]) -> list[PowerSourceRow]: ...

    def energy(
        self,
        by: str | None = None,
        *,
        by_process: bool = False,
        power_sources: str | Sequence[str] = (),
        idle_watts: float | None = None,
    ) -> Any:
        """
        Attribute the energy: the numbers of ``kymo stats --energy --json``.

        Parameters
        ----------
        by : {"site", "span", "frame", "phase", "source"}, optional
            Return only this list of rows.
        by_process : bool
            Keep processes separate.
        power_sources : str or sequence of str
            The sources to add up: a metric's name, a label's value, or a full name. Empty: the machine's supply.
        idle_watts : float, optional
            Power of the idle machine, 0 or more; by default the least mean over a second.

        Returns
        -------
        dict, or list of dict
            Joules with their error bounds; None if the source could not be read, or no power was recorded. They cover
            the whole capture.

        Raises
        ------
        KeyError
            There is no such source of power.
        ValueError
            `by` has another value, the idle power is no number from 0, or this is a view: energy is only available for
            whole captures.
        """
        if by is not None and by not in ENERGY_LISTS:
            raise ValueError(f"energy by {by!r}: there are {', '.join(ENERGY_LISTS)}")
        if self._selection != Selection():
            raise ValueError("energy is told of whole captures, not of a view")
        if idle_watts is not None and not 0 <= idle_watts < math.inf:
            raise ValueError(f"idle_watts must be a number of watts, 0 or more, not {idle_watts!r}")
        snapshot = self._snapshot()
        wanted = as_patterns(power_sources) or ()
        found = snapshot.energy(by_process=by_process, power_sources=list(wanted), idle_watts=idle_watts)
        if wanted:
            _check_sources(wanted, found, snapshot)
        elif not found["power_sources"]:
            _tell_no_power(found)
        warn_of(snapshot.captures())
        return found if by is None else found[ENERGY_LISTS[by]]

    def functions(
        self,
        *,
        site: str | Sequence[str] | None = None,
        thread: str | Sequence[str] | None = None,
        frames: tuple[int, int] | None = None,
        phase: int | None = None,
        lines: bool = False,
    ) -> list[FunctionRow]:
        """
        Count the sampled stacks by function: the rows of ``kymo stats --functions --json``.

        Parameters
        ----------
        site, thread : str or sequence of str, optional
            Patterns: only samples inside scopes of such sites, or of such threads.
        frames : (int, int), optional
            First and last frame of each process's main stream, numbered from 1, both included.
        phase : int, optional
            The phase with this number in each process.
        lines : bool, optional
            Count by line of the source, as ``kymo stats --lines`` does.

        Returns
        -------
        list of FunctionRow
            By descending ``self``: ``name``, ``module``, the source's ``file`` (empty if it is not known), ``self`` and
            ``total`` samples, ``self_blocked_ns`` and ``total_blocked_ns`` with the bounds ``self_blocked_bound_ns``
            and ``total_blocked_bound_ns``. With `lines` the ``line``, None if it is not known. Where power was recorded
            ``self_joules`` and ``total_joules``, estimated, with ``self_bound_joules`` and ``total_bound_joules``; None
            if the power could not be read.

        Raises
        ------
        KeyError
            A pattern matches nothing, the list of patterns is empty, or there is no such frame or phase.
        ValueError
            This is a view from `partition` or `follow`.
        """
        self._refuse_part("functions are")
        snapshot = self._snapshot()
        found = snapshot.functions(
            start_ns=self._selection.start_ns,
            end_ns=self._selection.end_ns,
            sites=_patterns("site", site),
            threads=_patterns("thread", thread),
            frames=frames,
            phase=phase,
            lines=lines,
        )
        warn_of(snapshot.captures())
        warn_of_stacks(snapshot.captures())
        return found

    def thread_activity(
        self,
        *,
        thread: str | Sequence[str] | None = None,
        frames: tuple[int, int] | None = None,
        phase: int | None = None,
    ) -> list[ThreadActivity]:
        """
        Tell what each thread did in all, as ``kymo stats --by thread --json`` does.

        Parameters
        ----------
        thread : str or sequence of str, optional
            Patterns of names.
        frames : (int, int), optional
            First and last frame of each process's main stream, numbered from 1, both included.
        phase : int, optional
            The phase with this number in each process.

        Returns
        -------
        list of ThreadActivity
            By descending CPU time: ``thread``, ``thread_id``, ``pid``, ``run_states`` (``running_ns``, ``runnable_ns``,
            ``blocked_ns``), ``migrations`` to another CPU, ``minor_faults`` and ``major_faults``; None where nothing
            was recorded.

        Raises
        ------
        KeyError
            A pattern matches nothing, the list of patterns is empty, or there is no such frame or phase.
        ValueError
            This is a view from `partition` or `follow`.
        """
        self._refuse_part("the activity of threads is")
        snapshot = self._snapshot()
        found = snapshot.thread_activity(
            start_ns=self._selection.start_ns,
            end_ns=self._selection.end_ns,
            threads=_patterns("thread", thread),
            frames=frames,
            phase=phase,
        )
        warn_of(snapshot.captures())
        return found

    def compare(self, other: Capture | Path | Iterable[Path], *, seed: int = 1) -> Comparison:
        """
        Test whether another recording differs from this one by more than chance, like ``kymo compare --json``.

        Parameters
        ----------
        other : Capture, path, or iterable of paths
            The new side. Each file is a run. With one per side, verdicts hold for these recordings only and end with
            "here"; three or more show how much equal runs vary.
        seed : int
            The seed of the random numbers, which makes results reproducible.

        Returns
        -------
        dict
            ``compared``: rows with a verdict, "worse" first. For "unclear" ones, ``more_runs`` is about how many
            more runs per side would settle it. ``only_in_base``, ``only_in_new``, ``other_units``, ``configuration``.

        Raises
        ------
        ValueError
            This or the other capture is a view.
        """
        new = self._opened(other)
        if self._selection != Selection() or new._selection != Selection():
            raise ValueError("whole captures are compared, not views")
        base_paths = [os.fsencode(capture["path"]) for capture in self.captures]
        new_paths = [os.fsencode(capture["path"]) for capture in new.captures]
        return compare(base_paths, new_paths, seed=seed)

    def explain(
        self,
        *,
        site: str | None = None,
        frame: int | None = None,
        over_ns: int | None = None,
        base: Capture | Path | Iterable[Path] | None = None,
        seed: int = 1,
    ) -> list[Explanation]:
        """
        Say why slow frames or scopes are slow, like ``kymo explain --json``. Of a view: those that overlap it.

        Parameters
        ----------
        site : str, optional
            A pattern: explain the slow scopes of this name. By default the frames of the main stream; without frames,
            the scopes of up to three of the costliest sites.
        frame : int, optional
            Explain this frame, from 1.
        over_ns : int, optional
            A target: what takes longer is slow. By default what chance does not explain.
        base : Capture, path, or iterable of paths, optional
            Explain why frames or scopes take longer than in these captures.
        seed : int
            The seed of the random numbers, which makes results reproducible.

        Returns
        -------
        list of Explanation
            Causes with their shares of the excess: ``findings``. Nothing stands out where there are none. Times are on
            the capture's axis; with `base`, on that of the base's first capture.

        Raises
        ------
        KeyError
            There is no such scope or frame, or fewer than 20 to tell what is usual.
        ValueError
            A view, a frame, a target and a base do not go together, or the base is a view.
        """
        given = [frame is not None, over_ns is not None, base is not None, self._selection != Selection()]
        if sum(given) > 1 or (frame is not None and site is not None):
            raise ValueError("give a frame, a target, a base or a view: they do not go together")
        snapshot, before, time = self._sides(base)
        found = snapshot.explain(
            site=site or "", over_ns=over_ns, frame=frame, time=time, base_captures=before, seed=seed
        )
        warn_of(snapshot.captures())
        return found

    def explain_run(self) -> RunExplanation:
        """
        Say where the time of the whole run went, like ``kymo explain --run --json``. It needs no scopes.

        Returns
        -------
        RunExplanation
            Parts of the time of the main thread that was recorded longest: computing, waiting and for whom, without a
            CPU. Times are on the capture's axis.

        Raises
        ------
        KeyError
            Neither scopes nor run states were recorded.
        ValueError
            This is a view: only whole captures are explained so.
        """
        if self._selection != Selection():
            raise ValueError("the run of a whole capture is explained, not a view's")
        snapshot = self._snapshot()
        found = snapshot.explain_run()
        warn_of(snapshot.captures())
        return found

    def _sides(
        self, base: Capture | Path | Iterable[Path] | None
    ) -> tuple[Snapshot, list[int], tuple[int, int] | None]:
        """Return what to explain, which of its captures are the base's, and the view's stretch of time."""
        is_view = self._selection != Selection()
        if is_view and self._selection != Selection().between(self._selection.start_ns, self._selection.end_ns):
            raise ValueError("a view of a stretch of time can be explained, a partition cannot")
        if base is None:
            return self._snapshot(), [], (self.start_ns, self.end_ns) if is_view else None
        old = self._opened(base)
        if old._selection != Selection():
            raise ValueError("the base is a whole capture, not a view")
        paths = [os.fsencode(capture["path"]) for side in (old, self) for capture in side.captures]
        return Reader(paths).snapshot(), list(range(len(old))), None

    def explain_energy(
        self,
        *,
        site: str | None = None,
        frame: int | None = None,
        base: Capture | Path | Iterable[Path] | None = None,
        seed: int = 1,
    ) -> EnergyExplanation:
        """
        Say why frames or scopes took more joules than the others, like ``kymo explain --energy --json``.

        Parameters
        ----------
        site : str, optional
            A pattern: explain the scopes of this name. By default the frames of the main stream.
        frame : int, optional
            Explain this frame, from 1. By default those that took more by more than chance; of a view, those in it.
        base : Capture, path, or iterable of paths, optional
            Explain why frames or scopes took more joules than in these captures.
        seed : int
            The seed of the random numbers, which makes results reproducible.

        Returns
        -------
        EnergyExplanation
            The scopes and GPU spans that used the excess. Times are on the capture's axis; with `base`, on that of the
            base's first capture.

        Raises
        ------
        KeyError
            There are no such frames or scopes.
        ValueError
            A view, a frame and a base do not go together, or the base is a view.
        """
        given = [frame is not None, base is not None, self._selection != Selection()]
        if sum(given) > 1 or (frame is not None and site is not None):
            raise ValueError("give a frame, a base, or a view of the whole capture: they do not go together")
        snapshot, before, time = self._sides(base)
        found = snapshot.explain_energy(site=site or "", frame=frame, time=time, base_captures=before, seed=seed)
        warn_of(snapshot.captures())
        return found


def _patterns(what: str, given: str | Sequence[str] | None) -> list[str]:
    """Return patterns for the reader, to which none means all."""
    patterns = as_patterns(given)
    if patterns == ():
        raise KeyError(f"no {what} is selected: the list is empty")
    return list(patterns or ())


def _check_sources(wanted: Sequence[str], found: EnergyStatistics, snapshot: Snapshot) -> None:
    """Raise an error if there is no such source of power."""
    names = [row["name"] for row in (*found["power_sources"], *found["left_out"])]
    known = {*names}
    for metric in snapshot.metrics():
        known |= {metric["name"], *metric["labels"].values()}
    for name in wanted:
        if name not in known or not found["power_sources"]:
            raise unknown_key("power source", name, names)


def _tell_no_power(found: EnergyStatistics) -> None:
    """Make joules that no source tells unknown rather than none."""
    total = found["total"]
    total["joules"] = total["bound_joules"] = total["gpu_joules"] = total["gpu_bound_joules"] = None
    total["unknown_s"] = total["gpu_unknown_s"] = (found["end_ns"] - found["start_ns"]) / 1e9
