"""``pytest --kymo``: a scope a test, the slowest and the hungriest, and a run that fails where it got slower."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import kymograph as kymo
import pytest
from support import places_of, sites_of

TESTS = """
import os
import time

import kymograph as kymo
import pytest


@pytest.fixture
def prepared():
    with kymo.scope("in a fixture"):
        yield


def spin(turns):
    end = time.thread_time_ns() + 200_000 * turns
    while time.thread_time_ns() < end:
        pass


def test_first(prepared):
    spin(int(os.environ.get("TURNS", "1")))


@pytest.mark.parametrize("number", [1, 2])
def test_second(number):
    kymo.record_metric_unit("supply_power", 40, "W")
    spin(1)
    kymo.record_metric_unit("supply_power", 40, "W")


def test_failing():
    assert os.environ.get("FAILING") is None


class TestClass:
    def test_method(self):
        pass
"""


def run_tests(folder: Path, *options: str, status: int = 0, **variables: str) -> str:
    (folder / "test_it.py").write_text(TESTS)
    package = str(Path(kymo.__file__).parent.parent)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "kymograph.pytest_plugin",
            "-p",
            "no:cacheprovider",
            "--no-header",
            *options,
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": package, "KYMO_SENSORS": "process", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_nothing_is_recorded_without_the_option(tmp_path: Path) -> None:
    assert "kymo" not in run_tests(tmp_path)
    assert not list(tmp_path.glob("*.kymo"))


def test_each_test_is_a_scope(tmp_path: Path) -> None:
    for _ in range(2):
        said = run_tests(tmp_path, "--kymo", status=1, FAILING="1")
    assert {path.name for path in tmp_path.glob("*.kymo")} == {"tests.kymo"}
    capture = kymo.open(tmp_path / "tests.kymo")
    assert capture.is_closed
    tests = ["test_it.py::TestClass::test_method", "test_it.py::test_failing", "test_it.py::test_first",
             "test_it.py::test_second[1]", "test_it.py::test_second[2]"]  # fmt: skip
    assert sites_of(tmp_path / "tests.kymo") == {
        **dict.fromkeys(tests, 1), "setup": 5, "teardown": 5, "in a fixture": 1
    }  # fmt: skip
    listed = re.findall(r"^ *[0-9.]+ (?:us|ms|s)  (\S+)$", said, re.MULTILINE)
    assert sorted(listed) == tests
    duration = {row["name"]: row["total_ns"] for row in capture.stats()["sites"]}
    assert listed == sorted(tests, key=lambda name: -duration[name])
    # The tests between the first and the last sample of the power have joules.
    hungry = re.findall(r"^ *\S+ J  (\S+), at most \S+ J off$", said, re.MULTILINE)
    assert {"test_it.py::test_second[1]", "test_it.py::test_second[2]"} <= set(hungry)


def test_rounds_are_samples_of_one_test(tmp_path: Path) -> None:
    run_tests(tmp_path, "--kymo", "--kymo-rounds", "3", "--kymo-output", "rounds.kymo")
    sites = sites_of(tmp_path / "rounds.kymo")
    assert sites["test_it.py::test_first"] == sites["test_it.py::test_second[2]"] == 3
    assert sites["setup"] == 15


def test_a_tests_place_is_its_own(tmp_path: Path) -> None:
    run_tests(tmp_path, "--kymo", "--kymo-rounds", "2", "-k", "not failing")
    places = places_of(tmp_path / "tests.kymo")
    lines = TESTS.splitlines()
    for name, first in (
        ("test_first", "def test_first(prepared):"),
        ("test_second[1]", '@pytest.mark.parametrize("number", [1, 2])'),
        ("TestClass::test_method", "    def test_method(self):"),
    ):
        assert places[f"test_it.py::{name}"] == (str(tmp_path / "test_it.py"), lines.index(first) + 1)
    for name in ("setup", "teardown"):
        assert os.path.basename(places[name][0]) == "pytest_plugin.py"
    functions = {row["name"]: row["function"] for row in kymo.open(tmp_path / "tests.kymo").stats()["sites"]}
    assert functions["test_it.py::test_second[2]"] == "test_second"


def test_tests_that_cannot_be_repeated_are_told(tmp_path: Path) -> None:
    (tmp_path / "test_case.py").write_text(
        "import unittest\n"
        "class TestCase(unittest.TestCase):\n    def test_one(self): pass\n    def test_two(self): pass\n"
    )
    said = run_tests(tmp_path, "--kymo", "--kymo-rounds", "3", "-k", "first or TestCase")
    assert "5 passed" in said
    told = "2 of the tests ran once: --kymo-rounds repeats functions"
    assert re.search(rf"^{told}.* unittest.TestCase, such as test_case.py::TestCase::test_one$", said, re.MULTILINE)
    assert places_of(tmp_path / "tests.kymo")["test_case.py::TestCase::test_two"] == (str(tmp_path / "test_case.py"), 4)
    assert "ran once" not in run_tests(tmp_path, "--kymo", "-k", "first or TestCase")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--kymo-output", "none/run.kymo"), "ERROR: --kymo-output: .*cannot create a capture: No such file"),
        (("--kymo-output", "text.kymo"), "ERROR: --kymo-output: .*not a capture, so it is not overwritten"),
        (("--kymo-output", ""), "ERROR: --kymo-output: .*names no file"),
        (("--kymo-rounds", "0"), "argument --kymo-rounds: '0' is no number from 1"),
        (("--kymo-rounds", "-3"), "argument --kymo-rounds: .*"),
        (("--kymo-rounds=-3",), "argument --kymo-rounds: '-3' is no number from 1"),
        (("--kymo-listed=-1",), "argument --kymo-listed: '-1' is no number from 0"),
    ],
)
def test_options_that_cannot_be_are_errors_of_usage(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    (tmp_path / "text.kymo").write_text("text")
    found = run_tests(tmp_path, "--kymo", *options, status=pytest.ExitCode.USAGE_ERROR)
    assert re.search(said, found), found
    assert "INTERNALERROR" not in found
    assert "Traceback" not in found
    assert [path.name for path in tmp_path.glob("*.kymo")] == ["text.kymo"]


def test_a_slower_test_fails_the_run(tmp_path: Path) -> None:
    rounds = ("--kymo-rounds", "20")
    run_tests(tmp_path, "--kymo", *rounds, "--kymo-output", "base.kymo")
    said = run_tests(tmp_path, "--kymo-compare", "base.kymo", *rounds, "-k", "first", status=1, TURNS="60")
    assert re.search(r"^worse here: test_it.py::test_first, \+", said, re.MULTILINE)
    assert "20 passed" in said
    assert re.search(r'% of that: computing in "test_it.py::test_first".*: longer calls', said), said
    assert "test_second" not in said


@pytest.mark.parametrize("base", ["tests.kymo", "link.kymo", "captures"])
def test_a_run_does_not_replace_what_it_is_compared_with(base: str, tmp_path: Path) -> None:
    (tmp_path / "captures").mkdir()
    if base == "link.kymo":
        (tmp_path / base).symlink_to("tests.kymo")
    output = "captures/" if base == "captures" else "tests.kymo"
    run_tests(tmp_path, "--kymo", "--kymo-output", output)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.kymo")}
    said = run_tests(tmp_path, "--kymo-compare", base, "--kymo-output", output, status=pytest.ExitCode.USAGE_ERROR)
    assert f"ERROR: --kymo-compare: the run would replace {base}; name another file" in said
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*.kymo")}


def test_a_run_may_lie_beside_what_it_is_compared_with(tmp_path: Path) -> None:
    (tmp_path / "captures").mkdir()
    base = tmp_path / "captures" / "base.kymo"
    run_tests(tmp_path, "--kymo", "--kymo-rounds", "8", "--kymo-output", str(base))
    before = base.read_bytes()
    # The second time, the run of the first is in the directory as well.
    for _ in range(2):
        options = ("--kymo-compare", "captures", "--kymo-output", "captures/new.kymo", "--kymo-rounds", "8")
        said = run_tests(tmp_path, *options, "-k", "first", status=1, TURNS="60")
        assert re.search(r"^worse here: test_it.py::test_first, \+", said, re.MULTILINE), said
    assert base.read_bytes() == before


def test_what_cannot_be_compared_with_is_refused_before_the_tests(tmp_path: Path) -> None:
    said = run_tests(tmp_path, "--kymo-compare", "none.kymo", status=pytest.ExitCode.USAGE_ERROR)
    assert "ERROR: --kymo-compare: " in said
    assert "none.kymo" in said
    assert not list(tmp_path.glob("*.kymo"))
