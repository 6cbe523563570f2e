"""A program in WebAssembly, run by Node.js, and what the kymo command reads in its capture:

recording_test.py KYMO NODE RECORDING_JS
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from typing import Any

KYMO, NODE, RECORDING = sys.argv[1:4]


class RecordingTest(unittest.TestCase):
    printed: dict[str, Any]
    said: list[str]
    statistics: dict[str, Any]
    info: dict[str, Any]

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="kymo-wasm-")
        cls.addClassCleanup(folder.cleanup)
        capture = os.path.join(folder.name, "recording.kymo")
        run = subprocess.run([NODE, RECORDING, capture], check=True, capture_output=True, text=True, timeout=50)
        cls.printed = {key: value for line in run.stdout.splitlines() for key, value in json.loads(line).items()}
        cls.said = run.stderr.splitlines()
        cls.statistics, cls.info = (
            json.loads(
                subprocess.run([KYMO, command, "--json", capture], check=True, capture_output=True, text=True).stdout
            )
            for command in ("stats", "info")
        )

    def test_every_scope_is_in_the_capture(self) -> None:
        self.assertEqual(
            {site["name"]: site["count"] for site in self.statistics["sites"]},
            {"round": 3000, "step": 300_000, "thrower": 3000},
        )

    def test_sinks_of_the_program_get_every_event(self) -> None:
        self.assertEqual(self.printed["events"], 2 * 306_000)
        self.assertEqual(self.printed["frames"], 300)
        self.assertTrue(self.printed["is_finished"])

    def test_a_timer_drains_programs_that_ask_for_nothing(self) -> None:
        self.assertEqual(self.printed["by_timer"], 2)

    def test_the_timeline_gets_what_the_bound_allows_and_counts_the_rest(self) -> None:
        # A frame lies between two marks; one span is asynchronous.
        self.assertEqual(self.printed["measured"] + self.printed["dropped"], 306_000 + 299 + 1)
        self.assertGreater(self.printed["measured"], 0)
        self.assertLess(self.printed["measured"], 50 + 50 * 50)

    def test_frames_spans_and_metrics_are_in_the_capture(self) -> None:
        (stream,) = self.statistics["frame_streams"]
        self.assertEqual(stream["count"], 299)
        (span,) = self.statistics["spans"]
        self.assertEqual([span["name"], span["count"]], ["whole", 1])
        metrics = {metric["name"]: metric for metric in self.statistics["metrics"]}
        self.assertEqual([metrics["caught"][key] for key in ("count", "min", "max")], [3000, 0, 2999])
        self.assertEqual(metrics["memory_mb"]["max"], self.printed["memory"] / 1e6)

    def test_a_sink_that_records_ends_all_the_same(self) -> None:
        metrics = {metric["name"]: metric["count"] for metric in self.statistics["metrics"]}
        self.assertLessEqual(metrics.get("recorded_by_a_sink", 0), self.printed["batches"])

    def test_the_capture_says_where_it_was_made(self) -> None:
        facts = json.dumps(self.info)
        for fact in ("wasm32", "Node.js v", "performance.now", "recording.js", "web test"):
            self.assertIn(fact, facts)

    def test_only_trouble_is_said(self) -> None:
        self.assertEqual(self.said, ["kymo: this BrowserSink is installed already"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
