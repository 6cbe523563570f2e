"""The documentation becomes a site without a network, with every page, and with no link that leads nowhere."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
WITHOUT_NETWORK = ["unshare", "--net", "--map-root-user"]
# A container may forbid a network of one's own; the pages are looked at all the same.
if subprocess.run([*WITHOUT_NETWORK, "true"], capture_output=True, check=False).returncode != 0:
    WITHOUT_NETWORK = []


class SiteTest(unittest.TestCase):
    def build(self, project: pathlib.Path, folder: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*WITHOUT_NETWORK, project / "scripts" / "site.sh", sys.argv[1], folder],
            capture_output=True,
            text=True,
            check=False,
        )

    def test_every_page_is_there_and_asks_nobody_for_anything(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            result = self.build(PROJECT, f"{folder}/site")
            self.assertEqual(result.returncode, 0, result.stderr)
            site = pathlib.Path(folder) / "site"
            for page in (PROJECT / "docs").glob("*.md"):
                text = (site / "docs" / f"{page.stem}.html").read_text()
                self.assertEqual(re.findall(r'(?:src|rel="stylesheet" href)="https?:', text), [], page.name)
            navigation = (PROJECT / "mkdocs.yml").read_text()
            missing = [page.name for page in (PROJECT / "docs").glob("*.md") if f"docs/{page.name}" not in navigation]
            self.assertEqual(missing, [])
            self.assertIn("--fail-on-regression", (site / "reference" / "kymo.html").read_text())
            self.assertIn(
                "A fiber may be destroyed on any thread", (site / "cpp" / "classkymo_1_1Fiber.html").read_text()
            )

    def test_every_public_type_says_what_it_is(self) -> None:
        nameless = []
        for header in sorted((PROJECT / "include" / "kymo").glob("*.hpp")):
            text = re.sub(r"(?ms)^namespace detail \{.*?^\}  // namespace detail", "", header.read_text())
            for found in re.finditer(r"(?m)^(.*)\n(?:template .*\n)?(?:struct|class|enum class) [^;\n]*\{", text):
                if not found[1].startswith("///"):
                    nameless.append(f"{header.name}: {found[0].splitlines()[-1]}")
        self.assertEqual(nameless, [])

    def test_a_link_that_leads_nowhere_fails(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "kymo"
            copy.mkdir()
            for name in (
                "docs",
                "examples",
                "include",
                "scripts",
                "README.md",
                "CONTRIBUTING.md",
                "CHANGELOG.md",
                "SECURITY.md",
                "LICENSE",
                "mkdocs.yml",
            ):
                subprocess.run(["cp", "-R", PROJECT / name, copy], check=True)
            for name in ("src/rooms.txt", "build/peers"):
                (copy / name).parent.mkdir(exist_ok=True)
                (copy / name).symlink_to(PROJECT / name)
            with (copy / "docs" / "how-to.md").open("a") as page:
                page.write("[gone](nowhere.md#at-all)\n")
            result = self.build(copy, f"{folder}/site")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("nowhere.md", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
