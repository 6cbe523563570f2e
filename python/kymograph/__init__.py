"""Record a program's activity and the machine's metrics on one time axis."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kymograph._control import disable, enable, flush, stop_capture
from kymograph._frames import frames
from kymograph._paths import get_include, get_library
from kymograph._profile import profile, profile_all, skip
from kymograph._record import (
    async_span,
    calibrate,
    capture_path,
    current_memory_bytes,
    emit_span,
    empty_scope_ns,
    flow_begin,
    flow_end,
    flow_step,
    frame_mark,
    is_recording,
    message,
    prepare_thread,
    record_io,
    record_metric,
    record_metric_unit,
    scope,
    set_info,
    set_thread_name,
    sync,
    track,
    trigger,
)
from kymograph._record import version as _version
from kymograph._recording import Recording, Sampling, capture, start_capture
from kymograph._tasks import follow_tasks as _follow_tasks
from kymograph._workers import follow_forks as _follow_forks

if TYPE_CHECKING:
    from kymograph._capture import Capture, open  # noqa: A004
    from kymograph._energy import SourceEnergy, energy
    from kymograph._errors import CaptureError, CaptureWarning
    from kymograph._gpu import gpu_scope
    from kymograph._logging import LogHandler
    from kymograph._memory import memory_scope
    from kymograph._metrics import Metric, Metrics, Provenance
    from kymograph._parquet import to_parquet
    from kymograph._partitions import Partition
    from kymograph._sql import sql
    from kymograph._table import Table
    from kymograph._tables import Damages, Frames, Messages, Samples, Spans
    from kymograph._torch_trace import ImportLoss, ImportReport, import_torch_trace

__all__ = [
    "Capture",
    "CaptureError",
    "CaptureWarning",
    "Damages",
    "Frames",
    "ImportLoss",
    "ImportReport",
    "LogHandler",
    "Messages",
    "Metric",
    "Metrics",
    "Partition",
    "Provenance",
    "Recording",
    "Samples",
    "Sampling",
    "SourceEnergy",
    "Spans",
    "Table",
    "async_span",
    "calibrate",
    "capture",
    "capture_path",
    "current_memory_bytes",
    "disable",
    "emit_span",
    "empty_scope_ns",
    "enable",
    "energy",
    "flow_begin",
    "flow_end",
    "flow_step",
    "flush",
    "frame_mark",
    "frames",
    "get_include",
    "get_library",
    "gpu_scope",
    "import_torch_trace",
    "is_recording",
    "memory_scope",
    "message",
    "open",
    "prepare_thread",
    "profile",
    "profile_all",
    "record_io",
    "record_metric",
    "record_metric_unit",
    "scope",
    "set_info",
    "set_thread_name",
    "skip",
    "sql",
    "start_capture",
    "stop_capture",
    "sync",
    "to_parquet",
    "track",
    "trigger",
]

__version__: str = _version()

# Readers are imported on first use, so programs that only record do not pay for them.
_MODULE_OF = {
    "Capture": "kymograph._capture",
    "CaptureError": "kymograph._errors",
    "CaptureWarning": "kymograph._errors",
    "Damages": "kymograph._tables",
    "Frames": "kymograph._tables",
    "ImportLoss": "kymograph._torch_trace",
    "ImportReport": "kymograph._torch_trace",
    "LogHandler": "kymograph._logging",
    "Messages": "kymograph._tables",
    "Metric": "kymograph._metrics",
    "Metrics": "kymograph._metrics",
    "Partition": "kymograph._partitions",
    "Provenance": "kymograph._metrics",
    "Samples": "kymograph._tables",
    "SourceEnergy": "kymograph._energy",
    "Spans": "kymograph._tables",
    "Table": "kymograph._table",
    "energy": "kymograph._energy",
    "gpu_scope": "kymograph._gpu",
    "import_torch_trace": "kymograph._torch_trace",
    "memory_scope": "kymograph._memory",
    "open": "kymograph._capture",
    "sql": "kymograph._sql",
    "to_parquet": "kymograph._parquet",
}


def __getattr__(name: str) -> object:
    if (module := _MODULE_OF.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: Any) -> None:
    """Add the cell magic ``%%kymo``; IPython calls this for ``%load_ext kymograph``."""
    from kymograph._magic import load  # noqa: PLC0415

    load(shell)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_follow_forks()
_follow_tasks()
