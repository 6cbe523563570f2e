"""A callback that records the training of Lightning's Trainer."""

from __future__ import annotations

from typing import Any

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback

from kymograph._training import Path, Sample, Training

__all__ = ["KymoCallback"]


class KymoCallback(Callback):
    """
    Record ``Trainer.fit``.

    Steps are frames. Epochs and validations are scopes, and so is what `kymograph.torch.follow` finds. What the module
    logs becomes metrics, as often as the trainer logs (``log_every_n_steps``).

    Parameters
    ----------
    path : str or os.PathLike, optional
        Write a capture there while ``fit`` runs, unless the program is writing one. None: the program starts it.
    sample : bool or Sampling
        Sample the machine too, as in `capture`.
    overwrite : bool
        Replace a capture of that name, as in `capture`.
    modules : bool
        Follow PyTorch's modules, optimizers and data loaders.

    Examples
    --------
    >>> trainer = Trainer(callbacks=[KymoCallback("run.kymo", sample=True)])  # doctest: +SKIP
    """

    def __init__(
        self, path: Path = None, *, sample: Sample = False, overwrite: bool = False, modules: bool = True
    ) -> None:
        self._training = Training(path, sample, overwrite, modules)

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        """Begin the recording."""
        self._training.begin()

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        """Finish the recording."""
        self._training.end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:  # noqa: ARG002
        """Finish the recording."""
        self._training.end()

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        """Open the epoch's scope."""
        self._training.enter("epoch")
        self._training.begin_steps()

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int  # noqa: ARG002
    ) -> None:  # fmt: skip
        """End the step."""
        if (batch_idx + 1) % max(1, trainer.log_every_n_steps) == 0:
            self._training.record(trainer.callback_metrics)
        self._training.end_step()

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        """Close the epoch's scope."""
        self._training.leave()

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        """Open the validation's scope."""
        self._training.enter("validation")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        """Close the validation's scope, and record what it logged."""
        self._training.record(trainer.callback_metrics)
        self._training.leave()
