"""Record what a program did and what the machine felt meanwhile, on one time axis."""

from __future__ import annotations

from kymo._paths import get_include, get_library
from kymo._record import enable

__all__ = ["enable", "get_include", "get_library"]
