"""Reads captures with kymo's command, which is proven elsewhere."""

from __future__ import annotations

import collections
import contextlib
import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from kymograph._paths import get_command

# Runs the scripts of tests that record. It may be another Python than the tests' own, which reads what was recorded.
INTERPRETER = os.environ.get("KYMO_TEST_INTERPRETER", sys.executable)
_TELL = """
import json, sys, sysconfig
print(json.dumps([sys.version_info[:2], sysconfig.get_paths()["include"], sysconfig.get_config_var("EXT_SUFFIX")]))
"""
_version, HEADERS, EXTENSION_SUFFIX = json.loads(subprocess.check_output([INTERPRETER, "-c", _TELL], text=True))
VERSION: tuple[int, int] = tuple(_version)


def environment_of_programs() -> dict[str, str]:
    """Return this one without the sanitizer's library that the interpreter was given: programs have their own."""
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


def run_command(
    *arguments: str | os.PathLike[str], statuses: tuple[int, ...] = (0,)
) -> subprocess.CompletedProcess[str]:
    """Run kymo's command, which must end with one of these statuses."""
    done = subprocess.run(
        [get_command(), *arguments],
        env=environment_of_programs(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode in statuses, done.stderr
    return done


def command(*arguments: str | os.PathLike[str]) -> str:
    """Return what kymo's command prints."""
    return run_command(*arguments).stdout


def info_of(*captures: str | Path) -> dict[str, Any]:
    """Return what ``kymo info`` says."""
    answer: dict[str, Any] = json.loads(command("info", "--check", "--json", *captures))
    return answer


def spools_of(captures: Path) -> list[Path]:
    """Return what killed processes left in shared memory of a capture, or of the captures in a folder."""
    name = os.fsencode(captures)
    found = []
    for spool in Path("/dev/shm").glob("kymo-*.spool"):
        with contextlib.suppress(FileNotFoundError), spool.open("rb") as file:
            if name in file.read(4096):
                found.append(spool)
    return found


def sites_of(*captures: str | Path) -> dict[str, int]:
    """Return how often each site or span was recorded, by name."""
    answer = json.loads(command("stats", "--json", *captures))
    counts: collections.Counter[str] = collections.Counter()
    for site in answer["sites"]:
        counts[site["name"]] += site["count"]
    return dict(counts)


def functions_of(capture: Path, module: str = "__main__") -> dict[str, int]:
    """Names of a module's functions and how often each was called."""
    prefix = f"{module}."
    return {name.removeprefix(prefix): n for name, n in sites_of(capture).items() if name.startswith(prefix)}


def stats_of(*captures: str | Path) -> dict[str, Any]:
    """Return what ``kymo stats`` says."""
    answer: dict[str, Any] = json.loads(command("stats", "--json", *captures))
    return answer


def rows_of(capture: str | Path, table: str) -> list[dict[str, str]]:
    """Return the rows that ``kymo export --to csv-<table>`` writes."""
    text = command("export", "--to", f"csv-{table}", "-o", "/dev/stdout", capture)
    return list(csv.DictReader(io.StringIO(text)))


def places_of(*captures: str | Path) -> dict[str, tuple[str, int]]:
    """Return where each site stands, by name."""
    answer = json.loads(command("stats", "--json", *captures))
    return {site["name"]: (site["file"], site["line"]) for site in answer["sites"]}
