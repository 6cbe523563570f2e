"""What the Chrome and the Perfetto export of a capture hold, as Perfetto's own trace processor reads them:

    trace_peer_test.py KYMO EXPORT_MODEL NODE

Both are compared with what really happened in the capture, and with what `kymo stats` says of it.
"""

import collections
import gzip
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from perfetto.protos.perfetto.trace import perfetto_trace_pb2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trace_processor import PROBLEMS, query

KYMO, EXPORT_MODEL, NODE = sys.argv[1:4]

SLICES = """select s.id, s.ts, s.dur, s.name, s.category, s.arg_set_id, s.track_id, s.depth, t.name as track,
  th.name as thread, t.type as kind from slice s join track t on s.track_id = t.id
  left join thread_track tt on tt.id = t.id left join thread th using (utid) order by s.id"""
ARGUMENTS = """select distinct s.id, key, coalesce(string_value, real_value, int_value) as value
  from slice s join args using (arg_set_id)"""
COUNTERS = "select t.name, t.unit, c.ts, c.value from counter c join counter_track t on c.track_id = t.id order by c.ts"
FLOWS = """select a.name as source, b.name as target, a.ts as source_ts, b.ts as target_ts
  from flow join slice a on slice_out = a.id join slice b on slice_in = b.id"""
CLOCKS = "select ts, clock_name, clock_value from clock_snapshot where clock_name = 'REALTIME'"
QUERIES = [SLICES, ARGUMENTS, COUNTERS, FLOWS, PROBLEMS, CLOCKS]


