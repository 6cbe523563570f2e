"""Records, their files and their statistics are those of the crate ruvector-profiler."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from kymograph.bench import (
    BenchConfig,
    FixedPowerSource,
    LatencyRecord,
    LatencyStats,
    MemorySnapshot,
    PowerTracker,
    ResultRow,
    config_hash,
    integrate,
    read_csv,
    to_csv,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import crates

SECONDS_TO_US = 1_000_000


@pytest.fixture(scope="module")
def given() -> dict[str, Any]:
    """Return random records, the same at each run."""
    chosen = random.Random(7)
    return {
        "latencies": [
            {
                "sample_id": i,
                "wall_time_us": chosen.randrange(1, 10**6),
                "kernel_time_us": chosen.randrange(1, 10**6),
                "seq_len": chosen.randrange(1, 1025),
            }
            for i in range(997)
        ],
        "power": [
            {"watts": chosen.uniform(0, 400), "timestamp_us": i * 20_000 + chosen.randrange(20_000)} for i in range(200)
        ],
        "memory": [
            {
                "timestamp_us": 1_700_000_000_000_000 + i,
                "peak_rss_bytes": chosen.randrange(10**10),
                "kv_cache_bytes": chosen.randrange(10**9),
                "activation_bytes": chosen.randrange(10**9),
                "temp_buffer_bytes": chosen.randrange(10**9),
            }
            for i in range(50)
        ],
        "results": [
            {
                "setting": setting,
                "coherence_delta": round(chosen.uniform(-1, 1), 4),
                "kv_cache_reduction": 0.25,
                "peak_mem_reduction": 0.5,
                "energy_reduction": round(chosen.uniform(0, 1), 3),
                "p95_latency_us": chosen.randrange(10**5),
                "accuracy": 0.95,
            }
            for setting in ("baseline", "l0.3, t2", 'a "quoted" one', "two\nlines")
        ],
        "configs": [
            {
                "model_commit": "abc1234",
                "weights_hash": f"h{i}",
                # None from 1e-6 up to 1e-5: the crate writes 0.000001 where kymo writes 1e-6.
                "lambda": chosen.choice([0.5, 0.3, 1.0, 0.1, 1e-5, 1e-7, 2.5e-8]),
                "tau": i,
                "eps": chosen.choice([0.01, 1e16, 2.0]),
                "compiler_flags": '-O3 -DNAME="x"',
            }
            for i in range(20)
        ],
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the crate writes its files."""
    return tmp_path_factory.mktemp("crate")


@pytest.fixture(scope="module")
def said(given: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return what the crate makes of the records."""
    build = os.environ.get("KYMO_TEST_CRATES")
    if build is None:
        pytest.skip("KYMO_TEST_CRATES does not say where to build")
    answer: dict[str, Any] = json.loads(crates.run("records_peer", Path(build), str(folder), given=json.dumps(given)))
    return answer


def test_latencies_have_the_crates_statistics(given: dict[str, Any], said: dict[str, Any]) -> None:
    ours = LatencyStats.of([record["wall_time_us"] for record in given["latencies"]])
    crate = said["latency"]
    assert (ours.p50, ours.p95, ours.p99, ours.n) == (crate["p50_us"], crate["p95_us"], crate["p99_us"], crate["n"])
    assert (ours.mean, ours.std) == (pytest.approx(crate["mean_us"]), pytest.approx(crate["std_us"]))


def test_power_has_the_crates_energy(given: dict[str, Any], said: dict[str, Any]) -> None:
    pairs = [(sample["timestamp_us"] / SECONDS_TO_US, sample["watts"]) for sample in given["power"]]
    crate = said["energy"]
    assert integrate(pairs) == pytest.approx(crate["total_joules"])
    watts = {round(time_s * SECONDS_TO_US): value for time_s, value in pairs}
    tracker = PowerTracker(FixedPowerSource(lambda time_s: watts[round(time_s * SECONDS_TO_US)]))
    for sample in given["power"]:
        tracker.sample(sample["timestamp_us"] * 1000)
    report = tracker.report()
    assert report.samples == crate["samples"]
    assert (report.energy_j, report.mean_watts, report.peak_watts, report.duration_s) == (
        pytest.approx(crate["total_joules"]),
        pytest.approx(crate["mean_watts"]),
        pytest.approx(crate["peak_watts"]),
        pytest.approx(crate["duration_s"]),
    )


def test_fingerprints_are_the_crates(given: dict[str, Any], said: dict[str, Any]) -> None:
    configs = [
        BenchConfig(**{("lambda_" if key == "lambda" else key): value for key, value in config.items()})
        for config in given["configs"]
    ]
    assert [config_hash(config) for config in configs] == said["hashes"]


@pytest.mark.usefixtures("said")
@pytest.mark.parametrize(
    ("kind", "name", "key"),
    [
        (LatencyRecord, "latency.csv", "latencies"),
        (MemorySnapshot, "memory.csv", "memory"),
        (ResultRow, "results.csv", "results"),
    ],
)
def test_files_are_the_crates_and_are_read_back(
    given: dict[str, Any], folder: Path, kind: type[Any], name: str, key: str
) -> None:
    records = [kind(**record) for record in given[key]]
    assert to_csv(records) == (folder / name).read_text(encoding="utf-8")
    assert read_csv(kind, folder / name) == records
