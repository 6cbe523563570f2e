"""What the Python package's tests share: an environment without KYMO_*, scripts in processes of their own, a model."""

from __future__ import annotations

import os
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kymograph as kymo
import pytest
from reading import write_model
from support import INTERPRETER

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def _no_kymo_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("KYMO_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def run_script(tmp_path: Path) -> Run:
    """Run a script in a process of its own, in the test's folder; KYMO_* variables are keyword arguments."""

    def run(source: str, *arguments: str, status: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        script = tmp_path / "script.py"
        script.write_text(textwrap.dedent(source))
        done = subprocess.run(
            [INTERPRETER, str(script), *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(kymo.__file__).parent.parent), **variables},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == status, done.stderr
        return done

    return run


@pytest.fixture
def record(tmp_path: Path) -> Run:
    """Record a script; the capture is run.kymo in the test's folder. Options come before the script's arguments."""

    def run(source: str, *arguments: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        (tmp_path / "script.py").write_text(textwrap.dedent(source))
        return subprocess.run(
            [INTERPRETER, "-m", "kymograph", "record", "-q", "-o", "run.kymo", *options, "script.py", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(kymo.__file__).parent.parent)},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    return run


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder with model.kymo, a made-up recording in which everything happens, and what happened."""
    folder = tmp_path_factory.mktemp("model")
    return folder, write_model(folder)


@pytest.fixture(scope="module")
def folder(model: tuple[Path, dict[str, Any]]) -> Path:
    return model[0]


@pytest.fixture(scope="module")
def truth(model: tuple[Path, dict[str, Any]]) -> dict[str, Any]:
    return model[1]
