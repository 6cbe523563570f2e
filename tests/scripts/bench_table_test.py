"""What `make bench` prints of the benchmarks' results."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]

PROGRAM = """#!/usr/bin/env python3
import json, sys
path = next(word.split("=", 1)[1] for word in sys.argv if word.startswith("--benchmark_out="))
runs = json.loads({runs!r})
json.dump({{"benchmarks": [{{"run_name": name + "/iterations:1", **run}} for name, run in runs]}}, open(path, "w"))
"""


class BenchTable(unittest.TestCase):
    def table(self, *runs):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "made_up_benchmark"
            program.write_text(PROGRAM.format(runs=json.dumps(runs)))
            program.chmod(0o755)
            built = pathlib.Path(folder) / "benchmarks" / "built.json"
            built.parent.mkdir()
            built.write_text(json.dumps({"programs": [str(program)]}))
            done = subprocess.run(
                [sys.executable, PROJECT / "benchmarks" / "run.py", folder, "--only", "made_up"],
                check=True,
                capture_output=True,
                text=True,
            )
        return done.stdout.splitlines()

    def test_a_figure_is_the_median_of_its_repetitions_beside_its_goal(self):
        lines = self.table(*[("disabled", {"scope_ns": value}) for value in (0.1, 0.4, 0.2)])
        row = next(line for line in lines if "disabled scope" in line)
        self.assertRegex(row, r"0\.200 ns +0\.100 to 0\.400 +< 0\.6 ns +met")

    def test_what_was_dropped_is_told_with_and_without_what_was_issued(self):
        lines = self.table(
            ("switches", {"added_ns": 900.0, "dropped": 3}),
            ("frame_mark", {"each_ns": 20.0, "dropped": 5, "issued": 4000}),
        )
        self.assertIn("dropped 3", next(line for line in lines if "context switch" in line))
        self.assertRegex(next(line for line in lines if "frame_mark" in line), "MISSED +dropped 5 of 4,000")


if __name__ == "__main__":
    unittest.main()
