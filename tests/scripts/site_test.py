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
                self.assert_asks_nobody(site / "docs" / f"{page.stem}.html")
            navigation = (PROJECT / "mkdocs.yml").read_text()
            missing = [page.name for page in (PROJECT / "docs").glob("*.md") if f"docs/{page.name}" not in navigation]
            self.assertEqual(missing, [])
            self.assert_reference_is_whole(site)

    def assert_asks_nobody(self, page: pathlib.Path) -> None:
        self.assertEqual(re.findall(r'(?:src|rel="stylesheet" href)="https?:', page.read_text()), [], page.name)

    def assert_reference_is_whole(self, site: pathlib.Path) -> None:
        for page, words in (
            ("reference/kymo.html", "--fail-on-regression"),
            ("cpp/classkymo_1_1Fiber.html", "A fiber may be destroyed on any thread"),
            ("cpp/scope_8h.html", "a return, a break or a goto out of it closes it too"),
            ("reference/python.html", "One or several recordings on one time axis"),
        ):
            self.assertTrue(words in (site / page).read_text(), f"{page} does not say: {words}")

        headers = sorted(path.name for path in (PROJECT / "include" / "kymo").glob("*.h*"))
        files = (site / "cpp" / "files.html").read_text()
        # Each with what it says at its top.
        self.assertEqual(headers, sorted(re.findall(r"<strong>([a-z_]+\.hp*)</strong></a> <em>\w", files)))

        c_functions = re.findall(r"(?m)^KYMO_API .*?(kymo_[a-z0-9_]+)\(", (PROJECT / "include/kymo/kymo.h").read_text())
        c_page = (site / "cpp" / "kymo_8h.html").read_text()
        self.assertEqual([name for name in c_functions if f'id="function-{name}"' not in c_page], [])

        page = site / "reference" / "python.html"
        self.assert_asks_nobody(page)
        text = page.read_text()
        if (pathlib.Path(sys.argv[1]).parents[2] / "python" / "kymograph").is_dir():
            self.assertTrue("it is not fetched behind your back" in text, "the extension's own words are missing")
        package = PROJECT / "python" / "kymograph"
        for path in [*package.glob("[a-z]*.py"), *package.glob("*/__init__.py"), package / "__init__.py"]:
            module = ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
            exported = re.search(r"(?s)^__all__ = \[(.*?)\]", path.read_text(), re.MULTILINE)
            names = re.findall(r'"(\w+)"', exported[1]) if exported else []
            missing = [name for name in names if f'id="{module}.{name}"' not in text]
            self.assertEqual(missing, [], module)

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
                "python",
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
