"""Errors raised by reading."""

from __future__ import annotations

import os


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
