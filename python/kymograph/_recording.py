"""``kymo.capture`` and ``kymo.start_capture``: a recording of this process and of those that it starts."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from kymograph import _control, _environment, _record, _run_files

if TYPE_CHECKING:
    from types import TracebackType

    from kymograph._capture import Capture

__all__ = ["Recording", "Sampling", "capture", "start_capture"]

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


def _names(given: str | Sequence[str]) -> Sequence[str]:
    return (given,) if isinstance(given, str) else given


@dataclass(frozen=True)
class Sampling:
    """
    What a capture samples of the machine and of this process, and how often.

    Attributes
    ----------
    fast_hz, medium_hz, slow_hz : float
        Samples a second in each tier, 0.1 to 1000; 0 turns a tier off.
    only : str or sequence of str
        The only sensors to read, by the names that ``kymo doctor`` lists; empty: all.
    without : str or sequence of str
        Sensors to leave out.
    """

    fast_hz: float = 100
    medium_hz: float = 10
    slow_hz: float = 1
    only: str | Sequence[str] = ()
    without: str | Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("fast_hz", "medium_hz", "slow_hz"):
            hz = getattr(self, name)
            if hz != 0 and not 0.1 <= hz <= 1000:
                raise ValueError(f"{name} must be 0 or 0.1 to 1000, not {hz!r}")
        for name in (*_names(self.only), *_names(self.without)):
            if not name or set(name) & set(",- "):
                raise ValueError(f"{name!r} is not the name of a sensor")

    def variables(self) -> dict[str, str]:
        """Return the environment variables that say the same."""
        return {
            "KYMO_SAMPLE": f"{self.fast_hz:.12g},{self.medium_hz:.12g},{self.slow_hz:.12g}",
            "KYMO_SENSORS": ",".join([*_names(self.only), *(f"-{name}" for name in _names(self.without))]),
        }


@dataclass(frozen=True)
class _Limits:
    """The bounds of a capture, None for the default."""

    keep_s: float | None
    keep_bytes: int | None
    max_bytes: int | None
    sync_period_s: float | None
    pool_bytes: int | None

    def variables(self) -> dict[str, str]:
        """Return the environment variables that say the same to other processes."""
        keep = [f"{self.keep_s:.9f}s"] if self.keep_s is not None else []
        keep += [f"{self.keep_bytes}B"] if self.keep_bytes is not None else []
        found = {
            "KYMO_KEEP": ",".join(keep),
            "KYMO_MAX_SIZE": f"{self.max_bytes}B" if self.max_bytes is not None else "",
            "KYMO_SYNC": f"{self.sync_period_s:.9f}s" if self.sync_period_s is not None else "",
            "KYMO_BUFFER": f"{self.pool_bytes}B" if self.pool_bytes is not None else "",
        }
        return {name: value for name, value in found.items() if value}


class Recording:
    """
    A capture that is being written, or was: `capture` and `start_capture` return it.

    True if the capture was started. As a context manager it stops the capture at the end of the block.

    Attributes
    ----------
    path : str
        The file of this process, absolute; empty if the capture was not started.
    """

    def __init__(self, path: str, is_in_directory: bool = False) -> None:
        self.path = path
        self._is_in_directory = is_in_directory

    @property
    def is_running(self) -> bool:
        """Whether the capture is being written."""
        return bool(self.path) and _record.capture_path() == self.path

    @property
    def workers(self) -> list[str]:
        """The captures, so far, of processes that this one started: beside its own, or in the same directory."""
        if not self._is_in_directory:
            return _run_files.workers_of(self.path)
        return [path for path in _run_files.captures_in(os.path.dirname(self.path)) if path != self.path]

    def stop(self) -> bool:
        """
        Finish the capture.

        Returns
        -------
        bool
            False if it was not running.
        """
        return self.is_running and _control.stop_capture()

    def open(self, *, workers: bool = False) -> Capture:
        """
        Open the capture for reading, while it runs or afterwards.

        Parameters
        ----------
        workers : bool
            Also those of the processes that this one started.

        Returns
        -------
        Capture
            What `kymo.open` gives for these files.

        Raises
        ------
        RuntimeError
            The recording was not started.
        """
        from kymograph._capture import open as open_capture  # noqa: PLC0415

        if not self:
            raise RuntimeError("nothing was captured: the recording was not started")
        if self.is_running:
            _control.flush()
        return open_capture([self.path, *self.workers] if workers else self.path)

    def __bool__(self) -> bool:
        return bool(self.path)

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # A forked child that leaves the block ends its own capture.
        if self.is_running or _environment.is_worker():
            _control.stop_capture()

    def __repr__(self) -> str:
        state = "running" if self.is_running else "stopped" if self else "not started"
        return f"<kymograph.Recording {self.path}: {state}>"


class _Part(Recording):
    """
    A capture that a program asks for while ``python -m kymograph record`` writes one of its whole run.

    It is that one, and goes on at the end of the block.
    """

    def stop(self) -> bool:
        """Write what was recorded until now, and end the main stream's open frame."""
        _record.end_frame()
        _control.flush()
        return False

    def __exit__(self, *error: object) -> None:
        self.stop()


