"""Record a program's activity and the machine's metrics on one time axis."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from kymo._ending import disable, flush, stop_capture
from kymo._paths import get_include, get_library
from kymo._profile import profile, profile_all, skip
from kymo._record import (
    async_span,
    calibrate,
    capture_path,
    current_memory_bytes,
    emit_span,
    empty_scope_ns,
    enable,
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
    start_capture,
    sync,
    track,
    trigger,
)
from kymo._record import version as _version
from kymo._workers import follow_forks as _follow_forks

if TYPE_CHECKING:
    from kymo._capture import Capture, open  # noqa: A004
    from kymo._errors import CaptureError
    from kymo._gpu import gpu_scope
    from kymo._logging import LogHandler
    from kymo._metrics import Metric, Metrics, Provenance
    from kymo._parquet import to_parquet
    from kymo._partitions import Partition
    from kymo._sql import sql
    from kymo._tables import Frames, Messages, Samples, Spans, Table
    from kymo._torch_trace import ImportLoss, ImportReport, import_torch_trace

__all__ = [
    "Capture",
    "CaptureError",
    "Frames",
    "ImportLoss",
    "ImportReport",
    "LogHandler",
    "Messages",
    "Metric",
    "Metrics",
    "Partition",
    "Provenance",
    "Samples",
    "Spans",
    "Table",
    "async_span",
    "calibrate",
    "capture_path",
    "current_memory_bytes",
    "disable",
    "emit_span",
    "empty_scope_ns",
    "enable",
    "flow_begin",
    "flow_end",
    "flow_step",
    "flush",
    "frame_mark",
    "get_include",
    "get_library",
    "gpu_scope",
    "import_torch_trace",
    "is_recording",
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
    "Capture": "kymo._capture",
    "CaptureError": "kymo._errors",
    "Frames": "kymo._tables",
    "ImportLoss": "kymo._torch_trace",
    "ImportReport": "kymo._torch_trace",
    "LogHandler": "kymo._logging",
    "Messages": "kymo._tables",
    "Metric": "kymo._metrics",
    "Metrics": "kymo._metrics",
    "Partition": "kymo._partitions",
    "Provenance": "kymo._metrics",
    "Samples": "kymo._tables",
    "Spans": "kymo._tables",
    "Table": "kymo._tables",
    "gpu_scope": "kymo._gpu",
    "import_torch_trace": "kymo._torch_trace",
    "open": "kymo._capture",
    "sql": "kymo._sql",
    "to_parquet": "kymo._parquet",
}


def __getattr__(name: str) -> object:
    if (module := _MODULE_OF.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_follow_forks()
