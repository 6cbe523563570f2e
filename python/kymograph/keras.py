"""A callback that records the training of Keras models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keras.callbacks import Callback

from kymograph._training import Path, Sample, Training

__all__ = ["KymoCallback"]


class KymoCallback(Callback):
    """
    Record ``Model.fit``.

    Steps are frames, epochs and validations are scopes, and what Keras logs becomes metrics. Where PyTorch is the
    backend, `kymograph.torch.follow` adds the layers.

    Parameters
    ----------
    path : str or os.PathLike, optional
        Write a capture there while ``fit`` runs, unless the program is writing one. None: the program starts it.
    sample : bool or Sampling
        Sample the machine too, as in `capture`.
    overwrite : bool
        Replace a capture of that name, as in `capture`.

    Examples
    --------
    >>> model.fit(x, y, callbacks=[KymoCallback("run.kymo", sample=True)])  # doctest: +SKIP
    """

    def __init__(self, path: Path = None, *, sample: Sample = False, overwrite: bool = False) -> None:
        super().__init__()
        self._training = Training(path, sample, overwrite)

    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Begin the recording."""
        self._training.begin()

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Finish the recording."""
        self._training.end()

    def on_epoch_begin(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Open the epoch's scope."""
        self._training.enter("epoch")
        self._training.begin_steps()

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """End the step."""
        self._training.record(logs or {})
        self._training.end_step()

    def on_test_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Open the validation's scope."""
        self._training.enter("validation")

    def on_test_end(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Close the validation's scope."""
        self._training.leave()

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Close the epoch's scope, and record what the validation logged."""
        self._training.record({name: value for name, value in (logs or {}).items() if name.startswith("val_")})
        self._training.leave()
