"""A fleet's captures in Spark, DuckDB, polars, pandas and pyarrow: the answers are those of kymo's command."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import kymograph as kymo
import pandas
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pyspark
import pytest
from document import blocks_of, run
from kymograph.spark import KymoDataSource, KymoReader, register, sql
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.datasource import EqualTo, GreaterThanOrEqual, In, IsNotNull, LessThan
from pyspark.sql.types import StructType
from support import stats_of

Sites = dict[str, tuple[int, ...]]
SOURCE = Path(__file__).parents[2]
PROCESSES = 20
PROGRAM = """
import os
import kymograph as kymo

assert kymo.enable()
rank = int(os.environ["RANK"])
for step in range(30 + rank):
    with kymo.scope("step", step=step):
        with kymo.scope("forward"):
            sum(range(100 + 10 * rank))
        with kymo.scope("backward"):
            sum(range(200))
    kymo.record_metric_unit("loss", 1 / (1 + step + rank), "nats")
    kymo.frame_mark()
    if step % 10 == 9:
        kymo.flush()  # a block of its own
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Captures of so many processes, each a rank of one run."""
    folder = tmp_path_factory.mktemp("fleet") / "captures"
    folder.mkdir()
    waiting = list(range(PROCESSES))
    running: list[subprocess.Popen[bytes]] = []
    while waiting or running:
        while waiting and len(running) < 2:
            variables = {"RANK": str(waiting.pop()), "KYMO_RECORD": f"{folder}/", "KYMO_LABELS": "run=night-7",
                         "KYMO_SAMPLE": "0"}  # fmt: skip
            running.append(subprocess.Popen([sys.executable, "-c", PROGRAM], env={**os.environ, **variables}))
        assert running.pop(0).wait(60) == 0
    assert len(list(folder.glob("*.kymo"))) == PROCESSES
    return folder


@pytest.fixture(scope="module")
def answers(fleet: Path) -> dict[str, Sites]:
    """What the command says of each capture."""
    return {str(path): _sites(stats_of(path)) for path in fleet.glob("*.kymo")}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Two workers, each a process of its own; little is optimised, since little is computed."""
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss2m"
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": quick,
        "spark.executor.extraJavaOptions": quick,
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    builder = SparkSession.builder.master("local-cluster[2,1,512]").appName("kymo")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    register(session)
    yield session
    session.stop()
    # Where workers of a local cluster leave their logs.
    shutil.rmtree(Path(pyspark.__file__).parent / "work", ignore_errors=True)


def _reader(table: str, captures: Path | str, **options: str) -> KymoReader:
    source = KymoDataSource({"table": table, "path": str(captures), **options})
    return source.reader(source.schema())


def _read(reader: KymoReader) -> pa.Table:
    reader = pickle.loads(pickle.dumps(reader))
    parts = pickle.loads(pickle.dumps(reader.partitions()))
    batches = [batch for part in parts for batch in reader.read(part)]
    assert batches, "no rows"
    return pa.Table.from_batches(batches)


def _sites(answer: dict[str, Any]) -> Sites:
    return {
        site["name"]: tuple(site[key] for key in ["count", "total_ns", "self_ns", "min_ns", "max_ns"])
        for site in answer["sites"]
    }


def test_two_workers_answer_what_the_command_answers_for_each_process_and_all(
    spark: SparkSession, fleet: Path, answers: dict[str, Sites]
) -> None:
    spans = spark.read.format("kymo").option("table", "spans").load(str(fleet))
    measures = [
        f.count("*"),
        *[f.sum(c) for c in ["duration_ns", "self_ns"]],
        f.min("duration_ns"),
        f.max("duration_ns"),
    ]
    rows = spans.where("host is not null").groupBy("capture", "rank", "run", "name").agg(*measures).collect()
    found: dict[str, Sites] = {}
    for row in rows:
        assert f"-{row.rank}-" in Path(row.capture).name
        assert row.run == "night-7"
        found.setdefault(row.capture, {})[row["name"]] = tuple(row[4:])
    assert found == answers
    whole = {
        name: tuple(how(sites[name][i] for sites in found.values()) for i, how in enumerate([sum, sum, sum, min, max]))
        for name in ["step", "forward", "backward"]
    }
    assert whole == _sites(stats_of(fleet))

    samples = spark.read.format("kymo").option("table", "samples").option("site", "loss").load(str(fleet))
    (loss,) = samples.where("rank < 5").agg(f.count("*"), f.min("value"), f.max("value")).collect()
    (wanted,) = [row for row in stats_of(*sorted(fleet.glob("*-[0-4]-*.kymo")))["metrics"] if row["name"] == "loss"]
    assert tuple(loss) == (wanted["count"], wanted["min"], wanted["max"])


def _ask_duckdb(spans: kymo.Spans) -> Iterable[Sequence[Any]]:
    rows: list[tuple[Any, ...]] = duckdb.sql(
        """select capture, name, count(*), sum(duration_ns)::bigint, sum(self_ns)::bigint, min(duration_ns),
           max(duration_ns) from spans group by all"""
    ).fetchall()
    return rows


