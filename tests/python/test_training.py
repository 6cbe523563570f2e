"""PyTorch followed, and the callbacks of training frameworks, with the real packages where they are installed."""

from __future__ import annotations

import collections
import copy
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import document
import kymograph as kymo
import pytest
from conftest import Run
from support import places_of, sites_of

# Keras chooses its backend when it is imported.
os.environ.setdefault("KERAS_BACKEND", "torch")


def scopes_of(capture: kymo.Capture) -> kymo.Spans:
    """Return the spans of threads; where there is a GPU, the others are its times of the same scopes."""
    spans = capture.spans
    return spans[spans.kind == "thread"]


def names_of(capture: kymo.Capture) -> dict[str, int]:
    return dict(collections.Counter(str(name) for name in scopes_of(capture).name))


def parents_of(capture: kymo.Capture) -> dict[str, set[str]]:
    """Return the names of the scopes that each lies directly in; empty: in none."""
    found: dict[str, set[str]] = {}
    open_scopes: list[str] = []
    spans = scopes_of(capture)
    for row in spans.start_ns.argsort(kind="stable"):
        del open_scopes[int(spans.depth[row]) :]
        found.setdefault(str(spans.name[row]), set()).add(open_scopes[-1] if open_scopes else "")
        open_scopes.append(str(spans.name[row]))
    return found


@pytest.mark.parametrize("module", ["torch", "lightning", "transformers", "keras"])
def test_the_package_imports_no_framework(module: str) -> None:
    told = "import sys, kymograph, kymograph._gpu, kymograph._training; sys.exit(sys.argv[1] in sys.modules)"
    subprocess.run([sys.executable, "-c", told, module], check=True, env=os.environ)


def test_the_guides_blocks_do_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ["torch", "lightning", "transformers", "keras"]:
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    guide = Path(__file__).parents[2] / "docs" / "python.md"
    blocks = [block for block in document.blocks_of(guide) if block.needs == "torch"]
    names: dict[str, Any] = {"kymo": kymo}
    for block in blocks:
        document.run(block, guide, names)
    assert len(blocks) == 2


def make_net(torch: Any) -> Any:
    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.stem = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(inplace=True))
            self.blocks = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(2))
            self.head = torch.nn.Linear(16, 4)

        def forward(self, x: Any) -> Any:
            x = self.stem(x)
            for block in self.blocks:
                x = x + torch.nn.functional.gelu(block(x))
            return self.head(x)

    return Net()


