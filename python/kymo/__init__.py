"""Record what a program did and what the machine felt meanwhile, on one time axis."""

from __future__ import annotations

from kymo._capture import Capture, Partition, open  # noqa: A004
from kymo._errors import CaptureError
from kymo._metrics import Metric, Metrics, Provenance
from kymo._paths import get_include, get_library
from kymo._profile import profile, profile_all, skip
from kymo._record import (
    async_span,
    calibrate,
    capture_path,
    current_memory_bytes,
    disable,
    emit_span,
    empty_scope_ns,
    enable,
    flow_begin,
    flow_end,
    flow_step,
    flush,
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
    stop_capture,
    sync,
    track,
    trigger,
)
from kymo._record import version as _version
from kymo._tables import Frames, Messages, Samples, Spans, Table

__all__ = [
    "Capture",
    "CaptureError",
    "Frames",
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
    "start_capture",
    "stop_capture",
    "sync",
    "track",
    "trigger",
]

__version__: str = _version()
