#!/usr/bin/python3
"""Reads captures as docs/format.md describes them, sharing nothing with the C++ reader.

    format_reader.py run.kymo      prints the capture as JSON

What is printed:
    header, declarations, blocks (kind, level, number, start_ns, end_ns), closed, end
    scopes      each closed scope: track, site, depth, start_ns, end_ns, forced, arguments [[name id, type, value], ...]
    open        scopes that were open at the end
    spans, async_begins, frame_marks, samples, messages, flows, sync_points, track_ends, clock_anchors,
    clock_uncertainties
Texts that are not UTF-8 are printed as {"hex": "..."}. Any damage is an error: this reader is for tests.
"""

import json
import struct
import sys
from typing import ClassVar

from format_blocks import MASK, Block, double_of, signed, tables, text_of, unzigzag


def decode_arguments(table, first, text):
    """Each argument as (name id, type, cut, value)."""
    count = table.count(first)
    names = table.numbers(first, count)
    types = table.numbers(first + 1, count)
    integers = iter(table.numbers(first + 2, table.count(first + 2)))
    floats = iter(table.floats(first + 3, table.count(first + 3)))
    sizes = table.numbers(first + 4, table.count(first + 4))
    gaps = table.numbers(first + 5, len(sizes))
    strings = iter(zip(sizes, gaps, strict=True))
    end = 0
    arguments = []
    for name, type_and_cut in zip(names, types, strict=True):
        kind = type_and_cut & 0x7F
        if kind == 0:
            value = signed(unzigzag(next(integers)))
        elif kind == 1:
            value = next(integers)
        elif kind == 2:
            value = next(floats)
        elif kind == 3:
            value = next(integers) != 0
        elif kind == 4:
            size, gap = next(strings)
            begin = (end + gap) & MASK
            end = begin + size
            if end > len(text):
                raise ValueError("a string argument lies outside its block's text")
            value = text_of(text[begin:end])
        else:
            raise ValueError(f"argument type {kind} is not known")
        arguments.append((name, kind, type_and_cut >= 128, value))
    return arguments


class Declarations:
    """Each kind by its id, as dictionaries of fields."""

    FIELDS: ClassVar = {
        2: ("processes", ["host:t", "id", "pid", "boot_id:t", "rank:t", "command_line:t"]),
        4: ("names", ["text:t", "id"]),
        5: ("modules", ["path:t", "id", "process", "load_base", "size", "build_id:t"]),
        6: (
            "sites",
            ["name:t", "id", "kind", "process", "line", "function:t", "file:t", "module", "module_offset", "role"],
        ),
        7: ("tracks", ["name:t", "id", "kind", "process", "os_thread_id", "role"]),
        8: (
            "metrics",
            ["name:t", "id", "kind", "process", "unit:t", "source:t", "step:f", "renewal_ns", "window_ns", "traits"],
        ),
        10: ("frame_streams", ["name:t", "id", "process"]),
        11: ("threads", ["name:t", "id", "process", "pid", "os_thread_id"]),
        12: ("functions", ["name:t", "id", "module", "module_offset", "file:t"]),
        13: ("stacks", ["id", "caller", "function", "line"]),
    }

    def __init__(self):
        self.all = {name: {} for name, _ in self.FIELDS.values()}
        self.infos = {}
        self.metrics_of_payload = []

    def take(self, table):
        if table.id == 3:
            for key, process, value in zip(table.texts(1), table.numbers(2), table.texts(3), strict=True):
                self.infos[(process, key)] = value
        elif table.id == 9:
            for key, value, row in zip(table.texts(1), table.texts(2), table.numbers(3), strict=True):
                self.metrics_of_payload[row]["labels"].append([key, value])
        elif table.id in self.FIELDS:
            name, fields = self.FIELDS[table.id]
            rows = [{} for _ in range(table.rows())]
            for column, field in enumerate(fields, 1):
                name_of_field, _, form = field.partition(":")
                values = table.texts(column) if form == "t" else table.numbers(column)
                for row, value in zip(rows, values, strict=True):
                    row[name_of_field] = double_of(value) if form == "f" else value
            for row in rows:
                self.all[name][row["id"]] = row
            if table.id == 8:
                for row in rows:
                    row["labels"] = []
                self.metrics_of_payload = rows

    def as_json(self):
        result = {name: list(rows.values()) for name, rows in self.all.items()}
        result["infos"] = [{"process": p, "key": k, "value": v} for (p, k), v in self.infos.items()]
        return result


