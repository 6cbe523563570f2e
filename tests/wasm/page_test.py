"""The example page in a headless Chromium: what its timeline holds against what the kymo command reads in its capture.

page_test.py KYMO NODE CHROMIUM NPM_FOLDER PAGE_FOLDER
"""

import collections
import functools
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from typing import Any

KYMO, NODE, CHROMIUM = sys.argv[1:4]
NPM_FOLDER, PAGE_FOLDER = map(os.path.abspath, sys.argv[4:6])
OPEN_PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "open_page.js")
SITES = {"draw_frame", "step", "move", "sort_into_cells", "collide", "draw_particles", "draw_panel", "render"}


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves one folder, in silence."""

    def log_message(self, *_: object) -> None:
        pass


class PageTest(unittest.TestCase):
    maxDiff = 4000
    seen: dict[str, Any]
    statistics: dict[str, Any]

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="kymo-page-")
        cls.addClassCleanup(folder.cleanup)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=PAGE_FOLDER))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        capture = os.path.join(folder.name, "saved.kymo")
        answer = subprocess.run(
            [NODE, OPEN_PAGE, NPM_FOLDER, CHROMIUM, f"http://127.0.0.1:{server.server_address[1]}/index.html", capture],
            text=True,
            capture_output=True,
            check=False,
            timeout=100,
        )
        if answer.returncode != 0:
            raise RuntimeError(answer.stderr)
        cls.seen = json.loads(answer.stdout)
        cls.statistics = json.loads(
            subprocess.run([KYMO, "stats", "--json", capture], check=True, capture_output=True, text=True).stdout
        )

    def measures(self, track: str) -> dict[str, list[dict[str, Any]]]:
        """Those of one track of the browser's timeline, by name."""
        found = collections.defaultdict(list)
        for measure in self.seen["measures"]:
            if measure["detail"]["track"] == track:
                found[measure["name"]].append(measure)
        return found

    def test_the_page_has_no_problems(self) -> None:
        self.assertEqual(self.seen["problems"], [])
        self.assertEqual(self.seen["name"], "page.kymo")

    def test_the_timeline_has_the_scopes_of_the_capture(self) -> None:
        sites = {site["name"]: site for site in self.statistics["sites"]}
        self.assertEqual(set(sites), SITES)
        shown = self.measures("main")
        self.assertEqual(
            {name: len(found) for name, found in shown.items()}, {name: site["count"] for name, site in sites.items()}
        )
        for name, found in shown.items():
            # Milliseconds against nanoseconds, each rounded.
            self.assertAlmostEqual(
                sum(measure["duration"] for measure in found),
                sites[name]["total_ns"] / 1e6,
                delta=2e-6 * len(found) + 1e-3,
                msg=name,
            )

    def test_the_timeline_has_the_frames_of_the_capture(self) -> None:
        (stream,) = self.statistics["frame_streams"]
        frames = self.measures("frames")["frame"]
        self.assertEqual(len(frames), stream["count"])
        self.assertGreaterEqual(len(frames), 10)

    def test_times_are_those_of_the_page(self) -> None:
        # The click came before what the test saw of it, and the page's clock moves by 0.1 ms.
        for measure in self.seen["measures"]:
            self.assertLessEqual(measure["start"] + measure["duration"], self.seen["end"])
            self.assertGreater(measure["start"], 0)
        self.assertLess(min(measure["start"] for measure in self.seen["measures"]), self.seen["begin"] + 60_000)

    def test_devtools_get_tracks_and_arguments(self) -> None:
        (step, *_) = self.measures("main")["step"]
        tools = step["detail"]["devtools"]
        self.assertEqual([tools["dataType"], tools["track"], tools["trackGroup"]], ["track-entry", "main", "kymo"])
        self.assertEqual(step["detail"]["arguments"], {"particles": 2000})
        self.assertEqual(tools["properties"], [["particles", "2000"]])

    def test_metrics_and_the_heap_are_in_the_capture(self) -> None:
        metrics = {metric["name"]: metric for metric in self.statistics["metrics"]}
        self.assertGreaterEqual(metrics["bounces"]["count"], 10)
        for memory in ("js_heap_mb", "memory_mb"):
            self.assertGreater(metrics[memory]["min"], 0.5, memory)
            self.assertLess(metrics[memory]["max"], 4096, memory)

    def test_the_panel_is_in_the_canvas_and_takes_keys(self) -> None:
        self.assertEqual(self.seen["pausedBefore"], 0)
        self.assertGreater(self.seen["colours"], 30)
        self.assertGreater(self.seen["bright"], 0.002)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
