"""The benchmark kit: files, fingerprints, energy, memory and witness bundles."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kymograph.bench import (
    BaselineRecord,
    BenchConfig,
    BenchFileError,
    EnergyReport,
    FixedPowerSource,
    LatencyRecord,
    LatencyStats,
    MemorySnapshot,
    MemoryTracker,
    ParameterSet,
    PowerSample,
    PowerTracker,
    ResultRow,
    WitnessEntry,
    WitnessHeader,
    WitnessWriter,
    compare_witnesses,
    config_hash,
    find_power_sources,
    integrate,
    is_same_decision,
    mask_hash,
    nearest_rank,
    parse_csv,
    read_csv,
    tensor_hash,
    to_csv,
    verify_witness,
    write_csv,
)

RECORDS: list[tuple[type[Any], str, list[Any]]] = [
    (
        LatencyRecord,
        "sample_id,wall_time_us,kernel_time_us,seq_len",
        [LatencyRecord(0, 12.5, 0.1, 128), LatencyRecord(2**64 - 1, 1e-300, 1e22, 0)],
    ),
    (
        MemorySnapshot,
        "timestamp_us,peak_rss_bytes,kv_cache_bytes,activation_bytes,temp_buffer_bytes",
        [MemorySnapshot(-5, 1, 2, 3, 4)],
    ),
    (
        BaselineRecord,
        "sample_id,seq_len,wall_time_us,peak_mem_bytes,energy_j",
        [BaselineRecord(1, 2, 3.5, 4, 0.1 + 0.2)],
    ),
    (
        ResultRow,
        "setting,coherence_delta,kv_cache_reduction,peak_mem_reduction,energy_reduction,p95_latency_us,accuracy",
        [ResultRow('l=0.5, "t"\n2', 0.05, 0.15, -0.25, 0.1, 12.0, 1.0)],
    ),
]


@pytest.mark.parametrize(("kind", "header", "records"), RECORDS)
def test_files_come_back_and_csv_modules_read_them(
    tmp_path: Path, kind: type[Any], header: str, records: list[Any]
) -> None:
    path = tmp_path / "records.csv"
    write_csv(path, records)
    assert read_csv(kind, path) == records
    assert path.read_text() == to_csv(records)
    assert to_csv(records).split("\n", 1)[0] == header
    with path.open(newline="") as file:
        for row, record in zip(csv.DictReader(file), records, strict=True):
            for name, text in row.items():
                assert type(getattr(record, name))(text) == getattr(record, name)
    write_csv(path, [], record=kind)
    assert path.read_text() == header + "\n"
    assert read_csv(kind, path) == []


def test_missing_numbers_are_empty_fields_and_numpy_scalars_are_numbers() -> None:
    assert to_csv([BaselineRecord(1, 2, 3, 4)]).endswith("\n1,2,3,4,\n")
    assert math.isnan(parse_csv(BaselineRecord, to_csv([BaselineRecord(1, 2, 3, 4)]))[0].energy_j)
    record = LatencyRecord(np.int64(1), np.float32(0.5), np.float64(0.25), np.uint32(7))  # type: ignore[arg-type]
    assert to_csv([record]).endswith("\n1,0.5,0.25,7\n")


def test_what_is_wrong_with_records_and_files_is_told(tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    with pytest.raises(ValueError, match="record="):
        write_csv(path, [])
    with pytest.raises(TypeError, match="record 1 is a ResultRow"):
        write_csv(path, [LatencyRecord(0, 1, 2, 3), ResultRow("x")])  # type: ignore[type-var]
    with pytest.raises(TypeError, match="wall_time_us cannot be 'fast'"):
        write_csv(path, [LatencyRecord(0, "fast", 2, 3)])  # type: ignore[arg-type]
    with pytest.raises(OverflowError, match="sample_id"):
        write_csv(path, [LatencyRecord(-1, 1, 2, 3)])
    assert not path.exists()
    path.write_text("sample_id,wall_time_us,kernel_time_us,seq_len\n1,2,3,4\n1,2,x,4\n")
    with pytest.raises(BenchFileError, match=r"records\.csv:3"):
        read_csv(LatencyRecord, path)
    with pytest.raises(ValueError, match=r"records\.csv"):
        read_csv(ResultRow, path)
    with pytest.raises(FileNotFoundError) as missing:
        read_csv(ResultRow, tmp_path / "none.csv")
    assert missing.value.filename == str(tmp_path / "none.csv")
    with pytest.raises(FileNotFoundError, match="none"):
        write_csv(tmp_path / "none" / "records.csv", [ResultRow("x")])
    with pytest.raises(IsADirectoryError):
        read_csv(ResultRow, tmp_path)


def test_fingerprints_are_those_of_the_json() -> None:
    config = BenchConfig("abc1234", "def5678", 0.5, 2, 0.01, "-O3")
    text = '{"model_commit":"abc1234","weights_hash":"def5678","lambda":0.5,"tau":2,"eps":0.01,"compiler_flags":"-O3"}'
    assert config.to_json() == text
    assert config_hash(config) == "8194ad7276a762e3eeee09d9d2cb18ab888c08854a9f3deaf87e92142bca82df"
    parameters = ParameterSet({"a": "é\n", "b": True, "c": -3, "d": 2**64 - 1, "e": 1.0, "f": 1e-6})
    parameters.add("g", np.float32(0.1)).add("h", np.float64(0.1)).add("i", np.int8(5)).add("j", np.bool_(0))
    text = parameters.to_json()
    assert text == '{"a":"é\\n","b":true,"c":-3,"d":18446744073709551615,"e":1.0,"f":1e-6,' + (
        '"g":0.1,"h":0.1,"i":5,"j":false}'
    )
    assert parameters.fingerprint() == hashlib.sha256(text.encode()).hexdigest()
    assert ParameterSet([("x", 1), ("y", 2)]).fingerprint() != ParameterSet([("y", 2), ("x", 1)]).fingerprint()
    for name, value, error in [
        ("a", 1, ValueError),
        ("nan", math.nan, ValueError),
        ("none", None, TypeError),
        ("big", 2**64, OverflowError),
        ("list", [1], TypeError),
    ]:
        with pytest.raises(error):
            parameters.add(name, value)
    assert parameters.to_json() == text


def test_latency_statistics_are_by_nearest_rank() -> None:
    random = np.random.default_rng(7)
    samples = random.lognormal(3, 1, 1001)
    stats = LatencyStats.of(samples)
    ascending = sorted(samples.tolist())
    for percentile, value in [(50, stats.p50), (95, stats.p95), (99, stats.p99)]:
        assert value == ascending[math.ceil(percentile / 100 * 1001) - 1] == nearest_rank(ascending, percentile)
    assert stats.mean == pytest.approx(statistics.fmean(ascending))
    assert stats.std == pytest.approx(statistics.pstdev(ascending))
    assert LatencyStats.of([]) == LatencyStats()
    assert LatencyStats.of([math.nan, 2]).n == 1
    assert LatencyStats.of(np.arange(12).reshape(3, 4)[:, ::2]).n == 6


def test_energy_is_what_the_source_gave() -> None:
    source = FixedPowerSource(lambda time_s: 10 * time_s)
    tracker = PowerTracker(source)
    for second in range(5):
        tracker.sample(second * 1_000_000_000)
    report = tracker.report()
    assert (report.energy_j, report.mean_watts, report.peak_watts) == (80, 20, 40)
    assert (report.duration_s, report.samples, report.unknown_s, report.is_counted) == (4, 5, 0, False)
    kept = PowerTracker(source, label="ramp", kept_samples=2)
    for second in range(5):
        kept.sample(second * 1_000_000_000)
    assert kept.samples == [PowerSample(3, 30), PowerSample(4, 40)]
    assert kept.report().label == "ramp"
    assert parse_csv(PowerSample, to_csv(kept.samples)) == kept.samples
    assert integrate((second, 10.0 * second) for second in range(5)) == 80
    assert json.loads(report.to_json())["energy_j"] == 80
    assert json.loads(EnergyReport(energy_j=math.nan).to_json())["energy_j"] is None
    assert FixedPowerSource(3.5).read(0)[0] == 3.5
    with pytest.raises(ValueError, match="1000"):
        PowerTracker(source, 5000)
    with pytest.raises(ValueError, match="nonsense"):
        find_power_sources(["nonsense"])


def test_a_tracker_calls_python_from_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = set()
    called = threading.Event()
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda problem: unraisable.append(problem.exc_value))

    def watts(_: float) -> float:
        threads.add(threading.get_ident())
        if len(threads) > 1:
            called.set()
            raise LookupError("no meter")
        return 5.0

    with PowerTracker(FixedPowerSource(watts), 1000) as tracker:
        assert tracker.is_running
        assert not tracker.start()
        assert called.wait(60)
    assert not tracker.is_running
    assert tracker.report().peak_watts == 5
    assert isinstance(unraisable[0], LookupError)


@pytest.mark.skipif(
    "asan" in os.environ.get("LD_PRELOAD", ""), reason="its allocator may be locked for ever in a child"
)
def test_trackers_that_are_left_running_end_with_the_program() -> None:
    script = """
