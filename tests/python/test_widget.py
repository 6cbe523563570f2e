"""The widget of a capture: its half in the kernel, and, where there is a browser, the panel as a notebook shows it."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kymograph as kymo
import pytest
from kymograph._paths import get_page

pytest.importorskip("anywidget")
try:
    get_page()
except FileNotFoundError:
    pytest.skip("the build has no page", allow_module_level=True)

HERE = Path(__file__).parent
NPM = HERE.parents[1] / "build" / "peers" / "npm" / "node_modules"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOSTILE = "</script><img src=x onerror=alert(1)>.kymo"
DEADLINE_S = 60


@pytest.fixture
def capture(tmp_path: Path) -> kymo.Capture:
    with kymo.capture(tmp_path / HOSTILE.replace("/", "_")) as run:
        for step in kymo.frames(range(50)):
            with kymo.scope("step", step=step):
                sum(range(1000))
    return run.open()


def _copy(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _read(widget: Any, number: int, size: int) -> bytes:
    read = b""
    while len(read) < size:
        answer, (piece,) = widget.answer({"id": 1, "number": number, "offset": len(read)})
        assert "error" not in answer
        read += piece
    return read


def test_a_view_gets_the_page_and_the_capture_as_it_was(capture: kymo.Capture) -> None:
    widget = capture.widget()
    (path,) = (Path(each) for each in capture.paths)
    before = path.read_bytes()
    answer, _ = widget.answer({"id": "first"})
    assert answer["id"] == "first"
    assert answer["stretch"] is None
    pages = {file["name"]: file["size"] for file in answer["page"]}
    assert pages == {name: (get_page() / name).stat().st_size for name in pages}
    assert {"index.html", "page.js", "worker.js", "kymo_web.js", "kymo_web.wasm", "kymo.css"} <= set(pages)
    assert answer["captures"] == [{"name": path.name, "size": len(before)}]
    assert _read(widget, list(pages).index("page.js"), pages["page.js"]) == (get_page() / "page.js").read_bytes()
    path.write_bytes(before + b"appended")
    assert _read(widget, len(pages), len(before)) == before
    assert widget.answer({"number": len(pages), "offset": len(before)}) == ({"id": None}, [b""])
    path.unlink()
    assert _read(widget, len(pages), len(before)) == before
    widget.close()
    answer, buffers = widget.answer({"number": len(pages), "offset": 0})
    assert "closed" in answer["error"]
    assert buffers == []
    widget = kymo.open(_copy(path, before)).widget()
    bundle, _ = widget._repr_mimebundle_()
    assert set(bundle) >= {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
    assert "<svg" in bundle["text/html"]
    assert json.dumps(widget.get_state()["height"]) == "560"


@pytest.mark.parametrize(
    "question",
    [None, [], {"number": -1, "offset": 0}, {"number": 10**6, "offset": 0}, {"number": "0", "offset": 0},
     {"number": 0}, {"number": 0, "offset": -1}, {"number": 0, "offset": 2**70}],
)  # fmt: skip
def test_questions_that_make_no_sense_are_answered_with_an_error(capture: kymo.Capture, question: Any) -> None:
    answer, buffers = capture.widget().answer(question)
    assert answer["error"]
    assert buffers == []


def test_what_a_widget_cannot_show_is_said(capture: kymo.Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kymograph._widget._MOST_BYTES", 1000)
    with pytest.raises(ValueError, match=r"at most: `kymo serve '.*\.kymo'` has no limit"):
        capture.widget()
    monkeypatch.setattr("kymograph._paths.get_command", lambda: "/nowhere/bin/kymo")
    with pytest.raises(FileNotFoundError, match="without the page"):
        capture.widget()


class _Notebook:
    """A browser with a widget, whose questions are answered here."""

    def __init__(self, widget: Any, policy: str) -> None:
        assert CHROMIUM is not None
        self._widget = widget
        self._process = subprocess.Popen(
            ["node", HERE / "widget_page.js", CHROMIUM, NPM, Path(kymo.__file__).with_name("widget.js"), policy],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._put({"start": {"traits": {name: getattr(widget, name) for name in ("height", "instead")}}})

    def _put(self, line: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()

    def until(self, is_wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Answer questions until what is seen is as wanted."""
        deadline = time.monotonic() + DEADLINE_S
        seen: dict[str, Any] = {}
        self._put({"look": None})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line)
            if "question" in told:
                answer, buffers = self._widget.answer(told["question"])
                self._put({"answer": [answer, [base64.b64encode(each).decode() for each in buffers]]})
                continue
            seen = told
            if is_wanted(seen):
                return seen
            assert time.monotonic() < deadline, seen
            time.sleep(0.05)
            self._put({"look": None})
        raise AssertionError(f"the browser has ended: {seen}")

    def type(self, text: str) -> None:
        self._put({"type": text})

    def close(self) -> None:
        self._put({"close": None})
        self._process.communicate(timeout=DEADLINE_S)


@pytest.fixture
def show() -> Iterator[Callable[..., _Notebook]]:
    if CHROMIUM is None or shutil.which("node") is None or not (NPM / "playwright-core").is_dir():
        pytest.skip("there is no Chromium, Node.js or playwright-core")
    opened: list[_Notebook] = []

    def start(widget: Any, policy: str = "") -> _Notebook:
        opened.append(_Notebook(widget, policy))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def _is_drawn(seen: dict[str, Any]) -> bool:
    state = seen["state"]
    return state is not None and state.get("drawn", 0) > 0 and not state["is_busy"] and bool(state["shown"])


def test_the_panel_is_shown_without_network_origin_or_focus(
    capture: kymo.Capture, show: Callable[..., _Notebook]
) -> None:
    notebook = show(capture.widget())
    seen = notebook.until(_is_drawn)
    (path,) = capture.paths
    state = seen["state"]
    assert [(shown["name"], shown["size"]) for shown in state["shown"]] == [(Path(path).name, os.stat(path).st_size)]
    assert state["frames"] == len(capture.frames) == 50
    assert state["length_ns"] == capture.duration_ns
    assert seen["complaints"] == []
    assert seen["origin"] == "null"
    assert seen["focused"] == "BODY"
    assert seen["status"] == ""
    # It takes keys once it was clicked on.
    notebook.type("?")
    notebook.until(lambda seen: _is_drawn(seen) and seen["state"]["shows_help"])


def test_a_view_begins_with_its_stretch(capture: kymo.Capture, show: Callable[..., _Notebook]) -> None:
    start = int(capture.frames.start_ns[10])
    end = int(capture.frames.start_ns[20])
    seen = show(capture.between(start, end).widget()).until(_is_drawn)
    assert seen["state"]["flame_ns"] == [start - capture.start_ns, end - capture.start_ns]


def test_a_notebook_that_forbids_the_page_says_what_to_do(
    capture: kymo.Capture, show: Callable[..., _Notebook]
) -> None:
    notebook = show(capture.widget(), "script-src blob:")
    status = notebook.until(lambda seen: "cannot be shown" in seen["status"])["status"]
    assert "this notebook lets no page run in it. `kymo serve '" in status
