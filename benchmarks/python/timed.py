"""Run main() of a program beside this file, and write the CPU time of its thread in seconds.

Command line: timed.py PROGRAM [ARGUMENT...]
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
program = importlib.import_module(sys.argv[1])
del sys.argv[1]
begin = time.thread_time()
program.main()
seconds = time.thread_time() - begin
Path(os.environ["KYMO_BENCHMARK_TIME"]).write_text(str(seconds), encoding="utf-8")
