"""Jetson boards: NVMetrics on recorded trees, and read_trace beside a reader written from the format's description."""

from __future__ import annotations

import math
import os
import re
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import kymograph as kymo
import numpy as np
import pytest
from kymograph.nvmetrics import (
    BoardConfig,
    NVMetrics,
    PowerRail,
    ThermalZone,
    detect_board,
    get_board_config,
    read_trace,
)

sys.path.append(str(Path(__file__).parent.parent / "exchange"))
import nvmt_reader

TREE = Path(kymo.__file__).absolute().parents[2] / "tests" / "python" / "jetson_tree"


class Tree:
    """A recorded board below a folder."""

    def __init__(self, model: str, root: Path) -> None:
        self.root = root
        done = subprocess.run([TREE, model, root], check=True, capture_output=True, text=True)
        lines = [line.split() for line in done.stdout.splitlines()]
        self.channels = {line[0]: (int(line[1]), int(line[2])) for line in lines if len(line) == 3}
        self.zones = [line[0] for line in lines if len(line) == 1]
        self.board = detect_board(root=root)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree("agx_orin", tmp_path / "machine")


def wait_for(nv: NVMetrics, count: int) -> None:
    deadline = time.monotonic() + 60
    while nv.sample_count < count:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def same(left: Any, right: Any) -> bool:
    """Whether a list holds what an array holds, bit by bit but for NaN."""
    if isinstance(right, list) and isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right) or (math.isnan(left) and math.isnan(right))


def check_against_reader(path: Path) -> dict[str, Any]:
    trace: dict[str, Any] = dict(read_trace(path))
    expected = nvmt_reader.read_trace(path)
    assert list(trace) == list(expected)
    for key, value in expected.items():
        read = trace[key]
        assert same(read.tolist() if isinstance(read, np.ndarray) else read, value), key
    return trace


@pytest.mark.parametrize(("model", "cores"), [("agx_orin", 12), ("orin_nx", 8), ("orin_nano", 6)])
def test_boards_are_those_of_the_tree(tmp_path: Path, model: str, cores: int) -> None:
    tree = Tree(model, tmp_path / "machine")
    board = tree.board
    assert (board.board_name, board.num_cpu_cores) == (model, cores)
    labels = [rail.label for rail in board.power_rails]
    assert sorted(labels) == sorted(label for label, values in tree.channels.items() if values != (0, 0))
    for rail in board.power_rails:
        assert int(Path(rail.voltage_path).read_text()) == tree.channels[rail.label][0]
        assert int(Path(rail.current_path).read_text()) == tree.channels[rail.label][1]
        assert rail.is_total == (rail.label == "VDD_IN")
    assert [zone.name for zone in board.thermal_zones] == tree.zones
    assert all(Path(zone.temp_path).exists() for zone in board.thermal_zones)
    assert Path(board.gpu_load_path).read_text() == "451\n"
    assert Path(board.emc_actmon_path).exists()
    assert Path(board.emc_clk_rate_path).exists()
    assert get_board_config(model, root=tree.root).power_rails == board.power_rails


def test_boards_that_are_not_known_are_told(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"Unknown board.*\"tx1\""):
        get_board_config("tx1")
    (tmp_path / "proc/device-tree").mkdir(parents=True)
    (tmp_path / "proc/device-tree/compatible").write_bytes(b"raspberrypi,5\0")
    with pytest.raises(RuntimeError, match="raspberrypi"):
        detect_board(root=tmp_path)
    assert detect_board(root=tmp_path / "proc").board_name == "generic"


