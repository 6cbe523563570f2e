"""Errors raised by reading."""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Iterable
from typing import Any


class CaptureWarning(UserWarning):
    """
    A part of what was recorded is missing; the rest was read.

    `Capture.damages` lists the parts of files that cannot be read. The closing facts of `Capture.captures` count the
    stacks of samples that were lost.
    """


_PACKAGE = os.path.dirname(__file__) + os.sep
_warned: set[tuple[str, int]] = set()
_warned_of_stacks: set[str] = set()


def _users_level() -> int:
    """Of the caller's stack levels, as `warnings.warn` counts them, the innermost outside of this package."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level += 1
        frame = frame.f_back
    return level


def warn(said: str, category: type[Warning]) -> None:
    """Warn at the line of the program that called this package."""
    warnings.warn(said, category, stacklevel=_users_level())


def warn_of(captures: Iterable[dict[str, Any]]) -> None:
    """Warn of the damages of captures, once a process for each. The end of a file that grows may be half written."""
    for capture in captures:
        read = math.inf if capture["is_closed"] else capture["bytes"]
        new = [
            damage
            for damage in capture["damages"]
            if (capture["path"], damage["offset"]) not in _warned and damage["offset"] < read
        ]
        _warned.update((capture["path"], damage["offset"]) for damage in new)
        if new:
            parts = "a part" if len(new) == 1 else f"{len(new)} parts"
            said = f"{capture['path']}: {parts} could not be read, and the rest was; `Capture.damages` lists them"
            warn(said, CaptureWarning)


def warn_of_stacks(captures: Iterable[dict[str, Any]]) -> None:
    """Warn of stacks that were lost while they were recorded, once a process for each capture."""
    for capture in captures:
        lost = sum(capture["closing_facts"].get(key, 0) for key in ("stacks_lost", "stacks_left_out"))
        if lost and capture["path"] not in _warned_of_stacks:
            _warned_of_stacks.add(capture["path"])
            said = f"{capture['path']}: the stacks of {lost} samples were lost while it was recorded"
            warn(said, CaptureWarning)


class CaptureError(ValueError):
    """
    A file is not a capture, or too damaged to be read at all.

    Damage inside a capture raises nothing: the intact parts are read, and `Capture.damages` lists the rest.

    Attributes
    ----------
    path : str
        The file.
    offset : int
        The position in the file, in bytes.
    """

    def __init__(self, what: str, path: str = "", offset: int = 0) -> None:
        super().__init__(what)
        self.path = path
        self.offset = offset

    def __reduce__(self) -> tuple[type[CaptureError], tuple[str, str, int]]:
        return type(self), (str(self), self.path, self.offset)


def check_readable(path: str) -> None:
    """Raise the system's error for a path that cannot be read."""
    if os.path.isdir(path):
        os.listdir(path)
        return
    os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK))
