"""
Traces of Jetson boards: GPU, CPU and memory load, power rails and temperatures, at up to 1 kHz.

Names and shapes match ``fastnvmetrics``: a program that uses it only changes one import.

Examples
--------
>>> from kymograph.nvmetrics import NVMetrics, read_trace
>>> with NVMetrics("trace.nvmt") as nv:  # doctest: +SKIP
...     nv.sync()
...     work()
...     nv.sync()
>>> read_trace("trace.nvmt")["gpu_load"]  # doctest: +SKIP
"""

from __future__ import annotations

import os
import struct
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, TypedDict

import numpy as np
import numpy.typing as npt

from kymograph import _analysis

__all__ = [
    "BoardConfig",
    "NVMetrics",
    "PowerRail",
    "PowerRailConfig",
    "ThermalZone",
    "ThermalZoneConfig",
    "TraceData",
    "detect_board",
    "get_board_config",
    "read_trace",
]


@dataclass(frozen=True)
class PowerRail:
    """
    A power supply with measured voltage and current.

    Attributes
    ----------
    label
        The board's name for it: ``"VDD_GPU_SOC"``.
    voltage_path, current_path
        Files with millivolts and milliamperes.
    is_total
        It also feeds other rails of the board.
    """

    label: str
    voltage_path: str
    current_path: str
    is_total: bool = False


@dataclass(frozen=True)
class ThermalZone:
    """
    A zone with a measured temperature.

    Attributes
    ----------
    name
        The zone's type: ``"cpu-thermal"``.
    temp_path
        A file with thousandths of a degree Celsius.
    """

    name: str
    temp_path: str


PowerRailConfig = PowerRail
"""`PowerRail`, by its name in fastnvmetrics."""
ThermalZoneConfig = ThermalZone
"""`ThermalZone`, by its name in fastnvmetrics."""


@dataclass(frozen=True)
class BoardConfig:
    """
    A board and its files. An empty path: no such file.

    Attributes
    ----------
    board_name
        ``"agx_orin"``, ``"orin_nx"``, ``"orin_nano"`` or ``"generic"``.
    num_cpu_cores
        Number of CPU cores.
    gpu_load_path
        File with the GPU's load in tenths of a percent.
    emc_actmon_path, emc_clk_rate_path
        Files with the memory controller's busy cycles and its clock.
    power_rails, thermal_zones
        The measured rails and zones, in the order of a trace's columns.
    """

    board_name: str
    num_cpu_cores: int = 0
    gpu_load_path: str = ""
    emc_actmon_path: str = ""
    emc_clk_rate_path: str = ""
    power_rails: list[PowerRail] = field(default_factory=list)
    thermal_zones: list[ThermalZone] = field(default_factory=list)


def _to_board(fields: tuple[Any, ...]) -> BoardConfig:
    name, cores, gpu_load, emc_actmon, emc_clk_rate, rails, zones = fields
    return BoardConfig(
        name,
        cores,
        gpu_load,
        emc_actmon,
        emc_clk_rate,
        [PowerRail(*rail) for rail in rails],
        [ThermalZone(*zone) for zone in zones],
    )


def detect_board(*, root: str | os.PathLike[str] = "/") -> BoardConfig:
    """
    Return this machine's board by its device tree; ``"generic"`` without a device tree.

    Parameters
    ----------
    root
        The root of the machine's files; a recorded tree can replace a machine.

    Returns
    -------
    BoardConfig
        The board, with paths that begin with `root`. Takes some milliseconds: each rail is read once.

    Raises
    ------
    RuntimeError
        The device tree belongs to an unknown board.
    """
    return _to_board(_analysis.detect_board(os.fspath(root)))


def get_board_config(name: str, *, root: str | os.PathLike[str] = "/") -> BoardConfig:
    """
    Return the configuration of a board.

    On such a board, rails and zones are those that are found. Elsewhere they are the board's own, with the paths that
    JetPack 6 gives them.

    Parameters
    ----------
    name
        ``"agx_orin"``, ``"orin_nx"``, ``"orin_nano"`` or ``"generic"``.
    root
        The root of the machine's files.

    Returns
    -------
    BoardConfig
        The board.

    Raises
    ------
    RuntimeError
        No board has this name.
    """
    try:
        return _to_board(_analysis.get_board_config(name, os.fspath(root)))
    except RuntimeError as error:
        raise RuntimeError(f"Unknown board: {error}") from None


