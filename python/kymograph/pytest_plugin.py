"""
The pytest plugin: ``pytest --kymo`` records a scope a test, and says which tests took longest, and the most energy.

``--kymo-compare BASE`` compares with captures of earlier runs, and fails the run if a test is slower. It says why where
both sides have 20 rounds or more. pytest loads the plugin where the package is installed; else by
``-p kymograph.pytest_plugin``.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from kymograph import _environment, _record, _recording, _run_files

if TYPE_CHECKING:
    from kymograph._capture import Capture
    from kymograph._results import ComparedRow

_ROUND = re.compile(r"\[kymo\d+\]|-kymo\d+|kymo\d+-")
_FIXTURE = "_kymo_round"
_MOST_REASONS = 3
_NAMING = compile("named = scope(name)", "", "exec")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("kymo", "recording by kymo")
    group.addoption("--kymo", action="store_true", help="record a scope for each test")
    group.addoption("--kymo-output", metavar="PATH", default="tests.kymo", help="the capture, replaced (tests.kymo)")
    group.addoption("--kymo-listed", metavar="N", type=_number(0), default=10, help="how many tests to list (10)")
    group.addoption("--kymo-rounds", metavar="N", type=_number(1), default=1, help="run each test so many times (1)")
    group.addoption(
        "--kymo-compare", metavar="PATH", help="a capture or a directory of captures to compare with; implies --kymo"
    )


def _number(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = int(text) if text.strip().isdigit() else -1
        if number < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from {least}")
        return number

    return parse


def pytest_configure(config: pytest.Config) -> None:
    """Start the capture."""
    if not config.getoption("--kymo") and config.getoption("--kymo-compare") is None:
        return
    # The workers of pytest-xdist have inherited the recording.
    if _environment.is_worker() and hasattr(config, "workerinput"):
        config.pluginmanager.register(_Scopes(), "kymo-scopes")
        return
    output: str = config.getoption("--kymo-output")
    base = _find_base(config.getoption("--kymo-compare"), output)
    try:
        run = _recording.capture(output, sample=True, overwrite=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise pytest.UsageError(f"--kymo-output: {error}") from error
    config.pluginmanager.register(_Scopes(), "kymo-scopes")
    config.pluginmanager.register(_Report(config, run, base), "kymo-report")


def _find_base(base: str | None, output: str) -> list[str]:
    """
    Return the captures to compare with: of a directory, those that the run does not replace.

    Refuses what cannot be compared with before tests run for nothing.
    """
    if base is None:
        return []
    from kymograph._capture import open as open_capture  # noqa: PLC0415

    try:
        with open_capture(base) as opened:
            found = [capture["path"] for capture in opened.captures]
    except (OSError, ValueError) as error:
        raise pytest.UsageError(f"--kymo-compare: {error}") from error
    try:
        replaced = {os.path.realpath(path) for path in _run_files.captures_at(_run_files.plan(output, True))}
    except (OSError, ValueError) as error:
        raise pytest.UsageError(f"--kymo-output: {error}") from error
    kept = [path for path in found if os.path.realpath(path) not in replaced]
    if not kept:
        raise pytest.UsageError(
            f"--kymo-compare: the run would replace {base}; name another file for it, such as --kymo-output new.kymo"
        )
    return kept


@pytest.fixture(name=_FIXTURE)
def _round(request: pytest.FixtureRequest) -> Any:
    return request.param


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeat tests."""
    rounds = metafunc.config.getoption("--kymo-rounds")
    if rounds > 1:
        metafunc.fixturenames.append(_FIXTURE)
        metafunc.parametrize(_FIXTURE, range(rounds), indirect=True, ids=[f"kymo{number}" for number in range(rounds)])


def _scope_at(name: str, path: str, line: int, function: str) -> _record.scope:
    """Return a scope with this place: that of the code which names it first. Else it would be pytest's."""
    code = _NAMING.replace(co_filename=path, co_firstlineno=line, co_name=function)
    names: dict[str, Any] = {"__name__": "", "scope": _record.scope, "name": name}
    exec(code, names)
    named: _record.scope = names["named"]
    return named


