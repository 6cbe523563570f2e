"""What is raised by reading."""

from __future__ import annotations

import os


class CaptureError(ValueError):
    """
    A file is no capture, or too damaged to be read at all.

    Damage within a capture raises nothing: what is sound is read, and `Capture.damages` lists the rest.

    Attributes
    ----------
    path : str
        The file.
    offset : int
        Where in it, in bytes.
    """

    def __init__(self, what: str, path: str = "", offset: int = 0) -> None:
        super().__init__(what)
        self.path = path
        self.offset = offset

    def __reduce__(self) -> tuple[type[CaptureError], tuple[str, str, int]]:
        return type(self), (str(self), self.path, self.offset)


def check_readable(path: str) -> None:
    """Raise what the system says of a path that cannot be read."""
    if os.path.isdir(path):
        os.listdir(path)
        return
    os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK))
