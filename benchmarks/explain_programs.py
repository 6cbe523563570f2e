#!/usr/bin/env python3
"""
Score `kymo explain` on programs whose slow frames have one real cause.

    benchmarks/explain_programs.py BUILD [--runs N] [--real-time]

BUILD is a build folder in which the targets `explain_program`, `kymo_python` and `kymo_command` were built. Each
program is recorded by `kymo record`, N times (10) with its cause at a random strength and N times without it. Prints a
table of docs/explain.md.

Without the injected cause, the machine still gives frames real causes: it pushes threads off, and wakes them late.
--real-time keeps other programs from that, but not a virtual machine's host. So a finding without the injected cause is
false if the program itself does not confirm it: if the CPU time of its thread, by the kernel's clock, did not grow by
half of what the findings say was computed, or the rest of the frame by half of what they say was waited.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple

# The words that name each cause.
CAUSES = {
    "lock convoy": ['"wait for cache"', "held by worker"],
    "chain over three threads": ['"wait for assets", then "wait for images"', 'held by decoder in "decode"'],
    "outside hog": ["pushed off the CPU by hog", '"simulate"'],
    "priority inversion": ['"wait for log"', "held by low", "pushed off the CPU by hog"],
    "blocked": ['blocked in "save"'],
    "growing argument": ['computing in "sort"', "with count"],
    "more calls": ['computing in "tile"', "more calls"],
    "first time": ['computing in "compile shader"', "for the first time"],
    "imbalance among workers": ['waiting in "join"', "for worker", '"cull part"'],
    "logging": ['"log line"', "more calls"],
    "page faults": ['computing in "fill buffer"', "longer calls"],
    "GPU busy": ['waiting in "present"', "GPU 0", '"shadow pass"'],
    "allocator contention": ['"wait for heap"', "held by worker", '"allocate"'],
    "false sharing": ['computing in "count"', "longer calls"],
    "slow category": ['computing in "decode"', "format = webp"],
    "thermal throttle": ["computing at a lower clock"],
    "fsync": ['blocked in "save"'],
}


# Those of explain_program.py, in Python.
PYTHON_CAUSES = {
    "GC pause": ['computing in "allocate"', "longer calls"],
    "growing argument": ['computing in "parse"', "with rows"],
    "logging": ['"log line"', "more calls"],
    "first time": ['computing in "import model"', "for the first time"],
    "slow category": ['computing in "decode"', "format = webp"],
    "more calls": ['computing in "tile"', "more calls"],
    "blocked": ['blocked in "save"'],
}


# Programs of both kinds, recorded with stacks: the words name functions without a scope of their own.
STACK_CAUSES = {
    "allocator": ['computing in "build list"', "libc.so.6"],
    "fsync": ['blocked in "save"', " in fsync (libc.so.6"],
}
# Where the interpreter has no symbols, the collector is an address of its file.
PYTHON_STACK_CAUSES = {"GC pause": ['computing in "allocate"', " under "]}


class Frame(NamedTuple):
    """What a program says of a frame, in nanoseconds."""

    added: int
    planned: int
    took: int
    cpu: int


def make_machine(root: pathlib.Path) -> list[Any]:
    """Make up a machine whose clock the program can lower; return how `kymo record` reads it."""
    clock = root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"
    clock.parent.mkdir(parents=True, exist_ok=True)
    clock.write_text("3000000\n", encoding="utf-8")
    return ["--root", root, "--hz", "100,100,10"]


def explain(
    options: argparse.Namespace, folder: str, program: list[Any], *, has_stacks: bool, strength_ms: float, seed: int
) -> tuple[list[Frame], dict[str, Any]]:
    """Record a run; return its frames, and the explanation."""
    build = options.build
    capture = pathlib.Path(folder) / "run.kymo"
    capture.unlink(missing_ok=True)
    kymo = build / "apps/kymo/kymo"
    real_time = ["real-time"] if options.real_time else []
    machine = make_machine(pathlib.Path(folder)) if "thermal throttle" in program else []
    stacks = ["--stacks"] if has_stacks else []
    first: list[str] = []
    if has_stacks and options.real_time:
        # Behind other programs the recorder would lose most stacks. It comes after this one, on another processor.
        first = ["chrt", "-f", "5"]
        program = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *program]
    recorded = subprocess.run(
        [
            *first,
            kymo,
            "record",
            "-o",
            capture,
            *machine,
            *stacks,
            "--",
            *program,
            str(strength_ms),
            str(seed),
            *real_time,
        ],
        env={**os.environ, "PYTHONPATH": str(build / "python"), "EXPLAIN_ROOT": folder},
        check=True,
        capture_output=True,
        text=True,
        timeout=20,
    )
    frames = [Frame(*map(int, line.split())) for line in recorded.stdout.splitlines()]
    explained = subprocess.run([kymo, "explain", "--json", capture], check=False, capture_output=True, text=True)
    return frames, json.loads(explained.stdout)["explanations"][0]


def excess_of(values: list[int], why: dict[str, Any]) -> float:
    """Return how much greater these values are in the slow frames than in the usual ones."""
    slow = {one["number"] - 1 for one in why["findings"][0]["slow"]}
    of_slow = statistics.fmean(value for frame, value in enumerate(values) if frame in slow)
    of_usual = statistics.fmean(value for frame, value in enumerate(values) if frame not in slow)
    return of_slow - of_usual


def is_confirmed(frames: list[Frame], why: dict[str, Any]) -> bool:
    """Whether the program's own clocks say the same of computing and of waiting as the findings."""
    computed = sum(one["excess_ns"] for one in why["findings"] if one["kind"] == "computing" and not one["waits"])
    waited = sum(one["excess_ns"] for one in why["findings"]) - computed
    more_cpu = excess_of([frame.cpu - frame.planned for frame in frames], why)
    more_waiting = excess_of([frame.took - frame.cpu for frame in frames], why)
    return bool(2 * more_cpu >= computed and 2 * more_waiting >= waited)


