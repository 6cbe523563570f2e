"""Sampled stacks in the formats of other tools, as readers that are not ours see them, beside `kymo stats --functions`:

    stacks_peer_test.py KYMO STACKS_PROGRAM NODE WAITING_PROGRAM

pprof's by the protobuf package and profile.proto's field numbers, Perfetto's by its own trace processor, Firefox's by
the rules of its tables.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import pyarrow
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trace_processor import PROBLEMS, query

KYMO, PROGRAM, NODE, WAITING_PROGRAM = sys.argv[1:5]
THREAD = os.path.basename(PROGRAM)[:15]  # as the kernel cuts it
FIELD = descriptor_pb2.FieldDescriptorProto
MESSAGES = {
    "ValueType": [("type", 1, ""), ("unit", 2, "")],
    "Label": [("key", 1, ""), ("str", 2, ""), ("num", 3, "")],
    "Sample": [("location_id", 1, "*"), ("value", 2, "*"), ("label", 3, "*Label")],
    "Mapping": [("id", 1, ""), ("filename", 5, "")],
    "Line": [("function_id", 1, ""), ("line", 2, "")],
    "Location": [("id", 1, ""), ("mapping_id", 2, ""), ("address", 3, ""), ("line", 4, "*Line")],
    "Function": [("id", 1, ""), ("name", 2, ""), ("filename", 4, "")],
    "Profile": [
        ("sample_type", 1, "*ValueType"),
        ("sample", 2, "*Sample"),
        ("mapping", 3, "*Mapping"),
        ("location", 4, "*Location"),
        ("function", 5, "*Function"),
        ("string_table", 6, "*text"),
        ("period_type", 11, "ValueType"),
        ("period", 12, ""),
    ],
}


def profile_class():
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="p", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            added = message.field.add(name=field, number=number, type=FIELD.TYPE_INT64, label=FIELD.LABEL_OPTIONAL)
            added.label = FIELD.LABEL_REPEATED if kind.startswith("*") else FIELD.LABEL_OPTIONAL
            type_name = kind.removeprefix("*")
            if type_name == "text":
                added.type = FIELD.TYPE_STRING
            elif type_name:
                added.type, added.type_name = FIELD.TYPE_MESSAGE, ".p." + type_name
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p.Profile"))


def counts_of(stacks):
    """Self and total samples by function, of (functions from the innermost on, samples)."""
    counts = collections.defaultdict(lambda: [0, 0])
    for functions, number in stacks:
        counts[functions[0]][0] += number
        for function in set(functions):
            counts[function][1] += number
    # Those that only waited have none on the CPU; some formats have them all the same.
    return {function: both for function, both in counts.items() if both[1] > 0}


class StacksPeerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="kymo-stacks-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.capture = os.path.join(cls.folder, "run.kymo")
        cls.kymo("record", "--hz", "0", "-q", "--stacks", "-o", cls.capture, "--", PROGRAM, "150")
        info = cls.kymo("info", "--json", cls.capture)
        if "stacks.refused" in info:
            raise unittest.SkipTest("the kernel gives no samples")
        statistics = json.loads(cls.kymo("stats", "--functions", "--json", cls.capture))
        cls.expected = {row["name"]: [row["self"], row["total"]] for row in statistics["functions"] if row["total"] > 0}
        cls.samples = statistics["samples"]
        lines = subprocess.run(
            [KYMO, "stats", "--lines", "--json", cls.capture], capture_output=True, text=True, check=False
        )
        rows = json.loads(lines.stdout)["lines"] if lines.returncode == 0 else []  # without libdw there are none
        cls.self_of_lines = collections.Counter()
        for row in rows:
            cls.self_of_lines[row["file"], row["line"] or 0] += row["self"]
        assert cls.samples > 100, statistics

    @staticmethod
    def kymo(*words):
        return subprocess.run([KYMO, *words], check=True, capture_output=True, text=True).stdout

    def export(self, form):
        path = os.path.join(self.folder, "run." + form)
        self.kymo("export", "--to", form, "-o", path, self.capture)
        return path

    def expect_lines(self, self_of_lines):
        if self.self_of_lines:
            self.assertEqual(+self_of_lines, +self.self_of_lines)

    def test_pprof(self):
        profile = profile_class()()
        with open(self.export("pprof"), "rb") as file:
            profile.ParseFromString(file.read())
        text = profile.string_table
        self.assertEqual(text[0], "")
        self.assertEqual(
            [(text[kind.type], text[kind.unit]) for kind in profile.sample_type],
            [("samples", "count"), ("blocked", "nanoseconds"), ("cpu", "nanoseconds")],
        )
        functions = {function.id: text[function.name] for function in profile.function}
        files = {function.id: text[function.filename] for function in profile.function}
        lines = {place.id: (files[place.line[0].function_id], place.line[0].line) for place in profile.location}
        self_of_lines = collections.Counter()
        for sample in profile.sample:
            self_of_lines[lines[sample.location_id[0]]] += sample.value[0]
        self.expect_lines(self_of_lines)
        places = {place.id: functions[place.line[0].function_id] for place in profile.location}
        stacks = [([places[id_] for id_ in sample.location_id], sample.value[0]) for sample in profile.sample]
        self.assertEqual(counts_of(stacks), self.expected)
        period = round(1e9 / 999)
        self.assertEqual(profile.period, period)
        for sample in profile.sample:
            self.assertEqual(sample.value[2], sample.value[0] * period)
            labels = {text[label.key]: text[label.str] or label.num for label in sample.label}
            self.assertEqual(labels["thread"], THREAD)
            self.assertEqual(labels["tid"], labels["pid"])
        paths = {mapping.id: text[mapping.filename] for mapping in profile.mapping}
        self.assertIn(os.path.realpath(PROGRAM), map(os.path.realpath, paths.values()))

    def test_firefox(self):
        with open(self.export("firefox"), encoding="utf-8") as file:
            profile = json.load(file)
        stacks = []
        self_of_lines = collections.Counter()
        for thread in profile["threads"]:
            for table in thread.values():
                if isinstance(table, dict):
                    for name, column in table.items():
                        if isinstance(column, list):
                            self.assertEqual(len(column), table["length"], name)
            text = thread["stringArray"]
            names = [text[name] for name in thread["funcTable"]["name"]]
            self.assertEqual(thread["samples"]["time"], sorted(thread["samples"]["time"]))
            self.assertGreaterEqual(thread["samples"]["time"][0], 0)
            files = [text[file] if file is not None else "" for file in thread["funcTable"]["fileName"]]
            frames = thread["frameTable"]
            for innermost in thread["samples"]["stack"]:
                functions = []
                frame = thread["stackTable"]["frame"][innermost]
                self_of_lines[files[frames["func"][frame]], frames["line"][frame] or 0] += 1
                stack = innermost
                while stack is not None:
                    functions.append(names[thread["frameTable"]["func"][thread["stackTable"]["frame"][stack]]])
                    caller = thread["stackTable"]["prefix"][stack]
                    self.assertTrue(caller is None or caller < stack)
                    stack = caller
                stacks.append((functions, 1))
        self.assertEqual(counts_of(stacks), self.expected)
        self.expect_lines(self_of_lines)
        self.assertAlmostEqual(profile["meta"]["interval"], 1000 / 999, places=3)

    def waits(self, form):
        """Each wait of a capture as (thread, function, ns), its path in this form, and what the export said."""
        capture, table, exported = (os.path.join(self.folder, name) for name in ("w.kymo", "w.arrow", "w." + form))
        if not os.path.exists(capture):
            self.kymo("record", "--hz", "0", "-q", "--stacks", "-o", capture, "--", WAITING_PROGRAM)
            self.kymo("export", "--to", "arrow", "--table", "stacks", "-o", table, capture)
        with pyarrow.ipc.open_file(table) as reader:
            rows = [row for row in reader.read_all().to_pylist() if row["blocked_ns"] > 0]
        expected = collections.Counter((row["thread"], row["function"], row["blocked_ns"]) for row in rows)
        self.assertTrue(any(waited_ns > 1_900_000 for _, _, waited_ns in expected), expected)
        said = subprocess.run(
            [KYMO, "export", "--to", form, "-o", exported, capture], check=True, capture_output=True, text=True
        ).stderr
        # Most of the short waits are known only by their sum.
        self.assertIn(f"left out of the {form} file: waits whose stacks were not taken", said)
        return expected, exported

    def test_firefox_has_each_wait_as_a_marker_with_its_stack(self):
        expected, exported = self.waits("firefox")
        with open(exported, encoding="utf-8") as file:
            profile = json.load(file)
        found = collections.Counter()
        for thread in profile["threads"]:
            text, markers = thread["stringArray"], thread["markers"]
            columns = (markers[key] for key in ("name", "startTime", "endTime", "data"))
            for name, begin, end, data in zip(*columns, strict=True):
                self.assertEqual((text[name], data["type"]), ("Wait", profile["meta"]["markerSchema"][0]["name"]))
                self.assertGreaterEqual(begin, 0)
                frame = thread["stackTable"]["frame"][data["cause"]["stack"]] if "cause" in data else None
                function = thread["funcTable"]["name"][thread["frameTable"]["func"][frame]] if "cause" in data else None
                found[thread["name"], text[function] if "cause" in data else "", round((end - begin) * 1e6)] += 1
        self.assertEqual(found, expected)
        self.assertTrue(any("shop::sleep" in thread["stringArray"] for thread in profile["threads"]))

    def assert_known(self, problems):
        # A reader older than release 53 does not know of stacks of slices, which a wait has.
        self.assertLessEqual({row["name"] for row in problems}, {"unknown_extension_fields"})

    def test_perfetto_has_each_wait_as_a_slice_with_its_stack(self):
        expected, exported = self.waits("perfetto")
        slices, problems = query(
            NODE,
            exported,
            """select t.name as row, s.name, s.ts, s.dur from slice s join track t on s.track_id = t.id
               where t.name glob 'waits of *'""",
            PROBLEMS,
        )
        self.assert_known(problems)
        thread_of = {row["row"]: row["row"].removeprefix("waits of ").rsplit(" ", 1)[0] for row in slices}
        found = collections.Counter((thread_of[row["row"]], row["name"], int(row["dur"])) for row in slices)
        self.assertEqual(found, collections.Counter({(t, f or "wait", ns): n for (t, f, ns), n in expected.items()}))
        # By the format's definition, which the reader may be older than.
        with open(exported, "rb") as file:
            packets = perfetto_trace_pb2.Trace.FromString(file.read()).packet
        names, frames, stacks, starts = {}, {}, {}, collections.Counter()
        for packet in packets:
            names.update((entry.iid, entry.str.decode()) for entry in packet.interned_data.function_names)
            frames.update((entry.iid, names[entry.function_name_id]) for entry in packet.interned_data.frames)
            for stack in packet.interned_data.callstacks:
                stacks[stack.iid] = [frames[frame] for frame in stack.frame_ids]
            if packet.track_event.HasField("callstack_iid"):
                event = packet.track_event
                self.assertEqual(event.name, stacks[event.callstack_iid][-1])
                starts[packet.timestamp, event.name, event.callstack_weight] += 1
        self.assertEqual(starts, collections.Counter((int(row["ts"]), row["name"], row["dur"]) for row in slices))
        self.assertTrue(any("shop::sleep" in stack for stack in stacks.values()))

    def test_perfetto(self):
        samples, callsites, problems = query(
            NODE,
            self.export("perfetto"),
            """select s.callsite_id as id, th.name as thread, count() as number from perf_sample s
               join thread th using (utid) group by 1, 2""",
            """select c.id, c.parent_id as caller, f.name as function from stack_profile_callsite c
               join stack_profile_frame f on c.frame_id = f.id""",
            PROBLEMS,
        )
        self.assert_known(problems)
        self.assertEqual({row["thread"] for row in samples}, {THREAD})
        places = {row["id"]: row for row in callsites}
        stacks = []
        for row in samples:
            functions, place = [], places[row["id"]]
            while place is not None:
                functions.append(place["function"])
                place = places.get(place["caller"])
            stacks.append((functions, row["number"]))
        self.assertEqual(counts_of(stacks), self.expected)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
