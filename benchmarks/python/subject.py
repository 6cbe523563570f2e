"""Measure one recorder in a process of its own.

    subject.py kymo|off|vor|viztracer|nvtx OUTPUT ROUNDS CALLS

Prints JSON: nanoseconds of the thread's CPU time that each way of recording adds to a call, the median of the rounds.
Only the recorder that is measured is imported.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable

Loop = Callable[[range], None]
# Per way of recording a loop with it and one without; what marks a frame; what writes the output.
Subject = tuple[dict[str, tuple[Loop, Loop]], Callable[[], object], Callable[[], object]]


def empty() -> None:
    pass


def bare(steps: range) -> None:
    for _ in steps:
        pass


def calls_of(function: Callable[[], None]) -> Loop:
    def loop(steps: range) -> None:
        for _ in steps:
            function()

    return loop


def kymo(output: str, is_recording: bool) -> Subject:
    recorder = importlib.import_module("kymograph")

    def scope(steps: range) -> None:
        for _ in steps:
            with recorder.scope("scope"):
                pass

    def scope_with_argument(steps: range) -> None:
        for _ in steps:
            with recorder.scope("scope with argument", batch=3):
                pass

    def metric(steps: range) -> None:
        for _ in steps:
            recorder.record_metric("loss", 1.5)

    assert not is_recording or recorder.start_capture(output, pool_bytes=256 << 20)
    loops = {
        "profile": (calls_of(recorder.profile(empty)), calls_of(empty)),
        "scope": (scope, bare),
        "scope with argument": (scope_with_argument, bare),
        "metric": (metric, bare),
    }
    return loops, recorder.frame_mark, recorder.disable


def vor(output: str) -> Subject:
    os.environ.update(VOR_RECORD=output, VOR_RECORD_FLAME="1")
    recorder = importlib.import_module("vor")

    def scope(steps: range) -> None:
        for _ in steps:
            with recorder.profile_scope("scope"):
                pass

    def metric(steps: range) -> None:
        for _ in steps:
            recorder.record_metric("loss", 1.5)

    recorder.enable()
    loops = {
        "profile": (calls_of(recorder.profile(empty)), calls_of(empty)),
        "scope": (scope, bare),
        "metric": (metric, bare),
    }
    return loops, recorder.frame_mark, recorder.flush


def viztracer(output: str) -> Subject:
    recorder = importlib.import_module("viztracer")
    tracer = recorder.VizTracer(
        log_sparse=True, ignore_c_function=True, tracer_entries=4_000_000, output_file=output, verbose=0
    )

    def scope(steps: range) -> None:
        for _ in steps:
            with tracer.log_event("scope"):
                pass

    def traced(steps: range) -> None:
        tracer.start()
        for _ in steps:
            empty()
        tracer.stop()

    loops = {
        "profile": (calls_of(recorder.log_sparse(empty)), calls_of(empty)),
        "traced function": (traced, calls_of(empty)),
        "scope": (scope, bare),
    }
    return loops, lambda: None, tracer.save


def nvtx(_output: str) -> Subject:
    """Without a tool that listens, as it is in a program that is not being profiled."""
    recorder = importlib.import_module("nvtx")

    def scope(steps: range) -> None:
        for _ in steps:
            with recorder.annotate("scope"):
                pass

    loops = {"profile": (calls_of(recorder.annotate("empty")(empty)), calls_of(empty)), "scope": (scope, bare)}
    return loops, lambda: None, lambda: None


def main() -> None:
    name, output, rounds, calls = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if name in ("kymo", "off"):
        loops, mark, finish = kymo(output, name == "kymo")
    else:
        loops, mark, finish = {"vor": vor, "viztracer": viztracer, "nvtx": nvtx}[name](output)
    steps = range(calls)
    added: dict[str, list[float]] = {what: [] for what in loops}
    mark()
    for _ in range(rounds):
        for what, (with_it, without) in loops.items():
            begin = time.thread_time_ns()
            without(steps)
            middle = time.thread_time_ns()
            with_it(steps)
            end = time.thread_time_ns()
            added[what].append((end - middle - (middle - begin)) / calls)
            mark()
    finish()
    print(json.dumps({what: statistics.median(values) for what, values in added.items()}))


if __name__ == "__main__":
    main()
