"""A configuration without the libraries that kymo needs names all of them at once.

It also names the command that installs them.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]


class NeedsTest(unittest.TestCase):
    def test_what_is_missing_is_named_with_the_command_that_installs_it(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            # pkg-config and CMake find nothing there.
            result = subprocess.run(
                [
                    sys.argv[1],
                    "-S",
                    str(PROJECT),
                    "-B",
                    folder,
                    "-DKYMO_BUILD_TESTS=OFF",
                    "-DKYMO_BUILD_WEB=OFF",
                    "-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON",
                ],
                env={**os.environ, "PKG_CONFIG_LIBDIR": folder, "PKG_CONFIG_PATH": ""},
                capture_output=True,
                text=True,
                check=False,
            )
        self.assertNotEqual(result.returncode, 0)
        said = " ".join(result.stderr.split())
        self.assertIn("liblz4, libzstd, fmt. ", said)
        self.assertIn("scripts/bootstrap.sh build", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
