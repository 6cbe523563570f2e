"""Reads lines of "<bytes in hex> <JSON string>" and checks that each string is what Python makes of the bytes."""

import json
import sys

count = 0
with open(sys.argv[1], encoding="utf-8", errors="strict", newline="\n") as lines:
    for line in lines:
        raw, text = line.rstrip("\n").split(" ", 1)
        expected = bytes.fromhex(raw).decode("utf-8", "replace")
        if json.loads(text) != expected:
            sys.exit(f"{raw}: {text} is not {expected!r}")
        count += 1
print(count, "equal")
