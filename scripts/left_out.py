#!/usr/bin/env python3
"""List what a run of the tests left out, with the reason.

    left_out.py BUILD_FOLDER

Reads tests.xml, which `ctest --output-junit` writes there, and left_out.txt, in which CMake lists the tests that it did
not configure.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree


def reason(case: ElementTree.Element) -> str:
    """Why a test skipped itself: what GoogleTest or unittest printed, on one line."""
    output = case.findtext("system-out", "")
    match = re.search(r": Skipped\n(.+?)\n\n?\[", output, re.DOTALL) or re.search(
        r"skipped[ =]+['\"](.+?)['\"]", output
    )
    return " ".join(match[1].split()) if match else "it does not say why"


def skipped_tests(folder: Path) -> dict[str, list[str]]:
    """Return the names of the tests that were skipped, by the reason."""
    names: dict[str, list[str]] = defaultdict(list)
    for case in ElementTree.parse(folder / "tests.xml").iter("testcase"):
        if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            names[reason(case)].append(case.get("name", "?"))
        # Of a file that pytest ran, some tests.
        for match in re.finditer(r"^SKIPPED \[\d+\] ([^:]+):\d+: (.+)$", case.findtext("system-out", ""), re.MULTILINE):
            names[match[2]].append(match[1])
    return names


def main() -> None:
    """Print the list; nothing where every test ran."""
    folder = Path(sys.argv[1])
    lines = (folder / "left_out.txt").read_text(encoding="utf-8").splitlines()
    for why, names in skipped_tests(folder).items():
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        lines.append(f"{shown}: {why}")
    if lines:
        print("\nLeft out:")
        print("\n".join(f"  {line}" for line in sorted(lines)))


if __name__ == "__main__":
    main()
