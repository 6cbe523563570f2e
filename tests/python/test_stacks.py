"""Sampled stacks as a table and as functions, beside what ``kymo stats --functions`` says of them."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path

import kymograph as kymo
import numpy as np
import pytest
from kymograph._errors import warn_of_stacks
from support import command, info_of

_WORK = """
import hashlib
import time
data = bytes(1 << 20)
for i in range(60):
    hashlib.sha256(data).digest()
time.sleep(0.05)
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stacks") / "run.kymo"
    command("record", "--hz", "0", "-q", "--stacks", "-o", path, "--", sys.executable, "-c", _WORK)
    if "stacks.refused" in json.dumps(info_of(path)):
        pytest.skip("the kernel gives no samples")
    return path


def test_functions_are_those_of_the_command(path: Path) -> None:
    told = json.loads(command("stats", "--functions", "--json", path))
    rows = kymo.open(path).functions()
    keys = ("name", "module", "self", "total", "self_blocked_ns", "total_blocked_ns")
    assert [tuple(row[key] for key in keys) for row in rows] == [
        tuple(row[key] for key in keys) for row in told["functions"]
    ]
    assert sum(row["self"] for row in rows) == told["samples"] > 20


def test_lines_have_the_samples_of_their_functions(path: Path) -> None:
    with kymo.open(path) as capture:
        functions = capture.functions()
        lines = capture.functions(lines=True)
        stacks = capture.stacks
    assert all("line" not in row for row in functions)
    for key in ("self", "self_blocked_ns"):
        by_name: Counter[tuple[str, str]] = Counter()
        for row in lines:
            by_name[row["module"], row["name"]] += row[key]
        assert +by_name == +Counter({(row["module"], row["name"]): row[key] for row in functions})
    told: Counter[tuple[str, int]] = Counter()
    for row in lines:
        told[row["file"], row["line"] or 0] += row["self"]
    on_cpu = stacks[(stacks.blocked_ns == 0) & (stacks.unsampled_ns == 0)]
    assert Counter(zip(on_cpu.file, on_cpu.line.tolist(), strict=True)) == +told


def test_the_table_has_each_sample(path: Path) -> None:
    with kymo.open(path) as capture:
        stacks = capture.stacks
        on_cpu = stacks[(stacks.blocked_ns == 0) & (stacks.unsampled_ns == 0)]
        rows = capture.functions()
    told: Counter[str] = Counter()
    modules = Counter(row["name"] for row in rows)
    for row in rows:
        told[row["name"]] += row["self"]
    assert Counter(on_cpu.function) == +told
    assert [stack.rpartition(";")[2] for stack in on_cpu.stack] == list(on_cpu.function)
    assert np.all(np.diff(on_cpu.time_ns[on_cpu.os_thread_id == on_cpu.os_thread_id[0]]) > 0)
    totals = Counter(name for stack in on_cpu.stack for name in set(stack.split(";")))
    # A stack may have functions of one name in two modules, as the dynamic linker and the C library have.
    told = Counter({row["name"]: row["total"] for row in rows if modules[row["name"]] == 1})
    assert {name: count for name, count in totals.items() if modules[name] == 1} == +told
    assert set(on_cpu.thread) >= {os.path.basename(sys.executable)[:15]}


def test_lost_stacks_are_a_warning_once() -> None:
    captures = [
        {"path": "whole.kymo", "closing_facts": {"stacks_lost": 0}},
        {"path": "lacking.kymo", "closing_facts": {"stacks_lost": 3, "stacks_left_out": 4, "stacks_samples": 9}},
    ]
    with pytest.warns(kymo.CaptureWarning) as warned:
        warn_of_stacks(captures * 2)
    assert [str(warning.message) for warning in warned] == [
        "lacking.kymo: the stacks of 7 samples were lost while it was recorded"
    ]


def test_a_view_has_the_samples_of_its_time(path: Path) -> None:
    with kymo.open(path) as capture:
        times = capture.stacks.time_ns
        middle = int(np.median(times))
        first, second = capture.between(end_ns=middle), capture.between(start_ns=middle)
        assert len(first.stacks) == np.count_nonzero(times < middle)
        counts = [sum(row["self"] for row in view.functions()) for view in (first, second, capture)]
        assert counts[0] + counts[1] == counts[2]
        with pytest.raises(KeyError, match="nobody"):
            capture.functions(thread="nobody")
