"""The recipes in packaging/ are well formed, and name options that kymo has.

A release is refused where it would be another.
"""

import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
FILES = [file for file in sorted((PROJECT / "packaging").rglob("*")) if file.is_file()]


def run(*words: str, home: pathlib.Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command, in a home of its own if one is given, whatever comes of it."""
    environment = {**os.environ, "HOME": str(home)} if home else None
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=home, env=environment)


def filled(name: str) -> str:
    """A recipe as it is in a release."""
    return (
        (PROJECT / "packaging" / name)
        .read_text(encoding="utf-8")
        .replace("@VERSION@", "1.2.3")
        .replace("@SHA256@", "0" * 64)
    )


class PackagingTest(unittest.TestCase):
    def written(self, name: str) -> str:
        """The path of a recipe as it is in a release."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / pathlib.Path(name).name
        path.write_text(filled(name), encoding="utf-8")
        return str(path)

    def test_the_package_of_arch_is_what_its_shell_reads(self) -> None:
        said = run(
            "bash",
            "-euc",
            '. "$0"; echo "$pkgname $pkgver $source $sha256sums"; type -t build package',
            self.written("PKGBUILD"),
        )
        self.assertEqual(said.stdout, f"kymo 1.2.3 kymo-1.2.3.tar.gz {'0' * 64}\nfunction\nfunction\n", said.stderr)

    @unittest.skipUnless(shutil.which("makepkg"), "there is no makepkg")
    def test_the_package_of_arch_is_one_that_makepkg_takes(self) -> None:
        folder = pathlib.Path(self.written("PKGBUILD")).parent
        # Debian's makepkg comes without pacman, which this does not ask anything.
        command = ["env", "PACMAN=true", "makepkg", "--printsrcinfo"]
        if os.geteuid() == 0:  # which makepkg refuses
            nobody = pwd.getpwnam("nobody")
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            command = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups", *command]
        said = run(*command, home=folder)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("\tpkgver = 1.2.3\n", said.stdout)

    @unittest.skipUnless(shutil.which("ruby"), "there is no ruby")
    def test_the_formula_is_ruby(self) -> None:
        said = run("ruby", "-c", self.written("kymo.rb"))
        self.assertEqual(said.returncode, 0, said.stderr)

    def test_the_port_is_json_and_cmake(self) -> None:
        port = json.loads(filled("vcpkg/vcpkg.json"))
        self.assertEqual((port["name"], port["version"]), ("kymo", "1.2.3"))
        script = filled("vcpkg/portfile.cmake")
        functions = sorted(set(re.findall(r"^(vcpkg_[a-z_]+)\(", script, re.MULTILINE)))
        stubs = "".join(f'function({name})\n  message("{name} ${{ARGN}}")\nendfunction()\n' for name in functions)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "portfile.cmake"
            path.write_text(f"set(CURRENT_PACKAGES_DIR {folder}/none)\n" + stubs + script, encoding="utf-8")
            said = run(sys.argv[1], "-P", str(path))
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("kymo-1.2.3.tar.gz", said.stderr)

    def test_the_recipe_of_conan_is_python(self) -> None:
        compile(filled("conan/conanfile.py"), "conanfile.py", "exec")

    def test_every_option_that_a_recipe_sets_exists(self) -> None:
        options = set(
            re.findall(r"^option\((\w+)", (PROJECT / "CMakeLists.txt").read_text(encoding="utf-8"), re.MULTILINE)
        )
        used = set()
        for file in (file for file in FILES if file.suffix != ".cpp"):
            used |= set(re.findall(r"KYMO_[A-Z_]+", file.read_text(encoding="utf-8")))
        self.assertGreater(len(used), 7)
        self.assertLessEqual(used, options)

    def test_a_version_that_is_not_this_one_is_refused(self) -> None:
        said = run(str(PROJECT / "scripts/release.sh"), "9.9.9", ".")
        self.assertEqual(said.returncode, 1)
        self.assertIn("set 9.9.9 there first", said.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
