"""Reads a Chrome trace and a list of "<name> <start> <end> <argument>".

Checks that the trace holds exactly those scopes, to the nanosecond, and that the scopes of each thread nest, also for a
reader that adds times as doubles.
"""

import json
import sys
from decimal import Decimal

with open(sys.argv[1], encoding="utf-8", errors="strict") as file:
    trace = json.load(file, parse_float=Decimal)
assert trace["displayTimeUnit"] == "ns"

found = []
threads = {}
for event in trace["traceEvents"]:
    if event["ph"] != "X":
        continue
    start = event["ts"] * 1000
    end = start + round(event["dur"] * 1000)
    assert start == int(start), event
    assert abs(event["dur"] * 1000 - round(event["dur"] * 1000)) < Decimal("0.49"), event
    found.append((event["name"], int(start), int(end), event.get("args", {}).get("n", -1)))
    threads.setdefault((event["pid"], event["tid"]), []).append(
        (int(start), -int(end), float(event["ts"]), float(event["ts"]) + float(event["dur"]))
    )

for spans in threads.values():
    around = []
    for _, _, start, end in sorted(spans, key=lambda span: span[:2]):
        while around and around[-1] <= start:
            around.pop()
        assert not around or end <= around[-1], "two scopes of one thread overlap without nesting"
        around.append(end)

with open(sys.argv[2], encoding="utf-8") as lines:
    expected = [(name, int(start), int(end), int(argument)) for name, start, end, argument in map(str.split, lines)]
if sorted(found) != sorted(expected):
    sys.exit(f"{len(found)} scopes found, {len(expected)} expected, or they differ")
print(len(found), "equal")
