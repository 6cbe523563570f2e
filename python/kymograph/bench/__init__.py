"""
The benchmark kit.

Records and their files, fingerprints of configurations, energy and memory of a part of a program, and witness bundles
of decisions.

Examples
--------
>>> from kymograph.bench import LatencyRecord, LatencyStats, to_csv
>>> records = [LatencyRecord(0, 12.5, 10.0, 128), LatencyRecord(1, 13.25, 10.5, 256)]
>>> print(to_csv(records), end="")
sample_id,wall_time_us,kernel_time_us,seq_len
0,12.5,10,128
1,13.25,10.5,256
>>> LatencyStats.of([record.wall_time_us for record in records]).p95
13.25
"""

from __future__ import annotations

from kymograph._analysis import BenchFileError, FixedPowerSource, PowerSource
from kymograph.bench._parameters import BenchConfig, ParameterSet, config_hash
from kymograph.bench._records import (
    BaselineRecord,
    LatencyRecord,
    MemorySnapshot,
    PowerSample,
    ResultRow,
    parse_csv,
    read_csv,
    to_csv,
    write_csv,
)
from kymograph.bench._statistics import LatencyStats, nearest_rank
from kymograph.bench._trackers import (
    EnergyReport,
    MemoryReport,
    MemoryTracker,
    PowerTracker,
    find_power_sources,
    integrate,
)
from kymograph.bench._witness import (
    WitnessDifference,
    WitnessEntry,
    WitnessHeader,
    WitnessReport,
    WitnessTotals,
    WitnessWriter,
    compare_witnesses,
    is_same_decision,
    mask_hash,
    tensor_hash,
    verify_witness,
)

__all__ = [
    "BaselineRecord",
    "BenchConfig",
    "BenchFileError",
    "EnergyReport",
    "FixedPowerSource",
    "LatencyRecord",
    "LatencyStats",
    "MemoryReport",
    "MemorySnapshot",
    "MemoryTracker",
    "ParameterSet",
    "PowerSample",
    "PowerSource",
    "PowerTracker",
    "ResultRow",
    "WitnessDifference",
    "WitnessEntry",
    "WitnessHeader",
    "WitnessReport",
    "WitnessTotals",
    "WitnessWriter",
    "compare_witnesses",
    "config_hash",
    "find_power_sources",
    "integrate",
    "is_same_decision",
    "mask_hash",
    "nearest_rank",
    "parse_csv",
    "read_csv",
    "tensor_hash",
    "to_csv",
    "verify_witness",
    "write_csv",
]