import os, sys
from kymograph.bench import FixedPowerSource, PowerTracker
trackers = [PowerTracker(FixedPowerSource(lambda t: 5.0), 1000) for _ in range(2)]
for tracker in trackers:
    tracker.start()
if os.fork() == 0:
    assert not trackers[0].is_running
    sys.exit()
assert os.wait()[1] == 0
trackers.pop()
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=100)


def test_memory_is_summed_up() -> None:
    before, started = time.time_ns(), time.monotonic_ns()
    tracker = MemoryTracker("run")
    first = tracker.snapshot(kv_cache_bytes=5, activation_bytes=7)
    second = tracker.snapshot(1, 2, 3)
    assert tracker.snapshots == [first, second]
    assert 0 < first.peak_rss_bytes <= first.process_peak_bytes <= second.process_peak_bytes
    assert before <= first.timestamp_us * 1000 + 1000
    assert second.timestamp_us * 1000 <= time.time_ns()
    assert started <= first.monotonic_ns <= second.monotonic_ns <= time.monotonic_ns()
    report = tracker.report()
    assert (report.label, report.snapshots, report.peak_rss) == (
        "run",
        2,
        max(first.peak_rss_bytes, second.peak_rss_bytes),
    )
    assert report.process_peak == second.process_peak_bytes
    assert (report.kv_cache_total, report.activation_total, report.temp_buffer_total) == (6, 9, 3)
    assert report.mean_rss == pytest.approx((first.peak_rss_bytes + second.peak_rss_bytes) / 2)
    assert list(json.loads(report.to_json()))[:5] == [
        "label",
        "peak_rss",
        "mean_rss",
        "kv_cache_total",
        "activation_total",
    ]


