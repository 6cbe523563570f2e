#!/usr/bin/env python3
"""Compare what recording costs in Python.

    benchmarks/python_benchmark.py BUILD [--rounds N]

BUILD is a build folder in which the target `kymo_python` was built. Run it with the interpreter that it was built for,
which has vor-profile, viztracer, nvtx and pyperformance: build/peers/bin/python3 for `dev` and `release`; that of a
wheel, with its folder in build/wheel. Each recorder runs in a process of its own, one after the other, several times
over; figures are medians of CPU times, as Markdown. A recorder whose output lacks a single scope makes it end with 1. A
missed goal is no failure.
"""

from __future__ import annotations

import argparse
import collections
import csv
import importlib.metadata
import io
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent / "python"
PROGRAMS = {"deltablue": ["60", "100"], "json_parser": ["4000"], "pidigits": ["60", "200"]}
CALLS = 5000


class Bench:
    def __init__(self, build: Path, folder: Path) -> None:
        self.command = build / "apps" / "kymo" / "kymo"
        self.folder = folder
        self.failures: list[str] = []
        quiet = {name: value for name, value in os.environ.items() if not name.startswith(("KYMO_", "VOR_"))}
        self.environment = {**quiet, "PYTHONPATH": str((build / "python").absolute()), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, *arguments: str | Path) -> str:
        done = subprocess.run(
            [*map(str, arguments)], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True, check=True
        )
        return done.stdout

    def counts(self, capture: Path) -> dict[str, int]:
        """Return how often each site is in a capture; complains where one was dropped."""
        info = json.loads(self.run(self.command, "info", "--json", capture))
        dropped = sum(track["dropped_scopes"] for track in info["tracks"])
        if dropped:
            self.failures.append(f"{capture.name}: {dropped} scopes were dropped")
        sites = json.loads(self.run(self.command, "stats", "--json", capture))["sites"]
        found: collections.Counter[str] = collections.Counter()
        for site in sites:
            found[site["name"]] += site["count"]
        return found

    def expect(self, what: str, found: int, issued: int) -> None:
        if found != issued:
            self.failures.append(f"{what}: {found} of {issued} are in the output")


