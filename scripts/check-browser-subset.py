#!/usr/bin/env python3
"""Checks that the code shared with the browser build compiles with libc++ 13, the C++ library of Emscripten 3.1.6.

    scripts/check-browser-subset.py [JOBS]

Compiles the sources of src/capture, src/timeline, src/stats and src/panel, syntax only, with Clang and libc++ 13.
Sources that use the recorder (they include "record/...") never run in a browser and are left out. Ends with 1 if one
does not compile.
"""

import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = ("capture", "timeline", "stats", "panel")
IMGUI = "/usr/include/imgui"
LIBCXX = "/usr/lib/llvm-13/include/c++/v1"


def shared_sources():
    for folder in FOLDERS:
        for path in sorted(glob.glob(f"{ROOT}/src/{folder}/**/*.cpp", recursive=True)):
            with open(path, encoding="utf-8") as source:
                if not re.search(r'^#include "record/', source.read(), re.MULTILINE):
                    yield path


def compile_source(compiler, path):
    command = [
        compiler,
        "-std=c++20",
        "-fsyntax-only",
        "-nostdinc++",
        "-isystem",
        LIBCXX,
        "-isystem",
        IMGUI,
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{ROOT}/include",
        f"-I{ROOT}/src",
        path,
    ]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return result.returncode, result.stderr


def main():
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else os.cpu_count()
    compiler = shutil.which("clang++-14") or shutil.which("clang++")
    if compiler is None or not os.path.isdir(LIBCXX):
        print(f"clang++ and {LIBCXX} (Debian: clang, libc++-13-dev) are needed for this check", file=sys.stderr)
        return 1
    sources = list(shared_sources())
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        compiled = pool.map(lambda path: compile_source(compiler, path), sources)
        for path, (status, text) in zip(sources, compiled, strict=True):
            if status != 0:
                failures += 1
                print(f"{os.path.relpath(path, ROOT)} does not compile against libc++ 13:\n{text}", file=sys.stderr)
    print(f"{len(sources) - failures} of {len(sources)} sources compile against libc++ 13")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
