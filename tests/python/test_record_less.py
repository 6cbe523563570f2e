"""``python -m kymograph record`` that leaves out short calls, or most calls of leaf functions."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support import functions_of, info_of, rows_of

Record = Callable[..., subprocess.CompletedProcess[str]]

# Frames are evaluated, or sys.monitoring reports the calls.
WAYS = pytest.mark.parametrize("options", [(), ("--include", "__main__.*")])

SHORT_AND_LONG = """
    import time

    def short():
        pass

    def long():
        short()
        end = time.perf_counter() + 0.02
        while time.perf_counter() < end:
            pass
        short()

    def around():
        for _ in range(3000):
            short()
        long()

    around()
"""


def test_short_calls_are_left_out_and_counted(record: Record, tmp_path: Path) -> None:
    done = record(SHORT_AND_LONG, options=("--hz", "0", "--min-us", "15000"))
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in rows_of(tmp_path / "run.kymo", "spans")}
    found = functions_of(tmp_path / "run.kymo")
    short = found.pop("short", 0)
    assert found == {"<module>": 1, "around": 1, "long": 1}
    # What had to be written to begin a new chunk is recorded although it is short.
    assert short < 30
    inner, outer = rows["__main__.long"], rows["__main__.around"]
    assert 20_000_000 <= int(inner["duration_ns"]) <= int(outer["duration_ns"])
    assert int(outer["start_ns"]) <= int(inner["start_ns"])
    left_out = info_of(tmp_path / "run.kymo")["processes"]
    said = [process["infos"].get("python_calls_left_out", "") for process in left_out]
    assert any(f"{3002 - short} calls shorter than 15000 us" in text for text in said), said


@WAYS
def test_scopes_within_deferred_calls_are_in_them(record: Record, tmp_path: Path, options: tuple[str, ...]) -> None:
    source = """
        import time
        import kymograph as kymo

        def around():
            with kymo.scope("early"):
                pass
            time.sleep(0.02)
            step()

        @kymo.profile
        def step():
            pass

        around()
    """
    done = record(source, options=("--hz", "0", "--min-us", "15000", *options))
    assert done.returncode == 0, done.stderr
    rows = {row["name"].removeprefix("__main__."): row for row in rows_of(tmp_path / "run.kymo", "spans")}
    assert rows.keys() >= {"<module>", "around", "early", "step"}
    assert [int(rows[name]["depth"]) for name in ("<module>", "around", "early", "step")] == [0, 1, 2, 2]
    for name in ("<module>", "around"):
        assert int(rows[name]["duration_ns"]) >= 20_000_000


LEAVES = """
    def leaf():
        pass

    def caller():
        leaf()

    def long():
        sum(range(10_000))

    for _ in range(1200):
        long()
    for _ in range(5000):
        caller()
"""


@WAYS
def test_calls_of_leaves_are_thinned_and_say_so(record: Record, tmp_path: Path, options: tuple[str, ...]) -> None:
    done = record(LEAVES, options=("--hz", "0", "--leaves-every", "16", *options))
    assert done.returncode == 0, done.stderr
    assert functions_of(tmp_path / "run.kymo") == {
        "<module>": 1,
        "leaf": 1000,
        "leaf (1 in 16 calls)": 4000 // 16,
        "caller": 5000,
        "long": 1200,
    }
    facts = [process["infos"] for process in info_of(tmp_path / "run.kymo")["processes"]]
    (said,) = (known["python_calls_left_out"] for known in facts if "python_calls_left_out" in known)
    left_out = re.fullmatch(r"(\d+) calls of leaf functions \(1 in 16 is recorded\)", said)
    assert left_out is not None, said
    assert int(left_out[1]) >= 4000 * 15 // 16


def test_calls_left_out_in_a_forked_worker_are_told(record: Record, tmp_path: Path) -> None:
    source = """
        import multiprocessing

        def leaf():
            pass

        def work():
            for _ in range(3000):
                leaf()

        worker = multiprocessing.get_context("fork").Process(target=work)
        worker.start()
        worker.join()
    """
    done = record(source, options=("--hz", "0", "--leaves-every", "10", "--include", "__main__.*"))
    assert done.returncode == 0, done.stderr
    facts = [process["infos"] for process in info_of(tmp_path / "run.kymo")["processes"]]
    said = [known["python_calls_left_out"] for known in facts if "python_calls_left_out" in known]
    assert said == ["1800 calls of leaf functions (1 in 10 is recorded)"]


@WAYS
def test_calls_that_began_before_a_fork_are_the_parents(
    record: Record, tmp_path: Path, options: tuple[str, ...]
) -> None:
    source = """
        import os, time

        def wait():
            time.sleep(0.01)

        def fork():
            child = os.fork()
            if child == 0:
                wait()
                return
            os.waitpid(child, 0)
            wait()

        fork()
    """
    done = record(source, options=("--hz", "0", "--min-us", "5000", *options))
    assert done.returncode == 0, done.stderr
    assert functions_of(tmp_path / "run.kymo") == {"<module>": 1, "fork": 1, "wait": 2}


def test_a_leaf_that_is_left_out_is_not_thinned(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KYMO_SITES", "-__main__.leaf")
    done = record(LEAVES, options=("--hz", "0", "--leaves-every", "16"))
    assert done.returncode == 0, done.stderr
    functions = functions_of(tmp_path / "run.kymo")
    assert functions["long"] == 1200
    assert not [name for name in functions if name.startswith("leaf")]


# Patterns without a `*` behind the name, too.
@pytest.mark.parametrize("sites", ["__main__.leaf", "__main__.*,-__main__.long,-*(1 in*"])
def test_thinned_leaves_are_chosen_by_their_own_name(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sites: str
) -> None:
    monkeypatch.setenv("KYMO_SITES", sites)
    done = record(LEAVES, options=("--hz", "0", "--leaves-every", "16"))
    assert done.returncode == 0, done.stderr
    functions = functions_of(tmp_path / "run.kymo")
    assert functions["leaf"] == 1000
    assert functions["leaf (1 in 16 calls)"] == 4000 // 16
    assert "long" not in functions


def test_leaves_are_looked_for_in_a_program_of_which_nothing_is_recorded(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KYMO_SITES", "nothing")
    done = record("print('done')", options=("--leaves-every", "2"))
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
