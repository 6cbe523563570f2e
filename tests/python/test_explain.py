"""Explanations: of programs whose cause is known, with the rows of the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import kymograph as kymo
import pytest

#: Each ninth of 100 frames makes 60 calls of "tile" instead of 2, and each call does the same work.
PROGRAM = """
import sys, time
import kymograph as kymo

calls = int(sys.argv[2])

def spend(duration_ns):
    end_ns = time.thread_time_ns() + duration_ns
    while time.thread_time_ns() < end_ns:
        pass

with kymo.capture(sys.argv[1]):
    for frame in kymo.frames(range(100)):
        with kymo.scope("update"):
            spend(1_000_000)
        for _ in range(calls if calls < 10 or frame % 9 == 5 else 2):
            with kymo.scope("tile"):
                spend(500_000)
"""


def record(path: Path, calls: int) -> Path:
    """Record the program in a process of its own."""
    subprocess.run([sys.executable, "-c", PROGRAM, path, str(calls)], check=True)
    return path


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a capture in which some frames make more calls."""
    return record(tmp_path_factory.mktemp("slow") / "slow.kymo", 60)


def test_slow_frames_have_their_cause_with_its_share(slow: Path) -> None:
    with kymo.open(slow) as capture:
        # What pushes a thread off takes less.
        (why,) = capture.explain(over_ns=20_000_000)
        assert why["site"] is None
        assert why["instances"] == 100
        finding = why["findings"][0]
        assert 'computing in "tile"' in finding["text"]
        assert ": more calls (" in finding["text"]
        assert finding["share"] > 0.5
        # On a loaded machine others may take as long.
        assert set(range(6, 100, 9)) <= {one["number"] for one in finding["slow"] if one["owned_ns"] > 25e6}
        frames = capture.frames
        starts = {int(number): int(start) for number, start in zip(frames["number"], frames["start_ns"], strict=True)}
        assert all(one["start_ns"] == starts[one["number"]] for one in finding["slow"])


def test_rows_are_those_of_the_command(slow: Path) -> None:
    with kymo.open(slow) as capture:
        found = json.loads(json.dumps(capture.explain(seed=5)))
        start_ns = capture.start_ns
    command = [sys.executable, "-m", "kymograph", "explain", "--json", "--seed", "5", slow]
    said = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["explanations"]
    for why in said:
        for finding in why["findings"] + why["shorter"]:
            for one in finding["slow"]:
                one["start_ns"] += start_ns  # the command counts from the start of the recording
    assert found == said


def test_one_frame_a_stretch_or_a_target_can_be_chosen(slow: Path) -> None:
    with kymo.open(slow) as capture:
        # On a loaded machine other frames may be odder than the chosen one, so it need not have a finding.
        starts = [int(start) for start in capture.frames["start_ns"]]
        (why,) = capture.explain(frame=6)
        assert (why["slow"], why["slow_mean_ns"]) == (1, starts[6] - starts[5])
        (why,) = capture.between(starts[14] + 1, starts[15] - 1).explain()
        assert (why["slow"], why["slow_mean_ns"]) == (1, starts[15] - starts[14])
        (why,) = capture.explain(over_ns=20_000_000)
        assert why["slow"] >= 11
        (why,) = capture.explain(over_ns=10**15)
        assert (why["slow"], why["findings"]) == (0, [])
        with pytest.raises(KeyError, match="no scope is named"):
            capture.explain(site="nothing")
        with pytest.raises(KeyError):
            capture.explain(frame=1000)
        with pytest.raises(ValueError, match="do not go together"):
            capture.explain(frame=6, over_ns=5)


def test_a_base_tells_why_the_new_one_takes_longer(tmp_path: Path) -> None:
    base, new = record(tmp_path / "base.kymo", 2), record(tmp_path / "new.kymo", 9)
    with kymo.open(new) as capture:
        (why,) = capture.explain(base=base)
        assert why["is_comparison"]
        assert ": more calls (9 against 2)" in " ".join(finding["text"] for finding in why["findings"])
        with kymo.open(base) as opened, pytest.raises(ValueError, match="not a view"):
            capture.explain(base=opened.between(0, 1))


def test_the_whole_run_is_explained_as_by_the_command(slow: Path) -> None:
    with kymo.open(slow) as capture:
        found = json.loads(json.dumps(capture.explain_run()))
        start_ns = capture.start_ns
        with pytest.raises(ValueError, match="whole capture"):
            capture.between(0, 1).explain_run()
    command = [sys.executable, "-m", "kymograph", "explain", "--run", "--json", slow]
    said = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["run"]
    said["start_ns"] += start_ns
    assert found == said
    assert sum(part["duration_ns"] for part in found["parts"]) + found["other_ns"] == pytest.approx(
        found["duration_ns"]
    )
    assert any('"' in part["text"] for part in found["parts"]), "scopes are named"


#: Frames whose power the program records itself, more of it in every ninth.
POWERED = """
import sys
import kymograph as kymo

with kymo.capture(sys.argv[1]):
    for frame in kymo.frames(range(60)):
        with kymo.scope("step"):
            for _ in range(20):
                kymo.record_metric_unit("machine_power", 900 if frame % 9 == 5 else 20, "W")
"""


def test_joules_are_explained_as_by_the_command(tmp_path: Path, slow: Path) -> None:
    path = tmp_path / "powered.kymo"
    subprocess.run([sys.executable, "-c", POWERED, path], check=True)
    with kymo.open(path) as capture:
        found = json.loads(json.dumps(capture.explain_energy(seed=5)))
        start_ns = capture.start_ns
        of_site = json.loads(json.dumps(capture.explain_energy(site="step", seed=5)))
        against_itself = capture.explain_energy(base=path)
    for how, answer in (([], found), (["--site", "step"], of_site)):
        command = [sys.executable, "-m", "kymograph", "explain", "--energy", "--json", "--seed", "5", *how, path]
        said = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["energy"]
        for finding in said["findings"] + said["less"] + [{"costly": said["costliest"]}]:
            for one in finding["costly"]:
                one["start_ns"] += start_ns  # the command counts from the start of the recording
        assert answer == said
    assert found["has_power"]
    assert found["instances"] + found["unknown"] == 60
    assert of_site["site"] == "step"
    assert against_itself["is_comparison"]
    assert against_itself["findings"] == []
    with kymo.open(slow) as capture:
        why = capture.explain_energy()
        assert why["has_power"] or why["text"].startswith("no power was recorded")
        with pytest.raises(ValueError, match="whole capture"):
            capture.between(0, 1).explain_energy(frame=1)