def added(a, b):
    """Totals of a track that went on after its end."""
    sums = {key: max(a[key], b[key]) for key in a}
    sums["recorded_scopes"] = a["recorded_scopes"] + b["recorded_scopes"]
    return sums


def columns(table, *ids):
    return [table.numbers(column) for column in ids]


def spans_of(table, start, span_arguments):
    rows = zip(table.times(1, start), table.signed(2), *columns(table, 3, 4, 5, 6, 7, 8), strict=True)
    for begin, duration, track, name, category, count, first, async_id in rows:
        yield {
            "track": track,
            "name": name,
            "category": category,
            "start_ns": begin,
            "duration_ns": duration,
            "async_id": async_id,
            "arguments": span_arguments[first : first + count] if count else [],
        }


def samples_of(table, times):
    count = len(times)
    decimals = table.numbers(4, 1)[0]
    if 1 not in table.columns and table.count(2) != count:
        raise ValueError("samples share the times of others that are more or fewer")
    for time, value, flags in zip(times, table.floats(2, count), table.numbers(3, count), strict=True):
        sample = {"metric": table.key, "time_ns": time, "value": value / 10.0**decimals if decimals else value}
        yield sample | ({"flags": flags} if flags else {})


def async_begins_of(table, start):
    for time, track, name, async_id in zip(table.times(1, start), *columns(table, 2, 3, 4), strict=True):
        yield {"track": track, "name": name, "time_ns": time, "async_id": async_id}


def frame_marks_of(table, start):
    for time, stream, track, is_break in zip(table.times(1, start), *columns(table, 2, 3, 4), strict=True):
        yield {"stream": stream, "track": track, "time_ns": time, "break": is_break != 0}


def messages_of(table, start):
    for message, time, track, cut in zip(table.texts(1), table.times(2, start), *columns(table, 3, 4), strict=True):
        yield {"track": track, "time_ns": time, "text": message, "cut": cut != 0}


def flows_of(table, start):
    for time, track, phase, flow in zip(table.times(1, start), *columns(table, 2, 3, 4), strict=True):
        yield {"track": track, "phase": phase, "time_ns": time, "flow_id": flow}


def sync_points_of(table, start):
    for time, track, number in zip(table.times(1, start), *columns(table, 2, 3), strict=True):
        yield {"number": number, "track": track, "time_ns": time}


def track_ends_of(table, start):
    for time, track in zip(table.times(1, start), *columns(table, 2), strict=True):
        yield {"track": track, "time_ns": time}


def clock_anchors_of(table, start):
    for time, wall, bound in zip(table.times(1, start), table.signed(2), table.signed(3), strict=True):
        yield {"monotonic_ns": time, "realtime_ns": wall, "bound_ns": bound}


def clock_uncertainties_of(table, start):
    for begin, end, bound in zip(table.times(1, start), table.times(2, start), table.signed(3), strict=True):
        yield {"start_ns": begin, "end_ns": end, "bound_ns": bound}


def states_of(table, start):
    end = start
    for duration, gap, state, cpu in zip(table.numbers(1), table.signed(2), *columns(table, 3, 4), strict=True):
        begin = signed((end + gap) & MASK)
        end = begin + duration
        if state <= 2:
            yield {"thread": table.key, "start_ns": begin, "duration_ns": duration, "state": state, "cpu": cpu}


def wakes_of(table, start):
    for time, thread, waker in zip(table.times(1, start), *columns(table, 2, 3), strict=True):
        yield {"thread": thread, "waker": waker, "time_ns": time}


def stack_samples_of(table, start):
    waited = (table.signed(5), table.signed(6), table.numbers(7))
    rows = zip(table.times(1, start), *columns(table, 2, 3, 4), *waited, strict=True)
    for time, thread, stack, cpu, blocked, unsampled, waits in rows:
        yield {
            "thread": thread,
            "stack": stack,
            "cpu": cpu,
            "time_ns": time,
            "blocked_ns": blocked,
            "unsampled_ns": unsampled,
            "sampled_waits": waits,
        }


