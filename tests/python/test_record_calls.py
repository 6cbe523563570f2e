"""The recording calls, and what they leave in a capture."""

from __future__ import annotations

import base64
import json
import os
import pickle
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import kymograph as kymo
import numpy as np
import pytest
from conftest import Run
from support import command, info_of, places_of, rows_of, run_command, sites_of, stats_of


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "run.kymo"
    assert kymo.start_capture(path)
    return path


def test_nothing_is_recorded_without_being_asked_for() -> None:
    assert not kymo.enable()
    assert not kymo.is_recording()
    assert not kymo.stop_capture()
    assert not kymo.trigger()
    assert kymo.capture_path() is None
    assert kymo.sync() == 0
    assert kymo.track("gpu") == 0
    with kymo.scope("off", batch=3) as scope:
        scope.argument("late", 1)
    with kymo.async_span("off"):
        kymo.frame_mark()
        kymo.record_metric("off", 1.0)


def test_arguments_that_are_known_later_add_to_the_eight_of_a_call(capture: Path) -> None:
    first = {f"given {number}": number for number in range(8)}
    later = {f"added {number}": number for number in range(20)}
    with kymo.scope("scope", **first) as scope, kymo.async_span("span", **first) as span:
        for name, value in later.items():
            scope.argument(name, value)
            span.argument(name, value)
    with pytest.raises(TypeError, match="at most 8"):
        kymo.scope("scope", **first, ninth=9)
    kymo.stop_capture()
    rows = {row["name"]: json.loads(row["arguments"]) for row in rows_of(capture, "spans")}
    assert rows["scope"] == {**first, **later}
    assert rows["span"] == {**first, **{name: value for name, value in later.items() if value < 8}}


