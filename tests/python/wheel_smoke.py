"""Asks an installed package whether it is whole: it records, its command reads, a compiler finds what it needs."""

from __future__ import annotations

import ctypes
import importlib.metadata
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import kymo

PROGRAM = """
import kymo
assert kymo.enable()
"""


def main() -> None:
    package = Path(kymo.__file__).parent
    version = importlib.metadata.version("kymo")
    header = Path(kymo.get_include()) / "kymo" / "kymo.h"
    assert header.is_file(), header
    library = ctypes.CDLL(kymo.get_library())
    library.kymo_version.restype = ctypes.c_char_p
    assert library.kymo_version().decode() == version
    assert Path(kymo.get_library()).is_relative_to(package)

    scripts = [sysconfig.get_path("scripts"), str(package.parent / "bin")]
    command = next(path for path in (Path(folder) / "kymo" for folder in scripts) if path.is_file())
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
    assert version in said, said

    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "out.kymo"
        subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, "KYMO_RECORD": str(capture)}, check=True)
        told = subprocess.run([command, "info", "--json", capture], capture_output=True, text=True, check=True).stdout
        assert json.loads(told), told
    sys.stdout.write(f"kymo {version} in {package}\n")


if __name__ == "__main__":
    main()
