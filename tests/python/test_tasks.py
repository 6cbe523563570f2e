"""asyncio: each task on a track of its own, scopes across awaits, waiting apart from running, links to the parents."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import kymograph as kymo
import pytest
from conftest import Run
from support import VERSION, command, info_of, sites_of

# What a coroutine measured itself: a name, and times before and after its scope, from outside and from within.
Measured = tuple[str, int, int, int, int]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[kymo.Recording]:
    with kymo.capture(tmp_path / "run.kymo") as recording:
        yield recording


def spans_of(recording: kymo.Recording) -> list[dict[str, Any]]:
    recording.stop()
    return spans_in(recording.path)


def spans_in(path: str | Path) -> list[dict[str, Any]]:
    table = kymo.open(path).spans
    columns = [table[name] for name in ("track", "name", "start_ns", "duration_ns", "self_ns", "depth", "flags")]
    names = ("track", "name", "start", "duration", "self", "depth", "flags")
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def named(spans: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [span for span in spans if span["name"] == name]


def assert_each_is_as_measured(spans: list[dict[str, Any]], measured: list[Measured]) -> None:
    """Each scope lies between the times that its coroutine read around its ends, and each is there once."""
    for name in {each[0] for each in measured}:
        found = sorted(named(spans, name), key=lambda span: span["start"])
        wanted = sorted((each for each in measured if each[0] == name), key=lambda each: each[1])
        assert len(found) == len(wanted)
        for span, (_, before, begun, ending, after) in zip(found, wanted, strict=True):
            assert before <= span["start"] <= begun
            assert ending <= span["start"] + span["duration"] <= after


def assert_one_runs_at_a_time(recording: kymo.Recording) -> None:
    """What tasks ran, without their waits, overlaps nowhere, and is what their thread was seen to run."""
    spans = spans_of(recording)
    tracks = info_of(recording.path)["tracks"]
    fibers = {track["name"] for track in tracks if track["kind"] == "fiber"}
    (thread,) = {track["name"] for track in tracks if track["kind"] == "thread" and track["recorded_scopes"] > 0}
    runs = [span for span in spans if span["track"] == thread and span["name"] in fibers]
    ends: list[tuple[int, int]] = sorted((span["start"], span["start"] + span["duration"]) for span in runs)
    assert all(earlier[1] <= later[0] for earlier, later in itertools.pairwise(ends))
    # Each wait falls between two runs of its task, so that the sum of runs and waits is the whole task.
    for fiber in fibers:
        own = [span for span in spans if span["track"] == fiber]
        whole = sum(span["duration"] for span in own if span["depth"] == 0)
        waits = sum(span["duration"] for span in own if span["name"] == "await")
        ran = sum(span["duration"] for span in runs if span["name"] == fiber)
        assert whole - waits <= ran
        assert len(named(own, "await")) == len([span for span in runs if span["name"] == fiber]) - len(
            [span for span in own if span["depth"] == 0]
        )


async def measured_scope(name: str, body: Awaitable[object], into: list[Measured]) -> None:
    before = time.monotonic_ns()
    with kymo.scope(name):
        begun = time.monotonic_ns()
        await body
        ending = time.monotonic_ns()
    into.append((name, before, begun, ending, time.monotonic_ns()))


def test_a_task_of_wait_for_is_that_of_what_it_waits_for(run: kymo.Recording) -> None:
    measured: list[Measured] = []

    async def work(number: int) -> None:
        before = time.monotonic_ns()
        with kymo.scope(f"outer {number}"):
            begun = time.monotonic_ns()
            await asyncio.sleep(0.001 * number)
            ending = time.monotonic_ns()
        measured.append((f"outer {number}", before, begun, ending, time.monotonic_ns()))

    async def main() -> None:
        await asyncio.gather(
            *[asyncio.wait_for(work(number), 5) for number in range(4)],
            *[asyncio.wait_for(work(number), None) for number in range(4, 8)],
        )

    asyncio.run(main())
    assert len(measured) == 8
    assert_each_is_as_measured(spans_of(run), measured)


def test_gathered_tasks_have_their_own_times(run: kymo.Recording) -> None:
    measured: list[Measured] = []

    async def main() -> None:
        scopes = [measured_scope(f"sleep {ms}", asyncio.sleep(ms / 1000), measured) for ms in range(5)]
        await measured_scope("all", asyncio.gather(*scopes), measured)

    asyncio.run(main())
    spans = spans_of(run)
    assert_each_is_as_measured(spans, measured)
    assert all(span["depth"] == 1 for span in spans if span["name"].startswith("sleep"))
    assert not any(span["flags"] for span in spans)
    assert_one_runs_at_a_time(run)


def test_awaiting_is_no_self_time_of_a_scope(run: kymo.Recording) -> None:
    async def main() -> None:
        with kymo.scope("outer"):
            await asyncio.sleep(0.02)

    asyncio.run(main())
    spans = spans_of(run)
    (outer,), (wait,) = named(spans, "outer"), named(spans, "await")
    assert outer["duration"] > wait["duration"] >= 20_000_000
    assert outer["self"] == outer["duration"] - wait["duration"]


@kymo.profile(name="step")
async def step(number: int) -> int:
    for _ in range(number % 4):
        await asyncio.sleep(0)
    return number


@kymo.profile(name="items")
async def items(count: int) -> AsyncIterator[int]:
    for number in range(count):
        await asyncio.sleep(0)
        yield number


@kymo.profile(name="sync")
def sync(number: int) -> int:
    return number


def test_calls_of_coroutines_are_counted_once(run: kymo.Recording) -> None:
    async def main() -> int:
        total = sum(await asyncio.gather(*(step(number) for number in range(40))))
        for number in range(20):
            total += await step(number)
        async for number in items(7):
            total += sync(number)
        return total

    assert asyncio.run(main()) == 780 + 190 + 21
    run.stop()
    # Each item, and the end, is a resumption of the generator.
    counts = Counter(sites_of(run.path))
    assert counts["step"] == 60
    assert counts["items"] == 8
    assert counts["sync"] == 7
    assert_one_runs_at_a_time(run)


def test_a_task_knows_the_scope_that_created_it(run: kymo.Recording) -> None:
    async def child() -> None:
        await asyncio.sleep(0)

    async def main() -> None:
        with kymo.scope("parent"):
            tasks = [asyncio.create_task(child()) for _ in range(3)]
        await asyncio.gather(*tasks)

    asyncio.run(main())
    run.stop()
    trace = json.loads(command("export", "--to", "chrome", "-o", "/dev/stdout", run.path))["traceEvents"]
    begins = {event["id"]: event for event in trace if event.get("ph") == "s"}
    ends = {event["id"]: event for event in trace if event.get("ph") == "f"}
    assert len(begins) == 3
    assert begins.keys() == ends.keys()
    parent = next(event for event in trace if event["name"] == "parent")
    children = [event for event in trace if event["name"].endswith(".child") and event.get("ph") == "X"]
    children = [event for event in children if not event["name"].startswith("task ")]
    assert len(children) == 3
    assert {event["tid"] for event in begins.values()} == {parent["tid"]}
    assert {event["tid"] for event in ends.values()} == {event["tid"] for event in children}
    assert len({event["tid"] for event in children}) == 3
    assert all(parent["ts"] <= event["ts"] <= parent["ts"] + parent["dur"] for event in begins.values())


def test_where_tasks_are_left_out_the_scopes_within_keep_their_arguments(run_script: Run, tmp_path: Path) -> None:
    source = """
        import asyncio
        import kymograph as kymo

        async def handle(number):
            with kymo.scope("handle", number=number) as scope:
                await asyncio.sleep(0)
                scope.argument("status", "ok")

        async def main():
            await asyncio.gather(*(handle(number) for number in range(3)))

        with kymo.capture("run.kymo"):
            asyncio.run(main())
    """
    run_script(source, KYMO_SITES="handle")
    spans = kymo.open(tmp_path / "run.kymo").spans
    found = [spans[place]["arguments"] for place in range(len(spans))]
    assert sorted(found, key=lambda each: each["number"]) == [{"number": i, "status": "ok"} for i in range(3)]


def test_tasks_end_in_every_way(run: kymo.Recording) -> None:
    async def fail() -> None:
        with kymo.scope("failing"):
            await asyncio.sleep(0)
            raise KeyError

    async def wait() -> None:
        with kymo.scope("waiting"):
            await asyncio.sleep(100)

    async def catch() -> None:
        with kymo.scope("caught"):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(100)
            with kymo.scope("after"):
                await asyncio.sleep(0)

    async def main() -> None:
        tasks = [asyncio.create_task(each()) for each in (fail, wait, catch, fail)]
        never = asyncio.create_task(wait())
        never.cancel()
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, never, return_exceptions=True)
        assert [type(result) for result in results[1:3]] == [asyncio.CancelledError, type(None)]
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(wait(), 0.001)
        with kymo.scope("at the end"):
            pass

    asyncio.run(main())
    spans = spans_of(run)
    counts = Counter(span["name"] for span in spans)
    assert (counts["waiting"], counts["caught"], counts["after"], counts["at the end"]) == (2, 1, 1, 1)
    assert counts["failing"] == 2
    assert not any(span["flags"] for span in spans)
    assert_one_runs_at_a_time(run)


def test_random_trees_of_tasks_are_recorded_exactly(run: kymo.Recording) -> None:
    measured: list[Measured] = []
    source = random.Random(7)
    issued: Counter[str] = Counter()

    @kymo.profile(name="leaf")
    async def leaf(turns: int) -> None:
        issued["leaf"] += 1
        for _ in range(turns):
            await asyncio.sleep(0)

    async def tree(depth: int) -> None:
        for _ in range(source.randrange(4)):
            await measured_scope(f"depth {depth}", leaf(source.randrange(3)), measured)
        if depth < 5:
            children = [asyncio.create_task(tree(depth + 1)) for _ in range(source.randrange(1, 4))]
            with kymo.scope("join"):
                issued["join"] += 1
                await asyncio.gather(*children)

    async def main() -> None:
        with kymo.scope("join"):
            issued["join"] += 1
            await asyncio.gather(*(tree(0) for _ in range(3)))

    asyncio.run(main())
    spans = spans_of(run)
    assert_each_is_as_measured(spans, measured)
    counts = Counter(span["name"] for span in spans)
    assert counts["leaf"] == issued["leaf"] > 100
    assert counts["join"] == issued["join"] > 50
    assert not any(span["flags"] for span in spans)
    assert run.open().drops == [] or all(drop["dropped_scopes"] == 0 for drop in run.open().drops)
    assert_one_runs_at_a_time(run)


def test_loops_in_threads_do_not_mix(run: kymo.Recording) -> None:
    measured: list[Measured] = []

    async def main(name: str) -> None:
        await asyncio.gather(*(measured_scope(name, asyncio.sleep(0.001), measured) for _ in range(10)))

    async def threads() -> None:
        await asyncio.gather(*(asyncio.to_thread(asyncio.run, main(f"thread {number}")) for number in range(4)))

    asyncio.run(threads())
    spans = spans_of(run)
    counts = Counter(span["name"] for span in spans)
    assert [counts[f"thread {number}"] for number in range(4)] == [10] * 4
    assert not any(span["flags"] for span in spans)


def test_recording_may_begin_and_end_within_a_task(tmp_path: Path) -> None:
    async def child() -> None:
        with kymo.scope("child"):
            await asyncio.sleep(0.001)

    async def main() -> None:
        for name in ("first", "second"):
            other = asyncio.create_task(child())
            await asyncio.sleep(0)
            with kymo.capture(tmp_path / f"{name}.kymo"):
                with kymo.scope(name):
                    await asyncio.gather(child(), child())
                await other

    asyncio.run(main())
    for name in ("first", "second"):
        capture = kymo.open(tmp_path / f"{name}.kymo")
        (span,) = (
            track for track, each in zip(capture.spans.track, capture.spans["name"], strict=True) if each == name
        )
        assert "main" in span
        assert sites_of(tmp_path / f"{name}.kymo")["child"] == 2


def test_scopes_that_go_off_and_on_leave_each_task_its_own(run_script: Run, tmp_path: Path) -> None:
    done = run_script(
        """
        import asyncio, json, time
        import kymograph as kymo

        kymo.enable()
        measured = []

        async def job(first):
            for number in range(first, first + 20):
                before = time.monotonic_ns()
                with kymo.scope("in", number=number):
                    begun = time.monotonic_ns()
                    await asyncio.sleep(0.001)
                    ending = time.monotonic_ns()
                measured.append((number, before, begun, ending, time.monotonic_ns()))

        async def main():
            jobs = [asyncio.create_task(job(first)) for first in (0, 100)]
            for frame in range(20):
                kymo.frame_mark()
                with kymo.scope("frame"):
                    await asyncio.sleep(0.0017)
            await asyncio.gather(*jobs)

        asyncio.run(main())
        print(json.dumps(measured))
        """,
        KYMO_RECORD="run.kymo",
        KYMO_SCOPE_EVERY="3",
        KYMO_SAMPLE="0",
    )
    assert "closed on another thread" not in done.stderr
    spans = kymo.open(tmp_path / "run.kymo").spans
    found = spans.select(name="in")
    assert 8 <= len(found) < 40
    measured = {each[0]: each[1:] for each in json.loads(done.stdout)}
    for span in found:
        before, begun, ending, after = measured[span["arguments"]["number"]]
        assert before <= span["start_ns"] <= begun
        assert ending <= span["start_ns"] + span["duration_ns"] <= after
        assert (span["depth"], span["flags"]) == (1, 0)
    assert all(span["depth"] == 1 for span in spans.select(name="frame"))
    # A stretch of a task is on its thread's track also where it began while scopes were off.
    runs = [span for span in spans if span["kind"] == "thread"]
    frames = [span["start_ns"] for span in spans.select(name="frame")]
    assert frames
    assert all(any(run["start_ns"] <= at <= run["start_ns"] + run["duration_ns"] for run in runs) for at in frames)


def test_frames_that_a_task_marks_last_as_long_as_they_did(run: kymo.Recording) -> None:
    async def main() -> None:
        for _ in range(5):
            kymo.frame_mark()
            await asyncio.sleep(0.001)

    asyncio.run(main())
    run.stop()  # marks the last frame's end, on the thread's track
    durations = run.open().metrics["frame_ms"].values
    assert len(durations) == 5
    assert all(0.9 < each < 100 for each in durations)


def test_a_task_goes_through_two_captures(run_script: Run, tmp_path: Path) -> None:
    done = run_script(
        """
        import asyncio
        import kymograph as kymo

        @kymo.profile(name="profiled")
        async def profiled():
            await asyncio.sleep(0.001)

        async def job():
            for number in range(30):
                with kymo.scope("in", number=number):
                    await profiled()

        async def main():
            with kymo.capture("first.kymo"):
                task = asyncio.create_task(job())
                await asyncio.sleep(0.007)
            await asyncio.sleep(0.007)
            with kymo.capture("second.kymo"):
                await task
            other = asyncio.create_task(job())
            await asyncio.sleep(0.003)
            with kymo.capture("third.kymo"):
                await asyncio.sleep(0.003)
            await other

        asyncio.run(main())
        """
    )
    assert "closed on another thread" not in done.stderr
    numbers: list[int] = []
    for name in ("first", "second"):
        for span in kymo.open(tmp_path / f"{name}.kymo").spans.select(name="in"):
            is_cut = name == "first" and span["flags"] != 0
            assert span["depth"] == 1
            assert is_cut or (span["flags"] == 0 and span["duration_ns"] < 20_000_000)
            numbers += [] if is_cut else [span["arguments"]["number"]]
    assert len(set(numbers)) == len(numbers)
    assert max(numbers) == 29
    spans = kymo.open(tmp_path / "second.kymo").spans
    depths = Counter(span["depth"] for span in spans.select(name="profiled"))
    assert depths.pop(2) == len(spans.select(name="in"))
    assert not depths or depths == {1: 1}  # within a scope that began while nothing was recorded


def test_tasks_that_never_finish_harm_nothing(run_script: Run, tmp_path: Path) -> None:
    run_script(
        """
        import asyncio, kymograph as kymo

        async def forever():
            with kymo.scope("open"):
                await asyncio.Event().wait()

        async def main():
            loop = asyncio.get_running_loop()
            loop.kept = [asyncio.ensure_future(forever()) for _ in range(3)]
            await asyncio.sleep(0)
            with kymo.scope("closed"):
                pass

        kymo.start_capture("run.kymo")
        loop = asyncio.new_event_loop()
        loop.run_until_complete(main())
        """
    )
    capture = kymo.open(tmp_path / "run.kymo")
    assert capture.is_closed
    assert Counter(capture.spans["name"])["closed"] == 1
    assert not capture.damages


def test_a_fork_in_a_task_records_in_both(run_script: Run, tmp_path: Path) -> None:
    run_script(
        """
        import asyncio, os, kymograph as kymo

        async def main():
            with kymo.scope("around"):
                await asyncio.sleep(0)
                pid = os.fork()
                with kymo.scope("child" if pid == 0 else "parent"):
                    pass
                if pid == 0:
                    kymo.stop_capture()
                    os._exit(0)
                os.waitpid(pid, 0)
                await asyncio.sleep(0)

        with kymo.capture("run.kymo") as run:
            asyncio.run(main())
        assert len(run.workers) == 1
        """
    )
    assert sites_of(tmp_path / "run.kymo")["around"] == 1
    assert sites_of(tmp_path / "run.kymo")["parent"] == 1
    (worker,) = tmp_path.glob("run-worker-*.kymo")
    assert sites_of(worker)["child"] == 1


def test_a_followed_task_is_what_it_was(run: kymo.Recording) -> None:
    async def named_coroutine() -> int:
        await asyncio.sleep(0)
        return 7

    async def main() -> None:
        task = asyncio.create_task(named_coroutine(), name="given")
        coroutine: Any = task.get_coro()
        assert coroutine.__qualname__.endswith("named_coroutine")
        assert coroutine.cr_code.co_name == "named_coroutine"
        assert asyncio.iscoroutine(coroutine)
        assert "named_coroutine" in repr(task)
        await asyncio.sleep(0)
        assert task.get_stack()[0].f_code.co_name == "named_coroutine"
        assert await task == 7
        assert task.get_name() == "given"
        with pytest.raises(TypeError, match="coroutine"):
            asyncio.get_running_loop().create_task(7)  # type: ignore[arg-type]

    asyncio.run(main(), debug=True)


@pytest.mark.skipif(VERSION < (3, 12), reason="eager tasks are of Python 3.12")
def test_eager_tasks_run_within_their_parent(run_script: Run, tmp_path: Path) -> None:
    said = run_script(
        """
        import asyncio, json, time
        import kymograph as kymo

        measured = []

        async def measure(name, body):
            before = time.monotonic_ns()
            with kymo.scope(name):
                begun = time.monotonic_ns()
                await body
                ending = time.monotonic_ns()
            measured.append((name, before, begun, ending, time.monotonic_ns()))

        async def main():
            asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
            tasks = [asyncio.create_task(measure(f"eager {ms}", asyncio.sleep(ms / 1000))) for ms in (0, 2)]
            await measure("all", asyncio.gather(*tasks))

        with kymo.capture("run.kymo"):
            asyncio.run(main())
        print(json.dumps(measured))
        """
    ).stdout
    spans = spans_in(tmp_path / "run.kymo")
    assert_each_is_as_measured(spans, [tuple(each) for each in json.loads(said)])
    assert not any(span["flags"] for span in spans)


async def _some_scopes(measured: list[Measured], sleep: Callable[[float], Coroutine[Any, Any, Any]]) -> None:
    await measured_scope("outer", measured_scope("inner", sleep(0.001), measured), measured)


def test_uvloop(run: kymo.Recording) -> None:
    uvloop = pytest.importorskip("uvloop")
    measured: list[Measured] = []

    async def main() -> None:
        await asyncio.gather(*(_some_scopes(measured, asyncio.sleep) for _ in range(5)))

    loop = uvloop.new_event_loop()
    loop.run_until_complete(main())
    loop.close()
    assert_each_is_as_measured(spans_of(run), measured)
    assert_one_runs_at_a_time(run)


def test_anyio(run: kymo.Recording) -> None:
    anyio = pytest.importorskip("anyio")
    measured: list[Measured] = []

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(_some_scopes, measured, anyio.sleep)
            with anyio.move_on_after(0.001):
                await measured_scope("inner", anyio.sleep(100), measured)

    anyio.run(main)
    spans = spans_of(run)
    assert len(named(spans, "outer")) == 5
    assert len(named(spans, "inner")) == 6
    assert_one_runs_at_a_time(run)
