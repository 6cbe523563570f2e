"""Joules of a part of the program: exact for made-up machines, missing and said so where nothing can be read."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from pathlib import Path

import kymograph as kymo
import pytest
from conftest import Run
from kymograph.bench import FixedPowerSource, find_power_sources

RAPL = Path("sys/class/powercap")


def _write_counter(root: Path, domain: str, microjoules: int) -> None:
    folder = root / RAPL / domain
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "energy_uj").write_text(f"{microjoules}\n")


def _make_machine(root: Path) -> None:
    """A processor of one package, its cores within, and memory beside it."""
    for domain, name in [("intel-rapl:0", "package-0"), ("intel-rapl:0:0", "core"), ("intel-rapl:0:1", "dram")]:
        _write_counter(root, domain, 1_000_000)
        (root / RAPL / domain / "name").write_text(name + "\n")
        (root / RAPL / domain / "max_energy_range_uj").write_text("262143328850\n")


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_joules_are_those_of_the_machine_s_counters(tmp_path: Path) -> None:
    _make_machine(tmp_path)
    sources = find_power_sources(["rapl"], root=tmp_path)
    with kymo.energy("epoch", hz=1000, sources=sources) as e:
        assert math.isnan(e.joules)
        assert "showed no energy" in e.why
        # In a first step 3 J, then 0.5 J in the memory: the cores' 50 J are part of the package's.
        _write_counter(tmp_path, "intel-rapl:0:0", 51_000_000)
        _write_counter(tmp_path, "intel-rapl:0", 4_000_000)
        _wait_for(lambda: e.joules == pytest.approx(3.0))
        _write_counter(tmp_path, "intel-rapl:0:1", 1_500_000)
        _wait_for(lambda: e.joules == pytest.approx(3.5))
    assert e.joules == pytest.approx(3.5)
    assert e.bound >= 3, "what the first step holds may be from before the window"
    assert e.why == ""
    (source,) = e.sources
    assert source.name == "cpu_energy package=0 domain=dram + cpu_energy package=0 domain=package-0"
    assert source.joules == pytest.approx(3.5)
    assert source.unknown_s == 0
    _write_counter(tmp_path, "intel-rapl:0", 9_000_000)
    assert e.joules == pytest.approx(3.5), "it is over"


def test_a_window_lies_on_the_timeline_with_its_joules(tmp_path: Path) -> None:
    sources = [FixedPowerSource(20.0)]
    with kymo.capture(tmp_path / "run.kymo") as run, kymo.energy("epoch", sources=sources) as e, kymo.scope("step"):
        pass
    spans = run.open().spans
    assert list(spans.name) == ["step", "epoch"]
    assert spans.arguments[1] == {"joules": pytest.approx(e.joules), "bound_joules": 0.0}
    # Twenty watts for the time between the first and the last reading, which the scope contains.
    assert 0 < e.joules <= 20 * int(spans.duration_ns[1]) / 1e9
    assert spans.depth.tolist() == [1, 0]


def test_sources_add_up_and_one_that_fails_is_named(tmp_path: Path) -> None:
    missing = FixedPowerSource(lambda _: math.nan)
    with kymo.energy("epoch", sources=[FixedPowerSource(20.0), FixedPowerSource(30.0), missing]) as e:
        pass
    assert [source.joules > 0 for source in e.sources] == [True, True, False]
    assert e.joules == pytest.approx(e.sources[0].joules + e.sources[1].joules)
    assert e.why == "fixed could not be read"
    assert "fixed could not be read" in repr(e)


def test_where_nothing_can_be_read_it_says_why(run_script: Run, tmp_path: Path) -> None:
    done = run_script("""
        import math
        import kymograph._energy as module
        module.find_power_sources = lambda sensors, root: []
        import kymograph as kymo
        with kymo.capture("run.kymo") as run:
            for _ in range(2):
                with kymo.energy("epoch") as e:
                    pass
        assert math.isnan(e.joules) and math.isnan(e.bound) and e.why, e
        (span, _) = run.open().spans.arguments
        assert e.why.startswith(span["energy_unknown"]) and "joules" not in span, span
        print(e.why)
        """)
    said = done.stderr.splitlines()
    assert len(said) == 1, said
    assert said[0] == f"kymo: joules are not known here: {done.stdout.strip()}"


def test_this_machine_gives_joules_or_a_reason() -> None:
    with kymo.energy("epoch") as e:
        pass
    assert math.isnan(e.joules) == (e.why != "")


def test_windows_nest_and_overlap() -> None:
    source = [FixedPowerSource(10.0) for _ in range(9)]
    found = []

    def work(own: FixedPowerSource) -> None:
        with kymo.energy("thread", sources=[own]) as e:
            time.sleep(0.01)
        found.append(e.joules)

    with kymo.energy("outer", sources=[source[8]]) as outer, kymo.energy("inner", sources=[source[0]]) as inner:
        threads = [threading.Thread(target=work, args=[own]) for own in source[1:8]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 7
    assert outer.joules >= inner.joules >= max(found) > 0


def test_an_exception_ends_the_window_and_goes_on() -> None:
    with pytest.raises(ZeroDivisionError), kymo.energy("epoch", sources=[FixedPowerSource(20.0)]) as e:
        _ = 1 / 0
    assert e.joules > 0


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ValueError, match=r"hz must be 0\.1 to 1000"):
        kymo.energy("epoch", hz=2000)
    with pytest.raises(TypeError):
        kymo.energy(3)  # type: ignore[arg-type]
