"""Programs built otherwise than kymo, with another C++ library or a sanitizer: other_library_test.py PREFIX CXX

They record with an installed kymo as any other program does. What would need the same library does not link.
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
    maxDiff = None

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (library,) = PREFIX.rglob("libkymo.so")
        self.libraries = library.parent

    def compile(
        self, source: pathlib.Path, *libraries: str, otherwise: str = "-stdlib=libc++"
    ) -> subprocess.CompletedProcess[str]:
        """Compile and link a program as `program` in the folder."""
        command = [
            CXX,
            otherwise,
            "-std=c++17",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-I",
            str(PREFIX / "include"),
            str(source),
            "-o",
            str(self.folder / "program"),
            "-L",
            str(self.libraries),
            *libraries,
            f"-Wl,-rpath,{self.libraries}",
        ]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def read(self, *words: str) -> dict:
        command = [str(PREFIX / "bin" / "kymo"), *words, "--json", str(self.folder / "run.kymo")]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    def test_the_recorders_calls_record(self) -> None:
        built = self.compile(HERE / "other_library.cpp", "-lkymo")
        self.assertEqual(built.returncode, 0, built.stderr)
        self.check_recording()

    def test_sanitizers_have_nothing_against_what_kymo_does(self) -> None:
        # Those of docs/how-to.md.
        suppressions = self.folder / "kymo.supp"
        libraries = ("libkymo", "libkymo_sense", "liblz4")
        suppressions.write_text("".join(f"called_from_lib:{name}.so\n" for name in libraries), encoding="utf-8")
        for sanitizer in ("address,undefined", "memory", "thread"):
            built = self.compile(HERE / "other_library.cpp", "-lkymo", otherwise=f"-fsanitize={sanitizer}")
            if "libclang_rt" in built.stderr:
                self.skipTest(f"the compiler has no sanitizer of {sanitizer}")
            self.assertEqual(built.returncode, 0, built.stderr)
            for rates in ("0", "1000"):
                with self.subTest(sanitizer, sampled=rates):
                    (self.folder / "run.kymo").unlink(missing_ok=True)
                    self.check_recording(rates, TSAN_OPTIONS=f"suppressions={suppressions}")

    def check_recording(self, rates: str = "0", **variables: str) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KYMO_")}
        done = subprocess.run(
            [self.folder / "program"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            env=kept | variables | {"KYMO_RECORD": "run.kymo", "KYMO_SAMPLE": rates},
        )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        stats = self.read("stats", "--metrics")
        counts = {row["name"]: row["count"] for row in stats["sites"]}
        self.assertEqual(
            {name: counts.get(name) for name in ("work", "made at run time", "in a fiber")},
            {"work": 10, "made at run time": 10, "in a fiber": 10},
        )
        self.assertEqual({row["name"]: row["count"] for row in stats["spans"]}, {"kernel": 10, "request": 10})
        metrics = {row["name"]: row for row in stats["metrics"]}
        self.assertEqual((metrics["rows"]["count"], metrics["rows"]["max"]), (10, 9))
        written = next(row for name, row in metrics.items() if name.startswith("written"))
        self.assertEqual((written["unit"], written["last"]), ("B", 42))
        trace = self.folder / "trace.json"
        subprocess.run(
            [PREFIX / "bin" / "kymo", "export", "--to", "chrome", "-o", trace, self.folder / "run.kymo"],
            check=True,
            capture_output=True,
        )
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
