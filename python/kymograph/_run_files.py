"""The files of a run: which path it gets, what was there before, and the captures of its workers."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import glob
import os
import re
import socket
import stat
import struct
import time
from collections.abc import Iterator
from pathlib import Path

_MAGIC = b"\x89KYM\r\n\x1a\n"
_WRITER_LOCK_BYTE = 0
_FOLLOWER_LOCK_BYTE = 2
_PLACEHOLDER = re.compile(r"%(.)")
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr|fd/[0-9]+)|/proc/self/fd/[0-9]+")
_TIMEOUT_S = 2.0
_MOST_HEADER_BYTES = 1 << 16
_ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
_ID_AND_ENDING = len(".spool") + 32


def _first_variable(*names: str) -> str:
    return next((value for name in names if (value := os.environ.get(name))), "0")


def _expand(pattern: str) -> str:
    values = {
        "p": str(os.getpid()),
        "h": socket.gethostname(),
        "r": _first_variable("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"),
        "j": _first_variable("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"),
        "w": "",
        "%": "%",
    }
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]).replace("/", "_"), pattern)


def _escape(path: str) -> str:
    return path.replace("%", "%%")


def is_directory(pattern: str) -> bool:
    """Tell whether each process writes a file of its own in the directory of this path."""
    return pattern.endswith("/") or os.path.isdir(_expand(pattern))


def plan(pattern: str, overwrite: bool) -> str:
    """
    Choose the path of a run.

    Parameters
    ----------
    pattern : str
        What the user named: a file or a directory, with placeholders.
    overwrite : bool
        Whether a capture that exists is replaced; else the path gets a number.

    Returns
    -------
    str
        A pattern for this process and for its workers.

    Raises
    ------
    ValueError
        It names neither.
    """
    expanded = _expand(pattern)
    # Joined with the current directory, it would name that.
    if not expanded or (expanded.endswith("/") and not pattern.endswith("/")):
        raise ValueError(f"{pattern!r} is not the path of a capture: it names no file")
    pattern = os.path.join(os.getcwd().replace("%", "%%"), pattern)
    if is_directory(pattern) or _is_special(_expand(pattern)):
        return pattern
    path = os.path.normpath(_expand(pattern))
    stem, suffix = os.path.splitext(path)
    number = 0
    while not overwrite and os.path.lexists(path):
        number += 1
        path = f"{stem}-{number}{suffix}"
    return pattern_of(path)


def pattern_of(path: str) -> str:
    """Return the pattern of a run by the path of its starter's capture."""
    if _is_special(path):
        return path
    stem, suffix = os.path.splitext(path)
    return f"{_escape(stem)}%w{_escape(suffix)}"


def _is_special(path: str) -> bool:
    if _DESCRIPTOR.fullmatch(path):
        return True
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def workers_of(path: str) -> list[str]:
    """Return the captures of a run's workers, by the path of its starter's."""
    stem, suffix = os.path.splitext(path)
    # What a user named run-worker-1-old.kymo is none of theirs.
    named = re.compile(rf"{re.escape(stem)}-worker-[0-9]+(-[0-9]+)?{re.escape(suffix)}")
    found = glob.glob(f"{glob.escape(stem)}-worker-[0-9]*{glob.escape(suffix)}")
    return sorted(each for each in found if named.fullmatch(each))


def _is_capture(path: str) -> bool:
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return False
    with Path(path).open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def is_being_written(path: str) -> bool:
    """Tell whether a process writes this capture."""
    with Path(path).open("rb") as file:
        return _is_locked(file.fileno(), _WRITER_LOCK_BYTE)


def _is_locked(file: int, byte: int) -> bool:
    if not hasattr(fcntl, "F_OFD_GETLK"):
        return False
    lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
    try:
        found = fcntl.fcntl(file, fcntl.F_OFD_GETLK, lock)
    except OSError:  # a file system without locks
        return False
    (kind,) = struct.unpack_from("h", found)
    return bool(kind != fcntl.F_UNLCK)


class Followers:
    """
    Processes whose captures end with this one. They share a lock on it meanwhile.

    Parameters
    ----------
    path : str, optional
        A capture; without one there are none.
    """

    def __init__(self, path: str | None) -> None:
        self._file = -1
        if path is not None:
            with contextlib.suppress(OSError):
                self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)

    def wait(self) -> None:
        """Wait, two seconds at most, until they have finished theirs. Ends the use of this object."""
        if self._file < 0:
            return
        try:
            deadline = time.monotonic() + _TIMEOUT_S
            while _is_locked(self._file, _FOLLOWER_LOCK_BYTE) and time.monotonic() < deadline:
                time.sleep(0.01)
        finally:
            os.close(self._file)


def captures_in(directory: str) -> list[str]:
    """Return the captures in a directory."""
    return [path for path in sorted(glob.glob(f"{glob.escape(directory)}/*.kymo")) if _is_capture(path)]


def captures_at(pattern: str) -> Iterator[str]:
    """Yield the captures that a run with this path of `plan` replaces."""
    path = _expand(pattern)
    if is_directory(pattern):
        yield from captures_in(path)
    elif os.path.lexists(path) and not _is_special(path):
        if not _is_capture(path):
            raise FileExistsError(errno.EEXIST, "not a capture, so it is not overwritten", path)
        yield path
        yield from (each for each in workers_of(path) if _is_capture(each))


def _remove_leftovers(captures: list[str]) -> None:
    """Delete what processes that ended without closing these captures left in shared memory."""
    spools = {each[-_ID_AND_ENDING : -len(".spool")].encode(): each for each in glob.glob("/dev/shm/kymo-*-*.spool")}
    for path in captures if spools else []:
        with Path(path).open("rb") as file:
            ids = _ID.findall(file.read(_MOST_HEADER_BYTES))
        for each in set(ids) & spools.keys():
            with contextlib.suppress(OSError):
                os.unlink(spools[each])


class Replaced:
    """
    Captures that make way for a run: set aside at first, so that they come back if the run does not start.

    Parameters
    ----------
    pattern : str
        The path of the run; empty: nothing makes way.

    Raises
    ------
    FileExistsError
        Something else has that path, or another process is writing the capture.
    """

    def __init__(self, pattern: str) -> None:
        paths = list(captures_at(pattern)) if pattern else []
        for path in paths:
            if is_being_written(path):
                raise FileExistsError(errno.EEXIST, "another process is writing this capture", path)
        self._aside: list[tuple[str, str]] = []
        for path in paths:
            aside = f"{path}.replaced-{os.getpid()}"
            try:
                os.rename(path, aside)
            except OSError:
                self.restore()
                raise
            self._aside.append((path, aside))

    def remove(self) -> None:
        """Delete them, and what is left of them in shared memory: the run has started."""
        _remove_leftovers([aside for _, aside in self._aside])
        for _, aside in self._aside:
            os.unlink(aside)

    def restore(self) -> None:
        """Put them back."""
        for path, aside in self._aside:
            os.rename(aside, path)


def failure(pattern: str) -> Exception:
    """Return the reason why no capture could be started at this path."""
    path = os.path.abspath(_expand(pattern))
    folder = path if is_directory(pattern) else os.path.dirname(path)
    probe = os.path.join(folder, f".kymo-{os.getpid()}")
    try:
        with contextlib.suppress(FileNotFoundError):
            os.lstat(path)
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.unlink(probe)
    except OSError as error:
        return OSError(error.errno, f"cannot create a capture: {os.strerror(error.errno or 0)}", path)
    return RuntimeError(f"no capture was started at {path}: stderr has the reason")