def _ask_polars(spans: kymo.Spans) -> Iterable[Sequence[Any]]:
    duration, own = polars.col("duration_ns"), polars.col("self_ns")
    measures = [polars.len(), duration.sum(), own.sum(), duration.min().alias("min"), duration.max().alias("max")]
    return polars.DataFrame(spans).group_by("capture", "name").agg(measures).rows()


def _ask_pandas(spans: kymo.Spans) -> Iterable[Sequence[Any]]:
    groups = pandas.DataFrame.from_arrow(spans).groupby(["capture", "name"], observed=True)
    duration, own = groups["duration_ns"], groups["self_ns"]
    measures = [duration.count(), duration.sum(), own.sum(), duration.min(), duration.max()]
    return [tuple(row) for row in pandas.concat(measures, axis=1).reset_index().to_numpy()]


def _ask_pyarrow(spans: kymo.Spans) -> Iterable[Sequence[Any]]:
    table = pa.table(spans)
    for name in ["capture", "name"]:
        table = table.set_column(table.column_names.index(name), name, table[name].cast(pa.string()))
    measures = [("duration_ns", how) for how in ["count", "sum", "min", "max"]]
    answer = table.group_by(["capture", "name"]).aggregate([*measures, ("self_ns", "sum")])
    order = [
        "capture",
        "name",
        "duration_ns_count",
        "duration_ns_sum",
        "self_ns_sum",
        "duration_ns_min",
        "duration_ns_max",
    ]
    return [tuple(row[column] for column in order) for row in answer.to_pylist()]


@pytest.mark.parametrize("ask", [_ask_duckdb, _ask_polars, _ask_pandas, _ask_pyarrow])
def test_who_reads_arrow_answers_what_the_command_answers(
    fleet: Path, answers: dict[str, Sites], ask: Callable[[kymo.Spans], Iterable[Sequence[Any]]]
) -> None:
    found: dict[str, Sites] = {}
    for capture, name, *measures in ask(
        kymo.open(fleet).spans.with_columns(["capture", "name", "duration_ns", "self_ns"])
    ):
        found.setdefault(capture, {})[name] = tuple(map(int, measures))
    assert found == answers


def test_what_the_guide_asks_of_a_fleet_is_answered(spark: SparkSession, fleet: Path) -> None:
    guide = SOURCE / "docs" / "python.md"
    names: dict[str, Any] = {"spark": spark}
    for block in blocks_of(guide):
        if block.needs == "spark":
            # Relative paths are those of the place where Spark was started.
            run(block._replace(code=block.code.replace('"captures/"', repr(str(fleet)))), guide, names)
    last = names["stragglers"].collect()
    # Frames end with the mark after each step; a rank is last of the steps that it alone took, or by chance.
    assert sum(row.steps_last for row in last) >= 29 + PROCESSES - 1
    assert sorted(int(row["rank"]) for row in names["drift"].collect()) == list(range(PROCESSES))


def _scans_of(answer: Any) -> list[set[str]]:
    """Return the columns of each scan of captures in the physical plan."""
    text: str = answer._jdf.queryExecution().executedPlan().toString()
    scans = re.findall(r"BatchScan [^\[]*\[([^\]]*)\]", text)
    return [{re.sub(r"#\d+L?$", "", column.strip()) for column in scan.split(",")} for scan in scans]


def test_spark_reads_the_columns_and_blocks_that_a_query_needs(spark: SparkSession, fleet: Path) -> None:
    answer = sql(
        spark,
        """select s.name, count(*) as count, sum(s.duration_ns) as total from spans s
           where s.rank = '3' and s.start_ns >= (select min(start_ns) from frames) group by s.name order by name""",
        fleet,
    )
    assert sorted(map(sorted, _scans_of(answer))) == [
        ["duration_ns", "name", "rank", "start_ns"],
        ["start_ns"],
    ]
    first = min(kymo.open(fleet).frames.start_ns)
    spans = kymo.open(fleet).spans.select(rank=3)
    spans = spans[spans.start_ns >= first]
    durations = {name: spans.duration_ns[spans.name == name] for name in sorted(set(spans.name))}
    assert [tuple(row) for row in answer.collect()] == [
        (name, len(each), int(each.sum())) for name, each in durations.items()
    ]
    (rows,) = sql(spark, "select count(*) as count from spans", fleet).collect()
    assert rows["count"] == len(kymo.open(fleet).spans)
    assert [view.name for view in spark.catalog.listTables() if view.name == "sites"] == []


