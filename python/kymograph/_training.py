"""What the callbacks of training frameworks share: when a training and its steps begin and end."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from kymograph import _record, _recording

__all__ = ["Path", "Sample", "Training"]

Path = str | os.PathLike[str] | None
Sample = bool | _recording.Sampling


class Training:
    """
    A training that a framework drives.

    Its steps are frames, as many as the framework says that it has done.
    """

    def __init__(self, path: Path, sample: Sample, overwrite: bool, modules: bool = False) -> None:
        self._path = path
        self._sample = sample
        self._overwrite = overwrite
        self._modules = modules
        self._following: Any = None
        self._has_begun = False
        self._scopes: list[_record.scope] = []
        self._run: _recording.Recording | None = None

    def begin(self) -> None:
        """Start the capture that was asked for, unless one is being written, and follow PyTorch's modules."""
        if self._path is not None and _record.capture_path() is None:
            self._run = _recording.start_capture(self._path, sample=self._sample, overwrite=self._overwrite)
        if self._modules:
            from kymograph.torch import follow  # noqa: PLC0415

            self._following = follow()

    def end(self) -> None:
        """Close what is open, and finish the capture that `begin` started. Does nothing the second time."""
        _record.drop_frame()
        self._has_begun = False
        while self._scopes:
            self.leave()
        if self._following is not None:
            self._following.stop()
            self._following = None
        if self._run is not None:
            self._run.stop()
            self._run = None

    def begin_steps(self) -> None:
        """Begin the first frame with the wait for its batch. Does nothing once it has begun."""
        if not self._has_begun:
            self._has_begun = True
            _record.frame_mark()

    def end_step(self) -> None:
        """End a frame; the next one begins, and holds what comes before its batch, such as a validation."""
        _record.frame_mark()

    def enter(self, name: str) -> None:
        """Open a scope, such as that of an epoch."""
        scope = _record.scope(name)
        scope.__enter__()
        self._scopes.append(scope)

    def leave(self) -> None:
        """Close the innermost scope."""
        if self._scopes:
            self._scopes.pop().__exit__(None, None, None)

    def record(self, values: Mapping[str, Any]) -> None:
        """Record the numbers among what a framework logs, without those that are on a GPU: fetching them would wait."""
        for name, value in values.items():
            try:
                _record.record_metric(name, value)
            except (TypeError, ValueError, OverflowError):
                continue