# Of each table of events that stands for itself: what it holds, and how its rows are read.
EVENT_TABLES = {
    19: ("async_begins", async_begins_of),
    20: ("frame_marks", frame_marks_of),
    22: ("messages", messages_of),
    23: ("flows", flows_of),
    24: ("sync_points", sync_points_of),
    25: ("track_ends", track_ends_of),
    26: ("clock_anchors", clock_anchors_of),
    27: ("clock_uncertainties", clock_uncertainties_of),
    29: ("states", states_of),
    30: ("stack_samples", stack_samples_of),
    31: ("wakes", wakes_of),
}


class Capture:
    def __init__(self, data):
        if data[:8] != b"\x89KYM\r\n\x1a\n":
            raise ValueError("not a capture")
        if struct.unpack("<I", data[8:12])[0] != 1:
            raise ValueError("not version 1")
        self.declarations = Declarations()
        self.header = {}
        self.end = {"tracks": [], "facts": {}}
        self.ended_tracks = {}
        names = ["scopes", "spans", "samples", *(name for name, _ in EVENT_TABLES.values())]
        self.events = {name: [] for name in names}
        self.stacks = {}
        self.blocks = []
        self.closed = False
        offset = 16
        while offset < len(data):
            if len(data) - offset == 16 and data[-8:] == b"KYMOEND\n":
                self.closed = True
                self.check_index(data, struct.unpack("<Q", data[offset : offset + 8])[0])
                break
            block = Block(data, offset)
            if block.number != len(self.blocks):
                raise ValueError(f"block {len(self.blocks)} is missing")
            self.blocks.append(block)
            self.take_block(block)
            offset = block.end_offset

    def check_index(self, data, offset):
        """Follows the chain of INDEX blocks: it must list the blocks that hopping found."""
        listed = []
        block = Block(data, offset)
        if block.end_offset != len(data) - 16:
            raise ValueError("the last index does not end the file")
        while True:
            table = next(tables(block.payload))
            facts = table.numbers(8, table.count(8))
            at, number = facts[0], facts[1]
            page = []
            for stored, start, duration in zip(table.numbers(3), table.signed(5), table.signed(6), strict=True):
                page.append((at, number, start, start + duration))
                at += 48 + stored
                number += 1
            if at != block.offset:
                raise ValueError("an index does not end where it begins")
            listed = page + listed
            if facts[2] == 0:
                break
            block = Block(data, facts[2])
        found = [(b.offset, b.number, b.start_ns, b.end_ns) for b in self.blocks]
        if listed != found[:-1]:
            raise ValueError("the index lists other blocks than there are")
        self.add_ended_totals()
        last = next(tables(Block(data, offset).payload))
        self.check_repetition(*[*last.numbers(8, last.count(8)), 0][3:5])

    def check_repetition(self, all_from, living_from):
        """The header, what is repeated, and the blocks of ended tracks hold every declaration."""
        if bool(living_from) != any(b.kind == "ENDED_TRACKS" for b in self.blocks) or (all_from and living_from):
            raise ValueError("the index is wrong about ended tracks")
        if not all_from and not living_from:
            return
        repeated = Declarations()
        for block in self.blocks:
            if block.kind in ("HEADER", "ENDED_TRACKS") or block.offset >= max(all_from, living_from):
                for table in tables(block.payload) if block.kind not in ("EVENTS", "SUMMARY") else []:
                    repeated.take(table)
        if repeated.all != self.declarations.all or repeated.infos != self.declarations.infos:
            raise ValueError("not every declaration is repeated")

    def add_ended_totals(self):
        totals = {row["track"]: row for row in self.end["tracks"]}
        for track, row in self.ended_tracks.items():
            totals[track] = added(totals[track], row) if track in totals else row
        self.end["tracks"] = [totals[track] for track in sorted(totals)]

    def take_block(self, block):
        if block.kind in ("HEADER", "DECLARATIONS", "END", "ENDED_TRACKS"):
            for table in tables(block.payload):
                self.declarations.take(table)
                if table.id == 1:
                    recorder, spool_id, clock_source = table.texts(1)[:3]
                    self.header = {
                        "recorder": recorder,
                        "spool_id": spool_id,
                        "clock_source": clock_source,
                        "clock_step_ns": table.floats(2, 1)[0],
                        "owner_pid": table.numbers(3, 1)[0],
                    }
                elif table.id == 41:
                    keys = ("track", "recorded_scopes", "dropped_scopes", "dropped_others", "end_sequence")
                    rows = zip(*columns(table, 1, 2, 3, 4, 5), strict=True)
                    rows = [dict(zip(keys, row, strict=True)) for row in rows]
                    if block.kind == "END":
                        self.end["tracks"] = rows
                        continue
                    for row in rows:
                        known = self.ended_tracks.get(row["track"])
                        self.ended_tracks[row["track"]] = added(known, row) if known else row
                elif table.id == 42:
                    self.end["facts"] = dict(zip(table.texts(1), table.numbers(2), strict=True))
        elif block.kind == "EVENTS":
            self.take_events(block)

    def take_events(self, block):
        start = block.start_ns
        all_tables = list(tables(block.payload))
        text = b"".join(table.columns[1].data for table in all_tables if table.id == 28)
        span_arguments = []
        for table in all_tables:
            if table.id == 18:
                span_arguments = decode_arguments(table, 1, text)
        sample_times = None
        for table in all_tables:
            if table.id == 16:
                self.take_run(table, start, text)
            elif table.id == 17:
                self.events["spans"].extend(spans_of(table, start, span_arguments))
            elif table.id == 21:
                if 1 in table.columns or sample_times is None:
                    sample_times = table.times(1, start)
                self.events["samples"].extend(samples_of(table, sample_times))
            elif table.id in EVENT_TABLES:
                name, rows_of = EVENT_TABLES[table.id]
                self.events[name].extend(rows_of(table, start))

    def take_run(self, table, start, text):
        track = table.key
        facts = table.numbers(1)
        event_count = facts[0]
        open_sites = table.numbers(2, table.count(2))
        open_starts = table.times(3, start, len(open_sites))
        # What is open is stated by every block; arguments that came in earlier blocks are known where it agrees.
        stack = self.stacks.get(track, [])
        if [(s["site"], s["start_ns"]) for s in stack] != list(zip(open_sites, open_starts, strict=True)):
            stack = [
                {"track": track, "site": site, "depth": depth, "start_ns": time, "arguments": []}
                for depth, (site, time) in enumerate(zip(open_sites, open_starts, strict=True))
            ]
        self.stacks[track] = stack

        opens = table.numbers(4, event_count)
        open_count = sum(opens)
        open_deltas = iter(table.numbers(5, open_count))
        close_deltas = iter(table.numbers(6, event_count - open_count))
        sites = iter(table.numbers(7, open_count))
        odd_count = table.count(8)
        odd_facts = zip(table.numbers(9, odd_count), table.numbers(10, odd_count), strict=True)
        odd = dict(zip(table.numbers(8, odd_count), odd_facts, strict=True))
        arguments = decode_arguments(table, 12, text)
        positions = table.numbers(11, len(arguments))
        by_position = {}
        for position, argument in zip(positions, arguments, strict=True):
            by_position.setdefault(position, []).append(argument)

        def attach(position):
            for argument in by_position.get(position, []):
                if stack:
                    stack[-1]["arguments"].append(argument)

        attach(0)
        time = start
        depth_behind = len(stack)
        for i, is_open in enumerate(opens):
            time += next(open_deltas) if is_open else next(close_deltas)
            time = signed(time & MASK)
            depth, flags = odd.get(i, (depth_behind - (0 if is_open else 1), 0))
            depth_behind = depth + is_open
            if is_open:
                site = next(sites)
                stack.append({"track": track, "site": site, "depth": depth, "start_ns": time, "arguments": []})
            else:
                while stack and stack[-1]["depth"] >= depth:
                    scope = stack.pop()
                    # A deeper scope that the close ends as well did not close itself.
                    scope["forced"] = bool(flags & 1) or scope["depth"] > depth
                    scope["end_ns"] = time
                    self.events["scopes"].append(scope)
            attach(i + 1)

    def as_json(self):
        result = {
            "header": self.header,
            "declarations": self.declarations.as_json(),
            "blocks": [
                {"kind": b.kind, "level": b.level, "number": b.number, "start_ns": b.start_ns, "end_ns": b.end_ns}
                for b in self.blocks
            ],
            "closed": self.closed,
            "end": self.end,
            "open": [scope for stack in self.stacks.values() for scope in stack],
        }
        result.update(self.events)
        return result


def main():
    with open(sys.argv[1], "rb") as file:
        capture = Capture(file.read())
    json.dump(capture.as_json(), sys.stdout)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