class NVMetrics:
    """
    Records a trace.

    While running it writes a capture next to the trace, ``output_path + ".kymo"``, so that a killed program loses at
    most the last 100 ms: ``kymo recover --to nvmt`` converts it to the trace. The capture also contains everything else
    that the program records meanwhile. A process writes one capture at a time: where there is one already, of another
    ``NVMetrics`` or of ``KYMO_RECORD``, that is used, and ends with the last of them. Each writes its own trace.

    As a context manager it starts, waits for the warm-up, and stops at the end, also after an exception. It also stops
    at the program's end. May be used from any thread, and started again after a stop.

    Parameters
    ----------
    output_path
        The trace, written at the stop; it replaces an existing file.
    fast_hz
        Rate of GPU, CPU and memory load, 1 to 1000.
    medium_hz, slow_hz
        Rates of power and temperatures; 0: off.
    board
        The board to read; the default is this machine's board.
    root
        The root of the machine's files; a recorded tree can replace a machine. The paths of `board` are used as they
        are.
    keep_capture
        Whether the capture next to the trace stays after the trace is written.

    Raises
    ------
    ValueError
        A rate is out of range, the path is empty, or the board has no cores, or more cores, rails or zones than a trace
        has room for (16, 8 and 16).
    RuntimeError
        The machine's board is unknown.
    """

    def __init__(
        self,
        output_path: str | os.PathLike[str],
        *,
        fast_hz: int = 1000,
        medium_hz: int = 100,
        slow_hz: int = 10,
        board: BoardConfig | None = None,
        root: str | os.PathLike[str] = "/",
        keep_capture: bool = True,
    ) -> None:
        for tier, rate in [("fast", fast_hz), ("medium", medium_hz), ("slow", slow_hz)]:
            if not 0 <= rate <= 1000:
                raise ValueError(f"a rate of {rate} Hz for the {tier} tier is out of range: 1 to 1000")
        self._path = os.fspath(output_path)
        if not self._path:
            raise ValueError("the path of the trace is empty")
        self._board = board if board is not None else detect_board(root=root)
        self._engine = _analysis.NVMetricsEngine(
            self._path, self._board, fast_hz, medium_hz, slow_hz, os.fspath(root), keep_capture
        )
        # Also at the interpreter's end, because objects alive at that time are not destroyed.
        self._finalizer = weakref.finalize(self, self._engine.stop)

    @property
    def board(self) -> BoardConfig:
        """The board being read."""
        return self._board

    @property
    def sample_count(self) -> int:
        """Number of fast samples since the last start, including those of the warm-up."""
        return self._engine.sample_count()

    @property
    def is_running(self) -> bool:
        """Whether it is recording."""
        return self._engine.is_running()

    def start(self) -> None:
        """
        Start recording.

        Raises
        ------
        RuntimeError
            It is running already, or a capture cannot be started (stderr has the reason).
        """
        self._engine.start()

    def stop(self) -> None:
        """
        End the recording and write the trace. Does nothing if it is not running.

        Raises
        ------
        OSError
            The trace cannot be written. The capture exists nevertheless.
        """
        try:
            self._engine.stop()
        except RuntimeError as error:
            raise OSError(str(error)) from error

    def wait_for_warmup(self) -> bool:
        """
        Wait until ten fast samples were taken and every column that can be read has its first value.

        CPU load takes a tenth of a second. Ten seconds at most.

        Returns
        -------
        bool
            Whether all that came.
        """
        return self._engine.wait_for_warmup()

    def sync(self) -> int:
        """
        Mark the begin of a phase.

        Returns
        -------
        int
            The mark's number: 1, 2, 3, ... from each start; 0 if it is not running.
        """
        return self._engine.sync()

    def __enter__(self) -> NVMetrics:
        self.start()
        try:
            self.wait_for_warmup()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = f"running, {self.sample_count} samples" if self.is_running else "stopped"
        return f"<NVMetrics {self._path!r} of {self._board.board_name}, {state}>"


class TraceData(TypedDict):
    """The content of a trace: N fast, M medium and S slow samples."""

    board_name: str
    num_cpu_cores: int
    num_power_rails: int
    num_thermal_zones: int
    emc_available: bool
    fast_hz: int
    medium_hz: int
    slow_hz: int
    power_rail_names: list[str]
    thermal_zone_names: list[str]
    fast_time_s: npt.NDArray[np.float64]
    gpu_load: npt.NDArray[np.uint16]
    cpu_util: npt.NDArray[np.float32]
    cpu_aggregate: npt.NDArray[np.float32]
    ram_used_kb: npt.NDArray[np.uint64]
    ram_available_kb: npt.NDArray[np.uint64]
    emc_util: npt.NDArray[np.float32]
    medium_time_s: npt.NDArray[np.float64]
    voltage_mv: npt.NDArray[np.uint32]
    current_ma: npt.NDArray[np.uint32]
    power_mw: npt.NDArray[np.float32]
    slow_time_s: npt.NDArray[np.float64]
    temp_c: npt.NDArray[np.float32]
    sync_id: npt.NDArray[np.uint64]


# magic, version, board, cores, rails, zones, memory controller, three rates, four counts, names of rails and of zones
_HEADER = struct.Struct("<II32s4B3I4Q192s384s64x")
_MAGIC = 0x4E564D54
_VERSION = 1
_MOST_CORES = 16
_MOST_RAILS = 8
_MOST_ZONES = 16
_NAME_BYTES = 24

