"""Fingerprints of configurations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kymograph import _analysis


class ParameterSet:
    """
    An ordered set of parameters, which identifies a run by its fingerprint.

    Values are texts, booleans, 64-bit integers and floats. Python's floats have 64 bits, ``numpy.float32`` has 32, and
    both are written in the shortest form for their width.

    Parameters
    ----------
    parameters
        The initial parameters, in order.

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
        Append a parameter.

        Parameters
        ----------
        name
            A new name.
        value
            A text, a boolean, an integer or a float; NumPy's scalars as well.

        Returns
        -------
        ParameterSet
            This object.

        Raises
        ------
        ValueError
            The name exists already, a text is not UTF-8, or a float is not finite: JSON cannot represent these.
        TypeError, OverflowError
            The value has another type, or is an integer beyond 64 bits.
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
        """Return the compact JSON from which the fingerprint is computed."""
        return self._core.to_json()

    def fingerprint(self) -> str:
        """Return the SHA-256 of the JSON, 64 lower-case hex digits."""
        return self._core.fingerprint()


@dataclass(slots=True)
class BenchConfig:
    """The configuration of a gated attention run. `lambda_` and `eps` are rounded to 32 bits."""

    model_commit: str = ""
    weights_hash: str = ""
    lambda_: float = 0.5
    tau: int = 0
    eps: float = 0.01
    compiler_flags: str = ""

    def to_json(self) -> str:
        """Return the compact JSON from which the fingerprint is computed."""
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
