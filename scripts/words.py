#!/usr/bin/env python3
"""Report how many words a sentence of the documentation has.

    scripts/words.py [FILE...]

Without arguments: README.md, CONTRIBUTING.md and docs/. Code, tables, headings and links' targets do not count.
"""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def prose_of(markdown: str) -> list[str]:
    """Return the paragraphs and list items of a text, without markup."""
    text = re.sub(r"^(```|~~~).*?^\1", "\n\n", markdown, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^( {4,}|\||#|<).*$", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*([-*]|\d+\.)\s", "\n\n", text, flags=re.MULTILINE)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "code", text)
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def sentences_of(markdown: str) -> list[int]:
    """Return the number of words of each sentence."""
    counts = []
    for paragraph in prose_of(markdown):
        for sentence in re.split(r"(?<=[.!?])\s+", paragraph):
            words = re.findall(r"[^\W_][\w'\u2019.,/-]*", sentence)
            if len(words) > 1:
                counts.append(len(words))
    return counts


def main() -> int:
    """Print a line a file and one for all."""
    # Ends as other commands do once nobody reads on, such as after `| head`.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    named = [Path(name) for name in sys.argv[1:]]
    files = named or [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    every: list[int] = []
    print("words a sentence: mean, share of sentences above 25 words")
    for file in files:
        counts = sentences_of(file.read_text(encoding="utf-8"))
        every += counts
        if counts:
            print(f"{mean(counts):6.1f} {share(counts):5.1%}  {file.relative_to(ROOT) if not named else file}")
    print(f"{mean(every):6.1f} {share(every):5.1%}  {len(every)} sentences")
    return 0


def mean(counts: list[int]) -> float:
    """Return the mean; 0 of nothing."""
    return sum(counts) / max(len(counts), 1)


def share(counts: list[int]) -> float:
    """Return the share of sentences that are hard to read."""
    return sum(count > 25 for count in counts) / max(len(counts), 1)


if __name__ == "__main__":
    sys.exit(main())
