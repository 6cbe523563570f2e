"""What is raised by reading."""

from __future__ import annotations


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
