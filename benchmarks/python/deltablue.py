"""The constraint solver DeltaBlue, as pyperformance has it: small objects, and methods of a few lines.

Needs the package pyperformance. Command line: how often to run it, and the length of its chains of constraints.
"""

from __future__ import annotations

import importlib.resources
import importlib.util
import sys
from types import ModuleType


def load() -> ModuleType:
    benchmarks = importlib.resources.files("pyperformance") / "data-files" / "benchmarks"
    with importlib.resources.as_file(benchmarks / "bm_deltablue" / "run_benchmark.py") as path:
        spec = importlib.util.spec_from_file_location("deltablue", path)
        assert spec is not None
        assert spec.loader is not None
        found = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
    return found


program = load()


def main() -> None:
    for _ in range(int(sys.argv[1])):
        program.delta_blue(int(sys.argv[2]))


if __name__ == "__main__":
    main()