class Trace:
    """A trace as the peer has read it."""

    def __init__(self, path):
        self.slices, arguments, self.counters, self.flows, self.problems, self.clocks = query(NODE, path, *QUERIES)
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
        cls.traces = {
            (name, form): Trace(cls.export(name, form))
            for name in ("model", "edges")
            for form in ("chrome", "perfetto")
        }
        with open(cls.path("model.json"), encoding="utf-8") as file:
            cls.truth = json.load(file)
        cls.statistics = json.loads(
            subprocess.run(
                [KYMO, "stats", "--json", cls.path("model.kymo")], check=True, capture_output=True, text=True
            ).stdout
        )

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def export(cls, name, form):
        path = cls.path(f"{name}.{form}")
        subprocess.run(
            [KYMO, "export", "--to", form, "-o", path, cls.path(name + ".kymo")], check=True, capture_output=True
        )
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
                self.assertEqual(
                    told(
                        (row["ts"], row["dur"], row["name"], told_arguments(trace.arguments[row["id"]])) for row in rows
                    ),
                    told((span["start_ns"], span["duration_ns"], span["name"], true_arguments(span)) for span in true),
                )
                # Of a scope that takes no time and stands at the edge of others, the JSON does not tell where it
                # belongs.
                self.assertEqual(
                    sorted((row["ts"], row["depth"]) for row in rows if row["dur"] or form == "perfetto"),
                    sorted(
                        (span["start_ns"], span["depth"]) for span in true if span["duration_ns"] or form == "perfetto"
                    ),
                )

    def test_spans_of_queues_and_async_lanes_are_what_happened(self):
        for form, trace in self.each("model"):
            true = [span for span in self.truth["spans"] if span["track"] in ("gpu", "requests")]
            rows = [row for row in trace.slices if row["name"].startswith("name ")]
            self.assertGreater(len(true), 100)
            self.assertEqual(
                told((row["ts"], row["dur"], row["name"], told_arguments(trace.arguments[row["id"]])) for row in rows),
                told((span["start_ns"], span["duration_ns"], span["name"], true_arguments(span)) for span in true),
            )
            if form == "perfetto":
                self.assertEqual({row["track"] for row in rows}, {"gpu", "requests"})

    def test_sites_are_those_of_the_statistics(self):
        self.assertGreater(len(self.statistics["sites"]), 5)
        for _, trace in self.each("model"):
            sites = collections.defaultdict(list)
            for row in trace.of("scope", "function"):
                if "open" not in trace.arguments[row["id"]]:  # statistics are of what ended
                    sites[row["name"]].append(row["dur"])
            self.assertEqual(
                {name: (len(times), sum(times), min(times), max(times)) for name, times in sites.items()},
                {
                    site["name"]: (site["count"], site["total_ns"], site["min_ns"], site["max_ns"])
                    for site in self.statistics["sites"]
                },
            )

    def test_pure_numbers_have_no_unit(self):
        self.assertEqual([metric["unit"] for metric in self.statistics["metrics"]], ["1"])
        self.assertEqual({row["unit"] for row in self.traces["model", "perfetto"].counters}, {None})

    def test_frames_samples_and_instants_are_what_happened(self):
        for _, trace in self.each("model"):
            marks = self.truth["frame_marks"]
            self.assertEqual(
                [(row["ts"], row["dur"], trace.arguments[row["id"]]["number"]) for row in trace.of("frame")],
                [(start, end - start, i + 1) for i, (start, end) in enumerate(itertools.pairwise(marks))],
            )
            self.assertEqual([[row["ts"], row["value"]] for row in trace.counters], self.truth["samples"])
            self.assertEqual(
                sorted([row["ts"], row["name"]] for row in trace.of("message")), sorted(self.truth["messages"])
            )
            self.assertEqual(
                [[row["ts"], trace.arguments[row["id"]]["number"]] for row in trace.of("sync")],
                self.truth["sync_points"],
            )

    def test_flows_join_the_scopes_and_spans_that_were_open(self):
        for form, trace in self.each("edges"):
            # Of the other format the peer takes flows of threads only.
            to_queue = [(1000, 2000, "early")] if form == "chrome" else []
            self.assertEqual(
                sorted((row["source_ts"], row["target_ts"], row["target"]) for row in trace.flows),
                [*to_queue, (1500, 2500, "receive")],
            )

    def test_queue_spans_that_touch_others_keep_their_times(self):
        for _, trace in self.each("edges"):
            self.assertEqual(
                sorted(
                    (row["ts"], row["dur"], row["name"]) for row in trace.slices if row["name"] in ("early", "late")
                ),
                [
                    (1000, 1000, "late"),
                    (2000, 1000, "early"),
                    (2000, 2000, "late"),
                    (2200, 600, "late"),
                    (2500, 1000, "late"),
                ],
            )

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
                self.assertEqual(
                    [(row["ts"], int(row["clock_value"])) for row in trace.clocks], [(1000, 1_700_000_000_000_001_000)]
                )

    def test_events_of_a_trace_writer_stand_where_they_were_pushed(self):
        second = 1_000_000_000
        for name, expected in (
            (
                "pushed",
                [
                    (1_000_000 * second + 1, 10_000, 0, "outer"),
                    (1_000_000 * second + 251, 2123, 1, 'inner "quoted"'),
                    (1_000_000 * second + 10_001, 1000, 0, "after"),
                ],
            ),
            (
                "whole",
                [
                    (1_000_000 * second, 10_000, 0, "outer"),
                    (1_000_000 * second, 2000, 1, 'inner "quoted"'),
                    (1_000_000 * second + 10_000, 1000, 0, "after"),
                ],
            ),
        ):
            trace = Trace(self.path(name + ".json"))
            self.assertEqual(trace.problems, [])
            self.assertEqual([(row["ts"], row["dur"], row["depth"], row["name"]) for row in trace.slices], expected)
            self.assertEqual([trace.arguments[row["id"]].get("loss") for row in trace.slices], [None, 0.1, None])


