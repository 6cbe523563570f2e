"""``%load_ext kymograph`` in a notebook: the cell magic ``%%kymo``."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
import weakref
from typing import TYPE_CHECKING, Any

from kymograph import _recording

if TYPE_CHECKING:
    from kymograph._capture import Capture

_USAGE = "%%kymo takes at most a path: %%kymo run.kymo"
_AWAITS = (
    "%%kymo records no cell with a top-level await where the loop runs already, as in a notebook. In a cell without it "
    'write `with kymo.capture("{}", sample=True, overwrite=True) as run:` around the code, and `run.open()` after it'
)


def _is_loop_running() -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


def _awaits(shell: Any, cell: str) -> bool:
    """Tell whether IPython needs a loop for the cell."""
    try:
        transformed = shell.transform_cell(cell)
    except SyntaxError:  # said when it runs
        return False
    return bool(shell.should_run_async(cell, transformed_cell=transformed))


def kymo(line: str, cell: str) -> Capture:
    """
    Record a cell, and return its capture, which shows itself.

    ``%%kymo run.kymo`` keeps the capture, and replaces an earlier one. Without a path it is a temporary file, which is
    deleted with the `Capture`. A notebook cannot await within it.

    Parameters
    ----------
    line : str
        What follows the magic's name.
    cell : str
        The code.
    """
    words = shlex.split(line)
    if len(words) > 1 or any(word.startswith("-") for word in words):
        raise ValueError(_USAGE)
    shell: Any = sys.modules["IPython"].get_ipython()
    if _is_loop_running() and _awaits(shell, cell):
        raise RuntimeError(_AWAITS.format(words[0] if words else "run.kymo"))
    folder = tempfile.TemporaryDirectory(prefix="kymo-", ignore_cleanup_errors=True)
    path = words[0] if words else os.path.join(folder.name, "cell.kymo")
    with _recording.capture(path, sample=True, overwrite=True) as run:
        result = shell.run_cell(cell)
    capture = run.open(workers=True)
    weakref.finalize(capture, folder.cleanup)
    result.raise_error()
    return capture


def load(shell: Any) -> None:
    """Register the magic."""
    shell.register_magic_function(kymo, magic_kind="cell")
