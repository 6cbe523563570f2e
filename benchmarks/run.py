#!/usr/bin/env python3
"""Run the benchmarks and print each figure beside its goal.

    benchmarks/run.py BUILD [--only WORD] [OPTION...]

BUILD is a build folder in which the target `benchmarks` was built. --only runs the programs whose name contains the
word ("scope", "bookkeeping", "lock", "capture", "export", "panel", "gpu", "sampling", "size"). --seconds=N shortens the
long runs, --scopes=N the generated capture.

Every figure is the median of its repetitions, behind it the least and the greatest. Ends with 1 where a benchmark
failed, such as one whose recorded and dropped events did not add up to those issued. A missed goal is no failure.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import size_and_compile

# A benchmark, its counter, what it says, the goal, in what unit, and what is told beside it.
# fmt: off
FIGURES = [
    ("paced/one_thread", "ratio", "recorded scope, one thread at 20 M/s, over a pair of timer reads", "<=", 1.03, "x",
     ["scope_ns", "pair_ns", "million_per_s"]),
    ("paced/two_threads", "ratio", "recorded scope, two threads at 10 M/s each, over a pair", "<=", 1.10, "x",
     ["scope_ns", "pair_ns", "million_per_s"]),
    ("many_threads", "ratio", "300 threads at 50,000 scopes/s each, over a pair", "", None, "x",
     ["scope_ns", "pair_ns", "million_per_s"]),
    ("bursts", "ratio", "recorded scope, unpaced bursts that fit the pool, over a pair", "<=", 1.03, "x",
     ["scope_ns", "pair_ns"]),
    ("bookkeeping", "scope_ns", "bookkeeping alone, without clock reads", "<=", 2.5, "ns", []),
    ("bookkeeping/throwing", "scope_ns", "the same around a body that may throw", "<=", 1.6, "ns", ["loop_ns"]),
    ("site", "bytes", "code of a site around a body that may throw", "<=", 250, "B", ["cold_bytes"]),
    ("unpaced", "ratio", "unpaced to a file, wall time over a pair", "<=", 1.3, "x",
     ["share_recorded", "million_recorded_per_s", "cpu_ratio"]),
    ("collector", "collector_ns", "collector, CPU a scope at 20 M/s", "<=", 9, "ns",
     ["million_per_s", "bytes_per_scope"]),
    ("collector/generated_shape", "collector_ns", "the same, 40 random sites up to 6 deep", "<=", 16, "ns",
     ["million_per_s", "bytes_per_scope"]),
    ("disabled", "scope_ns", "disabled scope over an empty loop", "<", 0.6, "ns", []),
    ("left_out", "scope_ns", "scope that KYMO_SITES leaves out, within a recorded one, over a loop", "<=", 1.5, "ns",
     []),
    ("left_out", "outermost_ns", "the same outside recorded ones", "<=", 1.5, "ns", []),
    ("idle", "cpu_percent", "the collector beside 4,000 idle threads, of a core", "<", 0.3, "%", []),
    ("idle/ticking", "cpu_percent", "the same where one thread records ten scopes a second", "<", 1, "%", []),
    ("arguments", "ratio", "two integer arguments over a scope without", "<=", 1.25, "x", ["with_ns", "without_ns"]),
    ("frame_mark", "each_ns", "frame_mark", "<=", 40, "ns", []),
    ("record_metric", "each_ns", "record_metric", "<=", 40, "ns", []),
    ("lock", "ratio", "Lockable, uncontended, over a bare mutex and two scopes", "<=", 1.0, "x",
     ["added_ns", "mutex_ns", "scope_ns"]),
    ("lock/by_place", "ratio", "the same where the place that locks is told", "<=", 1.0, "x", ["added_ns"]),
    ("lock/off", "added_ns", "Lockable while nothing is recorded, over a bare mutex", "", None, "ns", ["mutex_ns"]),
    ("fiber", "ratio", "fiber_enter and fiber_leave, over a scope", "", None, "x", ["switch_ns", "scope_ns"]),
    ("fiber", "scope_ratio", "a scope in a fiber, over one outside", "<=", 1.02, "x", []),
    ("fiber/off", "switch_ns", "fiber_enter and fiber_leave while nothing is recorded", "", None, "ns", []),
    ("size/lz4", "bytes_per_scope", "on disk as recorded (lz4)", "<=", 4.1, "B", ["writing_ns"]),
    ("size/zstd", "bytes_per_scope", "on disk repacked (zstd)", "<=", 3.3, "B", ["repacking_ns"]),
    ("decode", "million_per_s", "statistics from every event, scopes a CPU second", ">=", 60, "M/s",
     ["scopes", "wall_ms"]),
    ("decode", "peak_mb", "memory of that", "<", 256, "MB", []),
    ("tree", "million_per_s", "the call tree from every event, scopes a CPU second", ">=", 20, "M/s",
     ["scopes", "wall_ms"]),
    ("tree", "peak_mb", "memory of that", "<", 512, "MB", []),
    ("overview", "wall_ms", "a first overview from summaries", "<", 200, "ms", ["cpu_ms", "peak_mb"]),
    ("export/chrome", "mb_per_s", "export to Chrome JSON, a CPU second", ">=", 150, "MB/s",
     ["million_per_s", "bytes_per_scope"]),
    ("export/perfetto", "million_per_s", "export to a Perfetto trace, spans a CPU second", ">=", 3, "M/s",
     ["mb_per_s", "bytes_per_scope"]),
    ("export/csv_spans", "million_per_s", "export to CSV, spans a CPU second", "", None, "M/s", ["mb_per_s"]),
    ("panel/first_picture", "wall_ms", "the panel's first picture of the whole capture", "<=", 50, "ms", []),
    ("panel/statistics/whole", "first_ms", "the first statistics of a range on its screen, of almost everything",
     "<=", 300, "ms", ["whole_ms"]),
    ("panel/statistics/whole", "memory_mb", "memory of the process until they are whole, without the file's pages",
     "<=", 256, "MB", []),
    ("panel/statistics/tenth", "first_ms", "the first statistics of a tenth", "<=", 300, "ms", ["whole_ms"]),
    ("panel/whole", "cpu_ms", "a panel frame while the whole capture moves, 1920x1080", "<=", 2, "ms", ["vertices"]),
    ("panel/tenth", "cpu_ms", "the same over a tenth of it", "<=", 2, "ms", ["vertices"]),
    ("panel/thousandth", "cpu_ms", "the same over a thousandth", "<=", 2, "ms", ["vertices"]),
    ("panel/closest", "cpu_ms", "the same over a hundred thousandth", "<=", 2, "ms", ["vertices"]),
    ("panel/idle", "cpu_ms", "a panel frame while nothing moves", "<=", 0.3, "ms", ["vertices"]),
    ("panel/follow_file", "age_ms", "age of the newest frame on screen at worst, a file that grows by 1 M scopes/s",
     "<", 250, "ms", ["cpu_ms"]),
    ("panel/follow_file", "memory_mb", "memory of that, with 32 MiB kept", "<", 128, "MB", []),
    ("panel/follow_file", "ratio", "a scope of the program that is followed, over one that nobody follows",
     "<=", 1.05, "x", ["followed_ns", "alone_ns"]),
    ("panel/follow_itself", "age_ms", "age of the newest frame on screen at worst, in a program with 1 M scopes/s",
     "<", 250, "ms", ["cpu_ms"]),
    ("panel/follow_itself", "memory_mb", "memory of that, with 32 MiB kept twice", "<", 192, "MB", []),
    ("panel/follow_itself", "ratio", "a scope of the program with the panel, over one without",
     "<=", 1.05, "x", ["followed_ns", "alone_ns"]),
    ("gpu_opengl", "extra_ns", "a GPU scope of OpenGL, CPU beyond the API's calls", "<=", 1000, "ns",
     ["scope_ns", "calls_ns"]),
    ("gpu_cuda", "extra_ns", "a GPU scope of CUDA, CPU beyond the API's calls", "<=", 1000, "ns",
     ["scope_ns", "calls_ns"]),
    ("gpu_vulkan", "extra_ns", "a GPU scope of Vulkan, CPU beyond the API's calls", "<=", 1000, "ns",
     ["scope_ns", "calls_ns"]),
    ("start", "enable_ms", "kymo::enable() with KYMO_RECORD, on the calling thread", "<=", 3, "ms",
     ["enable_unsampled_ms"]),
    ("start", "child_ms", "a forked child's first event", "<=", 3, "ms", ["child_unsampled_ms"]),
    ("size", "library_kb", "libkymo, stripped", "<=", 400, "KB", []),
    ("size", "added_kb", "the recorder in a stripped program", "<", 400, "KB", []),
    ("sampling", "cpu_percent", "sampling at 1000, 100 and 10 Hz, of a core", "<", 3, "%",
     ["with_collector_percent", "values_per_tick", "missed", "growth_mb"]),
    ("sampling", "ratio", "the same with the collector over a bare loop of preads", "<=", 1.15, "x", ["bare_percent"]),
    ("lateness/unprivileged", "p99_ratio", "lateness of a 1 kHz sample, p99, over a thread that only sleeps",
     "<=", 1.5, "x", ["p99_us", "bare_p99_us", "p50_us", "p99_9_us", "missed"]),
    ("lateness/permitted", "p99_9_us", "the same, p99.9, SCHED_FIFO where permitted", "<", 150, "us",
     ["bare_p99_9_us", "p50_us", "p99_us"]),
    ("samples_on_disk", "bytes_per_dozen", "a dozen 1 kHz metrics on disk, one sample of all", "<=", 16, "B",
     ["bytes_per_value", "values_per_tick"]),
    ("switches", "added_ns", "a context switch that `kymo record` observes, over one that nobody does", "", None, "ns",
     ["bare_ns", "reading_ns"]),
    ("compile", "added_ms", "#include <kymo/kymo.hpp>, CPU time of the compiler", "<=", 60, "ms", ["empty_ms"]),
    ("compile", "added_cxx20_ms", "the same in C++20", "<=", 100, "ms", ["empty_cxx20_ms"]),
]
# fmt: on

# Figures that hold only where nothing was dropped.
WITHOUT_DROPS = {
    "paced/one_thread",
    "paced/two_threads",
    "bursts",
    "collector",
    "bookkeeping",
    "bookkeeping/throwing",
    "many_threads",
    "arguments",
    "frame_mark",
    "record_metric",
}


def run_program(path, options, results, failures):
    """Run a Google Benchmark program and gather {benchmark: {counter: [value of each repetition]}}."""
    with tempfile.TemporaryDirectory(prefix="kymo-bench-") as folder:
        output = os.path.join(folder, "results.json")
        command = [
            path,
            *options,
            f"--benchmark_out={output}",
            "--benchmark_out_format=json",
            "--benchmark_display_aggregates_only=true",
        ]
        if subprocess.run(command, check=False).returncode != 0:
            failures.append(f"{os.path.basename(path)} failed")
            return
        with open(output, encoding="utf-8") as file:
            report = json.load(file)
    for entry in report["benchmarks"]:
        if entry.get("run_type") == "aggregate":
            continue
        name = entry["run_name"].split("/iterations")[0].split("/repeats")[0].split("/manual")[0]
        if entry.get("error_occurred"):
            failures.append(f"{name}: {entry.get('error_message', 'failed')}")
            continue
        counters = results.setdefault(name, {})
        for key, value in entry.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                counters.setdefault(key, []).append(value)


def meets(value, comparison, goal):
    return {"<=": value <= goal, "<": value < goal, ">=": value >= goal}[comparison]


def number(value):
    for least, digits in ((1000, 0), (100, 1), (10, 2)):
        if abs(value) >= least:
            return f"{value:,.{digits}f}"
    return f"{value:.3g}" if abs(value) < 0.1 else f"{value:.3f}"


def row_of(figure, results):
    name, counter, what, comparison, goal, unit, beside = figure
    counters = results.get(name, {})
    values = counters.get(counter)
    if not values:
        return None
    value = statistics.median(values)
    spread = f"{number(min(values))} to {number(max(values))}" if len(values) > 1 else ""
    notes = [f"{key} {number(statistics.median(counters[key]))}" for key in beside if key in counters]
    dropped = sum(counters.get("dropped", []))
    if "dropped" in counters:
        of_all = f" of {sum(counters['issued']):,.0f}" if "issued" in counters else ""
        notes.append(f"dropped {dropped:,.0f}{of_all}")
    verdict = ""
    if goal is not None:
        is_met = meets(value, comparison, goal) and not (name in WITHOUT_DROPS and dropped > 0)
        verdict = "met" if is_met else "MISSED"
    goal_text = f"{comparison} {goal:g} {unit}" if goal is not None else ""
    return [what, f"{number(value)} {unit}", spread, goal_text, verdict, ", ".join(notes)]


def print_table(rows):
    head = ["figure", "measured", "least to most", "goal", "", "beside it"]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, ["-" * width for width in widths], *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    release = os.uname()
    return f"{model}, {os.cpu_count()} CPUs, {release.sysname} {release.release}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--scopes", type=int)
    arguments = parser.parse_args()
    with open(os.path.join(arguments.build, "benchmarks", "built.json"), encoding="utf-8") as file:
        built = json.load(file)
    options = {
        "scope_benchmark": [f"--seconds={arguments.seconds}"] if arguments.seconds else [],
        "sampling_benchmark": [f"--seconds={arguments.seconds}"] if arguments.seconds else [],
        "capture_benchmark": [f"--scopes={arguments.scopes}"] if arguments.scopes else [],
        "panel_benchmark": [f"--scopes={arguments.scopes}"] if arguments.scopes else [],
    }
    results, failures = {}, []
    load_before = os.getloadavg()[0]
    if arguments.only in "size_and_compile":
        results.update(size_and_compile.measure(built))
    for program in built["programs"]:
        name = os.path.basename(program)
        if arguments.only in name:
            run_program(program, options.get(name, []), results, failures)
    rows = [row for row in (row_of(figure, results) for figure in FIGURES) if row]
    print(f"\n{machine()}; load average {load_before:.1f} before, {os.getloadavg()[0]:.1f} after\n")
    print_table(rows)
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