_FAST = np.dtype(
    [
        ("time_s", "<f8"),
        ("gpu_load", "<u2"),
        ("cpu_util", "<f4", (_MOST_CORES,)),
        ("cpu_aggregate", "<f4"),
        ("ram_used_kb", "<u8"),
        ("ram_available_kb", "<u8"),
        ("emc_util", "<f4"),
    ]
)
_MEDIUM = np.dtype(
    [
        ("time_s", "<f8"),
        ("voltage_mv", "<u4", (_MOST_RAILS,)),
        ("current_ma", "<u4", (_MOST_RAILS,)),
        ("power_mw", "<f4", (_MOST_RAILS,)),
    ]
)
_SLOW = np.dtype([("time_s", "<f8"), ("temp_c", "<f4", (_MOST_ZONES,))])
_SYNC = np.dtype([("sync_id", "<u8"), ("fast_sample_idx", "<u8")])


def _text(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode("utf-8", "replace")


def _names(data: bytes, count: int) -> list[str]:
    return [_text(data[at : at + _NAME_BYTES]) for at in range(0, count * _NAME_BYTES, _NAME_BYTES)]


def _rows(file: BinaryIO, layout: np.dtype[Any], count: int) -> npt.NDArray[Any]:
    """Read this many rows; the number was checked against the file's size."""
    rows = np.fromfile(file, layout, count)
    if len(rows) != count:
        raise ValueError(f"{file.name}: it became shorter while it was read")
    return rows


def _fill_forward(marks: npt.NDArray[Any], count: int) -> npt.NDArray[np.uint64]:
    """Return each fast sample's phase: the number of the last mark at or before it."""
    inside = marks[marks["fast_sample_idx"] < count]
    latest = np.zeros(count, np.intp)
    np.maximum.at(latest, inside["fast_sample_idx"].astype(np.intp), np.arange(1, len(inside) + 1))
    numbers = np.concatenate([np.zeros(1, np.uint64), inside["sync_id"]])
    phases: npt.NDArray[np.uint64] = numbers[np.maximum.accumulate(latest)]
    return phases


def read_trace(path: str | os.PathLike[str]) -> TraceData:
    """
    Read a trace (NVMT version 1).

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    TraceData
        A dictionary of NumPy arrays and facts. ``cpu_util`` has the shape (N, cores), ``voltage_mv``, ``current_ma``
        and ``power_mw`` (M, rails), ``temp_c`` (S, zones). ``sync_id`` (N) is the number of the last mark before each
        fast sample, 0 before the first. Loads are in percent, ``gpu_load`` in tenths of a percent.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is not such a trace, or it is damaged.
    """
    with Path(path).open("rb") as file:
        header = file.read(_HEADER.size)
        size = os.fstat(file.fileno()).st_size
        if len(header) < _HEADER.size:
            raise ValueError(f"{os.fspath(path)}: too small: {len(header)} bytes, a trace has {_HEADER.size} at least")
        magic, version = struct.unpack_from("<II", header)
        if magic != _MAGIC:
            raise ValueError(f"{os.fspath(path)}: Bad magic: 0x{magic:08X}, a trace has 0x{_MAGIC:08X}")
        if version != _VERSION:
            raise ValueError(f"{os.fspath(path)}: Unsupported version: {version}; {_VERSION} can be read")
        return _read_tables(file, header, size)


def _read_tables(file: BinaryIO, header: bytes, size: int) -> TraceData:
    (_, _, board, cores, rails, zones, emc, fast_hz, medium_hz, slow_hz, *counts, rail_names, zone_names) = (
        _HEADER.unpack(header)
    )
    if cores > _MOST_CORES or rails > _MOST_RAILS or zones > _MOST_ZONES:
        raise ValueError(f"{file.name}: damaged: {cores} cores, {rails} power rails and {zones} thermal zones")
    layouts = [_FAST, _MEDIUM, _SLOW, _SYNC]
    needed = _HEADER.size + sum(layout.itemsize * count for layout, count in zip(layouts, counts, strict=True))
    if needed > size:
        raise ValueError(f"{file.name}: cut off: {size} bytes where its header speaks of {needed}")
    fast, medium, slow, marks = [_rows(file, layout, count) for layout, count in zip(layouts, counts, strict=True)]
    return TraceData(
        board_name=_text(board),
        num_cpu_cores=cores,
        num_power_rails=rails,
        num_thermal_zones=zones,
        emc_available=bool(emc),
        fast_hz=fast_hz,
        medium_hz=medium_hz,
        slow_hz=slow_hz,
        power_rail_names=_names(rail_names, rails),
        thermal_zone_names=_names(zone_names, zones),
        fast_time_s=fast["time_s"].copy(),
        gpu_load=fast["gpu_load"].copy(),
        cpu_util=fast["cpu_util"][:, :cores].copy(),
        cpu_aggregate=fast["cpu_aggregate"].copy(),
        ram_used_kb=fast["ram_used_kb"].copy(),
        ram_available_kb=fast["ram_available_kb"].copy(),
        emc_util=fast["emc_util"].copy(),
        medium_time_s=medium["time_s"].copy(),
        voltage_mv=medium["voltage_mv"][:, :rails].copy(),
        current_ma=medium["current_ma"][:, :rails].copy(),
        power_mw=medium["power_mw"][:, :rails].copy(),
        slow_time_s=slow["time_s"].copy(),
        temp_c=slow["temp_c"][:, :zones].copy(),
        sync_id=_fill_forward(marks, len(fast)),
    )
