"""
The code blocks of a document, and how they are run: in order, in one namespace, in the folder one is in.

    python document.py DOCUMENT

Blocks marked as python are executed, those marked as pycon are sessions whose answers must be those that are shown. A
second word after "python" says what a block needs (spark, gpu): `main` only compiles such.
"""

from __future__ import annotations

import doctest
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

_FENCE = re.compile(r"^```(python|pycon)(?: (\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of code, and the line of its first line."""

    kind: str
    needs: str
    line: int
    code: str


def blocks_of(document: Path) -> Iterator[Block]:
    """Yield the blocks of a document."""
    text = document.read_text()
    for fence in _FENCE.finditer(text):
        yield Block(fence[1], fence[2] or "", text.count("\n", 0, fence.start(3)) + 1, fence[3])


def run(block: Block, document: Path, names: dict[str, Any]) -> None:
    """Run a block; errors point into the document."""
    if block.kind == "python":
        exec(compile("\n" * (block.line - 1) + block.code, str(document), "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.code, names, document.name, str(document), block.line - 1)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(test, clear_globs=False)
    if runner.summarize(verbose=False).failed:
        raise AssertionError(f"{document}: a session from line {block.line} on answers otherwise")
    names.update(test.globs)


def main() -> None:
    """Run what needs nothing special of a document."""
    document = Path(sys.argv[1])
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for block in blocks_of(document):
        if block.needs:
            compile(block.code, str(document), "exec")
        else:
            run(block, document, names)
            count += 1
    sys.stdout.write(f"{count} blocks\n")


if __name__ == "__main__":
    main()
