"""Records of a benchmark, and their CSV files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from kymograph import _analysis
from kymograph.bench._files import fail_to_read, fail_to_write

_NO_VALUE = float("nan")


@dataclass(slots=True)
class LatencyRecord:
    """The latency of one sample, in microseconds."""

    sample_id: int
    wall_time_us: float
    kernel_time_us: float
    seq_len: int


@dataclass(slots=True)
class MemorySnapshot:
    """
    A process's memory at one time; `timestamp_us` is microseconds since 1970.

    `peak_rss_bytes` is the resident memory at that time, `process_peak_bytes` the largest since the process began.
    `monotonic_ns` is ``time.monotonic_ns()``. The last two are not in CSV files and become 0 when one is read.
    """

    timestamp_us: int
    peak_rss_bytes: int
    kv_cache_bytes: int = 0
    activation_bytes: int = 0
    temp_buffer_bytes: int = 0
    monotonic_ns: int = 0
    process_peak_bytes: int = 0


@dataclass(slots=True)
class PowerSample:
    """The power at one time: `time_s` is ``time.monotonic()``."""

    time_s: float
    watts: float


@dataclass(slots=True)
class BaselineRecord:
    """One sample of the baseline. NaN: unknown."""

    sample_id: int
    seq_len: int
    wall_time_us: float
    peak_mem_bytes: int
    energy_j: float = _NO_VALUE


@dataclass(slots=True)
class ResultRow:
    """One setting of a grid and the baseline; reductions are shares, 0.15 for 15 % less. NaN: unknown."""

    setting: str
    coherence_delta: float = _NO_VALUE
    kv_cache_reduction: float = _NO_VALUE
    peak_mem_reduction: float = _NO_VALUE
    energy_reduction: float = _NO_VALUE
    p95_latency_us: float = _NO_VALUE
    accuracy: float = _NO_VALUE


_RecordT = TypeVar("_RecordT", LatencyRecord, MemorySnapshot, PowerSample, BaselineRecord, ResultRow)


@dataclass(frozen=True, slots=True)
class _Functions:
    write: Callable[[str, list[Any]], None]
    to_csv: Callable[[list[Any]], str]
    read: Callable[[str], list[tuple[Any, ...]]]
    parse: Callable[[str, str], list[tuple[Any, ...]]]


_FUNCTIONS: dict[type[Any], _Functions] = {
    LatencyRecord: _Functions(
        _analysis.write_latencies, _analysis.latencies_to_csv, _analysis.read_latencies, _analysis.parse_latencies
    ),
    MemorySnapshot: _Functions(
        _analysis.write_memory, _analysis.memory_to_csv, _analysis.read_memory, _analysis.parse_memory
    ),
    PowerSample: _Functions(_analysis.write_power, _analysis.power_to_csv, _analysis.read_power, _analysis.parse_power),
    BaselineRecord: _Functions(
        _analysis.write_baselines, _analysis.baselines_to_csv, _analysis.read_baselines, _analysis.parse_baselines
    ),
    ResultRow: _Functions(
        _analysis.write_results, _analysis.results_to_csv, _analysis.read_results, _analysis.parse_results
    ),
}


def _functions_of(record: type[Any]) -> _Functions:
    functions = _FUNCTIONS.get(record)
    if functions is None:
        raise TypeError(f"{record.__name__} is no record of a benchmark: {', '.join(t.__name__ for t in _FUNCTIONS)}")
    return functions


def _kind_of(records: list[_RecordT], record: type[_RecordT] | None) -> type[Any]:
    if record is None and not records:
        raise ValueError("there are no records, so their type must be given: record=LatencyRecord")
    kind: type[Any] = record if record is not None else type(records[0])
    for place, other in enumerate(records):
        if not isinstance(other, kind):
            raise TypeError(f"record {place} is a {type(other).__name__} among {kind.__name__}s")
    return kind


def write_csv(
    path: str | os.PathLike[str], records: Iterable[_RecordT], *, record: type[_RecordT] | None = None
) -> None:
    """
    Write records under a header line. The file then has either its old content or all of the new one.

    Parameters
    ----------
    path
        The file.
    records
        Records of one type.
    record
        Their type; required if there may be no records.

    Raises
    ------
    OSError
        The file cannot be written.
    ValueError
        There are no records, and their type is not given.
    TypeError, OverflowError
        A field has a value of the wrong type or size.
    """
    rows = list(records)
    functions = _functions_of(_kind_of(rows, record))
    try:
        functions.write(os.fspath(path), rows)
    except RuntimeError as error:
        fail_to_write(os.fspath(path), error)


def to_csv(records: Iterable[_RecordT], *, record: type[_RecordT] | None = None) -> str:
    """
    Return the text that `write_csv` writes.

    Parameters
    ----------
    records, record
        As for `write_csv`.

    Returns
    -------
    str
        A header line and one line per record.
    """
    rows = list(records)
    return _functions_of(_kind_of(rows, record)).to_csv(rows)


def read_csv(record: type[_RecordT], path: str | os.PathLike[str]) -> list[_RecordT]:
    """
    Read a file that has exactly the header of its records.

    Parameters
    ----------
    record
        The type of the records.
    path
        The file.

    Returns
    -------
    list
        The records.

    Raises
    ------
    BenchFileError
        The file is of another kind or damaged; the message names the line. It is a ValueError.
    OSError
        The file cannot be read.
    """
    try:
        rows = _functions_of(record).read(os.fspath(path))
    except RuntimeError as error:
        fail_to_read(os.fspath(path), error)
    return [record(*row) for row in rows]


def parse_csv(record: type[_RecordT], text: str, name: str = "CSV") -> list[_RecordT]:
    """
    Read a text as `read_csv` reads a file.

    Parameters
    ----------
    record
        The type of the records.
    text
        A header line and one line per record.
    name
        The text's name in messages.

    Returns
    -------
    list
        The records.

    Raises
    ------
    BenchFileError
        The text is damaged.
    """
    return [record(*row) for row in _functions_of(record).parse(text, name)]
