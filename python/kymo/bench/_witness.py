"""Witness bundles: what a gate decided, decision by decision, in a chain that shows any change."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType

import numpy as np
import numpy.typing as npt

from kymo import _analysis
from kymo.bench._files import fail_to_read, fail_to_write


@dataclass(frozen=True, slots=True)
class WitnessHeader:
    """What was run. `config_hash` has 64 hex digits."""

    config_hash: str
    model_commit: str
    weights_hash: str


@dataclass(frozen=True, slots=True)
class WitnessEntry:
    """One decision; hashes are those of `tensor_hash`, `timestamp` is nanoseconds since 1970."""

    q_hash: str
    k_hash: str
    keep_mask: Sequence[bool]
    cut_cost: float = 0.0
    lambda_: float = 0.0
    tau: int = 0
    eps: float = 0.0
    timestamp: int = 0


@dataclass(frozen=True, slots=True)
class WitnessTotals:
    """Sums over entries: `gates` are the booleans of all masks, `kept` those that are true."""

    entries: int = 0
    gates: int = 0
    kept: int = 0
    mean_cut_cost: float = 0.0


@dataclass(frozen=True, slots=True)
class WitnessReport:
    """
    What `verify_witness` found.

    `line` is that of the first broken link, from 1, and `problem` what is wrong with it; 0 and empty where the bundle
    is whole. `totals` are those of the sound entries before it.
    """

    is_whole: bool
    line: int
    problem: str
    head: str
    header: WitnessHeader
    totals: WitnessTotals


@dataclass(frozen=True, slots=True)
class WitnessDifference:
    """Where two bundles begin to differ: the number of the first such entry from 1, 0 where there is none."""

    is_same_header: bool = True
    entry: int = 0

    @property
    def is_none(self) -> bool:
        """Whether they say the same."""
        return self.is_same_header and self.entry == 0


class WitnessWriter:
    """
    Writes a bundle beside its final name and renames it when it is finished. One thread at a time.

    As a context manager it finishes at the end, and leaves nothing after an exception.

    Parameters
    ----------
    path
        The file.
    header
        What was run.

    Raises
    ------
    OSError
        The file cannot be written.
    ValueError
        A text is not UTF-8, or the hash not one of 64 hex digits.
    """

    def __init__(self, path: str | os.PathLike[str], header: WitnessHeader) -> None:
        self._path = os.fspath(path)
        self._head = ""
        self._totals = WitnessTotals()
        try:
            self._core: _analysis.WitnessWriterCore | None = _analysis.WitnessWriterCore(self._path, header)
        except RuntimeError as error:
            fail_to_write(self._path, error)

    def _writing(self) -> _analysis.WitnessWriterCore:
        if self._core is None:
            raise ValueError(f"{self._path}: the bundle is finished")
        return self._core

    def add(self, entry: WitnessEntry) -> None:
        """
        Add a decision.

        Parameters
        ----------
        entry
            The decision.

        Raises
        ------
        ValueError
            A hash is not one of 64 hex digits, a number is not finite, or the bundle is finished.
        OSError
            The file cannot be written.
        """
        try:
            self._writing().add(entry)
        except RuntimeError as error:
            fail_to_write(self._path, error)

    def finish(self) -> str:
        """
        Write the footer and put the bundle in its place.

        Returns
        -------
        str
            The chain's head, which stands for the whole file: note it elsewhere.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        core = self._writing()
        try:
            self._head = core.finish()
        except RuntimeError as error:
            fail_to_write(self._path, error)
        self._totals = WitnessTotals(*core.totals())
        self._core = None
        return self._head

    @property
    def head(self) -> str:
        """The head of a finished bundle; empty before."""
        return self._head

    @property
    def totals(self) -> WitnessTotals:
        """Sums over the entries so far."""
        return self._totals if self._core is None else WitnessTotals(*self._core.totals())

    def __enter__(self) -> WitnessWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._core is not None:
            self.finish()
        self._core = None


def verify_witness(
    path: str | os.PathLike[str], on_entry: Callable[[WitnessEntry], object] | None = None
) -> WitnessReport:
    """
    Check every link of a bundle from the front, and stop at the first that is broken.

    Parameters
    ----------
    path
        The file.
    on_entry
        Is given each sound entry.

    Returns
    -------
    WitnessReport
        Whether the bundle is whole, and if not, where it breaks.

    Raises
    ------
    OSError
        The file cannot be read.
    """
    handed = None if on_entry is None else lambda fields: on_entry(WitnessEntry(*fields))
    try:
        *found, header, totals = _analysis.verify_witness(os.fspath(path), handed)
    except RuntimeError as error:
        fail_to_read(os.fspath(path), error)
    is_whole, line, problem, head = found
    return WitnessReport(is_whole, line, problem, head, WitnessHeader(*header), WitnessTotals(*totals))


def compare_witnesses(left: str | os.PathLike[str], right: str | os.PathLike[str]) -> WitnessDifference:
    """
    Tell where two bundles begin to differ in what was decided. When entries were made is not compared.

    Parameters
    ----------
    left, right
        The files.

    Returns
    -------
    WitnessDifference
        The first entry that differs, and whether the headers are the same.

    Raises
    ------
    BenchFileError
        One of the bundles is not whole. It is a ValueError.
    OSError
        One of the files cannot be read.
    """
    try:
        return WitnessDifference(*_analysis.compare_witnesses(os.fspath(left), os.fspath(right)))
    except RuntimeError as error:
        for path in (left, right):
            if not os.access(path, os.R_OK):
                fail_to_read(os.fspath(path), error)
        raise OSError(str(error)) from error


def is_same_decision(left: WitnessEntry, right: WitnessEntry) -> bool:
    """
    Tell whether two entries say the same, when they were made aside.

    Parameters
    ----------
    left, right
        The entries.

    Returns
    -------
    bool
        Whether they do.
    """
    return _analysis.is_same_decision(left, right)


def tensor_hash(values: npt.ArrayLike) -> str:
    """
    Return the SHA-256 over the bytes of 32-bit floats in little-endian order.

    Parameters
    ----------
    values
        A tensor in the processor's memory; other types are converted.

    Returns
    -------
    str
        64 lower-case hex digits.
    """
    return _analysis.tensor_hash(np.ascontiguousarray(values, np.float32).ravel())