def chrome_counts(path: Path) -> dict[str, int]:
    with path.open(encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    return collections.Counter(event["name"].split(" (")[0] for event in events if event["ph"] == "X")


def measure_subjects(bench: Bench, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Return, for each recorder and way of recording, what it adds to a call in nanoseconds."""
    results: dict[str, dict[str, list[float]]] = collections.defaultdict(lambda: collections.defaultdict(list))
    inner = 20
    issued = inner * CALLS
    for number in range(rounds):
        for name in ("off", "kymo", "vor", "viztracer", "nvtx"):
            output = bench.folder / f"{name}-{number}.{ {'viztracer': 'json', 'vor': 'vor'}.get(name, 'kymo') }"
            answer = bench.run(sys.executable, HERE / "subject.py", name, output, str(inner), str(CALLS))
            for what, added_ns in json.loads(answer).items():
                results[name][what].append(added_ns)
            if name == "kymo":
                found = bench.counts(output)
                for site in ("__main__.empty", "scope", "scope with argument"):
                    bench.expect(f"kymo, {site}", found.get(site, 0), issued)
                bench.expect("kymo, loss", len(metric_rows(bench, output)), issued)
            elif name == "viztracer":
                found = chrome_counts(output)
                # Those of log_sparse, and those that were traced.
                bench.expect("viztracer, empty", found.get("empty", 0), 2 * issued)
                bench.expect("viztracer, scope", found.get("scope", 0), issued)
            elif name == "vor":
                imported = bench.folder / f"vor-{number}.kymo"
                bench.run(bench.command, "import", "-o", imported, output)
                found = bench.counts(imported)
                bench.expect("vor, empty", found.get("__main__.empty", 0), issued)
                bench.expect("vor, scope", found.get("scope", 0), issued)
            output.unlink(missing_ok=True)
    return results


def metric_rows(bench: Bench, capture: Path) -> list[dict[str, str]]:
    text = bench.run(bench.command, "export", "--to", "csv-metrics", "-o", "/dev/stdout", capture)
    return [row for row in csv.DictReader(io.StringIO(text)) if row["metric"] == "loss"]


def timed_run(bench: Bench, own: Path, *arguments: str | Path) -> tuple[float, float]:
    """Run a program; return the CPU seconds of all its threads and children, and those of main() in its thread."""
    own.unlink(missing_ok=True)
    bench.environment["KYMO_BENCHMARK_TIME"] = str(own)
    begin = os.times()
    bench.run(*arguments)
    end = os.times()
    whole = end.children_user + end.children_system - begin.children_user - begin.children_system
    return whole, float(own.read_text(encoding="utf-8"))


def measure_programs(bench: Bench, rounds: int) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Return, for each program and recorder, seconds of the whole run and of the program in it."""
    results: dict[str, dict[str, list[tuple[float, float]]]] = {}
    own = bench.folder / "own.txt"
    for program, arguments in PROGRAMS.items():
        runs: dict[str, list[tuple[float, float]]] = collections.defaultdict(list)
        script = HERE / "timed.py"
        for number in range(rounds):
            capture = bench.folder / f"{program}-{number}.kymo"
            trace = bench.folder / f"{program}.json"
            runs["plain"].append(timed_run(bench, own, sys.executable, script, program, *arguments))
            record = [sys.executable, "-m", "kymograph", "record", "-q"]
            runs["kymo"].append(timed_run(bench, own, *record, "-o", capture, script, program, *arguments))
            thinned = [*record, "--leaves-every", "16", "-o", bench.folder / f"thinned-{program}-{number}.kymo"]
            runs["thinned"].append(timed_run(bench, own, *thinned, script, program, *arguments))
            peer = [sys.executable, "-m", "viztracer", "--quiet", "--ignore_c_function", "--tracer_entries", "20000000"]
            runs["viztracer"].append(timed_run(bench, own, *peer, "-o", trace, "--", script, program, *arguments))
            standard = [sys.executable, "-m", "cProfile", "-o", bench.folder / "profile"]
            runs["cProfile"].append(timed_run(bench, own, *standard, script, program, *arguments))
            found, expected = bench.counts(capture), chrome_counts(trace)
            # Every function of the program, as often as the peer has it; resumptions of generators too.
            for name, count in expected.items():
                if name.startswith(f"{program}."):
                    bench.expect(f"kymo record, {name}", found.get(name, 0), count)
            runs["calls"] = [(sum(found.values()), 0.0)]
        results[program] = runs
    return results


def median(values: list[float]) -> str:
    return f"{statistics.median(values):,.0f} ns"


def verdict(value: float, goal: float, unit: str) -> list[str]:
    return [f"<= {goal:g} {unit}", "met" if value <= goal else "MISSED"]


def print_table(rows: list[list[str]]) -> None:
    for row in [rows[0], ["---"] * len(rows[0]), *rows[1:]]:
        print(f"| {' | '.join(row)} |")


def subject_rows(results: dict[str, dict[str, list[float]]]) -> list[list[str]]:
    rows = [["added to a call", "kymo", "goal", "", "vor-profile", "viztracer", "nvtx, no tool listening"]]
    for title, name, what, goal in (
        ("`@kymo.profile`, empty function, recording", "kymo", "profile", 80),
        ("the same, off", "off", "profile", 40),
        ("`with kymo.scope`, recording", "kymo", "scope", 150),
        ("the same with an argument", "kymo", "scope with argument", None),
        ("`with kymo.scope`, off", "off", "scope", None),
        ("`record_metric`, recording", "kymo", "metric", 80),
        ("`record_metric`, off", "off", "metric", None),
    ):
        value = statistics.median(results[name][what])
        goals = verdict(value, goal, "ns") if goal is not None else ["", ""]
        peers = ("nvtx",) if name == "off" else ("vor", "viztracer", "nvtx")
        others = [results[peer].get(what, []) if peer in peers else [] for peer in ("vor", "viztracer", "nvtx")]
        rows.append([title, f"{value:,.0f} ns", *goals, *(median(each) if each else "" for each in others)])
    return rows


def program_rows(results: dict[str, dict[str, list[tuple[float, float]]]]) -> list[list[str]]:
    others = ["kymo", "kymo, 1 in 16 calls of leaves", "viztracer", "cProfile"]
    rows = [
        [
            "every function",
            "plain",
            *others,
            "added over viztracer's",
            "run over viztracer's",
            "goal",
            "",
            "thinned over viztracer's",
        ]
    ]
    for program, runs in results.items():
        for part, what in enumerate(("whole run", "the program in it")):
            plain, *recorded = (
                statistics.median(run[part] for run in runs[name])
                for name in ("plain", "kymo", "thinned", "viztracer", "cProfile")
            )
            kymo, thinned, peer, _ = recorded
            title = f"{program}, {int(runs['calls'][0][0]):,} calls: {what}"
            # Runs are alike where the program does much between its calls, whatever a recorder adds.
            added = f"{(kymo - plain) / (peer - plain):.2f} x" if peer > plain else ""
            ratio = kymo / peer
            rows.append(
                [
                    title,
                    f"{plain * 1e3:,.0f} ms",
                    *(f"{seconds / plain:.2f} x" for seconds in recorded),
                    added,
                    f"{ratio:.2f} x",
                    *verdict(ratio, 0.6, "x"),
                    f"{thinned / peer:.2f} x",
                ]
            )
    return rows


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kymo-python-bench-") as folder:
        bench = Bench(arguments.build.absolute(), Path(folder))
        subjects = measure_subjects(bench, arguments.rounds)
        programs = measure_programs(bench, arguments.rounds)
    peers = ("vor-profile", "viztracer", "nvtx")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in peers)
    print(f"\n{processor()}; Python {platform.python_version()}; {versions}; load average {os.getloadavg()[0]:.1f}\n")
    print_table(subject_rows(subjects))
    print()
    print_table(program_rows(programs))
    for failure in bench.failures:
        print(f"FAILED: {failure}")
    return 1 if bench.failures else 0


if __name__ == "__main__":
    sys.exit(main())
