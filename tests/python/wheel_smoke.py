"""Asks an installed package whether it is whole: it records and reads, and a compiler finds what it needs."""

from __future__ import annotations

import ctypes
import importlib.metadata
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import urllib.request
from pathlib import Path

import kymograph as kymo

PROGRAM = """
import kymograph as kymo
assert kymo.enable()
"""

CALLS = """
class Point:
    def __init__(self, x):
        self.x = x

    def __getitem__(self, index):
        return self.x

def step(i):
    return Point(i)[0]

for i in range(1000):
    step(i)
"""


def check_calls(command: Path, folder: Path) -> None:
    """Record every function of a script: each interpreter has its own way of running those that are hot."""
    script, capture = folder / "calls.py", folder / "calls.kymo"
    script.write_text(CALLS)
    subprocess.run([sys.executable, "-m", "kymograph", "record", "-q", "-o", capture, script], check=True)
    told = subprocess.run([command, "stats", "--json", capture], capture_output=True, text=True, check=True).stdout
    counts = {site["line"]: site["count"] for site in json.loads(told)["sites"] if site["file"] == str(script)}
    assert counts == {1: 1, 2: 1, 3: 1000, 6: 1000, 9: 1000}, counts


def check_reading(capture: Path) -> None:
    """Read a capture in Python, whose extension is another than the one that records."""
    assert len(kymo.open(str(capture)).spans) > 0


def check_page(command: Path, capture: Path) -> None:
    """Let `kymo serve` show the capture: the page comes with the package."""
    serving = [command, "serve", "--listen", "127.0.0.1:0", capture]
    with subprocess.Popen(serving, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            url = next(word for line in server.stdout for word in line.split() if word.startswith("http://"))
            with urllib.request.urlopen(url, timeout=30) as page:
                assert b"kymo" in page.read()
        finally:
            server.terminate()


def main() -> None:
    package = Path(kymo.__file__).parent
    version = importlib.metadata.version("kymograph")
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
        check_calls(command, Path(folder))
        check_reading(Path(folder) / "calls.kymo")
        if (package / "share" / "kymo" / "web").is_dir():
            check_page(command, capture)
    sys.stdout.write(f"kymograph {version} in {package}\n")


if __name__ == "__main__":
    main()
