"""In the tree of another project, kymo's sources are joined and without warnings.

Its headers are none of the user's to warn of.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]


class SubprojectTest(unittest.TestCase):
    def test_warnings_of_kymo_stay_out_of_the_users_build(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            user = pathlib.Path(folder)
            (user / "CMakeLists.txt").write_text(
                "cmake_minimum_required(VERSION 3.22)\nproject(user CXX)\n"
                f"add_subdirectory({PROJECT} kymo)\nadd_executable(program program.cpp)\n"
                "target_link_libraries(program PRIVATE kymo::kymo)\n"
            )
            (user / "program.cpp").write_text("int main() {}\n")
            said = subprocess.run(
                [
                    sys.argv[1],
                    "-S",
                    folder,
                    "-B",
                    f"{folder}/build",
                    "-G",
                    "Ninja",
                    "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(said.returncode, 0, said.stderr)
            commands = json.loads((user / "build/compile_commands.json").read_text())
        own = [entry for entry in commands if entry["file"].endswith("program.cpp")]
        self.assertEqual(len(own), 1)
        self.assertIn(f"-isystem {PROJECT}/include", own[0]["command"])
        self.assertNotIn(" -w ", own[0]["command"])
        others = [entry for entry in commands if entry not in own]
        self.assertTrue(any("/Unity/unity_0" in entry["file"] for entry in others))
        self.assertEqual([entry["file"] for entry in others if " -w " not in entry["command"]], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