class ForeignTraces(unittest.TestCase):
    """A trace that kymo did not write, imported and exported again, is the same to the peer."""

    @staticmethod
    def write(path):
        trace = perfetto_trace_pb2.Trace()

        def packet(**fields):
            entry = trace.packet.add(**fields)
            entry.trusted_packet_sequence_id = 7
            return entry

        # As the tracing service marks the first packet of each sequence.
        first = packet(sequence_flags=1, previous_packet_dropped=1)
        first.trace_packet_defaults.timestamp_clock_id = 64
        first.trace_packet_defaults.track_event_defaults.track_uuid = 11
        snapshot = packet().clock_snapshot
        for clock, time in ((6, 5_000_000), (3, 4_000_000), (1, 1_700_000_000_000_000_000)):
            snapshot.clocks.add(clock_id=clock, timestamp=time)
        snapshot.clocks.add(clock_id=64, timestamp=5000, is_incremental=True, unit_multiplier_ns=1000)
        process = packet().track_descriptor
        process.uuid = 10
        process.process.pid = 42
        process.process.process_name = "server"
        thread = packet().track_descriptor
        thread.uuid, thread.parent_uuid = 11, 10
        thread.thread.pid, thread.thread.tid, thread.thread.thread_name = 42, 43, "worker"
        custom = packet().track_descriptor
        custom.uuid, custom.parent_uuid, custom.name = 12, 10, "requests"
        counter = packet().track_descriptor
        counter.uuid, counter.parent_uuid, counter.name = 13, 10, "bytes"
        counter.counter.unit_multiplier = 1024
        counter.counter.is_incremental = True

        texts = packet(sequence_flags=2)
        texts.interned_data.event_names.add(iid=1, name="outer")
        texts.interned_data.event_categories.add(iid=1, name="net")
        texts.interned_data.debug_annotation_names.add(iid=1, name="size")
        kind = perfetto_trace_pb2.TrackEvent
        for delta, fields in [
            (1, {"type": kind.TYPE_SLICE_BEGIN, "name_iid": 1, "category_iids": [1], "flow_ids": [5]}),
            (2, {"type": kind.TYPE_SLICE_BEGIN, "name": "inner"}),
            (3, {"type": kind.TYPE_SLICE_END}),
            (0, {"type": kind.TYPE_COUNTER, "track_uuid": 13, "counter_value": 2}),
            (1, {"type": kind.TYPE_SLICE_BEGIN, "name": "get", "track_uuid": 12}),
            (1, {"type": kind.TYPE_INSTANT, "name": "mark"}),
            (0, {"type": kind.TYPE_COUNTER, "track_uuid": 13, "counter_value": 3}),
            (4, {"type": kind.TYPE_SLICE_END, "track_uuid": 12}),
            (1, {"type": kind.TYPE_SLICE_END}),
            (1, {"type": kind.TYPE_SLICE_BEGIN, "name": "next", "terminating_flow_ids": [5]}),
            (1, {"type": kind.TYPE_SLICE_END}),
        ]:
            event = packet(timestamp=delta, sequence_flags=2).track_event
            event.MergeFrom(kind(**fields))
            if fields.get("name_iid"):
                event.debug_annotations.add(name_iid=1, int_value=-3)
                nested = event.debug_annotations.add(name="peer")
                nested.dict_entries.add(name="host", string_value="a\N{EURO SIGN}")
        # The interned texts are another sequence's here, and later new ones of the same ids.
        packet(sequence_flags=1).interned_data.event_names.add(iid=1, name="changed")
        for delta, type_ in ((9_000_000, kind.TYPE_SLICE_BEGIN), (9_001_000, kind.TYPE_SLICE_END)):
            event = packet(timestamp=delta, timestamp_clock_id=3, sequence_flags=2).track_event
            event.type, event.track_uuid = type_, 11
            if type_ == kind.TYPE_SLICE_BEGIN:
                event.name_iid = 1
        with open(path, "wb") as file:
            file.write(trace.SerializeToString())

    def test_perfetto(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "foreign.pftrace")
            self.write(path)
            for name in ("foreign.pftrace", "foreign.gz"):
                if name.endswith("gz"):
                    with open(path, "rb") as file, gzip.open(os.path.join(folder, name), "wb") as packed:
                        packed.write(file.read())
                capture, again = (os.path.join(folder, name + end) for end in (".kymo", ".again"))
                subprocess.run(
                    [KYMO, "import", "-o", capture, os.path.join(folder, name)], check=True, stdout=subprocess.DEVNULL
                )
                subprocess.run(
                    [KYMO, "export", "--to", "perfetto", "-o", again, capture], check=True, stdout=subprocess.DEVNULL
                )
                theirs, ours = Trace(path), Trace(again)

                def slices(trace):
                    return sorted(
                        (
                            row["ts"],
                            row["dur"],
                            row["name"],
                            row["thread"] or "",
                            # The peer puts _ for the dots of names and adds values of its own.
                            sorted(
                                (key.replace(".", "_"), value)
                                for key, value in trace.arguments[row["id"]].items()
                                if key != "category" and not key.startswith("legacy_event.")
                            ),
                        )
                        for row in trace.slices
                        if row["category"] != "kymo"
                    )

                self.assertEqual(len(theirs.slices), 6)
                self.assertEqual(slices(ours), slices(theirs))
                for counters in (ours.counters, theirs.counters):
                    self.assertEqual(
                        [(row["name"], row["ts"], row["value"]) for row in counters],
                        [("bytes", 5_007_000 - 1000, 2048), ("bytes", 5_008_000, 5120)],
                    )
                self.assertEqual(
                    [(row["source"], row["target"]) for row in ours.flows],
                    [(row["source"], row["target"]) for row in theirs.flows],
                )


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
