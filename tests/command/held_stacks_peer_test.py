"""Stacks of programs that stand still at one place, as elfutils' eu-stack sees them there and as kymo samples them.

held_stacks_peer_test.py KYMO EU_STACK PROGRAM...
"""

import collections
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

KYMO, EU_STACK, *PROGRAMS = sys.argv[1:]
WAYS = ("plain", "deep", "handler", "cleanup", "stretch", "thread")
FRAME = re.compile(r"#\d+ +0x[0-9a-f]+(?: - 1)? *(.*)")
TICKS = 20  # of 10 ms of CPU time: some 200 samples
DEADLINE_S = 60


def cpu_ticks(process_id: int) -> int:
    fields = pathlib.Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def plain(name: str) -> str:
    """Leave out parameters, versions and the compiler's marks; of a function's names any may be told: _exit, exit."""
    name = re.sub(r"@.*| \[clone .*\]", "", name)
    name = re.sub(r"\([^()]*\)(?: const)?$", "", name)
    return re.sub(r"\.(?:constprop|isra|part|cold)\.?\d*$", "", name).lstrip("_")


def stacks_of(process_id: int) -> list[list[str]]:
    """Ask eu-stack for the functions of each thread, the innermost first; of some the name is not known."""
    said = subprocess.run([EU_STACK, "-p", str(process_id)], capture_output=True, text=True, check=False).stdout
    threads = [FRAME.findall(text) for text in said.split("TID ")[1:]]
    return [[plain(name) for name in names] for names in threads]


class HeldStacks(unittest.TestCase):
    def record(self, folder: str, program: str, way: str) -> tuple[list[list[str]], list[tuple[list[str], int]]]:
        """Return eu-stack's stacks, and kymo's with how often each was found, the innermost function first."""
        capture = os.path.join(folder, f"{os.path.basename(program)}-{way}.kymo")
        command = [KYMO, "record", "-q", "--hz", "0", "--stacks", "-o", capture, "--", program, way]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as recorder:
            process_id = int(recorder.stdout.readline())
            try:
                begin = cpu_ticks(process_id)
                deadline = time.monotonic() + DEADLINE_S
                while cpu_ticks(process_id) < begin + TICKS:
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.01)
                threads = stacks_of(process_id)
            finally:
                os.kill(process_id, signal.SIGTERM)
        said = subprocess.run(
            [KYMO, "export", "--to", "collapsed", "-o", "-", capture], check=True, capture_output=True, text=True
        ).stdout
        lines = [line.rpartition(" ") for line in said.splitlines()]
        return threads, [(stack.split(";")[:0:-1], int(count)) for stack, _, count in lines]

    def test_samples_are_the_stacks_that_eu_stack_sees(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for program in PROGRAMS:
                for way in WAYS:
                    with self.subTest(program=os.path.basename(program), way=way):
                        threads, found = self.record(folder, program, way)
                        (held,) = [stack for stack in threads if "maze::hold" in stack]
                        counts: collections.Counter[bool] = collections.Counter()
                        for stack, count in found:
                            # What neither file names has no name there, and its place in the file here.
                            is_same = len(stack) == len(held) and all(
                                there in ("", plain(here)) for here, there in zip(stack, held, strict=True)
                            )
                            counts[is_same] += count
                        self.assertGreaterEqual(counts[True], TICKS * 5, (held, found))
                        # Until it stood still it had other stacks.
                        self.assertGreater(counts[True], 9 * counts[False], (held, found))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
