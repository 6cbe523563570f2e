"""The cases in gate_cases.txt are what the crate ruvector-attn-mincut gives: gate_peer_test.py BUILD_FOLDER

Builds gate_peer with Cargo, which takes the crate from its registry.
"""

import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(sys.argv.pop(1)).resolve()


class GatePeerTest(unittest.TestCase):
    def test_the_cases_are_those_of_the_crate(self) -> None:
        cargo = shutil.which("cargo")
        if cargo is None:
            self.skipTest("there is no cargo")
        # Cargo writes beside its project.
        project = BUILD / "project"
        shutil.copytree(HERE / "gate_peer", project, dirs_exist_ok=True)
        command = [
            cargo,
            "run",
            "--release",
            "--quiet",
            "--manifest-path",
            str(project / "Cargo.toml"),
        ]
        run = subprocess.run(
            command,
            env={**os.environ, "CARGO_TARGET_DIR": str(BUILD), "CARGO_NET_RETRY": "0"},
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        if run.returncode != 0 and ("failed to download" in run.stderr or "failed to get" in run.stderr):
            self.skipTest("the registry of Rust cannot be reached")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout, (HERE / "gate_cases.txt").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