def test_a_trace_holds_what_the_board_showed(tree: Tree, tmp_path: Path) -> None:
    path = tmp_path / "run.nvmt"
    nv = NVMetrics(path, board=tree.board)
    assert not nv.is_running
    assert nv.sync() == 0
    with nv:
        assert nv.is_running
        assert nv.sample_count >= 10
        assert nv.sync() == 1
        wait_for(nv, nv.sample_count + 200)
        assert nv.sync() == 2
        with pytest.raises(RuntimeError, match="running already"):
            nv.start()
    assert not nv.is_running
    trace = check_against_reader(path)
    assert trace["board_name"] == "agx_orin"
    # The CPU load is this machine's, where the tree has none.
    cores = min(12, len(re.findall(r"^cpu\d", Path("/proc/stat").read_text(), re.MULTILINE)))
    assert (trace["num_cpu_cores"], trace["num_thermal_zones"]) == (cores, 11)
    assert np.all((trace["cpu_util"] >= 0) & (trace["cpu_util"] <= 100))
    assert np.all((trace["cpu_aggregate"] >= 0) & (trace["cpu_aggregate"] <= 100))
    assert trace["emc_available"] is True
    assert (trace["fast_hz"], trace["medium_hz"], trace["slow_hz"]) == (1000, 100, 10)
    fast, medium, slow = len(trace["fast_time_s"]), len(trace["medium_time_s"]), len(trace["slow_time_s"])
    assert fast == nv.sample_count
    assert trace["power_rail_names"] == [rail.label for rail in tree.board.power_rails]
    assert trace["thermal_zone_names"] == tree.zones
    for column, label in enumerate(trace["power_rail_names"]):
        volts, amperes = tree.channels[label]
        assert trace["voltage_mv"][-1, column] == volts
        assert trace["current_ma"][-1, column] == amperes
        assert trace["power_mw"][-1, column] == np.float32(volts) * np.float32(amperes) / np.float32(1000)
    assert set(trace["gpu_load"]) == {451}
    assert set(trace["emc_util"]) == {10.0}
    assert trace["temp_c"][-1].tolist() == [40 + 0.5 * zone for zone in range(11)]
    assert trace["sync_id"][0] == 0
    assert set(np.unique(trace["sync_id"])) == {0, 1, 2}
    for key, kind, shape in [
        ("fast_time_s", np.float64, (fast,)),
        ("gpu_load", np.uint16, (fast,)),
        ("cpu_util", np.float32, (fast, cores)),
        ("cpu_aggregate", np.float32, (fast,)),
        ("ram_used_kb", np.uint64, (fast,)),
        ("ram_available_kb", np.uint64, (fast,)),
        ("emc_util", np.float32, (fast,)),
        ("medium_time_s", np.float64, (medium,)),
        ("voltage_mv", np.uint32, (medium, 6 - 1)),
        ("current_ma", np.uint32, (medium, 6 - 1)),
        ("power_mw", np.float32, (medium, 6 - 1)),
        ("slow_time_s", np.float64, (slow,)),
        ("temp_c", np.float32, (slow, 11)),
        ("sync_id", np.uint64, (fast,)),
    ]:
        assert (trace[key].dtype, trace[key].shape) == (kind, shape), key


def test_an_exception_ends_the_recording_and_the_trace_is_there(tree: Tree, tmp_path: Path) -> None:
    path = tmp_path / "run.nvmt"
    nv = NVMetrics(str(path), slow_hz=0, board=tree.board)
    with pytest.raises(ZeroDivisionError), nv:
        raise ZeroDivisionError
    assert not nv.is_running
    assert len(read_trace(path)["fast_time_s"]) >= 10
    nv.start()
    assert nv.wait_for_warmup()
    assert nv.sync() == 1
    nv.stop()
    nv.stop()
    trace = check_against_reader(path)
    assert trace["slow_hz"] == 0
    assert trace["temp_c"].shape == (0, 11)
    assert trace["sync_id"].max(initial=0) <= 1


def test_rates_and_places_that_cannot_be_are_told(tree: Tree, tmp_path: Path) -> None:
    for rates in [{"fast_hz": 0}, {"fast_hz": 1001}, {"medium_hz": 5000}, {"slow_hz": -1}]:
        with pytest.raises(ValueError, match="out of range"):
            NVMetrics(tmp_path / "run.nvmt", board=tree.board, **rates)
    with pytest.raises(TypeError):
        NVMetrics(tmp_path / "run.nvmt", board=BoardConfig("mine", "four"))  # type: ignore[arg-type]
    for cores in [0, 17]:
        with pytest.raises(ValueError, match="CPU cores"):
            NVMetrics(tmp_path / "run.nvmt", board=BoardConfig("mine", cores))
    with pytest.raises(ValueError, match="9 power rails"):
        NVMetrics(tmp_path / "run.nvmt", board=BoardConfig("mine", 1, power_rails=[PowerRail("A", "/a", "/b")] * 9))
    with pytest.raises(ValueError, match="path of the trace is empty"):
        NVMetrics("", board=tree.board)
    nv = NVMetrics(tmp_path / "none" / "run.nvmt", board=tree.board)
    with pytest.raises(RuntimeError, match="cannot record"):
        nv.start()
    assert not nv.is_running


def test_several_record_at_once_and_the_capture_may_go(tree: Tree, tmp_path: Path) -> None:
    (tree.root / "proc").mkdir(exist_ok=True)
    for name in ["stat", "meminfo"]:
        (tree.root / "proc" / name).symlink_to(f"/proc/{name}")
    outer = NVMetrics(tmp_path / "outer.nvmt", root=tree.root, keep_capture=False)
    assert outer.board.power_rails == tree.board.power_rails
    with outer, NVMetrics(tmp_path / "inner.nvmt", fast_hz=200, board=BoardConfig("mine", 1)) as inner:
        assert outer.sync() == 1
        assert [inner.sync(), inner.sync()] == [1, 2]
    for name, hz, marks, rails in [("outer", 1000, 1, 5), ("inner", 200, 2, 0)]:
        trace = check_against_reader(tmp_path / f"{name}.nvmt")
        assert (trace["fast_hz"], trace["sync_id"].max(), trace["num_power_rails"]) == (hz, marks, rails)
        assert np.all((trace["cpu_util"] >= 0) & (trace["cpu_util"] <= 100))
    assert not list(tmp_path.glob("*.kymo"))


