"""Witness bundles: a gate's decisions, one by one, in a hash chain that reveals any change."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType

import numpy as np
import numpy.typing as npt

from kymograph import _analysis
from kymograph.bench._files import fail_to_read, fail_to_write


@dataclass(frozen=True, slots=True)
class WitnessHeader:
    """The run's configuration. `config_hash` has 64 hex digits."""

    config_hash: str
    model_commit: str
    weights_hash: str


@dataclass(frozen=True, slots=True)
class WitnessEntry:
    """
    One decision; hashes are from `tensor_hash`, `timestamp` is nanoseconds since 1970.

    `mask_hash` is from the function of that name, for a mask that is too large to be stored. Empty: `keep_mask` is all
    of it.
    """

    q_hash: str
    k_hash: str
    keep_mask: Sequence[bool]
    cut_cost: float = 0.0
    lambda_: float = 0.0
    tau: int = 0
    eps: float = 0.0
    timestamp: int = 0
    mask_hash: str = ""


@dataclass(frozen=True, slots=True)
class WitnessTotals:
    """Sums over entries: `gates` counts the booleans of all masks, `kept` those that are true."""

    entries: int = 0
    gates: int = 0
    kept: int = 0
    mean_cut_cost: float = 0.0


@dataclass(frozen=True, slots=True)
class WitnessReport:
    """
    The result of `verify_witness`.

    `line` is the line of the first broken link, from 1, and `problem` describes it; 0 and empty if the bundle is
    intact. `totals` covers the intact entries before it.
    """

    is_whole: bool
    line: int
    problem: str
    head: str
    header: WitnessHeader
    totals: WitnessTotals


@dataclass(frozen=True, slots=True)
class WitnessDifference:
    """The first difference of two bundles: the number of the entry from 1, or 0 if there is none."""

    is_same_header: bool = True
    entry: int = 0

    @property
    def is_none(self) -> bool:
        """Whether there is no difference."""
        return self.is_same_header and self.entry == 0


class WitnessWriter:
    """
    Writes a bundle to a temporary file and renames it when it is finished. One thread at a time.

    As a context manager it finishes at the end, and leaves no file after an exception.

    Parameters
    ----------
    path
        The file.
    header
        The run's configuration.

    Raises
    ------
    OSError
        The file cannot be written.
    ValueError
        A text is not UTF-8, or the hash does not have 64 hex digits.
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
            A hash does not have 64 hex digits, a number is not finite, or the bundle is finished.
        OSError
            The file cannot be written.
        """
        try:
            self._writing().add(entry)
        except RuntimeError as error:
            fail_to_write(self._path, error)

    def finish(self) -> str:
        """
        Write the footer and move the bundle to its path.

        Returns
        -------
        str
            The chain's head, which identifies the whole file: store it elsewhere.

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
    Check every link of a bundle from the start, and stop at the first broken one.

    Parameters
    ----------
    path
        The file.
    on_entry
        Called with each intact entry.

    Returns
    -------
    WitnessReport
        Whether the bundle is intact, and the first broken link if not.

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
    Find the first decision in which two bundles differ. Times of entries are not compared.

    Parameters
    ----------
    left, right
        The files.

    Returns
    -------
    WitnessDifference
        The first different entry, and whether the headers are the same.

    Raises
    ------
    BenchFileError
        One of the bundles is not intact. It is a ValueError.
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
    Tell whether two entries hold the same decision, ignoring their times.

    Parameters
    ----------
    left, right
        The entries.

    Returns
    -------
    bool
        Whether they hold the same decision.
    """
    return _analysis.is_same_decision(left, right)


def tensor_hash(values: npt.ArrayLike) -> str:
    """
    Return the SHA-256 over the bytes of 32-bit floats in little-endian order.

    Parameters
    ----------
    values
        A tensor in CPU memory; other types are converted.

    Returns
    -------
    str
        64 lower-case hex digits.
    """
    return _analysis.tensor_hash(np.ascontiguousarray(values, np.float32).ravel())


def mask_hash(mask: npt.ArrayLike) -> str:
    """
    Return the SHA-256 of a mask, one byte of 0 or 1 per gate.

    Parameters
    ----------
    mask
        Booleans, or numbers of which 0 means dropped.

    Returns
    -------
    str
        64 lower-case hex digits.
    """
    return _analysis.mask_hash(np.ascontiguousarray(mask, np.bool_).ravel().view(np.uint8))
