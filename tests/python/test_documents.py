"""What the documents show and the examples promise is so."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import kymograph as kymo
import nbformat
import numpy as np
import pytest
from conftest import Run
from nbclient import NotebookClient
from support import sites_of

SOURCE = Path(__file__).parents[2]
HERE = Path(__file__).parent


def _run(script: Path, *arguments: str | Path, cwd: Path, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, str(script), *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(("document", "least"), [("docs/python.md", 8), ("README.md", 1)])
def test_code_of_documents_does_what_they_say(document: str, least: int, tmp_path: Path) -> None:
    said = _run(HERE / "document.py", SOURCE / document, cwd=tmp_path)
    assert int(said.splitlines()[-1].split()[0]) >= least


@pytest.mark.parametrize("module", ["kymograph", "kymograph.bench", "kymograph.nvmetrics", "kymograph.spark"])
def test_every_public_name_is_in_the_guide_and_says_what_it_does(module: str) -> None:
    guide = (SOURCE / "docs" / "python.md").read_text()
    public = importlib.import_module(module)
    names = public.__all__
    assert {name for name in names if not re.search(rf"`[^`\n]*\b{name}\b", guide)} == set()
    assert {name for name in names if not getattr(public, name).__doc__} == set()


def test_the_training_loop_learns_and_says_where_its_time_goes(tmp_path: Path) -> None:
    capture = tmp_path / "run.kymo"
    said = _run(SOURCE / "examples" / "train.py", "--steps", "300", cwd=tmp_path, KYMO_RECORD=str(capture))
    assert float(said.split(" ", maxsplit=1)[0]) > 95
    sites = sites_of(capture)
    assert sites["train_step"] == sites["update"] == 300
    assert sites["load"] == 301  # the last one finds that there are no more
    # Once more where it is told how good it is.
    assert sites["__main__.NumpyModel.forward"] == 301
    loss = kymo.open(capture).metrics["loss"]
    assert loss.unit == "nats"
    assert len(loss.values) == 300
    assert np.mean(loss.values[-20:]) < 0.3 * np.mean(loss.values[:20])
    assert len(kymo.open(capture).frames) == 300


def test_the_training_loop_runs_unrecorded(run_script: Run, tmp_path: Path) -> None:
    _run(SOURCE / "examples" / "train.py", "--steps", "20", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_training_loop_runs_in_pytorch(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    capture = tmp_path / "run.kymo"
    said = _run(
        SOURCE / "examples" / "train.py", "--framework", "torch", "--steps", "300", cwd=tmp_path,
        KYMO_RECORD=str(capture),
    )  # fmt: skip
    assert float(said.split(" ", maxsplit=1)[0]) > 90
    assert sites_of(capture)["forward"] == 300


def test_the_notebook_runs_and_is_kept_without_output(tmp_path: Path) -> None:
    path = SOURCE / "examples" / "training.ipynb"
    kept = json.loads(path.read_text())
    assert all(not cell.get("outputs") for cell in kept["cells"])
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    os.environ["PYTHONPATH"] = os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(path.parent)])
    os.environ["JUPYTER_PLATFORM_DIRS"] = "1"
    NotebookClient(notebook, timeout=100, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("text/html" in output.get("data", {}) for output in shown)
    assert not [output for output in shown if output.output_type == "error"]
