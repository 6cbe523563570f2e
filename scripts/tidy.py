#!/usr/bin/env python3
"""Run clang-tidy over all sources that a build compiles.

    tidy.py CLANG_TIDY BUILD_FOLDER [JOBS]

Most of its time goes to what every file includes, so the files of a folder are looked at together first, and one by one
if that finds something or they do not compile together. Prints the findings; ends with 1 if there are any.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MOST_TOGETHER = 12
FINDING = re.compile(r"^[^\s:]+:\d+:\d+: (?:warning|error): ", re.MULTILINE)


def groups(build: Path) -> list[tuple[list[str], list[str]]]:
    """Files of one folder that are compiled alike, and how. What other people wrote is theirs."""
    once = {}
    for command in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        if "/build/peers/" not in command["file"]:
            once.setdefault(command["file"], command)
    alike = defaultdict(list)
    for file, command in sorted(once.items()):
        words = shlex.split(command["command"])
        flags = [word for word in words[1:] if word not in (file, "-c") and not word.endswith(".o")]
        flags = [word for word in flags if word not in ("-o", "-Werror")]
        alike[os.path.dirname(file), Path(file).suffix, tuple(flags)].append(file)
    pieces = []
    for (_, _, flags), files in alike.items():
        for begin in range(0, len(files), MOST_TOGETHER):
            pieces.append((files[begin : begin + MOST_TOGETHER], list(flags)))
    return sorted(pieces, key=lambda piece: -len(piece[0]))


def tidy(program: str, source: str, flags: list[str]) -> str:
    """Return what clang-tidy says of one source."""
    command = [program, "-quiet", source, "--", *flags, "-w"]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout


def look_at(program: str, build: Path, number: int, files: list[str], flags: list[str]) -> str:
    """Return what it says of the files of a group."""
    if len(files) > 1:
        joined = build / "joined" / f"{number}{Path(files[0]).suffix}"
        joined.write_text("".join(f'#include "{file}"\n' for file in files), encoding="utf-8")
        if not FINDING.search(tidy(program, str(joined), flags)):
            return ""
    return "".join(tidy(program, file, flags) for file in files)


def main() -> int:
    """Print each finding once."""
    program, build = sys.argv[1], Path(sys.argv[2])
    jobs = int(sys.argv[3]) if len(sys.argv) > 3 else os.cpu_count()
    (build / "joined").mkdir(exist_ok=True)
    pieces = groups(build)
    with ThreadPoolExecutor(jobs) as pool:
        said = pool.map(lambda piece: look_at(program, build, piece[0], *piece[1]), enumerate(pieces))
    known = set()
    is_shown = False
    for line in "".join(said).splitlines():
        match = FINDING.match(line)
        if match:
            is_shown = line not in known
            known.add(line)
        if is_shown:
            print(line)
    return 1 if known else 0


if __name__ == "__main__":
    sys.exit(main())
