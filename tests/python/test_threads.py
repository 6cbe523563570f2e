"""
Other Python threads run while kymo reads, waits and samples, and it needs none of their turns to sample.

The interpreter takes its lock from no thread of its own accord here (its switch interval is a day): what runs beside a
call runs because the call has given the lock up.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import kymograph as kymo
import pytest
from kymograph._analysis import Reader
from kymograph._selection import COLUMNS, Selection
from kymograph.bench import FixedPowerSource, PowerTracker
from reading import write_model

_DAY_S = 86_400.0
_DEADLINE_S = 60.0


@pytest.fixture
def _no_turns() -> Iterator[None]:
    interval = sys.getswitchinterval()
    yield
    sys.setswitchinterval(interval)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    write_model(folder)
    return folder / "model.kymo"


def _runs_beside(call: Callable[[], object], tries: int) -> bool:
    """Whether a thread that waits for the lock gets it in a call; one of many, as it may be slow to wake."""
    have_run: list[bool] = []
    gate = threading.Lock()
    gate.acquire()

    def run() -> None:
        gate.acquire()
        have_run.append(True)

    other = threading.Thread(target=run)
    other.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_DAY_S)
    try:
        gate.release()
        deadline = time.monotonic() + _DEADLINE_S
        while tries and not have_run and time.monotonic() < deadline:
            call()
            tries -= 1
        return bool(have_run)
    finally:
        sys.setswitchinterval(interval)
        other.join()


def _record(path: Path) -> None:
    assert kymo.start_capture(path)
    kymo.message("one")
    assert kymo.stop_capture()


def test_others_run_in_the_meantime(path: Path, tmp_path: Path) -> None:
    # What keeps the lock is told from what gives it up.
    assert not _runs_beside(lambda: sum(range(10_000)), 1_000)

    capture = kymo.open(path)
    snapshot = capture._snapshot()
    query = Selection().query
    tracker = PowerTracker(FixedPowerSource(5.0), 1000)

    def measure() -> None:
        assert tracker.start()
        tracker.stop()

    calls: dict[str, Callable[[], object]] = {
        "open": lambda: Reader([os.fsencode(path)], align_by_sync_points=False).snapshot(),
        "columns": lambda: snapshot.columns(query("spans", COLUMNS["spans"])),
        "samples": lambda: snapshot.columns(query("samples", ["time_ns", "value"])),
        "count": lambda: snapshot.count(query("spans", ["depth"])),
        "stats": capture.stats,
        "overview": lambda: snapshot.overview(start_ns=0, end_ns=2**62, width=320),
        "capture": lambda: _record(tmp_path / "run.kymo"),
        "power": measure,
    }
    assert {name for name, call in calls.items() if not _runs_beside(call, sys.maxsize)} == set()
    assert kymo.start_capture(tmp_path / "flushed.kymo")
    try:
        assert _runs_beside(kymo.flush, sys.maxsize)
    finally:
        kymo.stop_capture()


@pytest.mark.usefixtures("_no_turns")
def test_the_machine_is_sampled_while_python_keeps_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    capture = tmp_path / "run.kymo"
    monkeypatch.setenv("KYMO_RECORD", str(capture))
    assert kymo.enable()
    # These calls give nothing up, and the interpreter takes nothing.
    size_of = ctypes.PyDLL(None).lseek
    size_of.restype = ctypes.c_long
    size_of.argtypes = (ctypes.c_int, ctypes.c_long, ctypes.c_int)
    with capture.open("rb") as file:
        sys.setswitchinterval(_DAY_S)
        begin, steps = size_of(file.fileno(), 0, os.SEEK_END), 0
        known, deadline = begin, time.monotonic() + _DEADLINE_S
        while steps < 3 and time.monotonic() < deadline:
            size = size_of(file.fileno(), 0, os.SEEK_END)
            steps, known = steps + (size > known), max(size, known)
    kymo.disable()
    assert steps == 3
    assert len(kymo.open(capture).samples) > 0