def test_texts_that_are_no_unicode_are_spelled_out(capture: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    kymo.message(name)
    kymo.set_info(name, name)
    kymo.frame_mark(name)
    kymo.record_metric_unit(name, 1.0, name)
    kymo.emit_span(kymo.track(name), name, 0, 1, name)
    with kymo.async_span(name, name):
        pass
    kymo.stop_capture()
    opened = kymo.open(capture)
    assert list(opened.messages["text"]) == [r"caf\udce9"]
    assert {row["name"] for row in rows_of(capture, "spans")} == {r"caf\udce9"}
    assert opened.metrics[r"caf\udce9"].unit == r"caf\udce9"


def test_a_message_that_was_cut_says_so(capture: Path) -> None:
    kymo.message("z" * 5000)
    kymo.stop_capture()
    assert list(kymo.open(capture).messages["text"]) == ["z" * 4096 + "…"]


@pytest.mark.filterwarnings("error")
def test_numpys_numbers_are_recorded_as_what_they_are(capture: Path) -> None:
    with kymo.scope("scope", complex=np.complex64(1 + 2j), wide=np.clongdouble(1), truth=np.bool_(True)):
        kymo.record_metric("long", np.longdouble(1.25))
    kymo.stop_capture()
    (row,) = rows_of(capture, "spans")
    arguments = json.loads(row["arguments"])
    assert isinstance(arguments["complex"], str)
    assert isinstance(arguments["wide"], str)
    assert arguments["truth"] is True


def test_a_source_that_fails_begins_no_frame(capture: Path) -> None:
    def source() -> Iterator[int]:
        yield 1
        raise OSError("torn")

    with pytest.raises(OSError, match="torn"):
        for _ in kymo.frames(source()):
            pass
    kymo.stop_capture()
    (stream,) = stats_of(capture)["frame_streams"]
    assert stream["count"] == 1


@pytest.mark.parametrize("pool_bytes", [5, 1 << 60])
def test_a_size_of_the_pool_is_taken_to_the_nearer_limit(run_script: Run, tmp_path: Path, pool_bytes: int) -> None:
    done = run_script(f"""
        import kymograph as kymo
        with kymo.capture("run.kymo", pool_bytes={pool_bytes}), kymo.scope("step"):
            pass
    """)
    assert "dropped" not in done.stderr
    assert sites_of(tmp_path / "run.kymo") == {"step": 1}


def test_scopes_carry_their_arguments(capture: Path) -> None:
    with kymo.scope("step", batch=3, rate=0.5, is_warm=True, phase="träin", big=2**63, huge=2**70) as scope:
        scope.argument("loss", np.float32(0.25))
        with kymo.scope("inner"):
            scope.argument("late", 1)
    with kymo.scope("step", count=np.int64(7), other=[1]):
        pass
    assert kymo.stop_capture()
    inner, step, second = rows_of(capture, "spans")
    assert inner["arguments"] == ""
    for text in ('"batch":3', '"rate":0.5', '"is_warm":true', '"phase":"träin"', '"loss":0.25', str(2**63)):
        assert text in step["arguments"].replace(" ", "")
    assert "late" not in step["arguments"]
    assert '"count":7' in second["arguments"].replace(" ", "")
    assert '"other":"list"' in second["arguments"].replace(" ", "")


def test_an_int_that_no_float_holds_is_recorded_as_its_type(capture: Path) -> None:
    values = {"huge": 10**400, "least": -(10**400), "large": 2**70}
    with kymo.scope("scope", **values), kymo.async_span("span", **values) as span:
        span.argument("late", 10**400)
    kymo.emit_span("GPU 0", "emitted", time.monotonic_ns(), 10, **values)
    with pytest.raises(OverflowError):
        kymo.record_metric("metric", 10**400)
    kymo.stop_capture()
    rows = {row["name"]: json.loads(row["arguments"]) for row in rows_of(capture, "spans")}
    recorded = {"huge": "int", "least": "int", "large": 2.0**70}
    assert rows == {"scope": recorded, "span": {**recorded, "late": "int"}, "emitted": recorded}


def test_a_scope_says_where_it_stands(capture: Path) -> None:
    with kymo.scope("here"):
        line = sys._getframe().f_lineno - 1
    kymo.stop_capture()
    assert places_of(capture) == {"here": (__file__, line)}


def test_a_scope_allocates_nothing(capture: Path) -> None:
    @kymo.profile
    def inside() -> int:
        return blocks()

    blocks = sys.getallocatedblocks
    kymo.start_capture(capture)
    # What is made once, such as its site and the numbers here, is there after the first.
    for _ in range(3):
        before = blocks()
        with kymo.scope("plain"), kymo.scope("with arguments", step=3, loss=0.5):
            within = blocks()
        called = inside()
        after = blocks()
    kymo.stop_capture()
    assert before == within == called == after


def test_scopes_close_when_exceptions_pass(capture: Path) -> None:
    for _ in range(2):
        with pytest.raises(KeyError), kymo.scope("outer"), kymo.scope("failing"):
            raise KeyError
    kymo.stop_capture()
    assert sites_of(capture) == {"outer": 2, "failing": 2}


def test_misuse_of_scopes_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="a str"):
        kymo.scope(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="at most 8"):
        kymo.scope("many", **{f"a{i}": i for i in range(9)})


def test_scopes_left_open_by_a_generator_leave_those_around_them_whole(capture: Path) -> None:
    def generate():
        with kymo.scope("never closed by its generator"):
            yield 1

    with kymo.scope("outer"):
        abandoned = generate()
        next(abandoned)
    with kymo.scope("later"):
        del abandoned
        with kymo.scope("inner"):
            pass
    kymo.stop_capture()
    rows = {row["name"]: row for row in rows_of(capture, "spans")}
    assert len(rows) == 4
    later, inner = rows["later"], rows["inner"]
    assert int(later["start_ns"]) <= int(inner["start_ns"])
    assert int(inner["start_ns"]) + int(inner["duration_ns"]) <= int(later["start_ns"]) + int(later["duration_ns"])
    (warning,) = stats_of(capture)["warnings"]
    assert warning.startswith("1 scope were closed by force")


def test_a_scope_closed_on_another_thread_closes_nothing_there(capture: Path) -> None:
    def generate():
        with kymo.scope("begun elsewhere"):
            yield 1
            yield 2

    steps = generate()
    with kymo.scope("outer"):
        next(steps)

    def run() -> None:
        with kymo.scope("on the thread"):
            list(steps)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    kymo.stop_capture()
    assert sites_of(capture)["on the thread"] == 1


