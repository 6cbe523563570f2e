"""Traces of ``torch.profiler`` as captures."""

from __future__ import annotations

import gzip
import os
import stat
import threading
import zlib
from dataclasses import dataclass
from pathlib import Path

from kymograph import _analysis

__all__ = ["ImportLoss", "ImportReport", "import_torch_trace"]

_GZIP = b"\x1f\x8b"
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class ImportLoss:
    """
    Parts of a recording that are not in its capture, all for one reason.

    `is_damage`: the recording is invalid there; else a capture cannot represent it.
    """

    what: str
    count: int
    is_damage: bool


@dataclass(frozen=True, slots=True)
class ImportReport:
    """
    The result of an import.

    Attributes
    ----------
    output
        The capture: the requested name, or one with a number if that exists.
    spans, frames, samples, messages, flow_points, sync_points
        Their numbers.
    losses
        The parts that are missing from it.
    stopped
        Where and why reading stopped early; empty: it did not.
    """

    output: str
    spans: int
    frames: int
    samples: int
    messages: int
    flow_points: int
    sync_points: int
    losses: list[ImportLoss]
    stopped: str

    @property
    def is_damaged(self) -> bool:
        """Whether the recording was damaged."""
        return bool(self.stopped) or any(loss.is_damage for loss in self.losses)


class _Unpacking:
    """A pipe into which a thread writes an unpacked file."""

    def __init__(self, path: str) -> None:
        self.problem = ""
        self.read_end, self._write_end = os.pipe()
        self._thread = threading.Thread(target=self._run, args=(path,), name="kymo unpacking", daemon=True)
        self._thread.start()

    def _run(self, path: str) -> None:
        try:
            with os.fdopen(self._write_end, "wb") as pipe, gzip.open(path) as file:
                while piece := file.read1(_PIECE):  # includes the data before any damage
                    pipe.write(piece)
        except BrokenPipeError:
            pass  # the reader has closed the pipe
        except (OSError, EOFError, zlib.error) as error:
            self.problem = f"it cannot be unpacked: {error}"

    def close(self) -> None:
        os.close(self.read_end)
        self._thread.join()


def _import(path: str, capture: str, name: str) -> ImportReport:
    try:
        *counts, losses, stopped = _analysis.import_chrome_trace(path, capture, name)
    except RuntimeError as error:
        raise OSError(str(error)) from error
    output, spans, frames, samples, messages, flow_points, sync_points = counts
    found = [ImportLoss(*loss) for loss in losses]
    return ImportReport(output, spans, frames, samples, messages, flow_points, sync_points, found, stopped)


def import_torch_trace(trace: str | os.PathLike[str], capture: str | os.PathLike[str] | None = None) -> ImportReport:
    """
    Convert a trace exported by ``torch.profiler``, compressed (gzip) or not, to a capture.

    Kernels, copies and annotations of GPUs go to the tracks of their streams, "GPU 0 stream 7"; operators and calls of
    the CUDA runtime go to their threads. Flows from a launch to its kernel are kept. If the trace states its wall clock
    (``baseTimeNanoseconds``), the capture is aligned with others by it. Any other Chrome trace can be read as well.
    Memory does not grow with the trace.

    Parameters
    ----------
    trace
        ``trace.json`` or ``trace.json.gz``.
    capture
        The capture to write; by default the trace's name with the suffix ``.kymo``. An existing file is never
        overwritten: the capture then gets a number.

    Returns
    -------
    ImportReport
        The content of the capture, and what is missing from it.

    Raises
    ------
    OSError
        The trace cannot be read, or the capture cannot be written.
    ValueError
        The file is not a trace.
    """
    path = os.fspath(trace)
    if capture is None:
        stem = path.removesuffix(".gz").removesuffix(".json").removesuffix(".pt.trace")
        capture = stem + ".kymo"
    is_packed = False
    if not stat.S_ISFIFO(os.stat(path).st_mode):
        with Path(path).open("rb") as file:
            is_packed = file.read(2) == _GZIP
    if not is_packed:
        return _import(path, os.fspath(capture), path)
    unpacking = _Unpacking(path)
    try:
        report = _import(f"/proc/self/fd/{unpacking.read_end}", os.fspath(capture), path)
    except ValueError as error:
        unpacking.close()
        raise ValueError(f"{error} ({unpacking.problem})" if unpacking.problem else str(error)) from None
    except BaseException:
        unpacking.close()
        raise
    unpacking.close()
    if not unpacking.problem:
        return report
    losses = [*report.losses, ImportLoss(unpacking.problem, 1, is_damage=True)]
    return ImportReport(
        report.output,
        report.spans,
        report.frames,
        report.samples,
        report.messages,
        report.flow_points,
        report.sync_points,
        losses,
        report.stopped or unpacking.problem,
    )
