"""
``python -m kymograph mcp``: captures for assistants that work on code, by the Model Context Protocol over stdio.

It reads captures in the given folders only and changes nothing. Answers are bounded: lists and texts are cut, and say
so. Names in them are what the recorded program made them.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kymograph._capture import Capture
from kymograph._capture import open as open_capture

#: Rows of a list, and of a list inside of a row.
_MOST_ROWS = (30, 5)
_LONGEST_TEXT = 300
#: Spans that a slice looks at.
_MOST_SPANS = 2_000_000


def _bound(value: Any, depth: int = 0) -> Any:
    """Cut long lists and texts."""
    if isinstance(value, dict):
        return {key: _bound(entry, depth) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        most = _MOST_ROWS[min(depth, 1)]
        rows = [_bound(entry, depth + 1) for entry in value[:most]]
        return [*rows, f"and {len(value) - most} more"] if len(value) > most else rows
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return value[:_LONGEST_TEXT] + "..."
    return value


def _answer(tool: Callable[..., Any], error: type[Exception]) -> Callable[..., dict[str, Any]]:
    """Bound the answers of a tool, and pass on the reasons of its failures."""

    @functools.wraps(tool)
    def answer(*arguments: Any, **named: Any) -> dict[str, Any]:
        try:
            found: dict[str, Any] = _bound(tool(*arguments, **named))
        except (KeyError, ValueError, OSError) as failure:
            reason = failure.args[0] if isinstance(failure, KeyError) and failure.args else failure
            raise error(str(reason)) from failure
        return found

    return answer


class Captures:
    """
    The tools. A capture is named by its path in one of the folders.

    Parameters
    ----------
    folders : sequence of str
        Directories. What lies outside of them, also through links, is not read.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = [Path(folder).resolve(strict=True) for folder in folders]

    def _find(self, name: str) -> Path:
        for folder in self._folders:
            path = (folder / name).resolve()
            if path.is_relative_to(folder) and path.exists():
                # Links in a directory of captures may lead out of it.
                inside = path.rglob("*.kymo") if path.is_dir() else [path]
                if all(entry.resolve().is_relative_to(folder) for entry in inside):
                    return path
        raise FileNotFoundError(f"no capture {name!r} in the given folders; list_captures names them")

    def _open(self, name: str) -> Capture:
        return open_capture(self._find(name))

    def list_captures(self) -> dict[str, Any]:
        """List the captures, the latest first, with their size in bytes and their time of change in seconds."""
        found = {}
        for folder in self._folders:
            for path in folder.rglob("*.kymo"):
                if path.resolve().is_relative_to(folder) and path.is_file():
                    status = path.stat()
                    found[str(path.relative_to(folder))] = (status.st_mtime, status.st_size)
        latest = sorted(found.items(), key=lambda entry: -entry[1][0])
        return {"captures": [{"capture": name, "bytes": size, "changed": time} for name, (time, size) in latest]}

    def info(self, capture: str) -> dict[str, Any]:
        """Say what a capture is of: duration, processes, facts, threads, metrics, frames, drops and damages."""
        with self._open(capture) as opened:
            return {
                "duration_s": opened.duration_ns / 1e9,
                "is_closed": opened.is_closed,
                "facts": opened.info,
                "processes": opened.process_info,
                "frames": len(opened.frames),
                "tracks": [row["name"] for row in opened.tracks],
                "metrics": sorted(opened.metrics),
                "dropped_scopes": sum(row["dropped_scopes"] for row in opened.drops),
                "damages": list(opened.damages),
            }

    def stats(self, capture: str, site: str | None = None) -> dict[str, Any]:
        """Compute statistics of scopes, spans, frames, metrics and locks, the costliest first. `site`: a pattern."""
        with self._open(capture) as opened:
            return dict(opened.stats(site=site))

    def functions(self, capture: str, site: str | None = None, lines: bool = False) -> dict[str, Any]:
        """
        Count sampled call stacks by function, the most samples first. `site`: only inside scopes of that name.

        `lines`: by line of the source instead, as far as it is known.
        """
        with self._open(capture) as opened:
            return {"lines" if lines else "functions": opened.functions(site=site, lines=lines)}

    def compare(self, base: str, new: str) -> dict[str, Any]:
        """Test whether a capture, or a directory of them, differs from another by more than chance, the worst first."""
        with self._open(base) as before, self._open(new) as after:
            return dict(before.compare(after))

    def explain(
        self,
        capture: str,
        site: str | None = None,
        frame: int | None = None,
        over_ms: float | None = None,
        base: str | None = None,
        *,
        energy: bool = False,
        whole_run: bool = False,
    ) -> dict[str, Any]:
        """
        Say why slow frames, or slow scopes of a `site`, are slow: causes with their share of the excess.

        Choose one `frame` from 1, a target `over_ms`, or a `base` capture that was faster; by default the slow ones by
        more than chance. What only "goes along" is no cause. `energy`: why some took more joules, instead of time.
        `whole_run`: where the time of the run went instead, which needs neither frames nor scopes.
        """
        over_ns = None if over_ms is None else round(over_ms * 1e6)
        with self._open(capture) as opened:
            before = None if base is None else self._find(base)
            if whole_run:
                if energy or (site, frame, over_ns, before) != (None, None, None, None):
                    raise ValueError("a whole run is explained by itself: give nothing beside whole_run")
                return {"run": opened.explain_run()}
            if energy:
                if over_ms is not None:
                    raise ValueError("a target is one of time: give over_ms or energy")
                return {"energy": opened.explain_energy(site=site, frame=frame, base=before)}
            return {"explanations": opened.explain(site=site, frame=frame, over_ns=over_ns, base=before)}

    def slice(self, capture: str, start_s: float, end_s: float) -> dict[str, Any]:
        """Show a stretch of a capture, in seconds from its start: the longest spans, and the metrics' values."""
        with self._open(capture) as opened:
            origin_ns = opened.start_ns
            view = opened.between(origin_ns + round(start_s * 1e9), origin_ns + round(end_s * 1e9))
            spans = view.spans
            if len(spans) > _MOST_SPANS:
                raise ValueError(f"there are {len(spans)} spans: choose a shorter stretch")
            longest = np.argsort(-spans["duration_ns"], kind="stable")[: _MOST_ROWS[0]]
            rows = [
                {
                    "name": row["name"],
                    "track": row["track"],
                    "depth": row["depth"],
                    "start_s": (row["start_ns"] - origin_ns) / 1e9,
                    "duration_ms": row["duration_ns"] / 1e6,
                    "self_ms": row["self_ns"] / 1e6,
                }
                for row in spans[np.sort(longest)]
            ]
            return {"span_count": len(spans), "longest_spans": rows, "metrics": view.stats()["metrics"]}


