"""``python -m kymograph mcp``, asked by the library's own client over stdio."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import kymograph as kymo
import pytest

mcp = pytest.importorskip("mcp")

RECORD = """
import sys
import kymograph as kymo

with kymo.capture(sys.argv[1]):
    for frame in kymo.frames(range(50)):
        kymo.record_metric_unit("rows", frame, "1")
        for _ in range(3):
            with kymo.scope("step " + str(frame)):
                pass
    with kymo.scope("x" * 250):
        pass
"""

Asked = list[tuple[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a capture, one in a folder of its own, and one outside that links lead to."""
    place = tmp_path_factory.mktemp("mcp")
    inside = place / "inside"
    (inside / "runs").mkdir(parents=True)
    for path in (inside / "run.kymo", inside / "runs" / "other.kymo", place / "secret.kymo"):
        subprocess.run([sys.executable, "-c", RECORD, path], check=True)
    (inside / "link.kymo").symlink_to(place / "secret.kymo")
    (inside / "linked").mkdir()
    (inside / "linked" / "link.kymo").symlink_to(place / "secret.kymo")
    return inside


def ask(folder: Path, questions: Asked) -> tuple[list[Any], list[Any]]:
    """Return the tools, and the answers."""

    async def talk() -> tuple[list[Any], list[Any]]:
        arguments = ["-m", "kymograph", "mcp", str(folder)]
        package = str(Path(kymo.__file__).parent.parent)
        server = mcp.StdioServerParameters(command=sys.executable, args=arguments, env={"PYTHONPATH": package})
        async with mcp.Client(server, read_timeout_seconds=120) as client:
            tools = (await client.list_tools()).tools
            return tools, [await client.call_tool(name, values) for name, values in questions]

    return asyncio.run(talk())


def read(answer: Any) -> dict[str, Any]:
    """Return what a successful answer holds."""
    assert not answer.is_error, answer.content
    found: dict[str, Any] = json.loads(answer.content[0].text)
    return found


def test_tools_are_read_only_and_their_numbers_are_those_of_the_package(folder: Path) -> None:
    run = {"capture": "run.kymo"}
    tools, answers = ask(
        folder,
        [
            ("list_captures", {}),
            ("info", run),
            ("stats", {**run, "site": "step 7"}),
            ("functions", run),
            ("functions", {**run, "lines": True}),
            ("compare", {"base": "run.kymo", "new": "runs"}),
            ("explain", run),
            ("slice", {**run, "start_s": 0, "end_s": 1000}),
            ("explain", {**run, "energy": True}),
            ("explain", {**run, "whole_run": True}),
        ],
    )
    assert {tool.name for tool in tools} == {
        "list_captures", "info", "stats", "functions", "compare", "explain", "slice",
    }  # fmt: skip
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
    listed, info, stats, functions, lines, compared, explained, part, of_energy, of_run = map(read, answers)
    assert {row["capture"] for row in listed["captures"]} == {"run.kymo", "runs/other.kymo"}
    with kymo.open(folder / "run.kymo") as capture:
        assert (info["frames"], info["dropped_scopes"]) == (50, 0)
        assert stats["sites"] == json.loads(json.dumps(capture.stats(site="step 7")["sites"]))
        assert explained["explanations"][0]["text"] == capture.explain()[0]["text"]
        assert of_energy["energy"]["text"] == capture.explain_energy()["text"]
        assert of_run["run"] == json.loads(json.dumps(capture.explain_run()))
        assert (functions, lines) == ({"functions": []}, {"lines": []})
        assert part["span_count"] == len(capture.spans) == 202
        longest = sorted(capture.spans["duration_ns"].tolist())[-30:]
        assert sorted(row["duration_ms"] * 1e6 for row in part["longest_spans"]) == pytest.approx(longest)
        assert {row["name"]: row["max"] for row in part["metrics"]}["rows"] == 49
    assert compared["compared"][0]["base"]["runs"] == 1


def test_answers_are_bounded_and_say_so(folder: Path) -> None:
    _, answers = ask(folder, [("stats", {"capture": "run.kymo"})])
    sites = read(answers[0])["sites"]
    assert len(sites) == 31
    assert sites[-1] == "and 22 more"
    assert len(answers[0].content[0].text) < 50_000


def test_only_captures_in_the_folder_are_read(folder: Path) -> None:
    names = ["../secret.kymo", str(folder.parent / "secret.kymo"), "link.kymo", "linked", "none.kymo", "..", ""]
    questions: Asked = [("info", {"capture": name}) for name in names]
    questions.append(("compare", {"base": "run.kymo", "new": "../secret.kymo"}))
    questions.append(("explain", {"capture": "run.kymo", "base": "link.kymo"}))
    _, answers = ask(folder, questions)
    for answer in answers:
        assert answer.is_error
        assert "in the given folders" in answer.content[0].text


def test_failures_give_their_reasons(folder: Path) -> None:
    (folder / "not.kymo").write_text("nothing")
    _, answers = ask(
        folder,
        [
            ("stats", {"capture": "run.kymo", "site": "none"}),
            ("info", {"capture": "not.kymo"}),
            ("explain", {"capture": "run.kymo", "frame": 1, "over_ms": 3}),
            ("info", {"capture": "run.kymo"}),
            ("explain", {"capture": "run.kymo", "energy": True, "over_ms": 3}),
        ],
    )
    (folder / "not.kymo").unlink()
    assert [answer.is_error for answer in answers] == [True, True, True, False, True]
    assert "none" in answers[0].content[0].text
    assert "not.kymo" in answers[1].content[0].text
    assert "do not go together" in answers[2].content[0].text
    assert "over_ms or energy" in answers[4].content[0].text