def test_metrics_frames_phases_messages_and_facts_are_in_the_capture(capture: Path) -> None:
    kymo.record_metric("loss", 0.5)
    kymo.record_metric("loss", np.float32(0.25))
    kymo.record_metric("loss", np.array(3))
    kymo.record_metric("loss", 7)
    kymo.record_metric_unit("power", 11.5, "W")
    kymo.record_io(2_000_000, 3_000_000)
    kymo.frame_mark()
    kymo.frame_mark()
    kymo.frame_mark("render")
    assert kymo.sync() > 0
    kymo.message("half way")
    kymo.set_info("model", 3)
    kymo.set_thread_name("trainer")
    assert kymo.prepare_thread()
    assert kymo.flush()
    assert kymo.capture_path() == str(capture)
    kymo.stop_capture()
    values = [(row["metric"], float(row["value"]), row["unit"]) for row in rows_of(capture, "metrics")]
    assert [value for name, value, _ in values if name == "loss"] == [0.5, 0.25, 3, 7]
    assert ("power", 11.5, "W") in values
    assert ("io_ms", 2, "ms") in values
    assert ("io_MB", 3, "MB") in values
    assert len(rows_of(capture, "frames")) >= 1
    info = info_of(capture)
    assert info["processes"][0]["infos"]["model"] == "3"
    assert "trainer" in [track["name"] for track in info["tracks"]]


def test_spans_are_handed_in_and_cross_threads(capture: Path) -> None:
    begin = time.monotonic_ns()
    kymo.emit_span("GPU 0", "matmul", begin, 1000, "kernel", grid=4)
    kymo.emit_span(kymo.track("GPU 0"), "copy", begin + 2000, 500)
    span = kymo.async_span("request", "requests", user="x")
    span.argument("bytes", 12)
    thread = threading.Thread(target=span.end)
    thread.start()
    thread.join()
    with kymo.async_span("dropped"):
        pass
    kymo.flow_begin(5)
    kymo.flow_step(5)
    kymo.flow_end(5)
    kymo.flow_begin(6, None, None)
    kymo.flow_step(6, "GPU 0", begin + 10)
    kymo.flow_end(6, kymo.track("GPU 0"), begin + 2000)
    for mistaken in ((), (6, "GPU 0"), (6, 1.5, begin), (6, "GPU 0", "now"), ("six",)):
        with pytest.raises(TypeError):
            kymo.flow_end(*mistaken)
    kymo.stop_capture()
    trace = json.loads(command("export", "--to", "chrome", "-o", "/dev/stdout", capture))["traceEvents"]
    flows = [(event["ph"], int(event["id"], 16)) for event in trace if event["ph"] in "stf"]
    assert sorted(flows) == [("f", 5), ("f", 6), ("s", 5), ("s", 6), ("t", 5), ("t", 6)]
    rows = {row["name"]: row for row in rows_of(capture, "spans")}
    assert rows.keys() == {"matmul", "copy", "request", "dropped"}
    assert rows["matmul"]["duration_ns"] == "1000"
    assert rows["matmul"]["track"] == rows["copy"]["track"] == "GPU 0"
    assert "grid" in rows["matmul"]["arguments"]
    assert rows["request"]["track"] == "requests"
    assert "bytes" in rows["request"]["arguments"]


class OnGpu:
    """As PyTorch and CuPy arrays say where they are."""

    device = "cuda:0"
    __cuda_array_interface__ = {"version": 3}  # noqa: RUF012

    def __float__(self) -> float:
        raise AssertionError("fetched behind the user's back")


class OnMps:
    device = "mps:0"

    def __dlpack_device__(self) -> tuple[int, int]:
        return 8, 0

    __float__ = OnGpu.__float__


class OnCpu:
    device = "cpu"

    def __float__(self) -> float:
        return 2.5


@pytest.mark.parametrize("value", [OnGpu(), OnMps()])
def test_a_value_on_a_gpu_is_refused_and_not_fetched(value: OnGpu) -> None:
    with pytest.raises(TypeError, match=rf"'loss'.*lives on {value.device}.*item\(\)"):
        kymo.record_metric("loss", value)


