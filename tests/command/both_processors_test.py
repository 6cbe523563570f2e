"""What one processor recorded, another reads, and both say the same of it to the last digit.

both_processors_test.py NATIVE_BUILD EMULATED_PROGRAMS

NATIVE_BUILD is a build of this project for the machine that runs the test, EMULATED_PROGRAMS the folder of what starts
the other processor's programs.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

NATIVE_BUILD, EMULATED_PROGRAMS = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
PROGRAMS = {
    "native": {
        "kymo": NATIVE_BUILD / "apps/kymo/kymo",
        "export_model": NATIVE_BUILD / "tests/exchange/export_model",
        "recorded_program": NATIVE_BUILD / "tests/command/recorded_program",
    },
    "emulated": {name: EMULATED_PROGRAMS / name for name in ("kymo", "export_model", "recorded_program")},
}
SCOPES = 1000
# The frequency that qemu-user states in CNTFRQ_EL0.
EMULATED_STEP_NS = 1e9 / 62_500_000
QUESTIONS = [
    ["info", "--json"],
    ["stats", "--json"],
    ["stats", "--json", "--decode"],
    ["stats", "--tree", "--json"],
    ["export", "--to", "chrome", "-o", "/dev/stdout"],
    ["export", "--to", "perfetto", "-o", "/dev/stdout"],
    ["export", "--to", "csv-spans", "-o", "/dev/stdout"],
    ["export", "--to", "csv-metrics", "-o", "/dev/stdout"],
]


def run(side: str, program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KYMO_")}
    return subprocess.run(
        [str(PROGRAMS[side][program]), *arguments],
        env={**kept, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )


class BothProcessorsTest(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def kymo(self, side: str, *arguments: str) -> bytes:
        result = run(side, "kymo", *arguments)
        self.assertEqual(result.returncode, 0, f"{side} kymo {arguments}: {result.stderr.decode()}")
        return result.stdout

    def check_that_both_read_alike(self, *captures: pathlib.Path) -> None:
        for question in QUESTIONS:
            answers = [self.kymo(side, *question, *map(str, captures)) for side in PROGRAMS]
            self.assertGreater(len(answers[0]), 20, question)
            self.assertEqual(answers[0], answers[1], question)

    def record(self, side: str, mode: str, status: int) -> pathlib.Path:
        capture = self.folder / f"{side}.kymo"
        result = run(side, "recorded_program", mode, str(SCOPES), KYMO_RECORD=str(capture), KYMO_SAMPLE="0")
        self.assertEqual(result.returncode, status, result.stderr.decode())
        return capture

    def scopes_in(self, side: str, capture: pathlib.Path) -> int:
        sites = json.loads(self.kymo(side, "stats", "--json", str(capture)))["sites"]
        return sum(site["count"] for site in sites if site["name"] == "work")

    def test_the_same_events_become_the_same_bytes(self) -> None:
        written = {}
        for side in PROGRAMS:
            folder = self.folder / side
            folder.mkdir()
            self.assertEqual(run(side, "export_model", str(folder)).returncode, 0)
            written[side] = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.assertEqual(
            set(written["native"]), {"model.kymo", "model.json", "edges.kymo", "pushed.json", "whole.json"}
        )
        for name, content in written["native"].items():
            self.assertTrue(content == written["emulated"][name], f"{name} differs")
        self.check_that_both_read_alike(self.folder / "native" / "model.kymo")
        self.check_that_both_read_alike(self.folder / "emulated" / "edges.kymo")

    def test_recordings_of_either_are_read_by_both_alone_and_together(self) -> None:
        captures = {side: self.record(side, "scopes", 0) for side in PROGRAMS}
        for side, capture in captures.items():
            self.assertEqual(self.scopes_in(side, capture), SCOPES)
            self.check_that_both_read_alike(capture)
        self.check_that_both_read_alike(*captures.values())
        (emulated,) = json.loads(self.kymo("native", "info", "--json", str(captures["emulated"])))["captures"]
        self.assertEqual(emulated["clock_source"], "cntvct")
        self.assertEqual(emulated["clock_step_ns"], EMULATED_STEP_NS)

    def test_what_a_killed_program_left_is_recovered_by_the_other(self) -> None:
        for writer, reader in (("emulated", "native"), ("native", "emulated")):
            capture = self.record(writer, "kill", -9)
            self.kymo(reader, "recover", str(capture))
            self.assertEqual(self.scopes_in(reader, capture), SCOPES)
            self.check_that_both_read_alike(capture)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
