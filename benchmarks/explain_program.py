#!/usr/bin/env python3
"""
Run a Python program whose slow frames have one chosen cause, for explain_programs.py.

    explain_program.py CAUSE STRENGTH_MS SEED [real-time]    STRENGTH_MS 0: the same program without the cause

Prints what explain_program prints.
"""

from __future__ import annotations

import gc
import io
import json
import logging
import os
import random
import sys
import time
from collections.abc import Callable

import kymograph as kymo

FRAMES = 120
WARM_UP = 5

Body = Callable[[int], int]


def compute(duration_ns: int) -> None:
    """Use so much CPU time."""
    end_ns = time.thread_time_ns() + duration_ns
    while time.thread_time_ns() < end_ns:
        pass


def timed(work: Callable[[], object]) -> int:
    """Return how long work takes."""
    start_ns = time.monotonic_ns()
    work()
    return time.monotonic_ns() - start_ns


def gc_pause() -> Body:
    """Collect a heap with many objects, as often as the cause is strong."""
    gc.disable()
    heap = [[i] for i in range(50_000)]
    gc.collect()
    round_ns = timed(gc.collect)

    def body(extra_ns: int) -> int:
        with kymo.scope("allocate"):
            compute(500_000)
            start_ns = time.monotonic_ns()
            rounds = round(extra_ns / round_ns) if heap else 0
            for _ in range(rounds):
                gc.collect()
            return time.monotonic_ns() - start_ns if rounds else 0

    return body


def growing_argument() -> Body:
    """Read a text that is as long as the cause is strong."""
    row = json.dumps({"name": "row", "values": list(range(20))})
    per_row_ns = timed(lambda: json.loads("[" + ",".join([row] * 2_000) + "]")) / 2_000

    def body(extra_ns: int) -> int:
        rows = 100 + round(extra_ns / per_row_ns)
        text = "[" + ",".join([row] * rows) + "]"
        with kymo.scope("parse", rows=rows):
            return timed(lambda: json.loads(text))

    return body


def log_lines() -> Body:
    """Log for as long as the cause is strong."""
    logger = logging.getLogger("bench")
    logger.propagate = False
    logger.setLevel(logging.INFO)
    logger.addHandler(logging.StreamHandler(io.StringIO()))

    def body(extra_ns: int) -> int:
        start_ns = time.monotonic_ns()
        while True:
            with kymo.scope("log line"):
                logger.info("frame %s", "x" * 200)
            took_ns = time.monotonic_ns() - start_ns
            if took_ns >= extra_ns:
                return took_ns

    return body


def first_time() -> Body:
    """Prepare something in the first slow frame."""
    is_prepared = False

    def body(extra_ns: int) -> int:
        nonlocal is_prepared
        with kymo.scope("draw"):
            compute(1_000_000)
        if extra_ns == 0 or is_prepared:
            return 0
        is_prepared = True
        with kymo.scope("import model"):
            return timed(lambda: compute(extra_ns))

    return body


def slow_category() -> Body:
    """One kind of input is slow."""

    def body(extra_ns: int) -> int:
        with kymo.scope("decode", format="webp" if extra_ns else "png"):
            return timed(lambda: compute(300_000 + extra_ns)) - 300_000

    return body


def more_calls() -> Body:
    """More of the same work."""

    def body(extra_ns: int) -> int:
        def tiles() -> None:
            for _ in range(10 + round(extra_ns / 100_000)):
                with kymo.scope("tile"):
                    compute(100_000)

        return timed(tiles) - 1_000_000

    return body


def blocked() -> Body:
    """Sleep, as for a disk."""

    def body(extra_ns: int) -> int:
        with kymo.scope("save"):
            return timed(lambda: time.sleep((200_000 + extra_ns) / 1e9)) - 200_000

    return body


CAUSES = {
    "blocked": blocked,
    "more calls": more_calls,
    "slow category": slow_category,
    "GC pause": gc_pause,
    "growing argument": growing_argument,
    "logging": log_lines,
    "first time": first_time,
}


def main() -> None:
    """Run the frames; print what the cause added, what was planned, and how long they took."""
    cause, strength_ms, seed = sys.argv[1:4]
    draw = random.Random(int(seed))
    strength_ns = float(strength_ms) * 1e6
    kymo.enable()
    if sys.argv[4:]:
        # From here on, so that kymo's own threads stay behind the program's.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    body = CAUSES[cause]()
    lines = []
    for frame in range(-WARM_UP, FRAMES):
        if frame == 0:
            kymo.frame_mark()
        is_slow = frame >= 0 and strength_ns != 0 and (frame % 17 == 11 or draw.random() < 0.05)
        start_ns = time.monotonic_ns()
        cpu_start_ns = time.thread_time_ns()
        planned_ns = round(2e6 * draw.gauss(1, 0.03))
        with kymo.scope("update"):
            compute(planned_ns)
        added_ns = body(round(strength_ns * draw.gauss(1, 0.03)) if is_slow else 0)
        took_ns = time.monotonic_ns() - start_ns
        cpu_ns = time.thread_time_ns() - cpu_start_ns
        if frame >= 0:
            lines.append(f"{added_ns} {planned_ns} {took_ns} {cpu_ns}")
            kymo.frame_mark()
    print("\n".join(lines))


if __name__ == "__main__":
    main()
