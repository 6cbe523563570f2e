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
SAMPLES = 100
DEADLINE_S = 60


def has_enough(process_id: int, does: str) -> bool:
    """Tell whether the process has computed for 100 ms, or whether one of its threads has waited 100 times."""
    if does == "computing":
        stat = pathlib.Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8")
        return sum(map(int, stat.rpartition(")")[2].split()[11:13])) >= SAMPLES / 1000 * os.sysconf("SC_CLK_TCK")
    threads = pathlib.Path(f"/proc/{process_id}/task").glob("*/status")
    switches = [re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", thread.read_text("utf-8")) for thread in threads]
    return any(found and int(found[1]) >= SAMPLES for found in switches)


def plain(name: str) -> str:
    """Leave out parameters, versions and the compiler's marks; of a function's names any may be told: _exit, exit."""
    name = re.sub(r"@.*| \[clone .*\]", "", name)
    name = re.sub(r"\([^()]*\)(?: const)?$", "", name)
    return re.sub(r"\.(?:constprop|isra|part|cold)\.?\d*$", "", name).lstrip("_")


def stacks_of(process_id: int) -> list[list[str]]:
    """Ask eu-stack for the functions of each thread, the innermost first; of some the name is not known."""
    said = subprocess.run([EU_STACK, "-p", str(process_id)], capture_output=True, text=True, check=False)
    if "Operation not permitted" in said.stderr:
        raise unittest.SkipTest("no process may be looked at here")
    threads = [FRAME.findall(text) for text in said.stdout.split("TID ")[1:]]
    return [[plain(name) for name in names] for names in threads]


def are_same(stack: list[str], held: list[str], *, may_be_cut: bool) -> bool:
    """Compare the functions of kymo's stack with those of eu-stack's, which has none of the kernel's."""
    if may_be_cut and stack[-1:] == ["[unknown]"] and "maze::hold" in stack:
        # The copies of waiting threads' stacks are shorter than some processors' frames of signals.
        length = len(stack) - 1 - stack.index("maze::hold") + held.index("maze::hold")
        stack, held = stack[:-1], held[:length]
    functions = stack[-len(held) :]
    # What has no name has its place in its file here.
    return len(functions) == len(held) and all(
        there in ("", plain(here)) for here, there in zip(functions, held, strict=True)
    )


class HeldStacks(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="kymo-held-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def held_stack(self, process_id: int, does: str) -> list[str]:
        """Return eu-stack's stack of the thread that stands still, once that computes, or sleeps."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            for stack in stacks_of(process_id):
                if "maze::hold" in stack and (does == "computing" or "nanosleep" in stack[0]):
                    return stack
            self.assertLess(time.monotonic(), deadline)

    def record(self, program: str, way: str, does: str) -> tuple[list[str], list[tuple[list[str], int]]]:
        """Return eu-stack's stack, and kymo's with their weights, the innermost function first."""
        capture = os.path.join(self.folder, f"{os.path.basename(program)}-{way}.kymo")
        command = [KYMO, "record", "-q", "--hz", "0", "--stacks", "-o", capture, "--", program, way, does]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as recorder:
            process_id = int(recorder.stdout.readline())
            try:
                deadline = time.monotonic() + DEADLINE_S
                while not has_enough(process_id, does):
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.01)
                held = self.held_stack(process_id, does)
            finally:
                os.kill(process_id, signal.SIGTERM)
        info = subprocess.run([KYMO, "info", capture], check=True, capture_output=True, text=True).stdout
        if "stacks.refused" in info or (does == "waiting" and not re.search(r"stacks.waits +recorded", info)):
            raise unittest.SkipTest("the kernel gives no such stacks")
        what = ["--waits"] if does == "waiting" else []
        said = subprocess.run(
            [KYMO, "export", "--to", "collapsed", *what, "-o", "-", capture], check=True, capture_output=True, text=True
        ).stdout
        lines = [line.rpartition(" ") for line in said.splitlines()]
        stacks = [(stack.split(";")[:0:-1], int(weight)) for stack, _, weight in lines]
        # eu-stack knows no inlined functions.
        return held, [([name for name in stack if "(inlined)" not in name], weight) for stack, weight in stacks]

    def expect_same(self, does: str) -> None:
        for program in PROGRAMS:
            for way in WAYS:
                with self.subTest(program=os.path.basename(program), way=way):
                    held, found = self.record(program, way, does)
                    weights: collections.Counter[bool] = collections.Counter()
                    for stack, weight in found:
                        is_same = are_same(stack, held, may_be_cut=does == "waiting")
                        # Other threads of a program may wait for this one.
                        if is_same or "maze::hold" in stack or does == "computing":
                            weights[is_same] += weight
                    # Until it stood still it had other stacks.
                    self.assertGreater(weights[True], 9 * weights[False], (held, found))

    def test_samples_are_the_stacks_that_eu_stack_sees(self) -> None:
        self.expect_same("computing")

    def test_waits_have_the_stacks_that_eu_stack_sees(self) -> None:
        self.expect_same("waiting")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
