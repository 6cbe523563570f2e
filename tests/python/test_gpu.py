"""GPU scopes: on stand-ins for PyTorch and CuPy whose GPU has a clock, and on a real GPU where there is one."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kymograph import _gpu, _record

sys.path.append(str(Path(__file__).parent))
from conftest import Run
from gpu_stand_ins import SECOND, Gpu, Stream, make_cupy, make_torch
from support import command, places_of, rows_of


class Machine:
    """A process with one stand-in library, whose times are resolved when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gpu = Gpu()
        self.default = Stream(self.gpu)
        self.streams = [self.default]
        self.spans: list[tuple[str, str, int, int, str]] = []
        self.arguments: list[dict[str, Any]] = []
        self.flows_begun: list[int] = []
        self.flows_ended: list[tuple[int, str, int]] = []
        self.said: list[str] = []
        self.patch = monkeypatch
        monkeypatch.setattr(_gpu, "_say", self.said.append)
        monkeypatch.setattr(_gpu, "_gpu", _gpu._Gpu())
        monkeypatch.setattr(_gpu, "monotonic_ns", self.gpu.tick)
        monkeypatch.setattr(_gpu._Timer, "_run", lambda timer: None)
        monkeypatch.setattr(_gpu.atexit, "register", lambda _: None)
        monkeypatch.setattr(_record, "is_recording_scopes", lambda: True)
        monkeypatch.setattr(_record, "emit_span", self.emit)
        monkeypatch.setattr(_record, "flow_begin", self.flows_begun.append)
        monkeypatch.setattr(_record, "flow_end", lambda *end: self.flows_ended.append(end))
        for name in ("torch", "cupy"):
            monkeypatch.delitem(sys.modules, name, raising=False)

    def emit(self, track: str, name: str, start: int, duration: int, category: str, **arguments: Any) -> None:
        self.spans.append((track, name, start, duration, category))
        self.arguments.append(arguments)

    def use(self, make: Callable[[Gpu, list[Stream]], types.ModuleType]) -> Machine:
        module = make(self.gpu, self.streams)
        self.patch.setitem(sys.modules, module.__name__, module)
        return self

    @property
    def timer(self) -> _gpu._Timer:
        timer = _gpu._gpu.timer
        assert timer is not None
        return timer

    def step(self) -> bool:
        return self.timer.step()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


