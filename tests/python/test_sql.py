"""DuckDB, pandas, polars and pyarrow read captures and agree with NumPy and the command."""

from __future__ import annotations

import builtins
import gc
import json
import math
import sys
from pathlib import Path
from typing import Any

import duckdb
import kymograph as kymo
import kymograph._sql
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from kymograph._selection import COLUMNS, EARLIEST, LATEST
from reading import ask_kymo, copy_to, write_model


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sql")
    write_model(folder)
    for name in ("a.kymo", "b.kymo"):
        copy_to(folder / "model.kymo", folder / "fleet", name)
    return folder / "fleet"


def test_all_readers_give_the_same_sums(fleet: Path) -> None:
    capture = kymo.open(fleet)
    expected = {row["name"]: row["total_ns"] for row in ask_kymo("stats", fleet)["sites"]}
    # Statistics count what ended.
    ended = "(flags & 2) = 0 and site is not null"
    arrays = capture.spans.to_numpy(["name", "duration_ns", "flags", "site"])
    mask = (arrays["flags"] & 2 == 0) & (arrays["site"] != 0)
    sums = {name: int(arrays["duration_ns"][mask & (arrays["name"] == name)].sum()) for name in expected}
    assert sums == expected
    spans = capture.spans
    total = int(spans.duration_ns.sum())
    table = pa.table(spans)
    table.validate(full=True)
    assert pc.sum(table["duration_ns"]).as_py() == total
    assert int(pd.DataFrame.from_arrow(spans)["duration_ns"].sum()) == total
    assert pl.DataFrame(spans)["duration_ns"].sum() == total
    assert duckdb.query("select sum(duration_ns) from spans").fetchall() == [(total,)]
    found = kymo.sql(f"select name, sum(duration_ns) from spans where {ended} group by name", fleet).fetchall()
    assert dict(found) == expected


def test_every_table_is_whole_in_arrow(fleet: Path) -> None:
    capture = kymo.open(fleet)
    for name, columns in COLUMNS.items():
        table = pa.table(capture.table(name))
        table.validate(full=True)
        assert tuple(table.column_names) == columns
        assert table.num_rows == len(capture.table(name))
        arrays = capture.table(name).to_numpy()
        for column in columns:
            values = table[column].to_pylist()
            read = arrays[column].tolist()
            if column == "site" and name == "spans":
                values = [value or 0 for value in values]
            if name == "spans" and column in ("running_ns", "runnable_ns", "blocked_ns"):
                assert all(map(math.isnan, read)), "no states were recorded"
                read = [None] * len(read)
            if column == "arguments":
                values = [json.loads(value) if value is not None else {} for value in values]
            if column != "value":
                assert read == values, (name, column)