HEADER = WitnessHeader("a" * 64, "abc1234", "def5678")


def entry(number: int, **changes: Any) -> WitnessEntry:
    values: dict[str, Any] = {
        "q_hash": tensor_hash(np.arange(4) * number),
        "k_hash": "c" * 64,
        "keep_mask": [True, number % 2 == 0],
        "cut_cost": number / 2,
        "lambda_": 0.5,
        "tau": 2,
        "eps": 0.25,
        "timestamp": 1_700_000_000_000_000_000 + number,
    }
    return WitnessEntry(**{**values, **changes})


def write_witness(path: Path, entries: list[WitnessEntry]) -> str:
    with WitnessWriter(path, HEADER) as writer:
        for each in entries:
            writer.add(each)
    return writer.head


def test_a_witness_is_verified_entry_by_entry(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    entries = [entry(number) for number in range(3)]
    head = write_witness(path, entries)
    seen: list[WitnessEntry] = []
    report = verify_witness(path, seen.append)
    assert seen == entries
    assert (report.is_whole, report.line, report.head, report.header) == (True, 0, head, HEADER)
    assert (report.totals.entries, report.totals.gates, report.totals.kept) == (3, 6, 5)
    # The chain, by its description: each line ends with the hash of its own bytes up to there.
    lines = path.read_bytes().splitlines()
    for line, before in zip(lines[1:], lines, strict=False):
        cut = line.rindex(b',"hash":"')
        assert hashlib.sha256(line[:cut]).hexdigest() == json.loads(line)["hash"]
        assert json.loads(line)["previous"] == json.loads(before)["hash"]
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"cut_cost":0.5', b'"cut_cost":1.5'))
    broken = verify_witness(path)
    assert (broken.is_whole, broken.line, broken.totals.entries) == (False, 3, 1)
    assert broken.problem
    with pytest.raises(KeyError):
        verify_witness(path, lambda each: {}[each.q_hash])


def test_bundles_are_compared_but_for_their_times(tmp_path: Path) -> None:
    left, right = tmp_path / "left", tmp_path / "right"
    write_witness(left, [entry(0), entry(1)])
    write_witness(right, [entry(0, timestamp=5), entry(1)])
    assert compare_witnesses(left, right).is_none
    write_witness(right, [entry(0), entry(1, keep_mask=np.array([True, True]))])
    assert compare_witnesses(left, right).entry == 2
    assert is_same_decision(entry(0), entry(0, timestamp=5))
    assert not is_same_decision(entry(0), entry(0, tau=5))
    assert not is_same_decision(entry(0), entry(0, mask_hash=mask_hash([True])))
    right.write_bytes(right.read_bytes()[:-1])
    with pytest.raises(BenchFileError, match="right"):
        compare_witnesses(left, right)
    with pytest.raises(FileNotFoundError):
        compare_witnesses(left, tmp_path / "none")


def test_bundles_that_fail_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="finite"), WitnessWriter(tmp_path / "run", HEADER) as writer:
        writer.add(entry(0, cut_cost=math.nan))
    assert os.listdir(tmp_path) == []
    with pytest.raises(ValueError, match="hex"):
        WitnessWriter(tmp_path / "run", WitnessHeader("short", "", ""))
    with WitnessWriter(tmp_path / "run", HEADER) as writer:
        with pytest.raises(ValueError, match="finite"):
            writer.add(entry(0, cut_cost=math.inf))
        writer.finish()
        with pytest.raises(ValueError, match="finished"):
            writer.add(entry(0))
    with pytest.raises(FileNotFoundError):
        WitnessWriter(tmp_path / "none" / "run", HEADER)
    with pytest.raises(FileNotFoundError):
        verify_witness(tmp_path / "none")
    values = np.linspace(-1, 1, 64, dtype=np.float32)
    assert mask_hash([[True, False], [False, True]]) == hashlib.sha256(b"\1\0\0\1").hexdigest()
    assert tensor_hash(values.reshape(8, 8)) == hashlib.sha256(values.astype("<f4").tobytes()).hexdigest()
