"""Explains why a file of a benchmark cannot be read or written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn


def fail_to_read(path: str, error: RuntimeError) -> NoReturn:
    """Raise the OSError with the reason why a file cannot be read."""
    try:
        with Path(path).open("rb"):
            pass
    except OSError as reason:
        raise reason from error
    raise OSError(str(error)) from error


def fail_to_write(path: str, error: RuntimeError) -> NoReturn:
    """Raise the OSError with the reason why a file cannot be written."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{error} (there is no folder {folder})") from error
    if not os.access(folder, os.W_OK):
        raise PermissionError(str(error)) from error
    raise OSError(str(error)) from error
