"""What threads did in spans, beside their own clocks and ``kymo stats``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import kymograph as kymo
import numpy as np
import pytest
from support import command, environment_of_programs

_WORK = """
import json, pathlib, sys, time
import kymograph as kymo

def wait_for_states():
    # The kernel has answered once the thread that reads its records waits for them.
    def is_reading(task):
        return "(kymo-states) S" in (task / "stat").read_text()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not any(map(is_reading, pathlib.Path("/proc/self/task").iterdir())):
        time.sleep(0.001)

def work():
    used = {"compute": 0.0, "sleep": 0.0}
    for _ in range(5):
        for name in used:
            before = time.thread_time()
            with kymo.scope(name):
                until = before + 0.005
                while name == "compute" and time.thread_time() < until:
                    pass
                if name == "sleep":
                    time.sleep(0.003)
            used[name] += (time.thread_time() - before) * 1e9
    return used

if len(sys.argv) > 1:
    with kymo.capture(sys.argv[1], sample=True):
        wait_for_states()
        used = work()
else:
    kymo.enable()
    used = work()
print(json.dumps(used))
"""


@pytest.fixture(scope="module", params=["by kymo record", "by itself"])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, float]]:
    path = tmp_path_factory.mktemp("states") / "run.kymo"
    if json.loads(command("doctor", "--json", "--sensors", "memory"))["thread_states"]["source"] != "perf_event_open":
        pytest.skip("the kernel gives no run states")
    if request.param == "by itself":
        environment = {**os.environ, "KYMO_SENSORS": "threads,process"}
        words = [sys.executable, "-c", _WORK, str(path)]
        told = subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout
    else:
        told = command("record", "--hz", "0", "-q", "-o", path, "--", sys.executable, "-c", _WORK)
    return path, json.loads(told)


def test_spans_have_the_times_that_stats_has_and_the_clock_of_their_thread(
    recorded: tuple[Path, dict[str, float]],
) -> None:
    path, used = recorded
    rows = {row["name"]: row for row in json.loads(command("stats", "--json", path))["sites"]}
    with kymo.open(path) as capture:
        assert {row["name"]: row for row in capture.stats()["sites"]} == rows
        spans = capture.spans
        for name, cpu_ns in used.items():
            chosen = spans[spans.name == name]
            known = chosen[~np.isnan(chosen.running_ns)]
            states = rows[name]["run_states"]
            assert len(known) == states["scopes"] > 0
            for column in ("running_ns", "runnable_ns", "blocked_ns"):
                assert known[column].sum() == states[column]
            parts = known.running_ns + known.runnable_ns + known.blocked_ns
            assert np.array_equal(parts, known.duration_ns)
            if len(known) == len(chosen):
                # A busy machine interrupts a program between its two clocks.
                assert known.running_ns.sum() == pytest.approx(cpu_ns, rel=0.2, abs=1e6)
        assert np.nanmin(spans[spans.name == "sleep"].blocked_ns) >= 2_900_000


def test_threads_have_what_stats_by_thread_has(recorded: tuple[Path, dict[str, float]]) -> None:
    path, _ = recorded
    told = json.loads(command("stats", "--by", "thread", "--json", path))["thread_activity"]
    with kymo.open(path) as capture:
        rows = capture.thread_activity()
        assert rows == told
        main = next(row for row in rows if row["thread_id"] == row["pid"] and "python" in row["thread"])
        states = main["run_states"]
        assert states is not None
        assert states["running_ns"] > 20e6
        assert main["migrations"] is not None
        assert main in capture.thread_activity(thread=main["thread"])
        with pytest.raises(KeyError):
            capture.thread_activity(thread="no such thread")


def test_what_is_not_known_is_missing(tmp_path: Path) -> None:
    environment = {**environment_of_programs(), "KYMO_THREADS": "off"}
    path = tmp_path / "off.kymo"
    words = [sys.executable, "-c", _WORK, str(path)]
    subprocess.run(words, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, check=True)
    with kymo.open(path) as capture:
        assert np.isnan(capture.spans.running_ns).all()
        assert len(capture.spans) >= 10
