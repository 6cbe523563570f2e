#!/usr/bin/env python3
"""Looks at what was built for macOS: each file's processor, and the libraries that it links.

    scripts/check-macho.py arm64|x86_64 FOLDER

Only macOS's own libraries and those of kymo beside it may be there, and each library is to have the functions that
programs and libkymo look for. Frameworks are loaded when they are asked, never linked.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass, field
from pathlib import Path

MAGIC_64 = 0xFEEDFACF
PROCESSORS = {"arm64": 0x0100000C, "x86_64": 0x01000007}
LOAD_COMMANDS = {0xC, 0x80000018, 0x8000001F, 0x80000023, 0x20}  # dylib: plain, weak, re-exported, upward, lazy
SYMBOL_TABLE = 0x2
SYMBOL_EXTERNAL, SYMBOL_TYPE, SYMBOL_PRIVATE = 0x01, 0x0E, 0x10
SYSTEM_LIBRARIES = {"/usr/lib/libSystem.B.dylib", "/usr/lib/libc++.1.dylib"}

# The required files, and the minimum exports of each.
FILES = {
    "src/libkymo.dylib": {"_kymo_thread_v3", "_kymo_scopes_on_v1", "_kymo_open_slow_v3"},
    "src/libkymo_sense.dylib": {"_kymo_start_sampling_v1", "_kymo_stop_sampling_v1"},
    "src/libkymo_analysis.dylib": set(),
    "apps/kymo/kymo": set(),
}


@dataclass
class MachO:
    """The examined parts of a file."""

    processor: int
    libraries: list[str] = field(default_factory=list)
    exports: set[str] = field(default_factory=set)


def text_at(data: bytes, at: int) -> str:
    """Return the text that begins at an offset and ends with a zero byte."""
    return data[at : data.index(b"\0", at)].decode()


def read(path: Path) -> MachO:
    """Read the load commands and symbols; raises ValueError if the file is not a 64-bit Mach-O file."""
    data = path.read_bytes()
    magic, processor, _, _, count, _, _, _ = struct.unpack_from("<8I", data)
    if magic != MAGIC_64:
        raise ValueError(f"{path} is no Mach-O file of 64 bits")
    file = MachO(processor)
    at = 32
    for _ in range(count):
        command, size = struct.unpack_from("<2I", data, at)
        if command in LOAD_COMMANDS:
            (name,) = struct.unpack_from("<I", data, at + 8)
            file.libraries.append(text_at(data, at + name))
        elif command == SYMBOL_TABLE:
            symbols, number, names, _ = struct.unpack_from("<4I", data, at + 8)
            for i in range(number):
                name, kind = struct.unpack_from("<IB", data, symbols + 16 * i)
                if kind & SYMBOL_EXTERNAL and kind & SYMBOL_TYPE and not kind & SYMBOL_PRIVATE:
                    file.exports.add(text_at(data, names + name))
        at += size
    return file


def complaints(name: str, file: MachO, processor: int, wanted: set[str]) -> list[str]:
    """Return the problems of a file."""
    found = []
    if file.processor != processor:
        found.append(f"{name}: it is for processor {file.processor:#x} and not {processor:#x}")
    for library in file.libraries:
        is_ours = library.startswith("@rpath/libkymo")
        if library not in SYSTEM_LIBRARIES and not is_ours:
            found.append(f"{name}: it links {library}, which is not one of macOS's")
    for symbol in sorted(wanted - file.exports):
        found.append(f"{name}: it does not export {symbol}")
    return found


def main() -> int:
    """Check all files of a build; return 1 if there is a problem."""
    if len(sys.argv) != 3 or sys.argv[1] not in PROCESSORS:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[2])
    found = []
    for name, wanted in FILES.items():
        file = read(folder / name)
        found += complaints(name, file, PROCESSORS[sys.argv[1]], wanted)
        print(f"{sys.argv[1]} {name}: {(folder / name).stat().st_size} bytes, links {', '.join(file.libraries)}")
    for complaint in found:
        print(f"check-macho: {complaint}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
