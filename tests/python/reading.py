"""What the tests of reading share: captures whose content is known."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kymograph as kymo
import pytest
from support import environment_of_programs, run_command

# The package lies in the build tree as a wheel has it; programs of the tests are built beside it.
BUILD = Path(kymo.__file__).absolute().parents[2]


def run_kymo(*arguments: str | os.PathLike[str]) -> str:
    """Return what the command prints, also of captures that are damaged."""
    return run_command(*arguments, statuses=(0, 3)).stdout


def ask_kymo(*arguments: str | os.PathLike[str]) -> Any:
    return json.loads(run_kymo(*arguments, "--json"))


def write_model(folder: Path) -> dict[str, Any]:
    """Write model.kymo, a made-up recording in which everything happens; what happened."""
    program = BUILD / "tests" / "exchange" / "export_model"
    if not program.exists():
        pytest.skip("the tests written in C++ are not built")
    subprocess.run([program, folder], check=True, env=environment_of_programs())
    truth: dict[str, Any] = json.loads((folder / "model.json").read_text())
    return truth


def import_trace(folder: Path, events: list[dict[str, Any]], name: str = "run") -> Path:
    """Make a capture out of Chrome's trace events."""
    (folder / f"{name}.json").write_text(json.dumps(events))
    run_kymo("import", folder / f"{name}.json")
    return folder / f"{name}.kymo"


def copy_to(source: Path, folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(source, folder / name))
