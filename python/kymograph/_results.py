"""The types of what `stats`, `energy`, `compare` and `explain` of a `Capture` return: dicts, keyed as the JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class _OfProcesses(TypedDict):
    """How many processes the row is of; with ``by_process=True``, which one."""

    processes: NotRequired[int]
    process: NotRequired[int]
    pid: NotRequired[int]


class _Durations(TypedDict):
    count: int
    total_ns: int
    mean_ns: float
    min_ns: int
    p50_ns: int
    p95_ns: int
    p99_ns: int
    p99_9_ns: int
    max_ns: int


class _Place(TypedDict):
    name: str
    function: str
    file: str
    line: int


class RunStates(TypedDict):
    """How long a thread computed, was pushed off its CPU, and was blocked, as far as that is known."""

    running_ns: int
    runnable_ns: int
    blocked_ns: int


class SiteRunStates(RunStates):
    """Those of the scopes in which they are known throughout: how many, and how long."""

    scopes: int
    total_ns: int


class SiteRow(_Place, _OfProcesses, _Durations):
    """The scopes of a site; with `run_states` if any were recorded, None if not of these scopes."""

    self_ns: int
    unbalanced: int
    self_is_bound: int
    run_states: NotRequired[SiteRunStates | None]


class ThreadActivity(TypedDict):
    """What a thread did in all; None: not recorded."""

    thread: str
    thread_id: int
    pid: int
    run_states: RunStates | None
    migrations: int | None
    minor_faults: int | None
    major_faults: int | None


class SpanRow(TypedDict):
    """The spans of a name. GPU work whose times are unknown is `unresolved`, and has no durations."""

    name: str
    count: int
    unresolved: NotRequired[bool]
    total_ns: NotRequired[int]
    mean_ns: NotRequired[float]
    min_ns: NotRequired[int]
    p50_ns: NotRequired[int]
    p95_ns: NotRequired[int]
    p99_ns: NotRequired[int]
    p99_9_ns: NotRequired[int]
    max_ns: NotRequired[int]


class FrameStreamRow(_OfProcesses):
    """The frames of a stream; None where it has none, as after a single mark."""

    name: str
    count: int
    total_ns: int
    mean_ns: float | None
    min_ns: int | None
    p50_ns: int | None
    p95_ns: int | None
    p99_ns: int | None
    p99_9_ns: int | None
    max_ns: int | None


class MetricRow(_OfProcesses):
    """The samples of a metric; None: not known."""

    name: str
    unit: str
    labels: dict[str, str]
    source: str
    count: int
    min: float | None
    mean: float | None
    max: float | None
    last: float | None
    standard_deviation: float | None
    p50: float | None
    p95: float | None
    p99: float | None


class HolderRow(TypedDict):
    """The waits for one holder of a lock."""

    holder: str
    waits: int
    total_ns: int
    max_ns: int


class LockRow(TypedDict):
    """A lock: who waited for whom."""

    name: str
    file: str
    line: int
    waits: int
    waited_ns: int
    max_wait_ns: int
    holds: int
    held_ns: int
    max_hold_ns: int
    waited_for: list[HolderRow]


class Statistics(TypedDict):
    """What `Capture.stats` returns."""

    start_ns: int
    end_ns: int
    sites: list[SiteRow]
    spans: list[SpanRow]
    frame_streams: list[FrameStreamRow]
    metrics: list[MetricRow]
    locks: list[LockRow]
    blocks: int
    blocks_decoded: int
    blocks_damaged: int


class EnergyOptions(TypedDict, total=False):
    """The options of `Capture.energy`."""

    by_process: bool
    power_sources: str | Sequence[str]
    idle_watts: float | None


class _Resolution(TypedDict):
    count: int
    unresolved_count: int
    is_resolved: bool


class _Machine(TypedDict):
    """Joules are None where the source could not be read."""

    joules: float | None
    bound_joules: float | None
    unknown_s: float


class _Gpu(TypedDict):
    gpu_joules: float | None
    gpu_bound_joules: float | None
    gpu_unknown_s: float


class PowerSourceRow(_Machine):
    """A source of power over the whole capture."""

    name: str
    feeds: str
    method: str
    estimated: bool
    renewal_ns: int
    known_s: float
    gaps: int


class LeftOutRow(TypedDict):
    """A source that is not added up."""

    name: str
    reason: str


class SiteEnergyRow(_Place, _OfProcesses, _Resolution, _Machine):
    """The joules of a site's scopes; `self_joules` without the scopes inside."""

    self_joules: float | None
    self_bound_joules: float | None
    self_unknown_s: float
    idle_joules: float


