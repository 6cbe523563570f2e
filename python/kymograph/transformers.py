"""A callback that records the training of the Trainer of Hugging Face's transformers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformers import TrainerCallback

from kymograph._training import Path, Sample, Training

__all__ = ["KymoCallback"]


class KymoCallback(TrainerCallback):
    """
    Record ``Trainer.train``.

    Steps are frames. Epochs and evaluations are scopes, and so is what `kymograph.torch.follow` finds. The numbers that
    the trainer logs become metrics.

    Parameters
    ----------
    path : str or os.PathLike, optional
        Write a capture there while ``train`` runs, unless the program is writing one. None: the program starts it.
    sample : bool or Sampling
        Sample the machine too, as in `capture`.
    overwrite : bool
        Replace a capture of that name, as in `capture`.
    modules : bool
        Follow PyTorch's modules, optimizers and data loaders.

    Examples
    --------
    >>> trainer = Trainer(model, callbacks=[KymoCallback("run.kymo", sample=True)])  # doctest: +SKIP
    """

    def __init__(
        self, path: Path = None, *, sample: Sample = False, overwrite: bool = False, modules: bool = True
    ) -> None:
        self._training = Training(path, sample, overwrite, modules)
        self._is_evaluating = False

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Begin the recording."""
        self._training.begin()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Finish the recording."""
        self._is_evaluating = False
        self._training.end()

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Open the epoch's scope."""
        self._training.enter("epoch")
        self._training.begin_steps()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """End the step."""
        self._training.end_step()
        self._begin_evaluation(control)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Close the epoch's scope."""
        self._training.leave()
        self._begin_evaluation(control)

    def _begin_evaluation(self, control: Any) -> None:
        # The trainer evaluates right after its callbacks, and tells them when it has.
        self._is_evaluating = bool(control.should_evaluate)
        if self._is_evaluating:
            self._training.enter("evaluation")

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Close the evaluation's scope."""
        if self._is_evaluating:
            self._is_evaluating = False
            self._training.leave()

    def on_log(
        self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **_: Any  # noqa: ARG002
    ) -> None:  # fmt: skip
        """Record the numbers that the trainer logs."""
        self._training.record(logs or {})
