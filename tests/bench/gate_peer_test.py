"""The cases in gate_cases.txt are what the crate ruvector-attn-mincut gives: gate_peer_test.py BUILD_FOLDER"""

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(HERE.parent / "support"))

import crates  # noqa: E402


class GatePeerTest(unittest.TestCase):
    def test_the_cases_are_those_of_the_crate(self) -> None:
        printed = crates.run("gate_peer", BUILD)
        self.assertEqual(printed, (HERE / "gate_cases.txt").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
