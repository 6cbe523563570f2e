"""The metrics of a capture as NumPy arrays."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kymo._analysis import Snapshot
from kymo._selection import Selection, unknown_key
from kymo._tables import MetricDeclarations, Samples


@dataclass(frozen=True)
class Provenance:
    """
    What the numbers of a metric are worth.

    Attributes
    ----------
    source : str
        Where they come from: a path or a call; empty for what the program recorded itself.
    step : float
        The least difference that the source tells apart, in the metric's unit; 0 where it is not known.
    renewal_ns : int
        How often the source makes a new value; 0: at every read, or not known.
    renewal_measured : bool
        `renewal_ns` was seen while recording; else the source states it.
    window_ns : int
        The stretch before its time that a value is taken over; 0: a moment, or not known.
    estimated : bool
        Worked out from other numbers rather than measured.
    total : bool
        Contains what other metrics of its source measure as well.
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
    A time series. Its samples are read when they are asked for first, and kept.

    Attributes
    ----------
    name, unit, kind : str
        `kind` is gauge, counter or energy_counter.
    labels : dict of str to str
        What tells metrics of one name apart.
    process : int
        Index into `Capture.processes`.
    provenance : Provenance
        What the numbers are worth.
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
        """The name with its labels: ``cpu_energy package=0 domain=dram``."""
        return " ".join([self.name, *(f"{key}={value}" for key, value in self.labels.items())])

    def _read(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        if self._series is None:
            times, values, flags = self._snapshot.series(self._id, self._selection.start_ns, self._selection.end_ns)
            # The one flag there is has the value 1.
            self._series = times, values, flags.view(np.bool_)
        return self._series

    @property
    def times(self) -> npt.NDArray[np.int64]:
        """The times of the samples, ascending: int64 nanoseconds on the capture's axis, read-only."""
        return self._read()[0]

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """The values: float64 in `unit`, read-only; NaN where the source could not be read."""
        return self._read()[1]

    @property
    def stale(self) -> npt.NDArray[np.bool_]:
        """Whether the source had made no new value since an earlier sample: bool, read-only."""
        return self._read()[2]

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        unit = f" in {self.unit}" if self.unit else ""
        return f"<kymo.Metric {self.full_name}: {self.kind}{unit}>"


class Metrics(Mapping[str, Metric]):
    """
    The metrics of a capture by name.

    A metric whose name several share goes by its name with labels, ``"gpu_power gpu=0"``, and where processes share
    that as well, by ``"gpu_power gpu=0 process=1"``.
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
        """What all metrics are, as a table."""
        return MetricDeclarations(self._snapshot, self._selection)

    def read(self, *keys: str) -> None:
        """
        Read the samples of several metrics in one pass over the capture, rather than in one each.

        Parameters
        ----------
        *keys : str
            Which; all of them where none is given. Takes 17 bytes a sample for as long as the mapping is held, and
            three times that meanwhile.

        Raises
        ------
        KeyError
            There is no such metric.
        """
        chosen = [self[key] for key in keys] or self._metrics
        names = tuple({metric.name for metric in chosen}) if keys else ()
        table = Samples(self._snapshot, replace(self._selection, names=names))
        columns = table.to_numpy(["metric", "time_ns", "value", "stale"])
        order = np.lexsort((columns["time_ns"], columns["metric"]))
        ids = columns["metric"][order]
        for metric in chosen:
            first, last = np.searchsorted(ids, [metric._id, metric._id + 1])
            rows = order[first:last]
            series = columns["time_ns"][rows], columns["value"][rows], columns["stale"][rows]
            for array in series:
                array.flags.writeable = False
            metric._series = series

    def all(self, name: str = "*", **labels: str | int) -> list[Metric]:
        """
        Return the metrics that fit.

        Parameters
        ----------
        name : str
            A name, or a pattern with ``*`` and ``?``.
        **labels
            Values that labels must have: ``all("gpu_power", gpu=0)``.
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
        if shared:
            keys = [name for name, metric in self._by_key.items() if metric.name == key]
            listing = ", ".join(repr(name) for name in keys[:12])
            raise KeyError(f"several metrics are named {key!r}: {listing}; all({key!r}) gives them as a list")
        raise unknown_key("metric", key, list(self._by_key))

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)

    def __repr__(self) -> str:
        return f"<kymo.Metrics: {', '.join(self._by_key)}>"

    def _repr_html_(self) -> str:
        return self.declarations._repr_html_()


def all_of(conditions: Iterator[bool]) -> bool:
    """Tell whether all hold; the name `all` is taken in `Metrics`."""
    return all(conditions)
