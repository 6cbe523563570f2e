"""A capture that cannot be read, or not whole, says so, and harms nobody."""

from __future__ import annotations

import contextlib
import os
import stat
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kymograph as kymo
import pytest
from reading import copy_to


def test_errors_name_the_file_and_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        kymo.open(tmp_path / "none.kymo")
    assert missing.value.filename == str(tmp_path / "none.kymo")
    foreign = tmp_path / "foreign.kymo"
    foreign.write_bytes(b"PK\x03\x04 something else")
    with pytest.raises(kymo.CaptureError) as error:
        kymo.open(foreign)
    assert error.value.path == str(foreign)
    assert isinstance(error.value, ValueError)
    assert str(foreign) in str(error.value)
    (tmp_path / "empty").mkdir()
    with pytest.raises(kymo.CaptureError):
        kymo.open(tmp_path / "empty")
    with pytest.raises(ValueError, match="no path"):
        kymo.open([])
    for mistaken in (None, 3, b"run.kymo"):
        with pytest.raises(TypeError, match=f"not {type(mistaken).__name__}"):
            kymo.open(mistaken)


@contextlib.contextmanager
def _nobody(folder: Path) -> Iterator[None]:
    """Be somebody who may read what all may, and not root, who may read anything."""
    if os.geteuid() != 0:
        yield
        return
    modes = {each: each.stat().st_mode for each in (folder, *folder.parents)}
    # The group stays root's.
    needed = stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH
    closed = {each: mode for each, mode in modes.items() if mode & needed != needed}
    for each, mode in closed.items():
        each.chmod(mode | needed)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        for each, mode in closed.items():
            each.chmod(mode)


def test_files_that_may_not_be_read_are_named(folder: Path, truth: dict[str, Any]) -> None:
    secret = copy_to(folder / "model.kymo", folder / "mixed", "secret.kymo")
    copy_to(folder / "model.kymo", folder / "mixed", "open.kymo").chmod(0o644)
    secret.parent.chmod(0o755)
    locked = folder / "locked"
    locked.mkdir()
    secret.chmod(0)
    locked.chmod(0)
    with _nobody(folder):
        for path in (secret, locked):
            with pytest.raises(PermissionError) as refused:
                kymo.open(path)
            assert refused.value.filename == str(path)
        # One of many does not keep the others from being read.
        fleet = kymo.open(folder / "mixed")
        assert len(fleet) == 1
        assert [Path(path).name for path in fleet.damages.capture] == ["secret.kymo"]


def write_damaged(capture: Path, folder: Path) -> tuple[Path, int]:
    """Write a copy of the capture with a damaged middle, and say where that is."""
    content = bytearray(capture.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 8] = b"\xff" * 8
    path = folder / "damaged.kymo"
    path.write_bytes(content)
    return path, middle


@pytest.mark.parametrize("answer", [kymo.Capture.stats, kymo.Capture.functions])
def test_an_answer_that_lacks_what_is_damaged_is_with_a_warning(
    folder: Path, tmp_path: Path, answer: Callable[[kymo.Capture], object]
) -> None:
    path, _ = write_damaged(folder / "model.kymo", tmp_path)
    with kymo.open(path) as capture, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        answer(capture)
    assert [warning.category for warning in warned] == [kymo.CaptureWarning]
    assert warned[0].filename == __file__


def test_damages_are_a_table_and_a_warning_once(folder: Path, tmp_path: Path) -> None:
    path, middle = write_damaged(folder / "model.kymo", tmp_path)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for _ in range(3):
            with kymo.open(path) as capture:
                len(capture.spans.name)
    (warning,) = warned
    assert warning.category is kymo.CaptureWarning
    assert warning.filename == __file__
    assert "damaged.kymo: a part could not be read" in str(warning.message)
    with kymo.open(path) as capture:
        len(capture.spans.name)
        (damage,) = capture.damages
        assert damage["capture"] == str(path)
        assert damage["start_byte"] <= middle < damage["start_byte"] + damage["size_bytes"]
        assert capture.damages.head(1).to_pandas()["what"][0] == damage["what"]
        told = kymo.sql("select * from damages join processes using (capture)", capture).fetchall()
        assert told[0][:4] == tuple(damage.values())
        assert len(capture.table("damages")) == 1
    with kymo.open(folder / "model.kymo") as whole:
        assert len(whole.damages) == 0
        assert whole.damages.what.tolist() == []


def test_damaged_files_never_harm(folder: Path, truth: dict[str, Any], tmp_path: Path) -> None:
    whole = (folder / "model.kymo").read_bytes()
    path = tmp_path / "damaged.kymo"
    times = {span["start_ns"] for span in truth["spans"]}
    readable = 0
    for step in range(40):
        cut = len(whole) * step // 40
        damaged = bytearray(whole[:cut] if step % 2 else whole)
        if step % 2 == 0:
            damaged[cut : cut + 8] = b"\xff" * 8
        path.write_bytes(damaged)
        try:
            capture = kymo.open(path)
        except kymo.CaptureError:
            continue
        readable += 1
        starts = capture.spans.start_ns.tolist()
        if len(capture.damages) == 0:
            assert set(starts) <= times or step % 2 == 0
        for name in ("frames", "samples", "sites", "messages", "phases"):
            len(capture.table(name).to_numpy())
        capture.stats()
        for metric in capture.metrics.values():
            len(metric)
    assert readable > 20
