"""Traces of torch.profiler, in the shape that it writes them, as captures."""

from __future__ import annotations

import gzip
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from kymograph._torch_trace import ImportReport, import_torch_trace

sys.path.append(str(Path(__file__).parent))
from support import info_of, rows_of

STEPS = 30


def make_trace() -> dict[str, Any]:
    """Two GPUs, each step an operator that copies and launches; what the profiler writes besides."""
    events: list[dict[str, Any]] = []
    for pid, label in [(4242, "CPU"), (0, "GPU 0"), (1, "GPU 1")]:
        events.append({"name": "process_name", "ph": "M", "ts": 0, "pid": pid, "tid": 0, "args": {"name": "python"}})
        labels = {"labels": label}
        events.append({"name": "process_labels", "ph": "M", "ts": 0, "pid": pid, "tid": 0, "args": labels})
        events.append({"name": "process_sort_index", "ph": "M", "pid": pid, "tid": 0, "args": {"sort_index": pid}})
    for gpu in (0, 1):
        events.append({"name": "thread_name", "ph": "M", "pid": gpu, "tid": 7, "args": {"name": "stream 7 "}})
    events.append(
        {"name": "thread_name", "ph": "M", "pid": 4242, "tid": 4243, "args": {"name": "thread 4243 (python)"}}
    )
    for step in range(STEPS):
        at, gpu, correlation = 1000.0 * step + 0.125, step % 2, 100 + step
        cpu = {"pid": 4242, "tid": 4243}
        device = {"pid": gpu, "tid": 7}
        args = {"External id": step, "Ev Idx": step}
        events += [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", **cpu, "ts": at, "dur": 900},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", **cpu, "ts": at + 10, "dur": 50.5, "args": args},
            {
                "ph": "X",
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                **cpu,
                "ts": at + 20,
                "dur": 4,
                "args": {"cbid": 211, "correlation": correlation},
            },
            {"ph": "s", "id": correlation, **cpu, "ts": at + 20, "cat": "ac2g", "name": "ac2g"},
            {
                "ph": "X",
                "cat": "kernel",
                "name": "void gemm<float, 4>",
                **device,
                "ts": at + 100,
                "dur": 300.25,
                "args": {
                    "device": gpu,
                    "stream": 7,
                    "correlation": correlation,
                    "grid": [16, 1, 1],
                    "est. achieved occupancy %": 51,
                },
            },
            {"ph": "f", "id": correlation, **device, "ts": at + 100, "cat": "ac2g", "name": "ac2g", "bp": "e"},
            {
                "ph": "X",
                "cat": "gpu_memcpy",
                "name": "Memcpy HtoD (Pinned -> Device)",
                **device,
                "ts": at + 420,
                "dur": 7,
                "args": {"stream": 7, "bytes": 4096, "memory bandwidth (GB/s)": 0.5},
            },
            {
                "ph": "X",
                "cat": "gpu_user_annotation",
                "name": f"ProfilerStep#{step}",
                **device,
                "ts": at + 100,
                "dur": 350,
            },
        ]
    events.append(
        {"name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g", "pid": "Traces", "tid": 0, "ts": 0}
    )
    return {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150_000_000_000}],
        "distributedInfo": {"backend": "nccl", "rank": 2, "world_size": 4},
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": 1_700_000_000_000_000_000,
        "traceEvents": events,
        "traceName": "trace.json",
    }


def check(report: ImportReport) -> None:
    assert not report.is_damaged
    assert report.spans == 6 * STEPS
    assert report.flow_points == 2 * STEPS
    rows = rows_of(report.output, "spans")
    kernels = [row for row in rows if row["category"] == "kernel"]
    assert {row["name"] for row in kernels} == {"void gemm<float, 4>"}
    assert [row["track"] for row in kernels].count("GPU 1 stream 7") == STEPS // 2
    assert {row["kind"] for row in kernels if "kind" in row} <= {"queue"}
    starts = sorted(int(row["start_ns"]) for row in kernels)
    assert [start - starts[0] for start in starts] == [1_000_000 * step for step in range(STEPS)]
    assert {row["duration_ns"] for row in kernels} == {"300250"}
    on_gpu = [row for row in rows if row["track"].startswith("GPU")]
    assert len(on_gpu) == 3 * STEPS
    operators = [row for row in rows if row["name"] == "aten::mm"]
    assert {row["track"] for row in operators} == {"thread 4243 (python)"}


def test_gpus_have_tracks_of_their_streams(tmp_path: Path) -> None:
    path = tmp_path / "run.pt.trace.json"
    path.write_text(json.dumps(make_trace()))
    report = import_torch_trace(path)
    assert report.output == str(tmp_path / "run.kymo")
    check(report)
    info = json.dumps(info_of(report.output))
    for fact in ["NVIDIA H200", str(path), "nccl"]:
        assert fact in info


def test_packed_traces_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps(make_trace()).encode()))
    check(import_torch_trace(path, tmp_path / "out.kymo"))
    assert import_torch_trace(path, tmp_path / "out.kymo").output != str(tmp_path / "out.kymo")
    assert str(path) in json.dumps(info_of(tmp_path / "out.kymo"))


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    text = json.dumps(make_trace())
    writer = threading.Thread(target=path.write_text, args=(text,))
    writer.start()
    check(import_torch_trace(path, tmp_path / "out.kymo"))
    writer.join()


def test_what_stands_before_the_damage_is_imported(tmp_path: Path) -> None:
    whole = json.dumps(make_trace()).encode()
    path = tmp_path / "trace.json"
    path.write_bytes(whole[: len(whole) // 2])
    report = import_torch_trace(path)
    assert report.is_damaged
    assert 0 < report.spans < 6 * STEPS
    packed = gzip.compress(whole, compresslevel=0)
    path.write_bytes(packed[: len(packed) // 2])
    report = import_torch_trace(path)
    assert report.is_damaged
    assert any("unpacked" in loss.what for loss in report.losses)
    assert report.spans > 0


def test_what_is_no_trace_is_told(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    for content in [b"", b"hello", gzip.compress(b"hello"), gzip.compress(b"x" * 1000)[:20]]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"trace\.json: no Chrome trace"):
            import_torch_trace(path)
    with pytest.raises(FileNotFoundError):
        import_torch_trace(tmp_path / "none.json")
    path.write_text("[]")
    with pytest.raises(OSError, match="none"):
        import_torch_trace(path, tmp_path / "none" / "out.kymo")
    assert not list(tmp_path.glob("*.kymo"))
