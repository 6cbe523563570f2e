"""vor's own reader and recorder against kymo's exports and imports.

  vor_peer_test.py KYMO RECORDED_PROGRAM      the tests
  vor_peer_test.py write                      what vor records, for the tests; VOR_RECORD says where

What vor leaves to its readers, the flame part, is taken apart here.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import threading

import pyarrow
import vor

CONTINUED = "\u2026"


def write_with_vor():
    vor.enable()
    vor.record_metric_unit("loss", "nats")
    step = vor.profile(lambda depth: depth > 0 and step(depth - 1))
    with vor.profile_scope("whole"):
        vor.frame_mark()
    for i in range(40):
        if i % 7 != 3:
            step(i % 5)
            with vor.profile_scope("nächster \N{SNOWMAN}"):
                worker = threading.Thread(target=step, args=(2,))
                worker.start()
                worker.join()
        vor.record_metric("loss", 1 / (i + 1))
        if i % 2:
            vor.record_metric("odd", math.nan if i == 5 else 0.1 * i)
        vor.frame_mark()
    vor.flush()


class Cursor:
    """Bytes from front to back; integers as bincode writes them."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        self.at += count
        assert self.at <= len(self.data)
        return self.data[self.at - count : self.at]

    def fixed(self, size, signed=False):
        return int.from_bytes(self.take(size), "little", signed=signed)

    def unsigned(self):
        first = self.fixed(1)
        return first if first < 251 else self.fixed({251: 2, 252: 4, 253: 8}[first])

    def signed(self):
        value = self.unsigned()
        return value >> 1 if value % 2 == 0 else -(value >> 1) - 1

    def text(self):
        return self.take(self.unsigned()).decode()

    def optional(self, read):
        return read() if self.fixed(1) else None

    def list(self, read):
        return [read() for _ in range(self.unsigned())]


def decompressed(data):
    return pyarrow.decompress(data[4:], int.from_bytes(data[:4], "little"), codec="lz4_raw", asbytes=True)


def scopes_of(stream, thread, names, depth=0):
    """(thread, depth, name, text, start, end) of each, outermost first."""
    found = []
    while stream.at < len(stream.data):
        assert stream.take(1) == b"("
        site, start = stream.fixed(4), stream.fixed(8, True)
        text = stream.take(stream.fixed(1)).decode()
        inside = Cursor(stream.take(stream.fixed(8)))
        assert stream.take(1) == b")"
        end = stream.fixed(8, True)
        found.append((thread, depth, names[site], text, start, end))
        found += scopes_of(inside, thread, names, depth + 1)
    return found


def take_flame(flame):
    """(number, start, end), scopes: puffin's FrameData::read_next."""
    part = Cursor(flame)
    assert part.take(4) == b"PFD4"
    facts = Cursor(part.take(part.fixed(4)))
    number, start, end, size, count = (read() for read in [facts.unsigned] + [facts.signed] * 2 + [facts.unsigned] * 2)
    length = part.fixed(4)
    assert part.fixed(1) == 1
    threads = Cursor(decompressed(part.take(length)))
    sites = Cursor(part.take(part.fixed(4)))
    assert part.at == len(flame)
    names = {}
    for _ in range(sites.unsigned()):
        site, name = sites.optional(sites.unsigned), sites.optional(sites.text)
        function, _, _ = sites.text(), sites.text(), sites.unsigned()
        names[site] = function if name is None else name
    assert sites.at == len(sites.data)
    found = []
    for _ in range(threads.unsigned()):
        thread = (threads.optional(threads.signed), threads.text())
        stream = Cursor(threads.take(threads.unsigned()))
        scopes = scopes_of(stream, thread, names)
        assert threads.unsigned() == len(scopes)
        assert threads.unsigned() == max(scope[1] for scope in scopes) + 1
        assert (threads.signed(), threads.signed()) == (scopes[0][4], max(scope[5] for scope in scopes))
        size -= len(stream.data)
        found += scopes
    assert threads.at == len(threads.data)
    assert size == 0
    assert count == len(found)
    assert all(start <= scope[4] <= scope[5] <= end for scope in found)
    return (number, start, end), found