@pytest.mark.parametrize("make", [make_torch, make_cupy])
def test_spans_are_where_the_gpu_ran_whatever_its_clock_says(
    machine: Machine, make: Callable[[Gpu, list[Stream]], types.ModuleType]
) -> None:
    machine.use(make)
    expected = []
    for step in range(40):
        with _gpu.gpu_scope("step", number=step):
            machine.gpu.tick(300_000)
        start = machine.gpu.now + 50_000
        expected.append((start, 10_000_000 + step))
        machine.default.run(start, start + 10_000_000 + step)
        assert machine.step() is True  # it has not come to the end yet
        machine.gpu.tick(SECOND // 4)
        assert machine.step() is False
    assert [span[:2] for span in machine.spans] == [("GPU 0", "step")] * 40
    for (_, _, start_ns, duration_ns, category), (start, duration) in zip(machine.spans, expected, strict=True):
        # Pairs are known to some microseconds; 80 ppm over ten seconds alone would be 800.
        assert abs(start_ns - start) < 25_000
        assert abs(duration_ns - duration) < 2_000
        assert category == "gpu"
    assert [arguments["number"] for arguments in machine.arguments] == list(range(40))
    assert len({arguments["correlation"] for arguments in machine.arguments}) == 40
    assert machine.flows_ended == [
        (flow, track, start_ns)
        for flow, (track, _, start_ns, _, _) in zip(machine.flows_begun, machine.spans, strict=True)
    ]
    # Two of each scope come back; what is kept are the pairs of each second.
    assert machine.gpu.events_made < 20
    # The rates of the clocks are told apart by now.
    rate = machine.timer._clocks[0]._rate
    assert abs(rate * machine.gpu.drift - 1) < 5e-6


def test_streams_are_resolved_as_they_come(machine: Machine) -> None:
    machine.use(make_torch)
    side = Stream(machine.gpu, 0, 0x5000)
    other = Stream(machine.gpu, 1, 0)
    with _gpu.gpu_scope("outer"):
        machine.streams.append(side)
        with _gpu.gpu_scope("copy", "memory"):
            machine.streams.append(other)
            with _gpu.gpu_scope("peer"):
                pass
            machine.streams.pop()
        machine.streams.pop()
        with _gpu.gpu_scope("inner"):
            pass
    assert machine.step()
    assert machine.spans == []
    now = machine.gpu.now
    side.run(now, now + 5_000)
    machine.gpu.tick(SECOND)
    assert machine.step()
    assert [(track, name, category) for track, name, _, _, category in machine.spans] == [
        ("GPU 0 stream 1", "copy", "memory")
    ]
    machine.default.run(now, now + 1_000, now + 2_000, now + 3_000)
    machine.gpu.tick(SECOND)
    assert machine.step()
    assert [span[:2] for span in machine.spans[1:]] == [("GPU 0", "inner"), ("GPU 0", "outer")]
    other.run(now, now + 1_000)
    machine.gpu.tick(SECOND)
    assert not machine.step()
    assert machine.spans[-1][:2] == ("GPU 1", "peer")


def test_the_end_is_on_the_stream_of_the_beginning(machine: Machine) -> None:
    machine.use(make_torch)
    with _gpu.gpu_scope("work"):
        machine.streams.append(Stream(machine.gpu, 0, 0x77))
    assert [len(stream.waiting) for stream in machine.streams] == [2, 0]


def test_nothing_begins_before_it_was_asked_for(machine: Machine) -> None:
    machine.use(make_torch)
    machine.gpu.side_delay_ns = 15_000
    with _gpu.gpu_scope("work"):
        issued = machine.gpu.now
    machine.default.run(issued, issued + 100)
    machine.gpu.tick(SECOND)
    machine.step()
    assert issued - 2_000 <= machine.spans[0][2] <= issued + 20_000


def test_a_scope_is_a_scope_whatever_the_gpu_says(machine: Machine) -> None:
    machine.use(make_torch)
    with pytest.raises(ZeroDivisionError), _gpu.gpu_scope("work"):
        raise ZeroDivisionError
    machine.gpu.error = RuntimeError("an illegal memory access")

    @_gpu.gpu_scope("decorated")
    def double(value: int) -> int:
        return 2 * value

    assert double(4) == 8
    assert not machine.step()  # the one that was open is lost as well
    assert machine.timer.lost == 2
    assert machine.said == ["times of GPU work are not known where the GPU says: an illegal memory access"]
    machine.gpu.error = None
    assert double(double(1)) == 4
    now = machine.gpu.now
    machine.default.waiting = machine.default.waiting[2:]
    machine.default.run(now, now, now, now)
    machine.gpu.tick(SECOND)
    assert not machine.step()
    assert [span[1] for span in machine.spans] == ["decorated", "decorated"]


@pytest.mark.parametrize("make", [make_torch, make_cupy])
def test_a_gpu_that_is_lost_is_left_alone(
    machine: Machine, make: Callable[[Gpu, list[Stream]], types.ModuleType]
) -> None:
    machine.use(make)
    for _ in range(5):
        with _gpu.gpu_scope("before"):
            pass
    machine.gpu.error = RuntimeError("the device is lost")
    machine.step()
    for _ in range(20):
        with _gpu.gpu_scope("after"):
            pass
    assert not machine.step()
    assert machine.timer.is_over
    assert machine.timer.lost == 25
    assert len(machine.said) == 2
    assert machine.spans == []
    machine.timer.finish()
    assert machine.said[-1] == "the times of 25 GPU scopes are not known"


def test_a_gpu_whose_clock_cannot_be_read_is_asked_again_later(machine: Machine) -> None:
    machine.use(make_torch)
    machine.gpu.side_delay_ns = SECOND
    with _gpu.gpu_scope("work"):
        pass
    machine.default.run(machine.gpu.now, machine.gpu.now)
    assert machine.step()
    queries = machine.gpu.queries
    assert machine.step()
    assert machine.gpu.queries == queries + 1
    machine.gpu.side_delay_ns = 5_000
    machine.gpu.tick(SECOND)
    assert not machine.step()
    assert len(machine.spans) == 1


@pytest.mark.parametrize("make", [make_torch, make_cupy])
def test_graphs_are_captured_without_events(
    machine: Machine, make: Callable[[Gpu, list[Stream]], types.ModuleType]
) -> None:
    machine.use(make)
    machine.gpu.is_capturing = True
    with _gpu.gpu_scope("captured"):
        pass
    assert machine.gpu.events_made == 0
    assert machine.timer.lost == 0
    machine.gpu.is_capturing = False
    with _gpu.gpu_scope("captured from its middle on"):
        machine.gpu.is_capturing = True
    assert (machine.gpu.events_made, machine.timer.lost) == (1, 1)


def test_what_is_imported_is_taken_first_and_nothing_is_imported_in_vain(machine: Machine) -> None:
    def find_spec(name: str) -> None:
        assert name in ("torch", "cupy")

    machine.patch.setattr("importlib.util.find_spec", find_spec)
    for _ in range(2):
        with _gpu.gpu_scope("work", batch=3):
            pass
    assert _gpu._gpu.timer is None
    assert machine.said == ["GPU scopes are measured on the processor only: neither PyTorch nor CuPy is installed"]
    # A program that imports its library later, first one that finds no GPU.
    torch = make_torch(machine.gpu, machine.streams)
    torch.cuda.is_available = lambda: False
    machine.patch.setitem(sys.modules, "torch", torch)
    with _gpu.gpu_scope("work"):
        pass
    assert _gpu._gpu.timer is None
    machine.use(make_cupy)
    with _gpu.gpu_scope("work"):
        pass
    assert type(machine.timer._library).__name__ == "CuPy"
    assert len(machine.said) == 1


def test_eight_arguments_leave_no_room_for_the_number(machine: Machine) -> None:
    machine.use(make_torch)
    with _gpu.gpu_scope("work", a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=8):
        pass
    machine.default.run(machine.gpu.now, machine.gpu.now)
    machine.step()
    assert list(machine.arguments[0]) == list("abcdefgh")


def test_a_forked_child_has_nothing_of_the_parents_gpu(machine: Machine) -> None:
    machine.use(make_torch)
    scope = _gpu.gpu_scope("work")
    with scope:
        _gpu._gpu.forget()
    assert _gpu._gpu.timer is None


SCRIPT = """
import sys, threading
from time import monotonic_ns
sys.path.append({tests!r})
import kymograph as kymo
from gpu_stand_ins import Gpu, Stream, make_torch
from kymograph import _gpu

class Now(Gpu):
    def tick(self, ns=0):
        self.now = monotonic_ns()
        return self.now

gpu = Now()
gpu.side_delay_ns = 0
sys.modules["torch"] = make_torch(gpu, [Stream(gpu, is_side=True)])
kymo.start_capture("run.kymo")

def work():
    for number in range(50):
        with _gpu.gpu_scope("forward", number=number):
            pass

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if sys.argv[1] == "stop":
    assert kymo.flush()
    assert kymo.stop_capture()
"""


@pytest.mark.parametrize("how", ["stop", "leave"])
def test_all_scopes_are_in_the_capture_on_both_tracks(tmp_path: Path, run_script: Run, how: str) -> None:
    assert run_script(SCRIPT.format(tests=str(Path(__file__).parent)), how).stderr == ""
    rows = [row for row in rows_of(tmp_path / "run.kymo", "spans") if row["name"] == "forward"]
    assert len([row for row in rows if row["track"] == "GPU 0"]) == 200
    assert len(rows) == 400
    # Of each, an arrow leads from the thread to the GPU, where the span begins.
    trace = json.loads(command("export", "--to", "chrome", "-o", "/dev/stdout", tmp_path / "run.kymo"))["traceEvents"]
    (gpu,) = {event["tid"] for event in trace if event["ph"] == "M" and event["args"].get("name") == "GPU 0"}
    begun = {event["id"]: event for event in trace if event["ph"] == "s"}
    ended = {event["id"]: event for event in trace if event["ph"] == "f"}
    assert begun.keys() == ended.keys()
    assert len(begun) == 200
    assert {event["tid"] for event in ended.values()} == {gpu}
    assert gpu not in {event["tid"] for event in begun.values()}
    starts = {event["ts"] for event in trace if event["ph"] == "X" and event["tid"] == gpu}
    assert {event["ts"] for event in ended.values()} <= starts


def test_where_no_scopes_are_recorded_the_gpu_is_not_asked(tmp_path: Path, run_script: Run) -> None:
    run_script(SCRIPT.format(tests=str(Path(__file__).parent)), "stop", KYMO_SCOPES="0")
    assert rows_of(tmp_path / "run.kymo", "spans") == []


def test_a_real_gpu_is_timed(tmp_path: Path, run_script: Run) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    script = """
import torch, kymograph as kymo
from kymograph import _gpu
a = torch.randn(4096, 4096, device="cuda")
torch.cuda.synchronize()
kymo.start_capture("run.kymo")
for _ in range(10):
    with _gpu.gpu_scope("matmul"):
        for _ in range(10):
            a @ a
kymo.stop_capture()
"""
    run_script(script)
    rows = [row for row in rows_of(tmp_path / "run.kymo", "spans") if row["name"] == "matmul"]
    assert len([row for row in rows if row["track"] == "GPU 0"]) == 10


def test_a_scopes_place_is_the_programs(tmp_path: Path, run_script: Run) -> None:
    run_script(
        """
        import kymograph as kymo

        def load():
            with kymo.gpu_scope("load"):
                pass

        with kymo.capture("run.kymo"):
            load()
            for batch in kymo.frames([1, 2]):
                pass
        """
    )
    places = places_of(tmp_path / "run.kymo")
    script = str(tmp_path / "script.py")
    assert places["load"] == (script, 5)
    assert places["wait for data"] == (script, 10)
