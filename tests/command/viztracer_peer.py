"""viztracer traces a program, kymo imports the trace: every function has the same calls and the same time.

viztracer_peer.py KYMO
"""

import collections
import json
import os
import subprocess
import sys
import tempfile
from fractions import Fraction

PROGRAM = """
import threading
from viztracer import get_tracer

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def work(rounds):
    for i in range(rounds):
        get_tracer().log_var("round", i)
        fib(9)
    get_tracer().log_instant("done", args={"rounds": rounds})

thread = threading.Thread(target=work, args=(20,), name="worker")
thread.start()
work(30)
thread.join()
"""


def microseconds_to_ns(number):
    return int(Fraction(number) * 1000)


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: kymo says {got}, the trace says {wanted}")


def main():
    kymo = sys.argv[1]
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        with open("program.py", "w") as program:
            program.write(PROGRAM)
        subprocess.run(
            [sys.executable, "-m", "viztracer", "--quiet", "--log_func_args", "-o", "trace.json", "program.py"],
            check=True,
            stdin=subprocess.DEVNULL,
        )
        with open("trace.json") as trace:
            events = json.load(trace, parse_float=str, parse_int=str)["traceEvents"]
        imported = subprocess.run([kymo, "import", "trace.json"], check=True, capture_output=True, text=True)
        if "warning" in imported.stderr:
            sys.exit(imported.stderr)
        stats = json.loads(
            subprocess.run([kymo, "stats", "--json", "trace.kymo"], check=True, capture_output=True, text=True).stdout
        )
        info = json.loads(
            subprocess.run([kymo, "info", "--json", "trace.kymo"], check=True, capture_output=True, text=True).stdout
        )

    wanted = collections.defaultdict(lambda: [0, 0])
    for event in events:
        if event["ph"] == "X":
            wanted[event["name"]][0] += 1
            wanted[event["name"]][1] += microseconds_to_ns(event["dur"])
    got = {scope["name"]: [scope["count"], scope["total_ns"]] for scope in stats["sites"]}
    expect("functions", got.keys(), wanted.keys())
    for name in wanted:
        expect(name, got[name], wanted[name])
    fib = next(name for name in wanted if name.startswith("fib "))
    expect("calls of fib", got[fib][0], 50 * 109)
    counters = sum(event["ph"] == "C" for event in events)
    expect("counter values", f"{counters} samples" in imported.stdout, True)
    expect("messages", "2 messages" in imported.stdout, True)
    expect("threads", {track["name"] for track in info["tracks"]} >= {"MainThread", "worker"}, True)


main()
