"""``%%kymo`` in a notebook: the cell is recorded as it would run without, and its capture is its value."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kymograph as kymo
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.io import capture_output


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    made: Any = InteractiveShell.instance()
    made.run_line_magic("load_ext", "kymograph")
    yield made
    InteractiveShell.clear_instance()


CELL = """
import kymograph as kymo
with kymo.scope("in the cell"):
    made = 6 * 7
"""


def test_a_cell_is_recorded_and_shows_its_capture(shell: Any, tmp_path: Path) -> None:
    with capture_output():
        capture = shell.run_cell_magic("kymo", "", CELL)
    assert list(capture.spans.name) == ["in the cell"]
    assert shell.user_ns["made"] == 42
    assert "<svg" in capture._repr_html_()
    assert not list(tmp_path.glob("*.kymo"))
    assert not kymo.is_recording()


def test_a_path_keeps_the_capture(shell: Any, tmp_path: Path) -> None:
    for _ in range(2):
        with capture_output():
            shell.run_cell_magic("kymo", "run.kymo", CELL)
    assert [path.name for path in tmp_path.glob("*.kymo")] == ["run.kymo"]
    assert list(kymo.open(tmp_path / "run.kymo").spans.name) == ["in the cell"]
    for line in ("run.kymo another", "--help"):
        with pytest.raises(ValueError, match="at most a path"):
            shell.run_cell_magic("kymo", line, CELL)


def test_an_exception_in_the_cell_is_one_and_the_capture_is_kept(shell: Any, tmp_path: Path) -> None:
    with capture_output(), pytest.raises(ZeroDivisionError):
        shell.run_cell_magic("kymo", "run.kymo", CELL + "1 / 0")
    assert kymo.open(tmp_path / "run.kymo").is_closed
    assert not kymo.is_recording()


def test_a_cell_that_awaits_is_recorded_or_refused_with_what_to_do(shell: Any, tmp_path: Path) -> None:
    cell = f"import asyncio\nawait asyncio.sleep(0)\n{CELL}"
    with capture_output():
        shell.run_cell_magic("kymo", "run.kymo", cell)
    before = (tmp_path / "run.kymo").read_bytes()
    assert list(kymo.open(tmp_path / "run.kymo").spans.name).count("in the cell") == 1

    async def run_in_loop() -> None:
        # A notebook's loop runs the cells.
        with pytest.raises(RuntimeError, match=r"no cell with a top-level await .* `with kymo\.capture\(\"run\.kymo\""):
            shell.run_cell_magic("kymo", "run.kymo", cell)
        assert (tmp_path / "run.kymo").read_bytes() == before
        for plain in (CELL, "%time 1\n" + CELL, "async def later():\n    await None\n" + CELL):
            with capture_output():
                assert "in the cell" in shell.run_cell_magic("kymo", "", plain).spans.name
        with capture_output(), pytest.raises(SyntaxError):
            shell.run_cell_magic("kymo", "", "1 +")

    asyncio.run(run_in_loop())
    assert not kymo.is_recording()
