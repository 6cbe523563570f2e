"""The variables by which processes that are started during a recording record as well."""

from __future__ import annotations

import os
from _thread import RLock  # the module threading has calls at the end of a program, which would be recorded

STARTER = "KYMO_STARTER"
"""Names the process that started the recording."""

FOLLOW = "KYMO_FOLLOW"
"""Names that process's capture, with which those of its workers end."""

lock = RLock()
"""Held while a recording starts or ends, with its variables."""

is_run_recorded = False
"""Whether ``python -m kymograph record`` records this process, from its beginning to its end."""

_replaced: dict[str, str | None] = {}


def _make_lock() -> None:
    global lock  # noqa: PLW0603
    lock = RLock()


# Another thread may have held it at the fork.
os.register_at_fork(after_in_child=_make_lock)


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
