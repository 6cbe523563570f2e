#!/usr/bin/env python3
"""Checks that the panel compiles with a current release of Dear ImGui and without its obsolete functions.

    scripts/check-imgui-release.py [FOLDER]

FOLDER contains imgui.h; by default it is the one that scripts/peers.sh unpacked. Compiles the panel's sources together,
syntax only. Ends with 1 if they do not compile.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def find_release():
    if len(sys.argv) > 1:
        return sys.argv[1]
    found = glob.glob(f"{ROOT}/build/peers/headers/**/imgui.h", recursive=True)
    return os.path.dirname(found[0]) if found else None


def main():
    folder = find_release()
    compiler = shutil.which("clang++-14") or shutil.which("clang++") or shutil.which("g++")
    if folder is None or compiler is None:
        print("there is no release of Dear ImGui to compile against: scripts/peers.sh unpacks one", file=sys.stderr)
        return 1
    with open(f"{folder}/imgui.h", encoding="utf-8") as header:
        version = re.search(r'#define IMGUI_VERSION\s+"([^"]+)"', header.read())[1]
    sources = sorted(glob.glob(f"{ROOT}/src/panel/**/*.cpp", recursive=True))
    command = [
        compiler,
        "-std=c++20",
        "-fsyntax-only",
        "-isystem",
        folder,
        "-DIMGUI_DISABLE_OBSOLETE_FUNCTIONS",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{ROOT}/include",
        f"-I{ROOT}/src",
        "-x",
        "c++",
        "-",
    ]
    together = "".join(f'#include "{source}"\n' for source in sources)
    if subprocess.run(command, input=together, text=True, check=False).returncode != 0:
        print(f"the panel does not compile against Dear ImGui {version}", file=sys.stderr)
        return 1
    print(f"the panel's {len(sources)} sources compile against Dear ImGui {version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
