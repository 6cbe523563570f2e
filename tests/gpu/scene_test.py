"""examples/gpu_scene as users run it: scene_test.py SCENE KYMO FOLDER [views]

Both sides of each frame are in its capture; with `views`, the panel draws it. Ends with 77 where nothing here draws
without a display.
"""

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

FRAMES = 4
PASSES = [
    "shadow pass",
    "geometry",
    "ambient occlusion",
    "lighting",
    "bloom",
    "bright parts",
    "blur",
    "composite",
    "frame",
]
SKIPPED = 77
LEAST_PICTURE_BYTES = 30_000


def fail(text: str) -> None:
    sys.exit(text)


def rows_by_name(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in rows}


def check_picture(path: pathlib.Path) -> None:
    data = path.read_bytes()
    if not data.startswith(b"\x89PNG") or len(data) < LEAST_PICTURE_BYTES:
        fail(f"{path.name} is no picture of anything: {len(data)} bytes")


def main() -> None:
    scene, kymo, folder = sys.argv[1:4]
    directory = pathlib.Path(folder)
    directory.mkdir(parents=True, exist_ok=True)
    capture, picture, view = (directory / name for name in ("scene.kymo", "scene.png", "view.png"))
    for old in directory.iterdir():
        old.unlink()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KYMO_")}
    drawn = subprocess.run(
        [scene, "--frames", str(FRAMES), "--screenshot", picture, capture],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if drawn.returncode != 0 and "no picture can be drawn" in drawn.stderr:
        print(drawn.stderr)
        sys.exit(SKIPPED)
    if drawn.returncode != 0 or f"{FRAMES * len(PASSES)} timed, 0 not" not in drawn.stdout:
        fail(f"{drawn.returncode}: {drawn.stdout}{drawn.stderr}")
    check_picture(picture)
    asked = subprocess.run([kymo, "stats", "--json", capture], env=environment, capture_output=True, check=True)
    statistics = json.loads(asked.stdout)
    sites, spans = rows_by_name(statistics["sites"]), rows_by_name(statistics["spans"])
    for name in PASSES:
        for rows in (sites, spans):
            if rows.get(name, {}).get("count") != FRAMES:
                fail(f"{name}: {rows.get(name)}")
        if spans[name]["min_ns"] <= 0:
            fail(f"{name} took no time on the GPU: {spans[name]}")
    if spans["frame"]["total_ns"] < max(spans[name]["total_ns"] for name in PASSES):
        fail("a pass took longer than the frame around it")
    if "views" in sys.argv[4:]:
        environment["XDG_CONFIG_HOME"] = folder
        subprocess.run([kymo, "view", "--screenshot", view, "--size", "1180x700", capture], env=environment, check=True)
        check_picture(view)


if __name__ == "__main__":
    main()