_is_part_said = False


def _join(path: Path, running: str) -> Recording:
    global _is_part_said  # noqa: PLW0603
    if not _is_part_said:
        _is_part_said = True
        said = "`python -m kymograph record` has what this program captures, too"
        sys.stderr.write(f"kymo: {said}: {os.fsdecode(path)} is not written\n")
    return _Part(running, _run_files.is_directory(os.environ.get("KYMO_RECORD", "")))


def _variables(pattern: str, sample: bool | Sampling) -> dict[str, str]:
    variables = {"KYMO_RECORD": pattern, _environment.STARTER: str(os.getpid())}
    if isinstance(sample, Sampling):
        return variables | sample.variables()
    default = os.environ.get("KYMO_SAMPLE") or Sampling().variables()["KYMO_SAMPLE"]
    return variables | {"KYMO_SAMPLE": default if sample else "0"}


def _samples(sample: bool | Sampling) -> bool:
    """Start sampling if it is wanted; false if it is wanted and impossible."""
    rates = os.environ["KYMO_SAMPLE"].split(",")
    return not sample or all(float(rate) == 0 for rate in rates) or _record.start_sampling()


def _start(path: Path, sample: bool | Sampling, overwrite: bool, limits: _Limits) -> Recording:
    """Start a capture. The recording is false if that failed for a reason that stderr has."""
    if not isinstance(sample, bool | Sampling):
        raise TypeError(f"sample must be True, False or a Sampling, not {sample!r}")
    with _environment.lock:
        running = _record.capture_path()
        if running is not None and _environment.is_run_recorded:
            return _join(path, running)
        if running is not None and not _environment.is_worker():
            raise RuntimeError(f"a capture is being written already: {running}")
        pattern = _run_files.plan(os.fsdecode(path), overwrite)
        replaced = _run_files.Replaced(pattern if overwrite else "")
        if running is not None:
            # What a worker asks for itself goes before what it inherited.
            _control.leave_capture()
        # A child that is forked before the path is known takes it from the recorder.
        own = _variables(pattern, sample) | {_environment.FOLLOW: "pending"}
        _environment.hand_down(own)
        is_started = False
        try:
            is_started = _begin(pattern, sample, limits, replaced)
        finally:
            if not is_started and running is not None:
                _record.enable()
        if not is_started:
            return Recording("")
        begun = _record.capture_path() or ""
        is_in_directory = _run_files.is_directory(pattern)
        handed_down = {_environment.FOLLOW: begun}
        if not is_in_directory:
            handed_down["KYMO_RECORD"] = _run_files.pattern_of(begun)
        _environment.hand_down(own | limits.variables() | handed_down)
        return Recording(begun, is_in_directory)


def _begin(pattern: str, sample: bool | Sampling, limits: _Limits, replaced: _run_files.Replaced) -> bool:
    is_begun = is_started = False
    try:
        is_begun = _record.start_capture(pattern, **asdict(limits))
        is_started = is_begun and _samples(sample)
    finally:
        if is_started:
            replaced.remove()
        else:
            begun = _record.capture_path() if is_begun else None
            if begun is not None:
                _record.stop_capture()
                with contextlib.suppress(OSError):
                    os.unlink(begun)
            _environment.take_back()
            replaced.restore()
    return is_started


