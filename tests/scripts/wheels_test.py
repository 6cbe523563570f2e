"""What cibuildwheel makes of pyproject.toml.

Wheels for every Python, C library and architecture that is meant, and no others.
"""

import itertools
import pathlib
import subprocess
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
PYTHONS = ("cp310", "cp311", "cp312", "cp313", "cp314")
LIBRARIES = ("manylinux", "musllinux")
ARCHITECTURES = ("x86_64", "aarch64")


class WheelsTest(unittest.TestCase):
    def identifiers(self) -> list[str]:
        result = subprocess.run(
            [sys.executable, "-m", "cibuildwheel", "--platform", "linux", "--print-build-identifiers", str(PROJECT)],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.split()

    def test_wheels_are_made_for_every_python_and_library_on_both_architectures(self) -> None:
        meant = {
            f"{python}-{library}_{architecture}"
            for python, library, architecture in itertools.product(PYTHONS, LIBRARIES, ARCHITECTURES)
        }
        self.assertEqual(sorted(self.identifiers()), sorted(meant))


if __name__ == "__main__":
    unittest.main()
