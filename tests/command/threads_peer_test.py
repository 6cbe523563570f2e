"""Run states in a Perfetto trace, as Perfetto's own trace processor reads them, beside `kymo stats --by thread`:

threads_peer_test.py KYMO THREADS_PROGRAM WOKEN_PROGRAM NODE
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trace_processor import PROBLEMS, query

KYMO, PROGRAM, WOKEN_PROGRAM, NODE = sys.argv[1:5]
QUERIES = [
    "select ts, dur, cpu, tid, pid, thread.name as name, end_state from sched join thread using (utid) "
    "left join process using (upid) where tid != 0 order by ts",
    # kymo's blocked states last until the thread runs again, also where it is known when it could have.
    "select tid, case when waker_utid is null then state else 'S' end as state, sum(dur) as dur "
    "from thread_state join thread using (utid) where tid != 0 and dur > 0 group by 1, 2",
    PROBLEMS,
]


WAKES = (
    "select waker.name as waker, woken.name as woken, count(*) as number from thread_state "
    "join thread woken using (utid) join thread waker on waker.utid = waker_utid group by 1, 2"
)
#: Runs a command where tracefs is mounted, without which nobody knows of wakes.
TRACED = [
    "unshare",
    "-m",
    "sh",
    "-c",
    '{ [ -d /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing; } && exec "$@"',
    "sh",
]


class WakesPeerTest(unittest.TestCase):
    def test_who_ended_whose_wait_is_known(self):
        with tempfile.TemporaryDirectory(prefix="kymo-wakes-") as folder:
            capture = os.path.join(folder, "run.kymo")
            trace = os.path.join(folder, "run.pftrace")
            words = [*TRACED, KYMO, "record", "--hz", "0", "-q", "-o", capture, "--", WOKEN_PROGRAM]
            recorded = subprocess.run(words, check=False, capture_output=True, text=True)
            facts = subprocess.run([KYMO, "info", "--json", capture], check=False, capture_output=True, text=True)
            if recorded.returncode != 0 or '"threads.wakes":"recorded"' not in facts.stdout.replace(" ", ""):
                raise unittest.SkipTest("the kernel does not say who ended a wait")
            subprocess.run([KYMO, "export", "--to", "perfetto", "-o", trace, capture], check=True)
            wakes, problems = query(NODE, trace, WAKES, PROBLEMS)
        self.assertEqual(problems, [])
        cooked = [row["number"] for row in wakes if (row["waker"], row["woken"]) == ("cook", "woken_program")]
        self.assertEqual(len(cooked), 1, wakes)
        self.assertGreaterEqual(cooked[0], 30, wakes)


class ThreadsPeerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="kymo-threads-")
        cls.addClassCleanup(folder.cleanup)
        capture = os.path.join(folder.name, "run.kymo")
        trace = os.path.join(folder.name, "run.pftrace")
        cls.kymo("record", "--hz", "0", "-q", "-o", capture, "--", PROGRAM)
        activity = json.loads(cls.kymo("stats", "--by", "thread", "--json", capture))["thread_activity"]
        cls.threads = {row["thread_id"]: row for row in activity}
        if not any(row["run_states"] for row in activity):
            raise unittest.SkipTest("the kernel gives no run states")
        cls.kymo("export", "--to", "perfetto", "-o", trace, capture)
        cls.sched, cls.states, cls.problems = query(NODE, trace, *QUERIES)

    @staticmethod
    def kymo(*words):
        return subprocess.run([KYMO, *words], check=True, capture_output=True, text=True).stdout

    def test_the_peer_finds_nothing_wrong(self):
        self.assertEqual(self.problems, [])

    def test_every_thread_ran_as_long_and_moved_as_often(self):
        ran = collections.Counter()
        moved = collections.Counter()
        cpus = {}
        for row in self.sched:
            tid = row["tid"]
            ran[tid] += row["dur"]
            moved[tid] += cpus.get(tid, row["cpu"]) != row["cpu"]
            cpus[tid] = row["cpu"]
            self.assertEqual(row["name"], self.threads[tid]["thread"])
            self.assertEqual(row["pid"], self.threads[tid]["pid"])
        self.assertEqual(ran, {tid: row["run_states"]["running_ns"] for tid, row in self.threads.items()})
        self.assertEqual(dict(moved), {tid: row["migrations"] for tid, row in self.threads.items()})

    def test_what_a_thread_did_off_its_cpu_is_known(self):
        told = collections.defaultdict(dict)
        for row in self.states:
            told[row["tid"]][row["state"]] = row["dur"]
        for tid, row in self.threads.items():
            states = row["run_states"]
            self.assertEqual(told[tid].get("S", 0), states["blocked_ns"], row)
            # What a new thread waits for its first CPU comes before its first switch.
            self.assertLessEqual(told[tid].get("R", 0), states["runnable_ns"], row)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
