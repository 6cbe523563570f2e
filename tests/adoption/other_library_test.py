"""A program with another C++ library than kymo's: other_library_test.py PREFIX CXX

It records with an installed kymo as any other program does. What would need the same library does not link.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PREFIX, CXX = pathlib.Path(sys.argv[1]), sys.argv[2]


class OtherLibraryTest(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (library,) = PREFIX.rglob("libkymo.so")
        self.libraries = library.parent

    def compile(self, source: pathlib.Path, *libraries: str) -> subprocess.CompletedProcess[str]:
        """Compile and link a program as `program` in the folder."""
        command = [CXX, "-stdlib=libc++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-I", str(PREFIX / "include"), str(source),
                   "-o", str(self.folder / "program"), "-L", str(self.libraries), *libraries, f"-Wl,-rpath,{self.libraries}"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def read(self, *words: str) -> dict:
        command = [str(PREFIX / "bin" / "kymo"), *words, "--json", str(self.folder / "run.kymo")]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    def test_the_recorders_calls_record(self) -> None:
        built = self.compile(HERE / "other_library.cpp", "-lkymo")
        self.assertEqual(built.returncode, 0, built.stderr)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KYMO_")}
        done = subprocess.run([self.folder / "program"], cwd=self.folder, capture_output=True, text=True, check=False,
                              env=kept | {"KYMO_RECORD": "run.kymo", "KYMO_SAMPLE": "0"})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        stats = self.read("stats", "--metrics")
        counts = {row["name"]: row["count"] for row in stats["sites"]}
        self.assertEqual({name: counts.get(name) for name in ("work", "made at run time", "in a fiber")},
                         {"work": 10, "made at run time": 10, "in a fiber": 10})
        self.assertEqual({row["name"]: row["count"] for row in stats["spans"]}, {"kernel": 10, "request": 10})
        metrics = {row["name"]: row for row in stats["metrics"]}
        self.assertEqual((metrics["rows"]["count"], metrics["rows"]["max"]), (10, 9))
        written = next(row for name, row in metrics.items() if name.startswith("written"))
        self.assertEqual((written["unit"], written["last"]), ("B", 42))
        trace = self.folder / "trace.json"
        subprocess.run([PREFIX / "bin" / "kymo", "export", "--to", "chrome", "-o", trace, self.folder / "run.kymo"], check=True,
                       capture_output=True)
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
        arguments = [event["args"] for event in events if event.get("name") == "work" and event["ph"] == "X"]
        self.assertEqual(arguments, [{"n": n, "what": "text", "share": 0.5} for n in range(10)])
        info = json.dumps(self.read("info"))
        for text in ("main loop", "tiny", "queue 1", "loader", "requests"):
            self.assertIn(text, info)

    def test_what_needs_the_same_library_does_not_link(self) -> None:
        source = self.folder / "sampler.cpp"
        source.write_text("#include <kymo/sampler.hpp>\nint main() { kymo::Sampler sampler; }\n", encoding="utf-8")
        built = self.compile(source, "-lkymo", "-lkymo_sense")
        self.assertNotEqual(built.returncode, 0)
        self.assertIn("needs_a_kymo_built_with_libcxx", built.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
