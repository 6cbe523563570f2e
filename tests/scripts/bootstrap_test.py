"""scripts/bootstrap.sh against a pretended system.

It has an os-release of its own, and programs of ours in place of dpkg, apt, id and sudo.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "bootstrap.sh"

BUILD_PACKAGES = [
    "g++",
    "cmake",
    "ninja-build",
    "make",
    "pkg-config",
    "liblz4-dev",
    "libzstd-dev",
    "zlib1g-dev",
    "libimgui-dev",
    "libstb-dev",
    "libglfw3-dev",
    "libegl-dev",
    "libgl-dev",
    "libcli11-dev",
    "libfmt-dev",
    "libprotozero-dev",
    "nlohmann-json3-dev",
    "libcpp-httplib-dev",
    "libdw-dev",
    "libiberty-dev",
]


class BootstrapTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        self.calls = self.root / "calls"
        self.calls.write_text("")
        (self.root / "bin").mkdir()
        for name in ("sed", "tr", "sort", "env"):
            os.symlink(f"/usr/bin/{name}", self.root / "bin" / name)
        self.pretend("apt-get", f'echo "apt-get $*" >> {self.calls}')
        self.pretend("apt-cache", "exit 0")
        self.set_user(0)
        self.set_os("ID=debian")

    def pretend(self, name, script):
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def set_os(self, text):
        (self.root / "os-release").write_text(text + "\n")

    def set_user(self, number):
        self.pretend("id", f"echo {number}")

    def set_installed(self, names):
        split = [name.partition(":") for name in names]
        lines = "".join(f"installed {architecture or 'amd64'} {name} \\n" for name, _, architecture in split)
        self.pretend("dpkg-query", f"printf '{lines}'; exit 1")

    def bootstrap(self, *groups):
        environment = {"PATH": str(self.root / "bin"), "KYMO_OS_RELEASE": str(self.root / "os-release")}
        return subprocess.run(
            ["/bin/sh", str(SCRIPT), *groups],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def installs(self):
        return [line for line in self.calls.read_text().splitlines() if " install " in line]

    def test_nothing_is_called_where_everything_is_there(self):
        self.set_installed(BUILD_PACKAGES)
        result = self.bootstrap("build")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        self.assertEqual(self.calls.read_text(), "")

    def test_only_what_is_missing_is_installed(self):
        self.set_installed([name for name in BUILD_PACKAGES if name not in ("liblz4-dev", "cmake")])
        self.assertEqual(self.bootstrap("build").returncode, 0)
        (line,) = self.installs()
        self.assertEqual(set(line.split()) & set(BUILD_PACKAGES), {"liblz4-dev", "cmake"})

    def test_systems_like_debian_count_as_debian(self):
        self.set_os('ID=pop\nID_LIKE="ubuntu debian"')
        self.set_installed([])
        self.assertEqual(self.bootstrap("build").returncode, 0)
        self.assertEqual(len(self.installs()), 1)

    def test_sudo_is_used_by_others_than_root_and_said(self):
        self.set_user(1000)
        self.set_installed([])
        self.pretend("sudo", f'echo "sudo $*" >> {self.calls}')
        result = self.bootstrap("build")
        self.assertEqual(result.returncode, 0)
        self.assertIn("with sudo", result.stdout)
        self.assertTrue(all(line.startswith("sudo ") for line in self.calls.read_text().splitlines()))

    def test_without_sudo_the_packages_are_named(self):
        self.set_user(1000)
        self.set_installed([])
        result = self.bootstrap("build")
        self.assertEqual(result.returncode, 1)
        self.assertIn("liblz4-dev", result.stderr)
        self.assertEqual(self.calls.read_text(), "")

    def test_elsewhere_everything_needed_is_printed(self):
        self.set_os("ID=fedora")
        self.set_installed([])
        result = self.bootstrap("build")
        self.assertEqual(result.returncode, 1)
        for name in BUILD_PACKAGES:
            self.assertIn(name, result.stderr)
        self.assertEqual(self.calls.read_text(), "")

    def test_either_of_two_packages_is_enough(self):
        lint = ["clang-format", "clang-tidy", "libc++-dev", "libc++abi-dev"]
        self.set_installed(BUILD_PACKAGES + lint)
        self.assertEqual(self.bootstrap("lint").returncode, 0)
        self.assertEqual(self.calls.read_text(), "")

    def test_a_browser_is_installed_where_it_is_no_snap(self):
        self.set_installed([])
        self.assertEqual(self.bootstrap("test").returncode, 0)
        self.assertIn("chromium", self.installs()[0].split())
        self.set_os("ID=ubuntu\nID_LIKE=debian")
        self.assertEqual(self.bootstrap("test").returncode, 0)
        self.assertNotIn("chromium", self.installs()[1].split())

    def test_an_unknown_group_is_refused(self):
        result = self.bootstrap("everything")
        self.assertEqual(result.returncode, 2)
        self.assertIn("build, web, test, bench, lint, arm64 and all", result.stderr)

    def pretend_architectures(self, native, foreign=""):
        self.pretend(
            "dpkg",
            f"""case $1 in
  --print-architecture) echo {native} ;;
  --print-foreign-architectures) printf '%s\\n' {foreign} ;;
  *) echo "dpkg $*" >> {self.calls} ;;
esac""",
        )

    def test_another_architectures_libraries_are_others_than_the_systems_own(self):
        self.pretend_architectures("amd64")
        self.set_installed([*BUILD_PACKAGES, "g++-aarch64-linux-gnu", "qemu-user"])
        self.assertEqual(self.bootstrap("arm64").returncode, 0)
        self.assertIn("liblz4-dev:arm64", self.installs()[0].split())
        self.assertNotIn("qemu-user", self.installs()[0].split())
        calls = self.calls.read_text().splitlines()
        self.assertEqual(calls[0], "dpkg --add-architecture arm64")

    def test_the_systems_own_libraries_are_missing_where_only_another_architectures_are_there(self):
        self.pretend_architectures("amd64", "arm64")
        self.set_installed([f"{name}:arm64" if name == "liblz4-dev" else name for name in BUILD_PACKAGES])
        self.assertEqual(self.bootstrap("build").returncode, 0)
        self.assertEqual(self.installs()[0].split()[-1], "liblz4-dev")
        self.assertNotIn("add-architecture", self.calls.read_text())

    def test_everything_leaves_the_systems_architectures_as_they_are(self):
        self.pretend_architectures("amd64")
        self.set_installed([])
        self.assertEqual(self.bootstrap("all").returncode, 0)
        self.assertNotIn(":arm64", self.installs()[0])
        self.assertNotIn("add-architecture", self.calls.read_text())

    def test_where_another_archive_has_them_it_says_so(self):
        self.pretend_architectures("amd64")
        self.set_os("ID=ubuntu\nID_LIKE=debian")
        self.set_installed([])
        result = self.bootstrap("arm64")
        self.assertEqual(result.returncode, 1)
        self.assertIn("ports.ubuntu.com", result.stderr)

    def test_on_that_architecture_its_packages_are_the_systems_own(self):
        self.pretend_architectures("arm64")
        self.set_installed([f"{name}:arm64" for name in BUILD_PACKAGES])
        self.assertEqual(self.bootstrap("build").returncode, 0)
        self.assertEqual(self.calls.read_text(), "")


if __name__ == "__main__":
    unittest.main()
