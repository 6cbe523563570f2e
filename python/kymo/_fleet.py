"""What the captures of a fleet are told apart by."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def run_of(infos: Mapping[str, str], capture: str) -> str:
    """
    Return the name of the run that a process was part of.

    Parameters
    ----------
    infos : Mapping of str to str
        What the process says of itself.
    capture : str
        The path of its capture.

    Returns
    -------
    str
        The label ``run`` (``KYMO_LABELS=run=night-7``), else the cluster's number of the job, else the name of the
        folder that the capture lies in.
    """
    return infos.get("label.run") or infos.get("job") or Path(capture).resolve().parent.name