def main(argv: Sequence[str]) -> int:
    """
    Run ``python -m kymograph mcp``.

    Parameters
    ----------
    argv : sequence of str
        The arguments after ``mcp``.

    Returns
    -------
    int
        The exit code: 0 when the client has gone, or 1 after an error, which is reported on stderr.
    """
    parser = argparse.ArgumentParser(
        prog="python -m kymograph mcp",
        description="Offer captures to assistants, by the Model Context Protocol over stdio. Changes nothing.",
    )
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="only captures in these are read")
    options = parser.parse_args(argv)
    try:
        from mcp.server import MCPServer  # noqa: PLC0415
        from mcp.server.mcpserver.exceptions import ToolError  # noqa: PLC0415
        from mcp.types import ToolAnnotations  # noqa: PLC0415
    except ImportError:
        print("kymo: mcp 2 is not installed: pip install 'kymograph[mcp]'", file=sys.stderr)
        return 1
    try:
        captures = Captures(options.folders)
    except OSError as error:
        print(f"kymo: {error.filename}: {os.strerror(error.errno or 0)}", file=sys.stderr)
        return 1
    server = MCPServer("kymo", instructions="Captures of kymo, a profiler. Begin with list_captures, then explain.")
    for tool in (
        captures.list_captures,
        captures.info,
        captures.stats,
        captures.functions,
        captures.compare,
        captures.explain,
        captures.slice,
    ):
        server.add_tool(_answer(tool, ToolError), annotations=ToolAnnotations(read_only_hint=True))
    server.run("stdio")
    return 0
