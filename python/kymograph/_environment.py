"""The variables by which processes that are started during a recording record as well."""

from __future__ import annotations

import os

STARTER = "KYMO_STARTER"
"""Names the process that started the recording."""

FOLLOW = "KYMO_FOLLOW"
"""Names that process's capture, with which those of its workers end."""

_replaced: dict[str, str | None] = {}


def hand_down(variables: dict[str, str]) -> None:
    """Set variables for this process and those that it starts, until `take_back`."""
    _restore([name for name in _replaced if name not in variables])
    for name, value in variables.items():
        _replaced.setdefault(name, os.environ.get(name))
        os.environ[name] = value


def take_back() -> None:
    """Restore what the variables were."""
    _restore(list(_replaced))


def _restore(names: list[str]) -> None:
    for name in names:
        value = _replaced.pop(name)
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def is_worker() -> bool:
    """Tell whether this process belongs to a recording that another one started."""
    starter = os.environ.get(STARTER)
    return bool(starter) and starter != str(os.getpid())