def capture(
    path: Path = "kymo.kymo",
    *,
    sample: bool | Sampling = False,
    overwrite: bool = False,
    keep_s: float | None = None,
    keep_bytes: int | None = None,
    max_bytes: int | None = None,
    sync_period_s: float | None = None,
    pool_bytes: int | None = None,
) -> Recording:
    """
    Start a capture, for a ``with`` statement.

    The capture is complete after the block, also after an exception or Ctrl-C, and after SIGTERM or exit inside of it.
    Processes that are forked or started meanwhile write their own captures, without a call in them: forked ones from
    their first event on, others from when they import the package. Those that go on finish theirs at the end of the
    block, which waits for that, two seconds at most.

    In a program that ``python -m kymograph record`` runs, the recording is that of the whole run, which goes on after
    the block. This is said once on stderr, and no other file is written.

    Parameters
    ----------
    path : str or os.PathLike
        A file, or a directory in which each process writes a file of its own; one that ends in ``/`` is made. ``%p``
        is the process, ``%h`` the host, ``%r`` the rank, ``%j`` the job. The worker 4711 of ``run.kymo`` writes
        ``run-worker-4711.kymo``.
    sample : bool or Sampling
        Sample this process, those that it starts, and the machine: at 100, 10 and 1 Hz, or as `Sampling` says.
    overwrite : bool
        Replace the capture of that name and those of its workers, or the captures in the directory. Otherwise the
        file gets a number: ``run-1.kymo``.
    keep_s : float, optional
        Keep only the last stretch of so many seconds, which `trigger` writes.
    keep_bytes : int, optional
        Keep only the last stretch of this size.
    max_bytes : int, optional
        Past this size scopes stop and metrics go on. Scopes exceed it by one batch at most, about 1 MiB; those that
        still wait in memory then are dropped and counted.
    sync_period_s : float, optional
        fsync this often.
    pool_bytes : int, optional
        Size of the memory that events wait in, where it does not exist yet (16 MiB): 1 MiB to 16 GiB, and the nearer
        of these for other sizes.

    Returns
    -------
    Recording
        It knows its path, and opens the capture.

    Raises
    ------
    RuntimeError
        Another capture is being written by this process, or nothing can be sampled.
    OSError
        The file cannot be made, or with `overwrite` something else has its name.
    ValueError
        An option is out of range, or the path is empty.

    Examples
    --------
    >>> with kymo.capture("run.kymo", sample=True, overwrite=True) as run:  # doctest: +SKIP
    ...     train()
    >>> run.open().frames.duration_ns.mean()  # doctest: +SKIP
    """
    started = _start(path, sample, overwrite, _Limits(keep_s, keep_bytes, max_bytes, sync_period_s, pool_bytes))
    if not started:
        raise _run_files.failure(os.fsdecode(path))
    return started


def start_capture(
    path: Path = "kymo.kymo",
    *,
    sample: bool | Sampling = False,
    overwrite: bool = False,
    keep_s: float | None = None,
    keep_bytes: int | None = None,
    max_bytes: int | None = None,
    sync_period_s: float | None = None,
    pool_bytes: int | None = None,
) -> Recording:
    """
    Start a capture that `stop_capture`, `Recording.stop` or the program's end finishes.

    It differs from `capture` in one thing: it does not end a program that it cannot measure. A failure is said on
    stderr, and the recording that it returns is false.

    Parameters
    ----------
    path, sample, overwrite, keep_s, keep_bytes, max_bytes, sync_period_s, pool_bytes
        As in `capture`.

    Returns
    -------
    Recording
        False if the capture could not be started, or one is being written already.

    Raises
    ------
    ValueError
        An option is out of range, or the path is empty.
    """
    try:
        return _start(path, sample, overwrite, _Limits(keep_s, keep_bytes, max_bytes, sync_period_s, pool_bytes))
    except (OSError, RuntimeError) as failure:
        sys.stderr.write(f"kymo: nothing is captured: {failure}\n")
        return Recording("")
