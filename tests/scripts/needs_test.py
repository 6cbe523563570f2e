"""A configuration without the libraries that kymo needs names all of them at once, and the command that installs them.

Without what only tests need, it leaves those tests out.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]


def configure(folder: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.argv[1], "-S", str(PROJECT), "-B", folder, *options],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


class NeedsTest(unittest.TestCase):
    def test_what_is_missing_is_named_with_the_command_that_installs_it(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            # pkg-config and CMake find nothing there.
            result = configure(
                folder,
                "-DKYMO_BUILD_TESTS=OFF",
                "-DKYMO_BUILD_WEB=OFF",
                "-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON",
                PKG_CONFIG_LIBDIR=folder,
                PKG_CONFIG_PATH="",
            )
        self.assertNotEqual(result.returncode, 0)
        said = " ".join(result.stderr.split())
        self.assertIn("liblz4, libzstd, fmt. ", said)
        self.assertIn("scripts/bootstrap.sh build", said)

    def test_without_the_peers_the_other_tests_are_configured(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            result = configure(folder, "-DKYMO_PEERS_PYTHON=")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Left out: tests against peers", result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
