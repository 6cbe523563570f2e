"""
A small recorded training loop: the time of each step and its parts, the model's progress, the machine's metrics.

    KYMO_RECORD=run.kymo python examples/train.py
    kymo stats run.kymo

A network of two layers learns to classify the arms of a spiral, in NumPy or, with --framework torch, in PyTorch.
Only three lines are kymo's: the import, ``enable`` and ``frames``.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from typing import Any, Protocol

import kymograph as kymo
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

ARMS = 3
HIDDEN = 64
MOMENTUM = 0.9


@kymo.profile
def make_spiral(points: int, seed: int) -> tuple[Floats, Labels]:
    """Return points of a spiral with several arms, and the arm of each point."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, ARMS, points)
    radius = np.sqrt(random.uniform(0.02, 1, points))
    angle = radius * 4 + labels * 2 * np.pi / ARMS + random.normal(0, 0.1, points)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), labels


class Model(Protocol):
    """The model that the loop trains."""

    def step(self, points: Floats, labels: Labels, rate: float) -> float:
        """Learn from a batch; return the mean loss on it before that."""

    def predict(self, points: Floats) -> Labels:
        """Return the arm of each point."""


@kymo.profile_all
class NumpyModel:
    """Two layers with a ReLU in between and hand-written gradients."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.weights = [
            random.normal(0, 1, (2, HIDDEN)),
            np.zeros(HIDDEN),
            random.normal(0, np.sqrt(2 / HIDDEN), (HIDDEN, ARMS)),
            np.zeros(ARMS),
        ]
        self.speeds = [np.zeros_like(weight) for weight in self.weights]

    def forward(self, points: Floats) -> tuple[Floats, Floats]:
        """Return the hidden layer's output and the probability of each arm."""
        hidden = np.maximum(points @ self.weights[0] + self.weights[1], 0)
        scores = hidden @ self.weights[2] + self.weights[3]
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return hidden, odds / odds.sum(axis=1, keepdims=True)

    def backward(self, points: Floats, labels: Labels, hidden: Floats, shares: Floats) -> list[Floats]:
        """Return the gradient of the loss with respect to each weight."""
        error = shares.copy()
        error[np.arange(len(labels)), labels] -= 1
        error /= len(labels)
        behind = (error @ self.weights[2].T) * (hidden > 0)
        return [points.T @ behind, behind.sum(axis=0), hidden.T @ error, error.sum(axis=0)]

    def step(self, points: Floats, labels: Labels, rate: float) -> float:
        """Learn from a batch; return the mean loss on it before that."""
        hidden, shares = self.forward(points)
        gradients = self.backward(points, labels, hidden, shares)
        with kymo.scope("update"):
            for i, gradient in enumerate(gradients):
                self.speeds[i] = MOMENTUM * self.speeds[i] - rate * gradient
                self.weights[i] = self.weights[i] + self.speeds[i]
        return float(-np.log(shares[np.arange(len(labels)), labels] + 1e-12).mean())

    def predict(self, points: Floats) -> Labels:
        """Return the arm of each point."""
        arms: Labels = self.forward(points)[1].argmax(axis=1)
        return arms


class TorchModel:
    """The same network in PyTorch, on a GPU if available; its kernels are spans on the GPU's own track."""

    def __init__(self, seed: int) -> None:
        import torch  # noqa: PLC0415, only where it is asked for

        torch.manual_seed(seed)
        self.torch: Any = torch
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        layers = torch.nn.Linear(2, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, ARMS)
        self.network = torch.nn.Sequential(*layers).to(self.device)
        self.optimiser = torch.optim.SGD(self.network.parameters(), lr=0.1, momentum=MOMENTUM)

    def step(self, points: Floats, labels: Labels, rate: float) -> float:
        """Learn from a batch; return the mean loss on it before that."""
        batch = self.torch.tensor(points, dtype=self.torch.float32, device=self.device)
        wanted = self.torch.tensor(labels, device=self.device)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        with kymo.scope("forward"), kymo.gpu_scope("forward"):
            loss = self.torch.nn.functional.cross_entropy(self.network(batch), wanted)
        with kymo.scope("backward"), kymo.gpu_scope("backward"):
            self.optimiser.zero_grad()
            loss.backward()
        with kymo.scope("update"), kymo.gpu_scope("update"):
            self.optimiser.step()
        return float(loss.item())  # waits for the GPU, which kymo never does by itself

    def predict(self, points: Floats) -> Labels:
        """Return the arm of each point."""
        with self.torch.no_grad():
            batch = self.torch.tensor(points, dtype=self.torch.float32, device=self.device)
            arms: Labels = self.network(batch).argmax(dim=1).cpu().numpy()
        return arms


def batches(points: Floats, labels: Labels, size: int, seed: int) -> Iterator[tuple[Floats, Labels]]:
    """Yield batches forever, each epoch in a new order."""
    random = np.random.default_rng(seed)
    while True:
        with kymo.scope("shuffle"):
            order = random.permutation(len(labels))
        for first in range(0, len(order) - size + 1, size):
            chosen = order[first : first + size]
            yield points[chosen], labels[chosen]


def train(model: Model, steps: int, size: int, seed: int) -> float:
    """Train a model; return its accuracy on fresh points."""
    points, labels = make_spiral(4_000, seed)
    source = batches(points, labels, size, seed)
    for step, batch in enumerate(kymo.frames(itertools.islice(source, steps), wait="load")):
        rate = 0.1 * 0.5 * (1 + np.cos(np.pi * step / steps))
        with kymo.scope("train_step", step=step):
            loss = model.step(*batch, rate)
        kymo.record_metric_unit("loss", loss, "nats")
    with kymo.scope("evaluate"):
        points, labels = make_spiral(2_000, seed + 1)
        accuracy = float((model.predict(points) == labels).mean())
    kymo.record_metric("accuracy", accuracy)
    return accuracy


def main() -> None:
    """Train according to the command line."""
    parser = argparse.ArgumentParser(description="Trains a small network, recorded by kymo where KYMO_RECORD is set.")
    parser.add_argument("--framework", choices=["numpy", "torch"], default="numpy")
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    kymo.enable()
    kymo.set_info("model", f"{arguments.framework}, 2-{HIDDEN}-{ARMS}")
    model: Model = NumpyModel(arguments.seed) if arguments.framework == "numpy" else TorchModel(arguments.seed)
    accuracy = train(model, arguments.steps, arguments.batch, arguments.seed)
    sys.stdout.write(f"{100 * accuracy:.1f} % of fresh points are told right\n")


if __name__ == "__main__":
    main()
