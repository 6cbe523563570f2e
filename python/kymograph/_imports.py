"""Changes to modules that the program imports, or not."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class _Finder(importlib.abc.MetaPathFinder):
    """Patches a module only when the script imports it."""

    def __init__(self, name: str, change: Callable[[Any], None]) -> None:
        self.name = name
        self.change = change

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        run_module = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run_module(module)
            self.change(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def when_imported(name: str, change: Callable[[Any], None]) -> None:
    """Change a module, now if the program has imported it, else when it does."""
    loaded = sys.modules.get(name)
    if loaded is not None:
        change(loaded)
    else:
        sys.meta_path.insert(0, _Finder(name, change))
