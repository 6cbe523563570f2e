"""Percentiles, mean and spread of samples in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kymograph import _analysis


def _samples(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    return np.ascontiguousarray(values, np.float64).ravel()


def nearest_rank(ascending: npt.ArrayLike, percentile: float) -> float:
    """
    Return the nearest-rank percentile of ascending samples, at index ``ceil(percentile / 100 * n) - 1``.

    Parameters
    ----------
    ascending
        Sorted samples.
    percentile
        0 to 100.

    Returns
    -------
    float
        The sample; 0 for none.
    """
    return _analysis.nearest_rank(_samples(ascending), percentile)


@dataclass(frozen=True, slots=True)
class LatencyStats:
    """
    Statistics of samples, in their own unit; all zero for none.

    `std` is the population's standard deviation, `n` the number of samples that are not NaN.
    """

    p50: float = 0.0
    p95: float = 0.0
    p99: float = 0.0
    mean: float = 0.0
    std: float = 0.0
    n: int = 0

    @classmethod
    def of(cls, samples: npt.ArrayLike) -> LatencyStats:
        """
        Compute the statistics; sorts a copy of the samples.

        Parameters
        ----------
        samples
            Any number of them; NaN is ignored.

        Returns
        -------
        LatencyStats
            Percentiles by nearest rank, mean and spread.
        """
        return cls(*_analysis.latency_stats(_samples(samples)))