class SpanEnergyRow(_Resolution, _Gpu):
    """The joules of GPU work of a name."""

    name: str


class FrameEnergyRow(_OfProcesses, _Resolution, _Machine, _Gpu):
    """The joules of the frames of a stream."""

    name: str


class PhaseEnergyRow(_Machine, _Gpu):
    """The joules of a phase."""

    number: int
    process: int
    start_ns: int
    end_ns: int
    is_resolved: bool


class TotalEnergy(_Machine, _Gpu):
    """The joules of the whole capture."""

    shares_by_cpu_time: bool
    in_scopes_joules: float
    idle_joules: float
    idle_watts: float | None
    idle_watts_given: bool


class EnergyStatistics(TypedDict):
    """What `Capture.energy` returns."""

    start_ns: int
    end_ns: int
    scopes_estimated: bool
    power_sources: list[PowerSourceRow]
    left_out: list[LeftOutRow]
    total: TotalEnergy
    sites: list[SiteEnergyRow]
    spans: list[SpanEnergyRow]
    frame_streams: list[FrameEnergyRow]
    phases: list[PhaseEnergyRow]


class FactRow(TypedDict):
    """A fact about the runs: the values that occur on each side."""

    fact: str
    base: list[str]
    new: list[str]
    differs: bool


class ThingName(TypedDict):
    """What is compared: a site, a kind of span, a frame stream or a metric."""

    kind: str
    name: str
    function: str
    file: str
    labels: str
    unit: str


class OtherUnitsRow(ThingName):
    """A metric whose units differ: `unit` and `new_unit`."""

    new_unit: str


class SideRow(TypedDict):
    """One side of a comparison: `count` values, `sampled` of them compared, from `runs` captures."""

    count: int
    sampled: int
    runs: int
    median: float
    p95: float
    line: int


class ComparedRow(ThingName):
    """
    What is on both sides. Changes are shares of the base, intervals are low and high; None: not known.

    `more_runs` is about how many more runs a side would settle an "unclear" verdict.
    """

    verdict: str
    base: SideRow
    new: SideRow
    median_difference: float
    median_interval: list[float | None] | None
    median_change: float | None
    median_change_interval: list[float | None] | None
    p95_difference: float
    p95_interval: list[float | None] | None
    p95_change: float | None
    p95_change_interval: list[float | None] | None
    new_is_greater: float
    compared: str
    p_value: float | None
    adjusted_p_value: float | None
    more_runs: int | None


class Comparison(TypedDict):
    """What `Capture.compare` returns; the rows of `compared` begin with the worst verdicts."""

    seed: int
    configuration: list[FactRow]
    compared: list[ComparedRow]
    only_in_base: list[ThingName]
    only_in_new: list[ThingName]
    other_units: list[OtherUnitsRow]


class FindingPartRow(TypedDict):
    """Part of a finding: a scope or a span in which the time went, and the thread with most of it."""

    name: str
    file: str
    line: int
    thread: str
    excess_ns: float


class SourcePlaceRow(TypedDict):
    """A line of the source, and the function that it is in."""

    function: str
    file: str
    line: int


class FindingFunctionRow(TypedDict):
    """
    A function that the excess went to, by sampled stacks: itself, the kernel for it, or what it called (`is_caller`).

    `share` is of the finding's excess; `samples` are those, or the waits, of slow instances. `place` is the line that
    at least half of the function's excess was in, or was called from where its own source is not known.
    """

    name: str
    module: str
    is_kernel: bool
    is_caller: bool
    share: float
    share_interval: tuple[float, float] | None
    samples: int
    place: SourcePlaceRow | None


