"""libkymo keeps what it promised to programs built with its release; scripts/abi.sh names what does not."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]


class AbiTest(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        headers = subprocess.run(["objdump", "-p", sys.argv[1]], capture_output=True, text=True, check=True).stdout
        soname = re.search(r"SONAME +(\S+)", headers)
        assert soname
        self.soname = soname[1]
        self.dump = PROJECT / "tests" / "abi" / f"{self.soname}.abi"

    def compare(self, *folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PROJECT / "scripts" / "abi.sh", sys.argv[1], *folder], capture_output=True, text=True, check=False
        )

    def compare_with(self, dump: str) -> subprocess.CompletedProcess[str]:
        (self.folder / self.dump.name).write_text(dump)
        return self.compare(self.folder)

    def test_nothing_that_programs_use_was_broken(self) -> None:
        result = self.compare()
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_the_soname_and_the_symbols_have_the_version_that_may_not_be_mixed(self) -> None:
        major, minor = re.search(
            r"project\(kymo VERSION (\d+)\.(\d+)", (PROJECT / "CMakeLists.txt").read_text()
        ).groups()
        version = f"0.{minor}" if major == "0" else major
        self.assertEqual(self.soname, f"libkymo.so.{version}")
        symbols = subprocess.run(
            ["nm", "-D", "--defined-only", sys.argv[1]], capture_output=True, text=True, check=True
        ).stdout
        ours = [line.split()[-1] for line in symbols.splitlines() if re.search(r" [TB] (kymo_|_ZNK?4kymo)", line)]
        self.assertGreater(len(ours), 50)
        self.assertEqual([name for name in ours if not name.endswith(f"@@KYMO_{version}")], [])

    def test_a_function_that_is_gone_is_named(self) -> None:
        result = self.compare_with(self.dump.read_text().replace("kymo_frame_mark", "kymo_frame_park"))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("kymo_frame_park", result.stderr)
        self.assertIn("would break with this library", result.stderr)

    def test_a_type_that_has_another_size_is_named(self) -> None:
        text, count = re.subn(
            r"(<class-decl name='MetricSample' size-in-bits=')\d+'", r"\g<1>64'", self.dump.read_text()
        )
        self.assertEqual(count, 1)
        result = self.compare_with(text)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("MetricSample", result.stderr)

    def test_a_new_version_is_told_how_to_get_a_dump(self) -> None:
        result = self.compare(self.folder)
        self.assertEqual(result.returncode, 2)
        self.assertIn("scripts/abi.sh --write", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
