"""Fingerprints of what was run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kymo import _analysis


class ParameterSet:
    """
    An ordered set of parameters, and its fingerprint: what a run was a matter of.

    Texts, booleans, integers of 64 bits and floats have a place in it. Python's floats have 64 bits, ``numpy.float32``
    has 32, and both are written in the shortest form for their width.

    Parameters
    ----------
    parameters
        The first ones, in their order.

    Examples
    --------
    >>> ParameterSet({"model": "tiny", "lr": 0.001, "steps": 3}).to_json()
    '{"model":"tiny","lr":0.001,"steps":3}'
    """

    def __init__(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        self._core = _analysis.ParameterSetCore()
        for name, value in parameters.items() if isinstance(parameters, Mapping) else parameters:
            self.add(name, value)

    def add(self, name: str, value: Any) -> ParameterSet:
        """
        Add a parameter behind the others.

        Parameters
        ----------
        name
            A name that is not there yet.
        value
            A text, a boolean, an integer or a float; NumPy's scalars as well.

        Returns
        -------
        ParameterSet
            Itself.

        Raises
        ------
        ValueError
            The name is there already, a text is not UTF-8, or a float is not finite: JSON has no place for these.
        TypeError, OverflowError
            The value is none of these, or an integer beyond 64 bits.
        """
        if isinstance(value, (np.float32, np.float16)):
            self._core.add_float32(name, float(value))
            return self
        plain = value.item() if isinstance(value, np.generic) else value
        if not isinstance(plain, (str, bool, int, float)):
            kind = type(value).__name__
            raise TypeError(f"the parameter {name} is a {kind}: neither text, boolean, integer nor float")
        self._core.add(name, plain)
        return self

    def to_json(self) -> str:
        """Return the compact JSON that the fingerprint is taken of."""
        return self._core.to_json()

    def fingerprint(self) -> str:
        """Return the SHA-256 of the JSON, 64 lower-case hex digits."""
        return self._core.fingerprint()


@dataclass(slots=True)
class BenchConfig:
    """What a run of the gated attention is a matter of. `lambda_` and `eps` are rounded to 32 bits."""

    model_commit: str = ""
    weights_hash: str = ""
    lambda_: float = 0.5
    tau: int = 0
    eps: float = 0.01
    compiler_flags: str = ""

    def to_json(self) -> str:
        """Return the compact JSON that the fingerprint is taken of."""
        return _analysis.config_json(self)


def config_hash(config: BenchConfig) -> str:
    """
    Return a configuration's fingerprint.

    Parameters
    ----------
    config
        The configuration.

    Returns
    -------
    str
        64 lower-case hex digits: the SHA-256 of its JSON.

    Examples
    --------
    >>> config_hash(BenchConfig("abc1234", "def5678", 0.5, 2, 0.01, "-O3"))
    '8194ad7276a762e3eeee09d9d2cb18ab888c08854a9f3deaf87e92142bca82df'
    """
    return _analysis.config_hash(config)