def test_a_configuration_made_elsewhere_has_the_boards_rails_and_zones(tmp_path: Path) -> None:
    board = get_board_config("agx_orin", root=tmp_path)
    assert [rail.label for rail in board.power_rails] == [
        "VDD_GPU_SOC",
        "VDD_CPU_CV",
        "VIN_SYS_5V0",
        "VDDQ_VDD2_1V8AO",
    ]
    assert (board.num_cpu_cores, len(board.thermal_zones)) == (12, 11)
    assert len(get_board_config("orin_nx", root=tmp_path).power_rails) == 3


def test_a_board_of_ones_own_needs_no_jetson(tmp_path: Path) -> None:
    for name, text in [("volts", "5000\n"), ("amperes", "200\n"), ("heat", "41500\n")]:
        (tmp_path / name).write_text(text)
    rail = PowerRail("MAIN", str(tmp_path / "volts"), str(tmp_path / "amperes"))
    board = BoardConfig("mine", 2, power_rails=[rail], thermal_zones=[ThermalZone("core", str(tmp_path / "heat"))])
    with NVMetrics(tmp_path / "run.nvmt", board=board):
        pass
    trace = check_against_reader(tmp_path / "run.nvmt")
    assert trace["power_mw"][-1].tolist() == [1000]
    assert trace["temp_c"][-1].tolist() == [41.5]
    assert not trace["emc_available"]
    assert set(trace["emc_util"]) == {-1}


def test_the_programs_end_and_forked_children_lose_nothing(tmp_path: Path) -> None:
    script = """
import os, sys
from kymograph.nvmetrics import BoardConfig, NVMetrics
nv = NVMetrics(sys.argv[1], board=BoardConfig("mine", 1))
nv.start()
nv.wait_for_warmup()
if os.fork() == 0:
    assert not nv.is_running and nv.sync() == 0
    sys.exit()
assert os.wait()[1] == 0
assert nv.is_running and nv.sync() == 1
"""
    path = tmp_path / "run.nvmt"
    subprocess.run([sys.executable, "-c", script, path], check=True, timeout=100)
    assert len(check_against_reader(path)["fast_time_s"]) >= 10


def hand_made(marks: list[tuple[int, int]], fast: int) -> bytes:
    header = struct.pack("<II32s4B3I4Q", 0x4E564D54, 1, b"board", 1, 2, 1, 1, 9, 8, 7, fast, 1, 0, len(marks))
    header = header.ljust(88, b"\0") + b"A".ljust(24, b"\0") + b"B".ljust(24, b"\0")
    header = header.ljust(280, b"\0") + b"zone"
    rows = b"".join(struct.pack("<dH16ffQQf", i / 8, i, *range(16), 50, 2**40, 7, -1) for i in range(fast))
    rows += struct.pack("<d8I8I8f", 0.5, *range(8), *range(8), *range(8))
    return header.ljust(728, b"\0") + rows + b"".join(struct.pack("<QQ", *mark) for mark in marks)


def test_marks_count_from_their_sample_on(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(hand_made([(1, 2), (2, 2), (3, 5), (4, 9)], 7))
    assert check_against_reader(path)["sync_id"].tolist() == [0, 0, 2, 2, 2, 3, 3]
    path.write_bytes(hand_made([(1, 4), (2, 1), (3, 6)], 7))
    assert check_against_reader(path)["sync_id"].tolist() == [0, 2, 2, 2, 2, 2, 3]
    path.write_bytes(hand_made([], 0))
    assert check_against_reader(path)["cpu_util"].shape == (0, 1)


def test_what_is_no_trace_is_told(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    whole = hand_made([(1, 0)], 3)
    for content, message in [
        (b"", "too small"),
        (whole[:727], "too small"),
        (b"\1" + whole[1:], "Bad magic"),
        (whole[:4] + b"\2" + whole[5:], "Unsupported version"),
        (whole[:-1], "cut off"),
        (whole[:56] + b"\xff" * 8 + whole[64:], "cut off"),
        (whole[:40] + b"\x11" + whole[41:], "damaged"),
    ]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message) as caught:
            read_trace(path)
        assert os.fspath(path) in str(caught.value)
    with pytest.raises(FileNotFoundError):
        read_trace(tmp_path / "none")
