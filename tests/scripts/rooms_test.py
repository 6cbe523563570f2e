"""What a file includes stands below it: src/rooms.txt lists layers and rooms from the bottom up.

Says which line of which file breaks that, and which room holds more files than a reader oversees.
"""

import re
import sys
import tempfile
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
SUFFIXES = {".cpp", ".hpp"}
MOST_FILES = 24


class House:
    """The layers of a tree, and the rooms of each."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.layers: dict[str, list[str]] = {}
        for line in (root / "src/rooms.txt").read_text(encoding="utf-8").splitlines():
            words = line.partition("#")[0].split()
            if words:
                self.layers[words[0]] = words[1:]

    def place(self, path: Path) -> tuple[int, int] | None:
        """Where a file stands: its layer and its room, counted from the bottom. None: in no layer."""
        for height, (layer, rooms) in enumerate(self.layers.items()):
            if path.is_relative_to(layer):
                inside = path.relative_to(layer).parts
                return height, rooms.index(inside[0]) if len(inside) > 1 else len(rooms)
        return None

    def find(self, included: str) -> Path | None:
        """The file of this tree that an #include names."""
        for folder in ("src", ""):
            path = Path(folder, included)
            if (self.root / path).is_file():
                return path
        return None

    def faults(self) -> list[str]:
        """What is wrong, a line each."""
        found = []
        for layer, rooms in self.layers.items():
            for folder in sorted(p for p in (self.root / layer).iterdir() if p.is_dir()):
                sources = [p for p in folder.iterdir() if p.suffix in SUFFIXES]
                if sources and folder.name not in rooms:
                    found.append(f"{layer}/{folder.name} is not in src/rooms.txt")
                    return found
                if len(sources) > MOST_FILES:
                    found.append(f"{layer}/{folder.name} has {len(sources)} files, more than {MOST_FILES}")
            for file in sorted((self.root / layer).rglob("*")):
                if file.suffix in SUFFIXES:
                    found += self.faults_of(file)
        return found

    def faults_of(self, file: Path) -> list[str]:
        """Includes of a file that stand above it."""
        path = file.relative_to(self.root)
        own = self.place(path)
        found = []
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            other = self.find(match[1]) if match else None
            place = self.place(other) if other else None
            if own and place and place > own:
                found.append(f"{path}:{number}: {other.parent} stands above {path.parent}")
        return found


def check_the_checker() -> None:
    """An arrow upwards is found, one downwards is not."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in {
            "src/rooms.txt": "src/low a b  # rooms\nsrc/high\n",
            "src/low/a/one.hpp": '#include "low/b/two.hpp"\n',
            "src/low/b/two.hpp": '#include "low/a/one.hpp"\n#include "high/top.hpp"\n',
            "src/low/roof.hpp": '#include "low/b/two.hpp"\n',
            "src/high/top.hpp": '#include "low/roof.hpp"\n',
        }.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        assert House(root).faults() == [
            "src/low/a/one.hpp:1: src/low/b stands above src/low/a",
            "src/low/b/two.hpp:2: src/high stands above src/low/b",
        ], House(root).faults()


if __name__ == "__main__":
    check_the_checker()
    faults = House(Path(__file__).resolve().parents[2]).faults()
    print("\n".join(faults))
    sys.exit(1 if faults else 0)