class FindingInstanceRow(TypedDict):
    """A slow frame or scope, and how much of its time the cause owns."""

    number: int
    start_ns: int
    duration_ns: int
    owned_ns: float


class CompanionRow(TypedDict):
    """A metric whose values go along with the slow instances: medians. It is never a cause."""

    metric: str
    labels: dict[str, str]
    unit: str
    slow: float
    usual: float
    p_value: float


class FindingRow(TypedDict):
    """
    A cause of the excess.

    `share` is of the whole excess; its 95 % interval needs three slow instances, else it is None. `p_value` is
    corrected for everything that was tried. `in_instances`: slow ones that have more of it than 95 % of the usual.
    `bytes`: metrics of I/O that go along with a blocked one.
    """

    text: str
    kind: str
    waits: list[str]
    excess_ns: float
    share: float
    share_interval: tuple[float, float] | None
    p_value: float
    in_instances: int
    is_first_time: bool
    parts: list[FindingPartRow]
    functions: list[FindingFunctionRow]
    bytes: list[CompanionRow]
    slow: list[FindingInstanceRow]


class Explanation(TypedDict):
    """
    Why some frames, or scopes of `site`, are slow: a row of what `Capture.explain` returns.

    No findings: nothing stands out. `shorter`: what took less time in slow instances. `process`: whose frames, where
    several processes marked theirs at a time.
    """

    text: str
    is_comparison: bool
    site: str | None
    process: str | None
    instances: int
    slow: int
    usual: int
    slow_mean_ns: float
    usual_mean_ns: float
    excess_ns: float
    unexplained_ns: float
    findings: list[FindingRow]
    shorter: list[FindingRow]
    goes_along: list[CompanionRow]
    notes: list[str]


class RunPlaceRow(TypedDict):
    """A scope or span in which a part of a run's time went; of a thread without scopes `name` is words for it."""

    name: str
    file: str
    line: int
    thread: str
    duration_ns: float


class RunPartRow(TypedDict):
    """What took a part of a run's time: `share` of it. Kind `held` without `waits`: nothing was recorded."""

    text: str
    kind: str
    waits: list[str]
    duration_ns: float
    share: float
    parts: list[RunPlaceRow]
    functions: list[FindingFunctionRow]


class RunExplanation(TypedDict):
    """Where the time of the main thread went: what `Capture.explain_run` returns. Parts and `other_ns` add up."""

    text: str
    thread: str
    pid: int
    start_ns: int
    duration_ns: int
    parts: list[RunPartRow]
    other_ns: float
    notes: list[str]


class EnergyFindingRow(TypedDict):
    """
    Scopes of a site or spans of a queue that used more joules in the instances that took more, as `FindingRow`.

    `costly`: these instances, with the joules that it used.
    """

    text: str
    name: str
    file: str
    line: int
    thread: str
    excess_joules: float
    share: float
    share_interval: tuple[float, float] | None
    p_value: float
    in_instances: int
    costly: list[InstanceJoulesRow]


class InstanceJoulesRow(TypedDict):
    """A frame or scope with joules: those of its machine and GPUs, or of a finding."""

    number: int
    start_ns: int
    duration_ns: int
    joules: float


class EnergyExplanation(TypedDict):
    """
    Why some frames, or scopes of `site`, took more joules: what `Capture.explain_energy` returns.

    No findings: nothing stands out, or without `has_power` nothing was recorded. Joules are None where none took more
    than the others by more than chance.
    """

    text: str
    is_comparison: bool
    site: str | None
    has_power: bool
    instances: int
    unknown: int
    unresolved: int
    costly: int
    usual: int
    costly_mean_joules: float | None
    usual_mean_joules: float | None
    excess_joules: float | None
    unexplained_joules: float | None
    findings: list[EnergyFindingRow]
    less: list[EnergyFindingRow]
    costliest: list[InstanceJoulesRow]
    notes: list[str]