def train(torch: Any, net: Any, steps: int) -> None:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    items = torch.utils.data.TensorDataset(torch.randn(4 * steps, 8), torch.randint(0, 4, (4 * steps,)))
    for inputs, wanted in kymo.frames(torch.utils.data.DataLoader(items, batch_size=4)):
        with torch.profiler.record_function("loss"):
            loss = torch.nn.functional.cross_entropy(net(inputs), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


FORWARD = ["Net", "Net.stem", "Net.stem.0", "Net.stem.1", "Net.blocks.0", "Net.blocks.1", "Net.head"]


def test_one_call_records_modules_both_ways_and_pytorchs_own_regions(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from kymograph.torch import follow  # noqa: PLC0415

    with kymo.capture(tmp_path / "run.kymo") as run, follow() as following:
        train(torch, make_net(torch), 5)
    assert following.times_gpu == torch.cuda.is_available()
    capture = run.open()
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    expected = dict.fromkeys([*FORWARD, *(f"{name} backward" for name in FORWARD)], 5)
    expected |= {"loss": 5, "backward": 5, "Optimizer.step#SGD.step": 5, "Optimizer.zero_grad#SGD.zero_grad": 5}
    assert names_of(capture) == expected | {loader: 6, "wait for data": 6}
    assert len(capture.frames) == 5
    parents = parents_of(capture)
    assert parents[loader] == {"wait for data"}
    assert parents["Net"] == {"loss"}
    assert parents["Net.stem.1"] == parents["Net.stem.0"] == {"Net.stem"}
    assert parents["Net backward"] == {"backward"}
    assert parents["Net.stem.1 backward"] == parents["Net.stem.0 backward"] == {"Net.stem backward"}
    assert parents["Net.head backward"] == parents["Net.blocks.0 backward"] == {"Net backward"}
    places = places_of(tmp_path / "run.kymo")
    # A name has the place of its first use: those of PyTorch's own regions may be from another test.
    assert {places[name][0] for name in FORWARD} == {__file__}


def test_a_backward_pass_has_its_own_time_and_no_others(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from kymograph.torch import follow  # noqa: PLC0415

    class Slow(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(context: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            with kymo.scope("slow"):
                return gradient * 2

    class Module(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return Slow.apply(x)

    net = torch.nn.Sequential(torch.nn.Linear(4, 4), Module(), torch.nn.Linear(4, 4))
    with kymo.capture(tmp_path / "run.kymo") as run, follow():
        output = net(torch.randn(2, 4)).sum()
        output.backward(retain_graph=True)
        output.backward()
        with pytest.raises(RuntimeError):
            output.backward()
    capture = run.open()
    assert parents_of(capture)["slow"] == {"Sequential.1 backward"}
    assert names_of(capture)["slow"] == 2
    assert names_of(capture)["Sequential.1 backward"] == names_of(capture)["Sequential.0 backward"] == 2
    assert names_of(capture)["backward"] == 3


def test_what_is_followed_stays_as_it_was(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from kymograph.torch import follow  # noqa: PLC0415

    net = make_net(torch)
    before = net(torch.ones(2, 8))
    with kymo.capture(tmp_path / "run.kymo") as run:
        with follow(depth=0), follow(depth=0):
            assert torch.equal(net(torch.ones(2, 8)), before)
            with pytest.raises(RuntimeError):
                net(torch.ones(2, 7))
            assert torch.equal(copy.deepcopy(net)(torch.ones(2, 8)), before)
            torch.save(net.stem, io.BytesIO())
            compiled = torch.compile(make_net(torch), backend="eager", fullgraph=True)
            assert compiled(torch.ones(2, 8)).shape == (2, 4)
        # And after it, nothing is left behind.
        net(torch.ones(2, 8)).sum().backward()
    found = names_of(run.open())
    assert found.pop("Net") == 3
    assert set(found) <= {"OptimizedModule", "OptimizedModule._orig_mod"}


def test_a_pytorch_that_is_too_old_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from kymograph.torch import follow  # noqa: PLC0415

    monkeypatch.delattr(torch, "compiler", raising=False)
    with pytest.raises(RuntimeError, match=r"PyTorch .* is too old to be followed"):
        follow()


KEPT_LOADER = """
    import json, sys
    import kymograph as kymo
    import torch

    class Numbers(torch.utils.data.Dataset):
        def __len__(self):
            return 16

        def __getitem__(self, index):
            with kymo.scope("load"):
                return torch.tensor(float(index))

    if __name__ == "__main__":
        loader = torch.utils.data.DataLoader(
            Numbers(), batch_size=4, num_workers=2, persistent_workers=True, multiprocessing_context=sys.argv[1]
        )
        with kymo.capture("run.kymo") as run:
            for _ in range(2):
                for batch in kymo.frames(loader):
                    with kymo.scope("train"):
                        batch.sum().item()
        assert all(worker.is_alive() for worker in loader._iterator._workers)
        closed = [not kymo.open(path).damages for path in run.workers]
        print(json.dumps(closed))
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_persistent_workers_of_a_loader_finish_their_captures_with_the_block(
    run_script: Run, tmp_path: Path, method: str
) -> None:
    pytest.importorskip("torch")
    done = run_script(KEPT_LOADER, method)
    assert done.stdout.strip() == "[true, true]"
    sites = sites_of(*tmp_path.glob("run*.kymo"))
    assert (sites["load"], sites["train"], sites["wait for data"]) == (32, 8, 10)


def test_where_there_is_a_gpu_its_events_time_the_scopes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from gpu_stand_ins import Gpu, Stream, make_torch  # noqa: PLC0415
    from kymograph import _gpu, _gpu_libraries  # noqa: PLC0415
    from kymograph.torch import follow  # noqa: PLC0415

    gpu = Gpu()
    stand_in = make_torch(gpu, [Stream(gpu, is_side=True)])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(_gpu, "_gpu", _gpu._Gpu())
    timer = _gpu._gpu.timer = _gpu._Timer(_gpu_libraries.Torch(stand_in))
    with kymo.capture(tmp_path / "run.kymo") as run, follow() as following:
        make_net(torch)(torch.ones(2, 8)).sum().backward()
    assert following.times_gpu
    assert timer._issued == 2 * len(FORWARD) + 1
    timer.finish()
    spans = run.open().spans
    on_gpu = [str(name) for name, track in zip(spans.name, spans.track, strict=True) if str(track) == "GPU 0"]
    assert sorted(on_gpu) == sorted(["backward", *FORWARD, *(f"{name} backward" for name in FORWARD)])


def test_lightnings_trainer_is_recorded(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pl = pytest.importorskip("lightning.pytorch")
    from kymograph.lightning import KymoCallback  # noqa: PLC0415

    class Module(pl.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.net = make_net(torch)

        def training_step(self, batch: Any) -> Any:
            loss = self.net(batch[0]).square().mean()
            self.log("train_loss", loss)
            return loss

        def validation_step(self, batch: Any) -> None:
            self.log("val_loss", self.net(batch[0]).square().mean())

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    items = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(24, 8)), batch_size=4)
    path = tmp_path / "run.kymo"
    trainer = pl.Trainer(
        max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        log_every_n_steps=2, num_sanity_val_steps=1, default_root_dir=tmp_path, callbacks=[KymoCallback(path)],
    )  # fmt: skip
    trainer.fit(Module(), items, items)
    assert kymo.capture_path() is None
    capture = kymo.open(path)
    assert len(capture.frames) == 12
    found = names_of(capture)
    assert (found["epoch"], found["validation"]) == (2, 3)
    assert found["Net backward"] == 12
    assert found["Net"] == 12 + 12 + 1
    assert len(capture.metrics["train_loss"].values) == 2 * 3 + 2
    assert len(capture.metrics["val_loss"].values) >= 2


@pytest.mark.parametrize(("evaluates", "evaluations"), [("epoch", 2), ("steps", 4)])
def test_hugging_faces_trainer_is_recorded(evaluates: str, evaluations: int, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    from kymograph.transformers import KymoCallback  # noqa: PLC0415

    config = transformers.BertConfig(
        vocab_size=32, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    model = transformers.BertForSequenceClassification(config)
    items = [{"input_ids": torch.arange(8), "labels": number % 2} for number in range(24)]
    path = tmp_path / "run.kymo"
    arguments = transformers.TrainingArguments(
        output_dir=tmp_path, num_train_epochs=2, per_device_train_batch_size=4, logging_steps=2, eval_steps=3,
        eval_strategy=evaluates, report_to=[], use_cpu=True, disable_tqdm=True, save_strategy="no",
    )  # fmt: skip
    trainer = transformers.Trainer(
        model, arguments, train_dataset=items, eval_dataset=items, callbacks=[KymoCallback(path)]
    )
    trainer.train()
    assert kymo.capture_path() is None
    capture = kymo.open(path)
    assert len(capture.frames) == 12
    found = names_of(capture)
    assert (found["epoch"], found["evaluation"]) == (2, evaluations)
    assert found["BertForSequenceClassification.bert.encoder backward"] == 12
    assert len(capture.metrics["loss"].values) == 6
    assert len(capture.metrics["eval_loss"].values) == evaluations


def test_keras_is_recorded(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    keras = pytest.importorskip("keras")
    import numpy as np  # noqa: PLC0415
    from kymograph.keras import KymoCallback  # noqa: PLC0415

    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    inputs, wanted = np.ones((24, 8), np.float32), np.ones((24, 1), np.float32)
    path = tmp_path / "run.kymo"
    model.fit(
        inputs, wanted, batch_size=4, epochs=2, verbose=0, validation_data=(inputs, wanted),
        callbacks=[KymoCallback(path)],
    )  # fmt: skip
    assert kymo.capture_path() is None
    capture = kymo.open(path)
    assert len(capture.frames) == 12
    found = names_of(capture)
    assert (found["epoch"], found["validation"]) == (2, 2)
    assert len(capture.metrics["loss"].values) == 12
    assert len(capture.metrics["val_loss"].values) == 2