class Stream:
    """All that vor's reader says of a file, and the scopes in its flame parts, those cut at marks as one."""

    def __init__(self, path):
        reader = vor.Reader(path)
        self.frames = list(reader)
        self.columns, self.user_columns = reader.columns, reader.user_columns
        self.scopes, last = [], None
        for frame in self.frames:
            if frame.flame is None:
                continue
            facts, scopes = take_flame(frame.flame)
            for scope in [] if facts == last else scopes:
                self.add(scope)
            last = facts
        self.scopes.sort(key=lambda scope: (scope[0][1], *scope[1:]))

    def add(self, scope):
        text, start, end = scope[3:]
        if text.startswith(CONTINUED):
            at = next(
                i
                for i in reversed(range(len(self.scopes)))
                if self.scopes[i][:3] == scope[:3] and self.scopes[i][5] == start
            )
            self.scopes[at] = (*self.scopes[at][:5], end)
        else:
            self.scopes.append(scope)

    def numbers(self):
        """The frames without flame parts; NaN as a word, since it equals nothing."""

        def word(value):
            return "nan" if math.isnan(value) else value

        return [
            ([word(value) for value in frame.system], {name: word(value) for name, value in frame.user.items()})
            for frame in self.frames
        ]


def check_import(kymo, directory):
    """vor's stream -> kymo -> vor's reader: all the same."""
    original, capture, again = (os.path.join(directory, name) for name in ("peer.vor", "peer.kymo", "again.vor"))
    environment = dict(os.environ, VOR_RECORD=original, VOR_RECORD_FLAME="1")
    subprocess.run([sys.executable, __file__, "write"], env=environment, check=True)
    subprocess.run([kymo, "import", "-o", capture, original], check=True)
    subprocess.run([kymo, "export", "--to", "vor", "-o", again, capture], check=True)
    before, after = Stream(original), Stream(again)
    assert len(before.frames) == 41
    assert len(before.scopes) > 200
    assert before.columns == after.columns
    assert before.user_columns == after.user_columns
    assert before.numbers() == after.numbers()
    # Which threads there were, apart: vor tells them by their first scope, as kymo does.
    assert before.scopes == after.scopes

    stats = json.loads(subprocess.run([kymo, "stats", "--json", capture], check=True, stdout=subprocess.PIPE).stdout)
    counts = {}
    for scope in before.scopes:
        counts[scope[2]] = counts.get(scope[2], 0) + 1
    assert {site["name"]: site["count"] for site in stats["sites"]} == counts, stats["scopes"]


def nanoseconds(microseconds):
    return round(microseconds * 1000)


def times_of(event):
    start = nanoseconds(event["ts"])
    return start, start + nanoseconds(event["dur"])


def check_export(kymo, program, directory):
    """A program's capture -> vor's reader, against the capture's Chrome trace."""
    capture, stream, trace = (os.path.join(directory, name) for name in ("run.kymo", "run.vor", "run.json"))
    subprocess.run([program, "scopes", "500"], env=dict(os.environ, KYMO_RECORD=capture), check=True)
    subprocess.run([kymo, "export", "--to", "vor", "-o", stream, capture], check=True)
    subprocess.run([kymo, "export", "--to", "chrome", "-o", trace, capture], check=True)
    with open(trace, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    bars = [event for event in events if event["ph"] == "X"]
    expected = sorted((*times_of(bar), f"number={bar['args']['number']:d}") for bar in bars if bar["name"] == "work")
    frames = [nanoseconds(bar["dur"]) for bar in bars if "number" in bar.get("args", {}) and bar["name"] != "work"]

    found = Stream(stream)
    assert len(expected) == 500
    assert sorted((scope[4], scope[5], scope[3]) for scope in found.scopes) == expected
    assert {scope[2] for scope in found.scopes} == {"work"}
    assert found.columns[0] == ("frame_ms", "ms")
    assert [frame.system[0] for frame in found.frames] == [0.0] + [duration / 1e6 for duration in frames]
    assert found.frames[0].user.get("answer") == 42
    assert ("answer", "1") in found.user_columns


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write_with_vor()
    else:
        with tempfile.TemporaryDirectory() as scratch:
            check_import(sys.argv[1], scratch)
            check_export(sys.argv[1], sys.argv[2], scratch)
