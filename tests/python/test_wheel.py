"""What `pip install .` makes: a wheel that is whole, carries nothing of where it was built, and works elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2]
HERE = Path(__file__).parent
LIBRARIES = ["kymo", "kymo_analysis", "kymo_bench", "kymo_nvmetrics", "kymo_sense"]


def _run(*command: str | Path, cwd: Path = SOURCE, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    Build it as pip does, without a network; SKBUILD_* and CMAKE_ARGS say what the compiler's cache has.

    It stays in the build's folder, for scripts/check-packages.sh.
    """
    build = os.environ.get("SKBUILD_BUILD_DIR")
    folder = Path(build) / "wheel" if build else tmp_path_factory.mktemp("wheel")
    shutil.rmtree(folder, ignore_errors=True)
    _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--no-index",
         "--no-cache-dir", "--wheel-dir", folder, SOURCE)  # fmt: skip
    (built,) = folder.glob("*.whl")
    return built


def _version() -> str:
    found = re.search(r"project\(kymo VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text())
    assert found
    return found[1]


def _abi_version() -> str:
    major, minor, _ = _version().split(".")
    return f"0.{minor}" if major == "0" else major


def test_it_holds_the_package_its_libraries_headers_and_command(wheel: Path) -> None:
    assert wheel.name.startswith(f"kymograph-{_version()}-cp{sys.version_info[0]}{sys.version_info[1]}-")
    with zipfile.ZipFile(wheel) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
    assert not [name for name, entry in entries.items() if stat.S_ISLNK(entry.external_attr >> 16)]
    tops = {name.split("/")[0] for name in entries}
    assert tops == {"kymograph", f"kymograph-{_version()}.dist-info"}

    folder = SOURCE / "python" / "kymograph"
    sources = [path for path in folder.rglob("*") if path.suffix in {".py", ".pyi", ".js"} or path.name == "py.typed"]
    headers = [path for path in (SOURCE / "include").rglob("*") if path.suffix in {".hpp", ".h"}]
    wanted = {f"kymograph/{path.relative_to(folder)}" for path in sources}
    wanted |= {f"kymograph/include/{path.relative_to(SOURCE / 'include')}" for path in headers}
    wanted |= {f"kymograph/lib/lib{name}.so.{_abi_version()}" for name in LIBRARIES}
    wanted.add("kymograph/bin/kymo")
    page = {name for name in entries if name.startswith("kymograph/share/kymo/web/")}
    has_page = {"index.html", "kymo_web.wasm"} <= {name.rpartition("/")[2] for name in page}
    assert has_page or "KYMO_PAGE" not in os.environ.get("SKBUILD_CMAKE_DEFINE", "")
    rest = {name for name in entries if name.startswith("kymograph/")} - wanted - page
    assert wanted <= set(entries)
    assert {name.split(".")[0] for name in rest} == {"kymograph/_record", "kymograph/_analysis"}


def test_its_parts_find_each_other_wherever_it_lies(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    package = tmp_path / "kymograph"
    for file in [*package.glob("*.so"), *(package / "lib").iterdir(), package / "bin" / "kymo"]:
        dynamic = _run("readelf", "-dW", file)
        paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic)
        assert all(part.startswith("$ORIGIN") for path in paths for part in path.split(":")), (file, paths)
        # Sections that only a debugger reads are most of what an unstripped library weighs.
        assert ".symtab" not in _run("readelf", "-SW", file) or file.suffix == ".so", file


def test_an_installed_one_records_and_reads(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    _run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", target, wheel)
    said = _run(sys.executable, HERE / "wheel_smoke.py", cwd=tmp_path, PYTHONPATH=str(target))
    assert said.split()[:2] == ["kymograph", _version()]
    assert str(target) in said


def test_the_source_distribution_has_what_a_wheel_is_built_from(tmp_path: Path) -> None:
    _run(sys.executable, "-c",
         f"from scikit_build_core.build import build_sdist; build_sdist({str(tmp_path)!r})")  # fmt: skip
    (built,) = tmp_path.glob("*.tar.gz")
    top = f"kymograph-{_version()}/"
    with tarfile.open(built) as archive:
        names = {name.removeprefix(top) for name in archive.getnames()}
    for folder in ["apps", "cmake", "include", "python", "src"]:
        here = {str(path.relative_to(SOURCE)) for path in (SOURCE / folder).rglob("*") if path.is_file()}
        here = {name for name in here if "__pycache__" not in name}
        assert here <= names, here - names
    assert {"pyproject.toml", "CMakeLists.txt", "LICENSE", "README.md", "PKG-INFO"} <= names
    assert not {name for name in names if name.split("/")[0] in {"build", ".ci", "shared", "tests"}}
    assert built.stat().st_size < 3_000_000
