"""Record what a program did and what the machine felt meanwhile, on one time axis."""

from __future__ import annotations

from kymo._capture import Capture, Partition, open  # noqa: A004
from kymo._errors import CaptureError
from kymo._metrics import Metric, Metrics, Provenance
from kymo._paths import get_include, get_library
from kymo._record import enable
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
    "enable",
    "get_include",
    "get_library",
    "open",
]
