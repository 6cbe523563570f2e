"""The metrics of a capture as NumPy arrays."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kymograph._analysis import Snapshot
from kymograph._selection import Selection, unknown_key
from kymograph._tables import MetricDeclarations, Samples


@dataclass(frozen=True)
class Provenance:
    """
    The origin and quality of a metric's values.

    Attributes
    ----------
    source : str
        Their origin: a path or a call; empty for metrics that the program recorded itself.
    step : float
        The resolution of the source in the metric's unit; 0 if unknown.
    renewal_ns : int
        The interval between new values of the source; 0: new at every read, or unknown.
    renewal_measured : bool
        `renewal_ns` was measured while recording; else the source states it.
    window_ns : int
        The duration before its time that a value covers; 0: an instant, or unknown.
    estimated : bool
        Computed from other numbers rather than measured.
    total : bool
        Includes other metrics of its source.
    """

    source: str
    step: float
    renewal_ns: int
    renewal_measured: bool
    window_ns: int
    estimated: bool
    total: bool


class Metric:
    """
    A time series. Its samples are read on first use and cached.

    Attributes
    ----------
    name, unit, kind : str
        `kind` is gauge, counter or energy_counter.
    labels : dict of str to str
        Distinguish metrics of the same name.
    process : int
        Index into `Capture.processes`.
    provenance : Provenance
        The origin and quality of its values.
    """

    def __init__(self, snapshot: Snapshot, declared: Mapping[str, Any], selection: Selection) -> None:
        self._snapshot = snapshot
        self._selection = selection
        self._id: int = declared["id"]
        self._series: tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.bool_]] | None = None
        self.name: str = declared["name"]
        self.unit: str = declared["unit"]
        self.kind: str = declared["kind"]
        self.labels: dict[str, str] = declared["labels"]
        self.process: int = max(declared["process"] - 1, 0)
        self.provenance = Provenance(
            source=declared["source"],
            step=declared["step"],
            renewal_ns=declared["renewal_ns"],
            renewal_measured=declared["renewal_measured"],
            window_ns=declared["window_ns"],
            estimated=declared["estimated"],
            total=declared["total"],
        )

    @property
    def full_name(self) -> str:
        """
        The name with its labels: ``cpu_energy package=0 domain=dram``.

        A ``uuid`` beside other labels is left out: the number of the GPU identifies it on its machine.
        """
        labels = {key: value for key, value in self.labels.items() if key != "uuid"} or self.labels
        return " ".join([self.name, *(f"{key}={value}" for key, value in labels.items())])

    def _read(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        if self._series is None and self._selection.blocks:
            _read_series(self._snapshot, replace(self._selection, names=(self.name,)), [self])
        if self._series is None:
            times, values, flags = self._snapshot.series(self._id, self._selection.start_ns, self._selection.end_ns)
            # The only flag has the value 1.
            self._series = times, values, flags.view(np.bool_)
        return self._series

    @property
    def times(self) -> npt.NDArray[np.int64]:
        """The times of the samples, ascending: int64 nanoseconds on the capture's axis, read-only."""
        return self._read()[0]

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """The values: float64 in `unit`, read-only; NaN if the source could not be read."""
        return self._read()[1]

    @property
    def stale(self) -> npt.NDArray[np.bool_]:
        """Whether the source had no new value since an earlier sample: bool, read-only."""
        return self._read()[2]

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        unit = f" in {self.unit}" if self.unit else ""
        return f"<kymograph.Metric {self.full_name}: {self.kind}{unit}>"


def _read_series(snapshot: Snapshot, selection: Selection, metrics: list[Metric]) -> None:
    """Give these metrics the selected samples, in a single pass."""
    columns = Samples(snapshot, selection).to_numpy(["metric", "time_ns", "value", "stale"])
    order = np.lexsort((columns["time_ns"], columns["metric"]))
    ids = columns["metric"][order]
    for metric in metrics:
        first, last = np.searchsorted(ids, [metric._id, metric._id + 1])
        rows = order[first:last]
        series = columns["time_ns"][rows], columns["value"][rows], columns["stale"][rows]
        for array in series:
            array.flags.writeable = False
        metric._series = series


class Metrics(Mapping[str, Metric]):
    """
    The metrics of a capture by name.

    If several metrics share a name, the key has labels, ``"gpu_power gpu=0"``; if processes share that as well, it has
    the process, ``"gpu_power gpu=0 process=1"``.
    """

    def __init__(self, snapshot: Snapshot, selection: Selection) -> None:
        self._snapshot = snapshot
        self._selection = selection
        self._metrics = [
            Metric(snapshot, declared, selection)
            for declared in snapshot.metrics()
            if selection.processes is None or declared["process"] in selection.processes
        ]
        self._by_key = self._make_keys()

    def _make_keys(self) -> dict[str, Metric]:
        keys: dict[str, Metric] = {}
        pending = self._metrics
        for key_of in (
            lambda metric: metric.name,
            lambda metric: metric.full_name,
            lambda metric: f"{metric.full_name} process={metric.process}",
            lambda metric: f"{metric.full_name} process={metric.process} id={metric._id}",
        ):
            counts: dict[str, int] = {}
            for metric in pending:
                counts[key_of(metric)] = counts.get(key_of(metric), 0) + 1
            shared = []
            for metric in pending:
                key = key_of(metric)
                if counts[key] == 1 and key not in keys:
                    keys[key] = metric
                else:
                    shared.append(metric)
            pending = shared
        return keys

    @property
    def declarations(self) -> MetricDeclarations:
        """The declarations of all metrics as a table."""
        return MetricDeclarations(self._snapshot, self._selection)

    def read(self, *keys: str) -> None:
        """
        Read the samples of several metrics in a single pass over the capture.

        Parameters
        ----------
        *keys : str
            The metrics; all if none is given. Uses 17 bytes per sample while the mapping exists, and three times that
            during the call.

        Raises
        ------
        KeyError
            There is no such metric.
        """
        chosen = [self[key] for key in keys] or self._metrics
        names = tuple({metric.name for metric in chosen}) if keys else ()
        _read_series(self._snapshot, replace(self._selection, names=names), chosen)

    def all(self, name: str = "*", **labels: str | int) -> list[Metric]:
        """
        Return the matching metrics.

        Parameters
        ----------
        name : str
            A name, or a pattern with ``*`` and ``?``.
        **labels
            Required values of labels: ``all("gpu_power", gpu=0)``.
        """
        return [
            metric
            for metric in self._metrics
            if (metric.name == name or fnmatch.fnmatchcase(metric.name, name))
            and all_of(metric.labels.get(key) == str(value) for key, value in labels.items())
        ]

    def __getitem__(self, key: str) -> Metric:
        found = self._by_key.get(key)
        if found is not None:
            return found
        shared = self.all(key)
        # Forked processes inherit declarations of metrics that they never record.
        recorded = [metric for metric in shared if len(metric) > 0]
        if len(recorded) == 1:
            return recorded[0]
        if shared:
            keys = [name for name, metric in self._by_key.items() if metric.name == key]
            listing = ", ".join(repr(name) for name in keys[:12])
            raise KeyError(f"several metrics are named {key!r}: {listing}; all({key!r}) gives them as a list")
        raise unknown_key("metric", key, list(self._by_key))

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._by_key)

    def __repr__(self) -> str:
        return f"<kymograph.Metrics: {', '.join(self._by_key)}>"

    def _repr_html_(self) -> str:
        return self.declarations._repr_html_()


def all_of(conditions: Iterator[bool]) -> bool:
    """Tell whether all are true; the name `all` is taken in `Metrics`."""
    return all(conditions)