class _Scopes:
    """A scope around each test, and within it around what pytest does for it."""

    def __init__(self) -> None:
        self._placed: set[str] = set()
        for name, hook in (("setup", self.pytest_runtest_setup), ("teardown", self.pytest_runtest_teardown)):
            _scope_at(name, __file__, hook.__code__.co_firstlineno, hook.__name__)

    def _scope_of(self, item: pytest.Item) -> _record.scope:
        # Rounds of a test have one name, so that they are samples of one distribution.
        name = _ROUND.sub("", item.nodeid)
        if name in self._placed:
            return _record.scope(name)
        self._placed.add(name)
        path, line, _ = item.reportinfo()
        return _scope_at(
            name, str(path), 0 if line is None else line + 1, getattr(item, "originalname", None) or item.name
        )

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        with self._scope_of(item):
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        with _record.scope("setup"):
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        with _record.scope("teardown"):
            yield


class _Report:
    """What is said at the end, and the verdicts."""

    def __init__(self, config: pytest.Config, run: _recording.Recording, base: list[str]) -> None:
        self._run = run
        self._base = base
        self._listed: int = config.getoption("--kymo-listed")
        self._rounds: int = config.getoption("--kymo-rounds")
        self._not_repeated: set[str] = set()
        self._compared: list[ComparedRow] = []
        self._reasons: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._rounds > 1 and report.when == "call" and not _ROUND.search(report.nodeid):
            self._not_repeated.add(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._run.stop()
        if not self._base:
            return
        from kymograph._capture import open as open_capture  # noqa: PLC0415

        with open_capture(self._base) as base, self._run.open(workers=True) as new:
            rows = base.compare(new)["compared"]
            self._compared = [row for row in rows if row["kind"] == "scope" and "::" in row["name"]]
            worse = [row["name"] for row in self._compared if self._is_worse(row)]
            self._reasons = {name: self._explain(name, base, new) for name in worse[:_MOST_REASONS]}
        if any(self._is_worse(row) for row in self._compared) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @staticmethod
    def _explain(name: str, base: Capture, new: Capture) -> list[str]:
        try:
            explanations = new.explain(site=name, base=base)
        except KeyError:  # too few rounds
            return []
        return [
            f"  {finding['share']:4.0%} of that: {finding['text']}"
            for why in explanations
            for finding in why["findings"]
        ]

    @staticmethod
    def _is_worse(row: ComparedRow) -> bool:
        return row["verdict"].startswith("worse")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        from kymograph._show import duration  # noqa: PLC0415

        with self._run.open(workers=True) as capture:
            tests = [row for row in capture.stats()["sites"] if "::" in row["name"]]
            joules = [
                (row["joules"], row)
                for row in capture.energy(by="site")
                if "::" in row["name"] and row["joules"] is not None
            ]
        terminalreporter.section(f"kymo: {self._run.path}")
        for row in sorted(tests, key=lambda row: -row["total_ns"])[: self._listed]:
            times = f" in {row['count']} rounds" if row["count"] > 1 else ""
            terminalreporter.write_line(f"{duration(row['total_ns']):>9}  {row['name']}{times}")
        for known, used in sorted(joules, key=lambda entry: -entry[0])[: self._listed]:
            terminalreporter.write_line(f"{known:7.3g} J  {used['name']}, at most {used['bound_joules']:.2g} J off")
        if self._not_repeated:
            terminalreporter.write_line(
                f"{len(self._not_repeated)} of the tests ran once: --kymo-rounds repeats functions and methods that "
                f"pytest parametrizes, not those of unittest.TestCase, such as {min(self._not_repeated)}"
            )
        for compared in self._compared:
            change = compared["median_change"]
            verdict = compared["verdict"]
            said = f"{verdict}: {compared['name']}, {change:+.1%}" if change is not None else verdict
            terminalreporter.write_line(said, red=self._is_worse(compared))
            for reason in self._reasons.get(compared["name"], []):
                terminalreporter.write_line(reason)
        if self._base and not self._compared:
            terminalreporter.write_line(f"nothing to compare with in {', '.join(self._base)}")