def test_values_that_are_one_number_are_taken_and_others_refused(capture: Path) -> None:
    kymo.record_metric("loss", OnCpu())
    for wrong in ("1.5", None, np.array([1, 2]), object()):
        with pytest.raises(TypeError):
            kymo.record_metric("loss", wrong)  # type: ignore[arg-type]
    kymo.stop_capture()
    assert [row["value"] for row in rows_of(capture, "metrics")] == ["2.5"]


def test_arrays_of_one_element_are_numbers(capture: Path) -> None:
    for value in (np.float32(1), np.array(2.0), np.array([3]), np.array([[4.0]], dtype=np.float32), np.array([True])):
        kymo.record_metric("taken", value)
    for refused in (np.array([1.0, 2.0]), np.array([]), np.array(["1"]), np.array([1j])):
        with pytest.raises(TypeError, match="must be one number"):
            kymo.record_metric("refused", refused)  # type: ignore[arg-type]
    kymo.stop_capture()
    metrics = kymo.open(capture).metrics
    assert list(metrics["taken"].values) == [1, 2, 3, 4, 1]
    assert "refused" not in metrics


def test_a_second_unit_is_said_once(capture: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        kymo.record_metric_unit("time", 1, "ms")
        kymo.record_metric_unit("time", 1, "s")
        kymo.record_metric("plain", 1)
        kymo.record_metric_unit("plain", 1, "W")
        kymo.record_metric("time", 1)
    kymo.stop_capture()
    said = capfd.readouterr().err.splitlines()
    assert [line for line in said if "unit" in line] == [
        "kymo: metric 'time' keeps the unit 'ms' of its first sample; 's' is not recorded",
        "kymo: metric 'plain' keeps the unit '' of its first sample; 'W' is not recorded",
    ]
    metrics = kymo.open(capture).metrics
    assert (metrics["time"].unit, len(metrics["time"]), metrics["plain"].unit) == ("ms", 9, "")


def test_names_are_whole_whatever_is_in_them(capture: Path) -> None:
    profiled = kymo.profile(len, name="len\0gth")
    assert profiled("abc") == 3
    with kymo.scope("a\0b", **{"key\0": "value\0"}):
        pass
    kymo.record_metric("metric\0", 1)
    kymo.stop_capture()
    opened = kymo.open(capture)
    assert sorted(opened.spans["name"]) == ["a␀b", "len␀gth"]
    assert "metric\0" in opened.metrics
    assert {"key\0": "value\0"} in list(opened.spans["arguments"])


def test_lanes_and_categories_have_names(capture: Path) -> None:
    with kymo.async_span("by name", lane="requests", user="x"):
        pass
    with kymo.async_span("by position", "requests"):
        pass
    kymo.emit_span("GPU 0", "matmul", 1, 2, category="kernel", grid=4)
    with pytest.raises(TypeError, match="lane must be a str"):
        kymo.async_span("wrong", lane=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="at most 8"):
        kymo.async_span("many", lane="x", a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=8, i=9)
    kymo.stop_capture()
    rows = {row["name"]: row for row in rows_of(capture, "spans")}
    assert rows.keys() == {"by name", "by position", "matmul"}
    assert rows["by name"]["track"] == rows["by position"]["track"] == "requests"
    assert json.loads(rows["by name"]["arguments"]) == {"user": "x"}
    assert rows["matmul"]["category"] == "kernel"
    assert json.loads(rows["matmul"]["arguments"]) == {"grid": 4}


def test_bad_options_are_errors_and_a_second_capture_is_not(tmp_path: Path, capture: Path) -> None:
    assert not kymo.start_capture(tmp_path / "second.kymo")
    kymo.stop_capture()
    with pytest.raises(ValueError, match="keep_s"):
        kymo.start_capture(tmp_path, keep_s=-1)
    with pytest.raises(ValueError, match="max_bytes"):
        kymo.start_capture(tmp_path, max_bytes=-1)
    with pytest.raises(TypeError, match="max_bytes must be a whole number of bytes or None"):
        kymo.start_capture(tmp_path, max_bytes=5.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        kymo.start_capture(3)  # type: ignore[arg-type]
    assert not kymo.start_capture("/proc/nowhere/run.kymo")


def test_a_capture_exceeds_its_greatest_size_by_a_batch_at_most(tmp_path: Path) -> None:
    limit, batch = 1_000_000, 1 << 20
    # Texts that nothing compresses, in bursts that fill the pool before the collector has written the first of them.
    texts = [base64.b64encode(os.urandom(150)).decode() for _ in range(1000)]
    with kymo.capture(tmp_path / "run.kymo", max_bytes=limit) as run, kymo.scope("whole"):
        for index in range(30_000):
            with kymo.scope("step", a=texts[index % 1000], b=texts[index * 7 % 1000], c=texts[index * 11 % 1000]):
                pass
            if index % 100 == 99:
                kymo.record_metric("index", index)
        # In a full pool the metrics of a burst find no room either.
        assert kymo.flush()
        kymo.record_metric("index", 30_000)
    assert limit < Path(run.path).stat().st_size < limit + batch + batch // 4
    capture = run.open()
    spans = capture.spans
    assert not any(spans.flags), "a scope without an end is none that the capture has"
    (whole_ns,) = spans.select(name="whole").duration_ns
    (track,) = [row for row in capture.drops if row["recorded_scopes"]]
    assert track["recorded_scopes"] == len(spans)
    samples = capture.metrics["index"].values
    assert samples[-1] == 30_000, "metrics go on"
    assert int(whole_ns) >= int(spans.select(name="step").duration_ns.sum())


def test_a_flight_recorder_writes_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "last.kymo"
    assert kymo.start_capture(path, keep_s=60, keep_bytes=1 << 20)
    with kymo.scope("kept"):
        pass
    assert kymo.trigger()
    kymo.stop_capture()
    assert sites_of(path) == {"kept": 1}


def test_the_recorder_tells_its_cost() -> None:
    assert kymo.calibrate() > 0
    assert kymo.empty_scope_ns() > 0
    assert kymo.current_memory_bytes() > 1 << 20
    assert kymo.__version__


def test_dynamic_names_beyond_the_limit_share_a_site(run_script: Run, tmp_path: Path) -> None:
    done = run_script("""
        import kymograph as kymo
        kymo.start_capture("run.kymo", pool_bytes=64 << 20)
        for number in range(65_540):
            with kymo.scope(f"name {number}"):
                pass
    """)
    assert done.stderr.count("more than 65,536 names of scopes") == 1
    (track,) = info_of(tmp_path / "run.kymo")["tracks"]
    assert (track["recorded_scopes"], track["dropped_scopes"]) == (65_540, 0)
    assert sites_of(tmp_path / "run.kymo", "--site", "(other names)") == {"(other names)": 4}


def warnings_of(capture: Path) -> str:
    return run_command("stats", capture).stderr


def test_the_environment_acts_as_in_cpp(run_script: Run, tmp_path: Path) -> None:
    script = """
        import kymograph as kymo
        assert kymo.enable()
        for _ in range(4):
            with kymo.scope("step"):
                kymo.record_metric("loss", 1)
            kymo.frame_mark()
    """
    run_script(script, KYMO_RECORD="every.kymo", KYMO_SCOPE_EVERY="2", KYMO_SAMPLE="0", KYMO_LABELS="run=7")
    assert sites_of(tmp_path / "every.kymo") == {"step": 2}
    assert info_of(tmp_path / "every.kymo")["processes"][0]["infos"]["label.run"] == "7"
    assert "the scopes of 1 in 2 frames were recorded (KYMO_SCOPE_EVERY)" in warnings_of(tmp_path / "every.kymo")
    run_script(script, KYMO_RECORD="most.kymo", KYMO_SCOPE_MAX_FRAMES="3", KYMO_SAMPLE="0")
    # The first of them is before the first mark.
    assert sites_of(tmp_path / "most.kymo") == {"step": 3}
    said = "scopes were recorded up to mark 3 of the main stream (KYMO_SCOPE_MAX_FRAMES)"
    assert said in warnings_of(tmp_path / "most.kymo")
    run_script(script, KYMO_RECORD="none.kymo", KYMO_SCOPES="0", KYMO_SAMPLE="0")
    assert sites_of(tmp_path / "none.kymo") == {}


def test_scopes_cannot_be_pickled() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(kymo.scope("x"))