def main() -> None:
    """Print a row for each cause, and below it what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--only", default="", help="causes whose name contains this")
    parser.add_argument(
        "--real-time", action="store_true", help="keep other programs from pushing these off (needs root)"
    )
    options = parser.parse_args()
    strengths = random.Random(1)
    print(
        "| cause | named first | and its share within 10 points | findings without the cause | false ones |\n"
        "| --- | --- | --- | --- | --- |"
    )
    in_python = [sys.executable, pathlib.Path(__file__).with_name("explain_program.py")]
    in_cpp = [options.build / "benchmarks/explain_program"]
    programs: list[tuple[str, list[Any], bool, list[str]]] = []
    for causes, start, prefix, has_stacks in (
        (CAUSES, in_cpp, "", False),
        (PYTHON_CAUSES, in_python, "Python: ", False),
        (STACK_CAUSES, in_cpp, "Stacks: ", True),
        (PYTHON_STACK_CAUSES, in_python, "Stacks, Python: ", True),
    ):
        programs.extend((prefix + cause, [*start, cause], has_stacks, words) for cause, words in causes.items())
    for cause, program, has_stacks, words in programs:
        if options.only not in cause:
            continue
        first = close = alarms = false_alarms = 0
        wrong: list[str] = []
        with tempfile.TemporaryDirectory() as folder:
            for run in range(options.runs):
                frames, why = explain(
                    options, folder, program, has_stacks=has_stacks, strength_ms=strengths.uniform(4, 12), seed=run
                )
                finding: dict[str, Any] = {"text": "nothing stands out", "share": 0.0}
                if why["findings"]:
                    finding = why["findings"][0]
                is_named = all(word in finding["text"] for word in words)
                first += is_named
                if is_named:
                    true_share = excess_of([frame.added for frame in frames], why) / float(why["excess_ns"])
                    error = finding["share"] - true_share
                    close += abs(error) <= 0.1
                    if abs(error) > 0.1:
                        wrong.append(f"share off by {error:.2f}")
                else:
                    wrong.append(finding["text"])
                frames, why = explain(options, folder, program, has_stacks=has_stacks, strength_ms=0, seed=run)
                if why["findings"]:
                    alarms += 1
                    is_true = is_confirmed(frames, why)
                    false_alarms += not is_true
                    texts = "; ".join(f"{one['text']} {one['share']:.0%}" for one in why["findings"])
                    verdict = "confirmed" if is_true else "false"
                    wrong.append(f"without: {verdict}: {why['excess_ns'] / 1e6:.2f} ms: {texts}")
        print(
            f"| {cause} | {first} of {options.runs} | {close} of {options.runs} | {alarms} of {options.runs} "
            f"| {false_alarms} of {options.runs} |",
            flush=True,
        )
        for text in wrong:
            print(f"    {text}", flush=True)


if __name__ == "__main__":
    main()
