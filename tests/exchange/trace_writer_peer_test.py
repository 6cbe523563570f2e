"""Traces of a TraceWriter and of the crate ferrum-bench-core, whose times are whole microseconds, read by each other:
trace_writer_peer_test.py BUILD_FOLDER EXPORT_MODEL KYMO
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD, MODEL, KYMO = (Path(argument).resolve() for argument in sys.argv[1:4])
del sys.argv[1:4]
sys.path.insert(0, str(HERE.parent / "support"))

import crates  # noqa: E402


class TraceWriterPeerTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_the_crate_reads_every_event_of_a_writer_of_whole_microseconds(self) -> None:
        subprocess.run([str(MODEL), str(self.folder)], check=True)
        trace = self.folder / "whole.json"
        printed = crates.run("trace_peer", BUILD, "read", str(trace))
        start = 1_000_000_000_000
        common = {"cat": "c", "ph": "X", "pid": 7, "tid": 5}
        self.assertEqual(
            [json.loads(line) for line in printed.splitlines()],
            [
                {"name": "outer", "ts": start, "dur": 10, **common},
                {"name": 'inner "quoted"', "ts": start, "dur": 2, "args": {"loss": 0.1}, **common},
                {"name": "after", "ts": start + 10, "dur": 1, **common},
            ],
        )
        with self.assertRaisesRegex(AssertionError, "whole microseconds"):
            crates.run("trace_peer", BUILD, "read", str(self.folder / "pushed.json"))

    def test_a_trace_of_the_crate_becomes_a_capture(self) -> None:
        trace, capture = self.folder / "trace.json", self.folder / "trace.kymo"
        crates.run("trace_peer", BUILD, "write", str(trace))
        subprocess.run([str(KYMO), "import", "-o", str(capture), str(trace)], check=True, capture_output=True)
        stats = subprocess.run(
            [str(KYMO), "stats", "--json", str(capture)], check=True, capture_output=True, text=True
        ).stdout
        totals = {site["name"]: (site["count"], site["total_ns"]) for site in json.loads(stats)["sites"]}
        self.assertEqual(totals, {"load": (1, 123_000), 'step "\u00e4"': (1, 2_500_000)})


if __name__ == "__main__":
    unittest.main()
