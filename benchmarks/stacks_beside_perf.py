"""What sampling costs a program and what it finds, beside perf, in turns on one machine.

    stacks_beside_perf.py BUILD [--rounds N] [--only PART] [--command TEXT]

The first part is the CPU time that a program takes for the same work by its own clock, recorded and not: the least of
the rounds, since all else that a machine does only adds. The second is the time of a switch between two threads. The
third compares functions' shares of a command's samples; two recordings by perf show what chance does.
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import re
import shlex
import subprocess
import tempfile

RATE = "999"
DEFAULT_COMMAND = [
    "sqlite3",
    ":memory:",
    "with recursive c(x) as (select 1 union all select x+1 from c where x<4000000) select count(distinct x%99) from c",
]


def recorders(kymo: str, folder: str) -> dict[str, list[str]]:
    """Return what stands before a command to record it."""
    perf = ["perf", "record", "-q", "-o", f"{folder}/perf.data", "-e", "cpu-clock", "-F", RATE]
    kymo_record = [kymo, "record", "-q", "--hz", "0", "-o", f"{folder}/run.kymo"]
    return {
        "alone": [],
        "kymo, states": kymo_record,
        "kymo, stacks": [*kymo_record, f"--stacks={RATE}", "--threads", "off"],
        "kymo, states and stacks": [*kymo_record, f"--stacks={RATE}"],
        "perf, switches": ["perf", "record", "-q", "-o", f"{folder}/perf.data", "-e", "dummy:u", "--switch-events"],
        "perf, frame pointers": [*perf, "--call-graph", "fp"],
        "perf, copies of 8 KiB": [*perf, "--call-graph", "dwarf"],
        "perf, copies of 32 KiB": [*perf, "--call-graph", "dwarf,32768"],
    }


def output_of(command: list[str]) -> str:
    """Run a command that must end well and return what it printed."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def clean(folder: str) -> None:
    """Remove recordings, which would not be overwritten."""
    for path in pathlib.Path(folder).iterdir():
        path.unlink()


def least_values(kymo: str, rounds: int, command: list[str], value_pattern: str) -> dict[str, float]:
    """Return the least sum of what the command prints after the pattern, for each recorder, taken in turns."""
    least: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name, before in recorders(kymo, folder).items():
                clean(folder)
                printed = output_of([*before, *(["--"] if before else []), *command])
                value = sum(float(number) for number in re.findall(value_pattern, printed))
                least[name] = min(value, least.get(name, value))
    return least


def print_costs(title: str, unit: str, least: dict[str, float]) -> None:
    """Print each recorder's value and what it adds."""
    print(f"\n{title}")
    for name, value in least.items():
        print(f"  {name:26} {value:10.2f} {unit}  {100 * (value / least['alone'] - 1):+6.2f} %")


def plain_name(name: str) -> str:
    """Return a function's name without what the tools write differently: version, parameters, types of a template."""
    name = re.sub("[(<].*", "", name.replace("(anonymous namespace)::", ""))
    return name.split("@")[0].strip().split(" ")[-1]


def shares_of_kymo(kymo: str, folder: str, command: list[str]) -> dict[str, float]:
    """Return each function's share of the samples in percent."""
    # Without run states and waits, which perf does not record either: they would add work of the kernel.
    recording = [kymo, "record", "-q", "--hz", "0", f"--stacks={RATE}", "--threads", "off"]
    output_of([*recording, "-o", f"{folder}/run.kymo", "--", *command])
    found = json.loads(output_of([kymo, "stats", "--functions", "--json", f"{folder}/run.kymo"]))
    shares: dict[str, float] = collections.defaultdict(float)
    for row in found["functions"]:
        shares[plain_name(row["name"])] += 100 * row["self_share"]
    return shares


def shares_of_perf(folder: str, command: list[str]) -> dict[str, float]:
    """Return the same by perf; places without a symbol are left out."""
    data = f"{folder}/perf.data"
    output_of(["perf", "record", "-q", "-o", data, "-e", "cpu-clock", "-F", RATE, "-g", "--", *command])
    report = output_of(["perf", "report", "-i", data, "--stdio", "--no-children", "-g", "none", "-F", "overhead,sym"])
    shares: dict[str, float] = collections.defaultdict(float)
    for share, name in re.findall(r"^\s*([\d.]+)%\s+\[[.k]\]\s+(.+?)\s*$", report, re.MULTILINE):
        if not name.startswith("0x"):
            shares[plain_name(name)] += float(share)
    return shares


def print_shares(kymo: str, command: list[str]) -> None:
    """Print the shares of the functions that have most."""
    with tempfile.TemporaryDirectory() as folder:
        ours = shares_of_kymo(kymo, folder, command)
        first = shares_of_perf(folder, command)
        second = shares_of_perf(folder, command)
    print(f"\nshares of functions of {command[0]}, in %\n  {'function':40} {'kymo':>6} {'perf':>6} {'perf':>6}")
    for name in sorted(first, key=lambda name: -first[name])[:10]:
        print(f"  {name[:40]:40} {ours.get(name, 0):6.1f} {first[name]:6.1f} {second.get(name, 0):6.1f}")


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", choices=["cost", "switches", "shares"])
    parser.add_argument("--command", type=shlex.split, default=DEFAULT_COMMAND, help="whose functions' shares")
    options = parser.parse_args()
    kymo = str(options.build / "apps" / "kymo" / "kymo")
    if options.only in (None, "cost"):
        program = [str(options.build / "tests" / "command" / "stacks_program"), "200"]
        least = least_values(kymo, options.rounds, program, r"shop::\w+ (\d+)")
        print_costs("CPU time of the same work", "ms", {name: value / 1e6 for name, value in least.items()})
    if options.only in (None, "switches"):
        # On one CPU, so that how long another one takes to wake up does not count.
        program = ["taskset", "-c", "0", "perf", "bench", "sched", "pipe", "-T", "-l", "100000"]
        least = least_values(kymo, options.rounds, program, r"([\d.]+) usecs/op")
        print_costs("a byte sent to another thread and back", "us", least)
    if options.only in (None, "shares"):
        print_shares(kymo, options.command)


if __name__ == "__main__":
    main()