def test_sql_joins_and_reads_only_what_it_needs(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, tuple[str, ...]]] = []
    original = kymo.Table.__arrow_c_stream__

    def note(table: kymo.Table, requested_schema: object = None) -> object:
        asked.append((table._name, table.columns))
        return original(table, requested_schema)

    relation = kymo.sql(
        "select t.file, sum(s.self_ns) from spans s join sites t using (process, site) where s.depth > 0 group by all",
        fleet,
    )
    gc.collect()
    monkeypatch.setattr(kymo.Table, "__arrow_c_stream__", note)
    assert relation.fetchall()
    assert ("spans", ("process", "self_ns", "depth", "site")) in asked
    assert len(asked) == 2
    asked.clear()
    count = kymo.sql("select count(*) from samples where value > $least", fleet, {"least": -1e9}).fetchall()
    assert count[0][0] > 0
    assert ("samples", ("value",)) in asked
    assert kymo.sql("select spans from spans limit 1", fleet).fetchall()[0][0].keys() == set(COLUMNS["spans"])
    assert len(kymo.sql("describe spans", fleet).fetchall()) == len(COLUMNS["spans"])
    with pytest.raises(duckdb.Error, match="nothing"):
        kymo.sql("select nothing from spans", fleet)


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of several blocks, with spans that reach across them."""
    path = tmp_path_factory.mktemp("long") / "run.kymo"
    assert kymo.start_capture(path)
    with kymo.scope("root", run=1):
        for step in range(4):
            with kymo.scope("step", step=step):
                for _ in range(5_000):
                    with kymo.scope("leaf"):
                        pass
            kymo.record_metric("loss", 1 / (step + 1))
            kymo.frame_mark()
            assert kymo.flush()
    assert kymo.stop_capture()
    return path


@pytest.mark.parametrize(
    ("table", "where", "bounds"),
    [
        ("spans", "start_ns between $low and $high", "low"),
        ("spans", "start_ns > $low and name <> 'leaf'", "low"),
        ("spans", "start_ns <= $high", ""),
        ("spans", "start_ns = $high", "low"),
        ("spans", "start_ns + 1 > $low or start_ns < $high", ""),
        ("spans", "name = '(start_ns > 5)' and start_ns <> $low", ""),
        ("frames", "start_ns >= $low and $high > start_ns", "low high"),
        ("samples", "time_ns between $low and $high", "low high"),
        ("samples a join samples b using (time_ns)", "a.time_ns > $low and b.value > 0", "low"),
        ("(select * from samples where time_ns > $low union all from samples)", "true", ""),
    ],
)
def test_times_choose_blocks_and_change_no_answer(
    long_run: Path, monkeypatch: pytest.MonkeyPatch, table: str, where: str, bounds: str
) -> None:
    capture = kymo.open(long_run)
    assert len(capture._snapshot().blocks(0)[0]) >= 4
    steps = capture.spans.select(name="step").start_ns
    parameters = {
        name: int(value) for name, value in (("low", steps[1]), ("high", steps[2])) if f"${name}" in where + table
    }
    shown: list[kymo.Table] = []
    original = kymo.Table.between

    def note(whole: kymo.Table, start_ns: int | None, end_ns: int | None) -> kymo.Table:
        shown.append(original(whole, start_ns, end_ns))
        return shown[-1]

    monkeypatch.setattr(kymo.Table, "between", note)
    query = f"select * from {table} where {where}"
    found = kymo.sql(query, capture, parameters).fetchall()
    name = next(name for name in ("spans", "frames", "samples") if name in table)
    (chosen,) = [each._selection for each in shown if each._name == name]
    assert (chosen.start_ns != EARLIEST, chosen.end_ns != LATEST) == ("low" in bounds, "high" in bounds)
    plain = duckdb.connect()
    for each in ("spans", "frames", "samples"):
        plain.register(each, pa.table(capture.table(each)))
    assert sorted(map(repr, found)) == sorted(map(repr, plain.execute(query, parameters).fetchall()))


def test_the_command_prints_tables_csv_and_json(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "select kind, count(*) as n from spans group by kind order by kind"
    rows = kymo.sql(query, fleet).fetchall()
    assert kymograph._sql.main([str(fleet), query, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"kind": kind, "n": n} for kind, n in rows]
    assert kymograph._sql.main([str(fleet), query, "--csv"]) == 0
    assert capsys.readouterr().out == "kind,n\n" + "".join(f"{kind},{n}\n" for kind, n in rows)
    assert kymograph._sql.main([str(fleet / "none.kymo"), query]) == 1
    assert "none.kymo" in capsys.readouterr().err
    assert kymograph._sql.main([str(fleet), "select * from moons"]) == 1
    assert "moons" in capsys.readouterr().err


def test_parquet_is_the_same_table(fleet: Path, tmp_path: Path) -> None:
    capture = kymo.open(fleet)
    files = kymo.to_parquet(capture, tmp_path, tables=["spans", "samples"])
    assert sorted(Path(file).name for file in files) == ["a.parquet", "a.parquet", "b.parquet", "b.parquet"]
    spans = ds.dataset(tmp_path / "spans", partitioning="hive").to_table()
    assert spans.num_rows == len(capture.spans)
    assert pc.sum(spans["duration_ns"]).as_py() == int(capture.spans.duration_ns.sum())
    assert set(spans["run"].to_pylist()) == {"fleet"}
    assert set(spans["host"].to_pylist()) == set(capture.spans["host"])
    found = duckdb.sql(f"select count(*) from '{tmp_path}/samples/**/*.parquet'").fetchall()
    assert found == [(len(capture.samples),)]
    with pytest.raises(FileExistsError):
        kymo.to_parquet(capture, tmp_path)
    with pytest.raises(KeyError, match="did you mean 'spans'"):
        kymo.to_parquet(capture, tmp_path, tables=["span"])
    with pytest.raises(ValueError, match="path of the directory is empty"):
        kymo.to_parquet(capture, "")


def test_parquet_of_parts_has_every_row_once(fleet: Path, tmp_path: Path) -> None:
    capture = kymo.open(fleet)
    parts = [capture.partition(part) for part in capture.partitions(scopes=300)]
    assert len(parts) > 4
    tables = ("spans", "samples", "sites", "processes")
    files = [file for part in parts for file in kymo.to_parquet(part, tmp_path, tables=tables)]
    assert len(files) == len(set(files)) == len(parts) * len(tables)
    for table in tables:
        rows = ds.dataset(tmp_path / table, partitioning="hive").to_table()
        assert rows.num_rows == len(capture.table(table)), table
    middle = capture.between(None, (capture.start_ns + capture.end_ns) // 2)
    assert len(kymo.to_parquet(middle, tmp_path / "view", tables="samples")) == 2
    assert ds.dataset(tmp_path / "view" / "samples").count_rows() == len(middle.samples) < len(capture.samples)


def test_a_missing_extra_is_named(fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name.split(".", maxsplit=1)[0] in ("duckdb", "pyarrow"):
            raise ImportError(name)
        return original(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"kymograph\[sql\]"):
        kymo.sql("select 1", fleet)
    with pytest.raises(ImportError, match=r"kymograph\[parquet\]"):
        kymo.to_parquet(fleet, tmp_path)
