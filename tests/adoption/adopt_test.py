"""A project that knows nothing of kymo is adopted as docs/how-to.md says: adopt_test.py PROJECT SOURCE PREFIX CMAKE

PROJECT is a folder beside this file with an adopt.patch in it, SOURCE kymo's tree, PREFIX where kymo is installed; CC
and CXX are the compilers. The project's program prints lines such as "300 store::Table::put": how often it called what.
Recorded, each must be in the capture exactly that often; without KYMO_RECORD, the program must leave nothing behind.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PROJECT, SOURCE, PREFIX, CMAKE = sys.argv[1], *map(pathlib.Path, sys.argv[2:5])
PROGRAMS = {"store": "build/store_bench", "scene": "build/viewer", "cached": "build/cached"}
# Adoption takes a few lines, not a rewrite.
MOST_LINES = 12


def documented(language: str) -> list[str]:
    """The lines of the examples in one language that docs/how-to.md gives to projects that exist."""
    section = (
        (SOURCE / "docs/how-to.md").read_text(encoding="utf-8").split("## A project that exists\n")[1].split("\n## ")[0]
    )
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines() if line]


class AdoptionTest(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.tree = pathlib.Path(scratch.name) / PROJECT
        shutil.copytree(HERE / PROJECT, self.tree)
        (library,) = PREFIX.rglob("libkymo.so")
        # What the tests' own environment asks of a recorder or a package search is not meant for these.
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("KYMO_", "CMAKE_"))
            and name not in ("CPPFLAGS", "CFLAGS", "CXXFLAGS", "LDFLAGS", "LIBS")
        }
        self.environment = kept | {
            "PKG_CONFIG_PATH": str(library.parent / "pkgconfig"),
            "LD_LIBRARY_PATH": str(library.parent),
            "PATH": f"{PREFIX / 'bin'}:{os.environ['PATH']}",
        }

    def run_in(self, folder: pathlib.Path, *command: str | pathlib.Path, **more: str) -> str:
        """The output of a command that must succeed."""
        done = subprocess.run(
            command, cwd=folder, env=self.environment | more, capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout

    def test_it_is_recorded_after_a_few_lines(self) -> None:
        patch = (self.tree / "adopt.patch").read_text(encoding="utf-8")
        added = [line[1:].strip() for line in patch.splitlines() if re.match(r"\+(?!\+\+ |$)", line)]
        self.assertLessEqual(len(added), MOST_LINES)
        self.run_in(self.tree, "patch", "-p1", "-i", "adopt.patch")
        build = self.tree / "build"
        build.mkdir()
        if (self.tree / "configure").exists():
            (configure,) = documented("bash")
            self.run_in(build, "sh", "-euc", configure.replace("./configure", "../configure"))
            self.run_in(build, "make")
        else:
            for line in documented("cmake"):
                if f"({PROJECT} " in line:
                    self.assertIn(line, added, "what docs/how-to.md says is not what was done")
            self.run_in(
                self.tree,
                CMAKE,
                "-S",
                ".",
                "-B",
                "build",
                "-G",
                "Ninja",
                "-DCMAKE_BUILD_TYPE=Release",
                f"-DCMAKE_PREFIX_PATH={PREFIX}",
            )
            self.run_in(self.tree, CMAKE, "--build", "build")

        program = self.tree / PROGRAMS[PROJECT]
        before = sorted(self.tree.rglob("*"))
        said = self.run_in(self.tree, program)
        self.assertEqual(sorted(self.tree.rglob("*")), before)

        self.assertEqual(self.run_in(self.tree, program, KYMO_RECORD="run.kymo"), said)
        figures = json.loads(self.run_in(self.tree, "kymo", "stats", "--json", "run.kymo"))
        counts = {site["name"]: site["count"] for site in figures["sites"]}
        counts |= {"frames": sum(stream["count"] for stream in figures["frame_streams"])}
        calls = [line.split(" ", 1) for line in said.splitlines()]
        self.assertGreater(len(calls), 2)
        self.assertEqual({name: counts.get(name, 0) for _, name in calls}, {name: int(count) for count, name in calls})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
