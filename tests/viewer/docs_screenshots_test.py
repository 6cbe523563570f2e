"""scripts/docs-screenshots.sh makes the pictures that docs/panel.md and docs/gpu.md show.

docs_screenshots_test.py SOURCE BUILD FOLDER

They are judged by what is in them, never by letters.
"""

import os
import pathlib
import re
import subprocess
import sys

import pictures

source, build, folder = map(pathlib.Path, sys.argv[1:])

LARGEST_BYTES = 150_000


def fail(text: str) -> None:
    sys.exit(text)


def colours_of(rows: pictures.Rows) -> int:
    return len({colour for row in rows for colour in row})


def main() -> None:
    document = "".join((source / "docs" / name).read_text(encoding="utf-8") for name in ("panel.md", "gpu.md"))
    shown = set(re.findall(r"!\[[^\]]+\]\(images/([^)]+)\)", document))
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    for old in folder.glob("*.png"):
        old.unlink()
    subprocess.run([source / "scripts" / "docs-screenshots.sh", folder, build], check=True, env=environment)
    made = {path.name: path for path in folder.glob("*.png")}
    if set(made) != shown:
        fail(f"the documents show {sorted(shown)}, the script makes {sorted(made)}")
    for name, path in made.items():
        kept = source / "docs" / "images" / name
        if not kept.is_file() or kept.stat().st_size > LARGEST_BYTES:
            fail(f"{kept} is missing or too large")
        size = [(len(rows[0]), len(rows)) for rows in map(pictures.read_png, (kept, path))]
        if size[0] != size[1]:
            fail(f"{kept} has {size[0]} pixels, and the script makes {size[1]}: make it anew")
    view = pictures.read_png(made["panel-view.png"])
    bars = sum(pictures.is_good(colour) or pictures.is_bad(colour) for row in view[: len(view) // 3] for colour in row)
    left, right = pictures.find_widest_box(view, len(view) // 2)
    if bars < 2000 or right - left < len(view[0]) // 10 or max(view[0][0]) > 100:
        fail(f"panel-view.png: {bars} pixels of bars, a box from {left} to {right}, a corner of {view[0][0]}")
    table = pictures.read_png(made["panel-statistics.png"])
    if min(table[0][0]) < 200 or colours_of(table) < 20:
        fail(f"panel-statistics.png: a corner of {table[0][0]}, {colours_of(table)} colours")


if __name__ == "__main__":
    main()
