"""``Capture.widget``: the panel's page in a notebook. The page's other half is widget.js."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kymograph._paths import get_page

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise ImportError(f"a widget needs anywidget: pip install 'kymograph[widget]' ({error})") from error

if TYPE_CHECKING:
    from kymograph._capture import Capture

#: A browser keeps the captures in its memory.
_MOST_BYTES = 256 << 20
_PIECE_BYTES = 4 << 20


class _File:
    """The first bytes of a file, as many as there were when it was opened."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._file = path.open("rb", buffering=0)
        self.size = os.fstat(self._file.fileno()).st_size

    def read(self, offset: int) -> bytes:
        return os.pread(self._file.fileno(), min(_PIECE_BYTES, self.size - offset), offset)

    def close(self) -> None:
        self._file.close()


class CaptureWidget(anywidget.AnyWidget):
    """
    A capture in a notebook, as `Capture.widget` returns it.

    It holds the files open, so that it shows what was there when it was made.
    """

    _esm = Path(__file__).with_name("widget.js")
    height = traitlets.Int().tag(sync=True)
    #: What to do where a notebook cannot show it.
    instead = traitlets.Unicode().tag(sync=True)

    _page: Sequence[_File] = ()
    _captures: Sequence[_File] = ()

    def __init__(self, capture: Capture, stretch: Sequence[int] | None, height: int) -> None:
        paths = [str(each["path"]) for each in capture.captures]
        command = f"kymo serve {shlex.join(paths)}"
        self._capture = capture
        self._stretch = stretch
        page = get_page()
        self._page = [
            _File(path) for path in sorted(page.iterdir()) if path.suffix in {".css", ".html", ".js", ".wasm"}
        ]
        self._captures = [_File(Path(path)) for path in paths]
        size = sum(file.size for file in self._captures)
        if size > _MOST_BYTES:
            raise ValueError(
                f"the captures have {size / 1e6:.0f} MB, and a widget takes {_MOST_BYTES / 1e6:.0f} MB at most: "
                f"`{command}` has no limit"
            )
        super().__init__(height=height, instead=f"`{command}` shows it in a browser.")
        self.on_msg(self._take)

    def close(self) -> None:
        """Close the files and the views."""
        for file in (*self._page, *self._captures):
            file.close()
        super().close()

    def _take(self, _: object, question: Any, __: object) -> None:
        answer, buffers = self.answer(question)
        self.send(answer, buffers)

    def answer(self, question: Any) -> tuple[dict[str, Any], list[bytes]]:
        """Answer a view's question: what there is, or, with a `number` and an `offset`, a piece of a file."""
        if not isinstance(question, dict):
            return {"error": "no question"}, []
        number, offset = question.get("number"), question.get("offset")
        files = [*self._page, *self._captures]
        answer: dict[str, Any] = {"id": question.get("id")}
        if number is None:
            for kind, listed in (("page", self._page), ("captures", self._captures)):
                answer[kind] = [{"name": file.name, "size": file.size} for file in listed]
            return {**answer, "stretch": self._stretch}, []
        if not (isinstance(number, int) and number in range(len(files))):
            return {**answer, "error": "there is no such file"}, []
        if not (isinstance(offset, int) and offset in range(files[number].size + 1)):
            return {**answer, "error": f"{files[number].name} is shorter"}, []
        try:
            return answer, [files[number].read(offset)]
        except (OSError, ValueError) as error:
            return {**answer, "error": f"{files[number].name}: {error}"}, []

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            # What has no widgets, such as a page made of the notebook, shows the picture.
            bundle[0]["text/html"] = self._capture._repr_html_()
        return bundle
