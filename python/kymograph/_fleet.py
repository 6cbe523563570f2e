"""Identifies the captures of a fleet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def run_of(infos: Mapping[str, str], capture: str) -> str:
    """
    Return the name of a process's run.

    Parameters
    ----------
    infos : Mapping of str to str
        The facts of the process.
    capture : str
        The path of its capture.

    Returns
    -------
    str
        The label ``run`` (``KYMO_LABELS=run=night-7``), else the cluster's job number, else the name of the capture's
        folder.
    """
    return infos.get("label.run") or infos.get("job") or Path(capture).resolve().parent.name
