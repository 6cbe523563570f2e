#!/usr/bin/env python3
"""Makes what a linker needs of an older Linux: the C library of glibc 2.31 and the C++ library of GCC 10.

scripts/older-linux.py [PROCESSOR]      for this processor or aarch64, in build/older-linux/PROCESSOR

A program that is linked with these runs from Ubuntu 20.04, Debian 11 and JetPack 5 on. The libraries define symbols and
hold no code: the symbols of glibc come from ziglang (scripts/macos-tools.sh), those of the C++ library from GCC's own,
without the versions that came after GCC 10. What is newer is linked in from GCC's archive, as Red Hat's toolsets do.
"""

import argparse
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[1]
# The newest of GCC 10: https://gcc.gnu.org/onlinedocs/libstdc++/manual/abi.html
NEWEST = {"GLIBCXX": (3, 4, 28), "CXXABI": (1, 3, 12)}
# The archive of GCC's C++ library asks for these two of a newer C library.
NEWER_C = """
#include <stdlib.h>
#include <sys/random.h>
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;
__attribute__((visibility("hidden"))) unsigned arc4random(void) {
  unsigned value = 0;
  if (getrandom(&value, sizeof value, 0) != sizeof value) abort();
  return value;
}
"""
C_LIBRARY = "GROUP ( libc.so.6 libc_nonshared.a AS_NEEDED ( libld.so.2 libpthread.so.0 libdl.so.2 librt.so.1 ) )\n"


def output_of(*command: object) -> str:
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SystemExit(f"older-linux: {command[0]} failed: {result.stderr}")
    return result.stdout + result.stderr


def make_c_library(compiler: str, older: pathlib.Path, folder: pathlib.Path) -> None:
    """Copy what ziglang links programs with, and add what GCC's archive needs."""
    (folder / "empty.c").write_text("int main(void) { return 0; }\n")
    said = output_of(older, "-v", "-fPIE", "-pie", folder / "empty.c", "-o", folder / "empty", "-lpthread", "-ldl")
    parts = {pathlib.Path(path) for path in re.findall(r"\S+/(?:Scrt1\.o|libc_nonshared\.a|libc\.so\.6)", said)}
    for part in parts:
        for file in part.parent.glob("*.so.*") if part.name == "libc.so.6" else [part]:
            shutil.copy(file, folder)
    for name in ("m", "pthread", "dl", "rt", "util"):
        (library,) = folder.glob(f"lib{name}.so.*")
        (folder / f"lib{name}.so").symlink_to(library.name)
    (folder / "libc.so").write_text(C_LIBRARY)
    (folder / "newer.c").write_text(NEWER_C)
    output_of(compiler, "-O2", "-fPIC", "-c", folder / "newer.c", "-o", folder / "newer.o")
    output_of("ar", "r", folder / "libc_nonshared.a", folder / "newer.o")


def is_older(version: str) -> bool:
    name, _, number = version.partition("_")
    digits = re.fullmatch(r"[0-9.]+", number)
    return digits is not None and tuple(map(int, number.split("."))) <= NEWEST[name]


def make_cxx_library(compiler: str, folder: pathlib.Path) -> None:
    """Write a library with the older symbols of GCC's C++ library."""
    library = output_of(compiler, "-print-file-name=libstdc++.so.6").strip()
    kinds = {"FUNC": "%function", "OBJECT": "%object", "TLS": "%tls_object"}
    sections = {"FUNC": ".text", "OBJECT": ".bss", "TLS": '.section .tbss,"awT",%nobits'}
    assembly = []
    versions: dict[str, list[str]] = {}
    for line in output_of("readelf", "-W", "--dyn-syms", library).splitlines():
        words = line.split()
        if len(words) != 8 or words[6] == "UND" or "@@" not in words[7]:
            continue
        size, kind, binding = words[2:5]
        name, _, version = words[7].partition("@@")
        if kind not in kinds or not is_older(version):
            continue
        versions.setdefault(version, []).append(name)
        type_ = "%gnu_unique_object" if binding == "UNIQUE" else kinds[kind]
        place = f".balign 64\n{name}: .skip {int(size, 0)}" if kind != "FUNC" else f"{name}: .skip 4"
        bound = ".weak" if binding == "WEAK" else ".globl"
        assembly.append(f"{sections[kind]}\n{bound} {name}\n.type {name}, {type_}\n{place}\n.size {name}, {size}\n")
    (folder / "cxx.s").write_text("".join(assembly))
    nodes = (f"{version} {{ global: {'; '.join(names)}; }};\n" for version, names in versions.items())
    (folder / "cxx.map").write_text("".join(nodes))
    output_of(
        *(compiler, "-nostdlib", "-shared", "-Wl,-soname,libstdc++.so.6", f"-Wl,--version-script={folder / 'cxx.map'}"),
        *(folder / "cxx.s", "-o", folder / "libstdc++.so.6"),
    )
    archive = pathlib.Path(output_of(compiler, "-print-file-name=libstdc++.a").strip()).resolve()
    (folder / "libstdc++.so").write_text(f"INPUT ( libstdc++.so.6 {archive} )\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("processor", nargs="?", choices=("x86_64", "aarch64"), default=platform.machine())
    processor = parser.parse_args().processor
    output_of(PROJECT / "scripts" / "macos-tools.sh")
    compiler = "gcc" if processor == platform.machine() else f"{processor}-linux-gnu-gcc"
    place = PROJECT / "build" / "older-linux" / processor
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_c_library(compiler, PROJECT / "build" / "macos-tools" / f"{processor}-linux" / "clang", folder)
        make_cxx_library(compiler, folder)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for file in folder.iterdir():
            if ".so" in file.name or file.name in {"Scrt1.o", "libc_nonshared.a"}:
                shutil.copy(file, place, follow_symlinks=False)


if __name__ == "__main__":
    main()