def test_frames_metrics_and_sites_are_tables_too(fleet: Path) -> None:
    frames = _read(_reader("frames", fleet))
    (stream,) = stats_of(fleet)["frame_streams"]
    assert frames.num_rows == stream["count"]
    assert pc.sum(frames["duration_ns"]).as_py() == stream["total_ns"]
    metrics = _read(_reader("metrics", fleet, site="loss"))
    assert metrics.num_rows == PROCESSES
    assert set(metrics["unit"].to_pylist()) == {"nats"}
    sites = _read(_reader("sites", fleet))
    assert sorted(sites["name"].to_pylist()) == sorted(["step", "forward", "backward"] * PROCESSES)


def test_damages_are_a_table_too(fleet: Path, tmp_path: Path) -> None:
    captures = sorted(fleet.glob("*.kymo"))
    shutil.copy(captures[0], tmp_path / "sound.kymo")
    damaged = bytearray(captures[1].read_bytes())
    with kymo.open(captures[1]) as whole:
        size = whole.captures[0]["bytes"]
    damaged[size // 2 : size // 2 + 4] = b"\xff" * 4
    (tmp_path / "damaged.kymo").write_bytes(damaged)
    found = _read(_reader("damages", tmp_path)).to_pylist()
    with kymo.open(tmp_path / "damaged.kymo") as capture:
        len(capture.spans.name)
        assert found == list(capture.damages)
    assert [Path(row["capture"]).name for row in found] == ["damaged.kymo"]


def test_parts_of_a_capture_have_every_row_once(fleet: Path) -> None:
    whole = _read(_reader("spans", fleet))
    reader = _reader("spans", fleet, partition_bytes="1")
    assert len(reader.partitions()) > 2 * PROCESSES
    parts = _read(reader)
    keys = ["pid", "start_ns", "name", "duration_ns"]
    order = [(key, "ascending") for key in keys]
    assert parts.select(keys).sort_by(order).equals(whole.select(keys).sort_by(order))


def test_filters_leave_out_blocks_but_no_rows(fleet: Path) -> None:
    whole = _read(_reader("spans", fleet))
    one = whole.filter(pc.equal(whole["rank"], "7")).sort_by("start_ns")
    from_ns, to_ns = one["start_ns"][20].as_py(), one["start_ns"][30].as_py()
    filters = [
        IsNotNull(("rank",)),
        In(("rank",), ("7",)),
        EqualTo(("name",), "forward"),
        GreaterThanOrEqual(("start_ns",), from_ns),
        LessThan(("start_ns",), to_ns),
    ]
    reader = _reader("spans", fleet, partition_bytes="1")
    assert list(reader.pushFilters(filters)) == filters
    assert 1 <= len(reader.partitions()) < 4
    read = _read(reader)
    assert set(read["rank"].to_pylist()) == {"7"}
    assert set(read["name"].to_pylist()) == {"forward"}
    assert read.num_rows < 20

    def asked(table: pa.Table) -> list[dict[str, Any]]:
        starts = table["start_ns"]
        among = pc.and_(pc.greater_equal(starts, from_ns), pc.less(starts, to_ns))
        rows: list[dict[str, Any]] = table.filter(pc.and_(among, pc.equal(table["name"], "forward"))).to_pylist()
        return rows

    assert sorted(map(str, asked(read))) == sorted(map(str, asked(one)))
    assert asked(read)


def test_options_choose_a_stretch_and_processes(fleet: Path) -> None:
    whole = _read(_reader("spans", fleet))
    middle = pc.quantile(whole["start_ns"], 0.5)[0].as_py()
    early = _read(_reader("spans", fleet, to_ns=str(int(middle))))
    assert early.num_rows == pc.sum(pc.less(whole["start_ns"], int(middle))).as_py()
    some = _read(_reader("spans", fleet, rank="3, 1?", site="st*", run="night-*"))
    assert set(some["rank"].to_pylist()) == {"3", *map(str, range(10, 20))}
    assert set(some["name"].to_pylist()) == {"step"}
    assert _reader("spans", fleet, host="elsewhere").partitions() == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"table": "scopes"}, "no table 'scopes'; the tables are spans"),
        ({"ranks": "1"}, "no option ranks; it has from_ns"),
        ({"from_ns": "1 s"}, "from_ns is '1 s': it must be a whole number"),
        ({"partition_bytes": "0"}, "must be above 0"),
        ({"path": "s3://bucket/run"}, "not through s3"),
        ({"path": "/nowhere/at/all"}, "/nowhere/at/all"),
    ],
)
def test_what_is_wrong_is_said(fleet: Path, options: dict[str, str], said: str) -> None:
    with pytest.raises((ValueError, OSError), match=said):
        _reader(options.pop("table", "spans"), options.pop("path", fleet), **options).partitions()


def test_a_column_that_is_not_there_is_named(fleet: Path) -> None:
    source = KymoDataSource({"path": str(fleet)})
    with pytest.raises(ValueError, match="has no column joules; it has host, rank"):
        source.reader(StructType().add("name", "string").add("joules", "double"))
    few = source.reader(StructType().add("duration_ns", "long").add("capture", "string"))
    assert _read(few).column_names == ["duration_ns", "capture"]
