"""
How fast captures become NumPy arrays and Arrow tables, on one core.

benchmarks/python_read_benchmark.py BUILD [--millions N] [--folder FOLDER]

BUILD is a build folder in which the targets `kymo_python` and `write_python_load` were built; PYTHONPATH is its folder
python. Writes a capture of so many million scopes (1) and one of as many samples, then reads them: opening alone,
columns as NumPy arrays, whole tables as an Arrow stream. MB are those of the data that comes out; the median of three
is printed, or what there is after ten seconds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import kymograph as kymo
import pyarrow as pa

LONG_ENOUGH_S = 10
GOAL_MB_S = 200


def measure(read: Callable[[], tuple[int, int]]) -> tuple[float, int, int]:
    """Return the median of the seconds, the rows and the bytes."""
    seconds = []
    rows = size = 0
    while len(seconds) < 3 and sum(seconds) < LONG_ENOUGH_S:
        begin = time.perf_counter()
        rows, size = read()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds), rows, size


def read_arrow(table: kymo.Table) -> tuple[int, int]:
    """Take every batch of the stream, as a consumer that keeps none."""
    rows = size = 0
    for batch in pa.RecordBatchReader.from_stream(table):
        rows += batch.num_rows
        # The texts of a column of names are the same in all batches.
        size += sum(getattr(column, "indices", column).nbytes for column in batch.columns)
    return rows, size


def read_numpy(table: kymo.Table, columns: list[str]) -> tuple[int, int]:
    """Read columns at once."""
    arrays = table._snapshot.columns(table._selection.query(table._name, columns))
    parts = [array[0] if isinstance(array, tuple) else array for array in arrays.values()]
    return len(parts[0]), sum(part.nbytes for part in parts)


def read_series(path: Path) -> tuple[int, int]:
    """Read a metric by its name."""
    metric = kymo.open(path).metrics["metric 0"]
    return len(metric.times), metric.times.nbytes + metric.values.nbytes + metric.stale.nbytes


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Measures how fast captures are read in Python.")
    parser.add_argument("build", type=Path, help="a build folder")
    parser.add_argument("--millions", type=int, default=1, help="how many scopes, and samples (1)")
    parser.add_argument("--folder", type=Path, help="where captures are written meanwhile (where temporary files are)")
    asked = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        scopes, samples = Path(folder, "scopes.kymo"), Path(folder, "samples.kymo")
        subprocess.run(
            [asked.build / "benchmarks" / "write_python_load", str(asked.millions), scopes, samples], check=True
        )
        plain = ["start_ns", "duration_ns", "name", "track", "depth"]
        every = [column for column in kymo.open(scopes).spans.columns if column != "arguments"]
        cases: list[tuple[str, Path, Callable[[], tuple[int, int]]]] = [
            ("scopes: open", scopes, lambda: (len(kymo.open(scopes)), 0)),
            ("scopes: 5 columns, NumPy", scopes, lambda: read_numpy(kymo.open(scopes).spans, plain)),
            ("scopes: columns but arguments, NumPy", scopes, lambda: read_numpy(kymo.open(scopes).spans, every)),
            ("scopes: 5 columns, Arrow", scopes, lambda: read_arrow(kymo.open(scopes).spans.with_columns(plain))),
            ("scopes: all columns, Arrow", scopes, lambda: read_arrow(kymo.open(scopes).spans)),
            ("samples: open", samples, lambda: (len(kymo.open(samples)), 0)),
            ("samples: one metric, NumPy", samples, lambda: read_series(samples)),
            (
                "samples: time and value, NumPy",
                samples,
                lambda: read_numpy(kymo.open(samples).samples, ["time_ns", "value"]),
            ),
            ("samples: all columns, Arrow", samples, lambda: read_arrow(kymo.open(samples).samples)),
        ]
        print(f"{'':<38}{'rows':>14}{'seconds':>10}{'M rows/s':>10}{'MB/s':>8}{'goal':>8}{'':>8}{'file MB':>9}")
        for name, path, read in cases:
            seconds, rows, size = measure(read)
            speed = size / seconds / 1e6
            goal, verdict = (f">= {GOAL_MB_S}", "met" if speed >= GOAL_MB_S else "MISSED") if size else ("", "")
            print(
                f"{name:<38}{rows:>14,}{seconds:>10.4f}{rows / seconds / 1e6:>10.1f}{speed:>8.0f}"
                f"{goal:>8}{verdict:>8}{path.stat().st_size / 1e6:>9.1f}"
            )


if __name__ == "__main__":
    main()
