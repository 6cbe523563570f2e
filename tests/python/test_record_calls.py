"""The recording calls."""

from __future__ import annotations

import kymo


def test_nothing_is_recorded_without_being_asked_for() -> None:
    assert not kymo.enable()
