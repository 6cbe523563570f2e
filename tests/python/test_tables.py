"""Tables feel like tables: rows, slices, masks, pickles, data frames, each equal to the columns read plainly."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import kymograph as kymo
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from kymograph._selection import COLUMNS
from kymograph._show import duration, moment
from reading import write_model

LISTED = ["name", "track", "start_ns", "duration_ns", "self_ns", "flags"]


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> kymo.Capture:
    folder = tmp_path_factory.mktemp("model")
    write_model(folder)
    return kymo.open(folder / "model.kymo")


def rows_of(table: kymo.Table) -> list[tuple[Any, ...]]:
    columns = table.to_numpy(LISTED)
    return list(zip(*(column.tolist() for column in columns.values()), strict=True))


def test_slices_masks_and_indices_pick_rows(capture: kymo.Capture) -> None:
    spans = capture.spans
    whole = rows_of(spans)
    assert len(whole) > 100
    mask = spans.duration_ns > np.median(spans.duration_ns)
    indices = [5, 3, 3, -1]
    assert rows_of(spans[10:20]) == whole[10:20]
    assert rows_of(spans[::-7]) == whole[::-7]
    assert rows_of(spans[mask]) == [row for row, is_in in zip(whole, mask, strict=True) if is_in]
    assert rows_of(spans[indices]) == [whole[index] for index in indices]
    assert rows_of(spans[mask][2:4]) == rows_of(spans[mask])[2:4]
    assert len(spans[mask]) == int(mask.sum())
    assert len(spans[5:5]) == 0
    assert rows_of(spans[5:5]) == []
    for mistaken in (len(whole), -len(whole) - 1):
        with pytest.raises(IndexError):
            spans[mistaken]
    with pytest.raises(IndexError):
        spans[mask[:-1]]


def test_rows_are_dicts_in_order(capture: kymo.Capture) -> None:
    spans = capture.spans.with_columns(LISTED)
    assert [tuple(row.values()) for row in spans] == rows_of(spans)
    assert spans[7] == dict(zip(LISTED, rows_of(spans)[7], strict=True))
    assert spans[-1] == list(spans)[-1]
    assert dict(spans)["name"].tolist() == spans.name.tolist()  # type: ignore[call-overload]
    assert spans._ipython_key_completions_() == LISTED
    assert "load" in capture.metrics._ipython_key_completions_()


def test_the_head_is_the_first_rows(capture: kymo.Capture) -> None:
    for name in ("spans", "samples", "frames", "sites", "messages"):
        fresh = kymo.open(capture.captures[0]["path"]).table(name)
        wanted = [list(fresh.columns), *([*row.values()] for row in fresh[:3])]
        assert str([list(fresh.columns), *([*row.values()] for row in fresh.head(3))]) == str(wanted)
        again = kymo.open(capture.captures[0]["path"]).table(name)
        assert str([list(again.columns), *([*row.values()] for row in again.head(3))]) == str(wanted)
        assert len(again.head(10**6)) == len(again)
        assert len(again.head(0)) == 0


def test_picked_rows_can_be_selected_from(capture: kymo.Capture) -> None:
    spans = capture.spans
    names = sorted(set(spans.name))
    start, end = capture.start_ns + capture.duration_ns // 4, capture.start_ns + capture.duration_ns // 2
    every = spans[:]
    for narrow in (
        {"name": names[0]},
        {"name": [names[1], "site*"]},
        {"name": "sit? 1*", "track": str(spans.track[0])},
        {"start_ns": start, "end_ns": end},
        {"process": 0},
        {"process": 7},
        {"name": "[a-z]*"},
    ):
        wanted = spans.select(**narrow)  # type: ignore[arg-type]
        found = every.select(**narrow)  # type: ignore[arg-type]
        in_range = [row[:4] for row in rows_of(found)]
        assert sorted(in_range) == sorted(row[:4] for row in rows_of(wanted)), narrow
    samples = capture.samples
    assert samples[:].between(start, end)["time_ns"].tolist() == samples.between(start, end)["time_ns"].tolist()
    assert len(capture.frames[:].select(stream="")) == len(capture.frames.select(stream=""))


def test_selections_of_a_selection_are_of_both(capture: kymo.Capture) -> None:
    spans = capture.spans
    texts = sorted({*spans.name})
    names = [texts[0], texts[1], f"{texts[2][:2]}*"]
    for first, second in (
        (names[:2], names[1:]),
        (names[0], names[0]),
        (names[0], names[1]),
        ("*", names[2]),
        (names[2], "*"),
    ):
        once, again = spans.select(name=first), spans[:].select(name=first)
        expected = sorted({*once.name} & {*spans.select(name=second).name})
        assert sorted({*once.select(name=second).name}) == sorted({*again.select(name=second).name}) == expected
    tracks = sorted({*spans.track})
    for table in (spans, spans[:]):
        assert len(table.select(track=tracks[0]).select(track=tracks[1])) == 0
        assert len(table.select(track=tracks[0]).select(name=names)) == len(table.select(track=tracks[0], name=names))
    for frames in (capture.frames, capture.frames[:]):
        assert len(frames.select(stream="").select(stream="no stream")) == 0
    for samples in (capture.samples, capture.samples[:]):
        assert len(samples.select(name="load").select(name="l*")) == len(samples) > 0
        assert len(samples.select(name="load").select(name="m*")) == 0


def test_an_empty_list_selects_nothing(capture: kymo.Capture) -> None:
    for pick in (slice(None), None):
        tables = [table if pick is None else table[pick] for table in (capture.spans, capture.samples, capture.frames)]
        spans, samples, frames = tables
        assert [len(spans.select(name=[])), len(spans.select(track=[])), len(spans.select(name="*", track=()))] == [
            0
        ] * 3
        assert [len(samples.select(name=[])), len(frames.select(stream=[]))] == [0, 0]
        assert len(spans.select(name=[]).select(name="*")) == 0
        assert pyarrow.schema(spans.select(name=[])) == pyarrow.schema(spans)
    for answer in (capture.stats, capture.functions):
        with pytest.raises(KeyError, match="no site is selected"):
            answer(site=[])
    with pytest.raises(KeyError, match="no track is selected"):
        capture.stats(track=[])
    for ask in (capture.functions, capture.thread_activity):
        with pytest.raises(KeyError, match="no thread is selected"):
            ask(thread=[])


def test_pickled_tables_take_their_rows_along(capture: kymo.Capture) -> None:
    for table in (capture.spans, capture.spans[3:9], capture.frames.with_columns(["number"]), capture.samples):
        restored = pickle.loads(pickle.dumps(table))
        assert type(restored) is type(table)
        assert restored.columns == table.columns
        assert str(list(restored)) == str(list(table))
        assert repr(restored).splitlines()[1:] == repr(table).splitlines()[1:]
    few = pickle.loads(pickle.dumps(capture.frames.with_columns(["number"])))
    with pytest.raises(ValueError, match="not among those"):
        few.with_columns(["start_ns"])["start_ns"]
    assert len(pickle.loads(pickle.dumps(capture.spans)).select(name="site*")) == len(
        capture.spans.select(name="site*")
    )


def test_data_frames_are_the_table(capture: kymo.Capture) -> None:
    for table in (capture.spans, capture.spans[20:40], capture.samples, capture.frames, capture.tracks):
        wanted = {name: array.tolist() for name, array in table.to_numpy().items()}
        plain = pandas.DataFrame(table)
        made = table.to_pandas()
        for frame in (plain, made):
            assert list(frame.columns) == list(table.columns)
            assert len(frame) == len(table)
        for name in ("process", "pid", *(each for each in table.columns if each.endswith("_ns"))):
            for frame in (plain, made):
                assert np.array_equal(frame[name], wanted[name], equal_nan=True)
        for frame in (table.to_polars(), polars.DataFrame(table), polars.DataFrame(pyarrow.table(table))):
            assert frame.columns == list(table.columns)
            assert frame["pid"].to_list() == wanted["pid"]
            assert frame.height == len(table)
    assert capture.spans.to_pandas()["name"].astype(str).tolist() == capture.spans.name.tolist()


@pytest.mark.parametrize("name", COLUMNS)
def test_rows_have_the_types_of_their_table(capture: kymo.Capture, name: str) -> None:
    whole = capture.table(name)
    schema = pyarrow.schema(whole) if name != "damages" else pyarrow.table(whole).schema
    kinds = whole.to_polars().schema
    every = np.ones(len(whole), dtype=np.bool_)
    for rows in (whole[:5], whole[~every], whole[every], pickle.loads(pickle.dumps(whole[:5])), whole[:5][:0]):
        made = pyarrow.table(rows)
        made.validate(full=True)
        assert made.schema == schema
        assert pyarrow.schema(rows) == schema
        assert rows.to_polars().schema == polars.DataFrame(rows).schema == kinds
        assert polars.DataFrame(made).schema == kinds
        assert made.to_pylist() == pyarrow.table(whole).to_pylist()[: len(rows)]
        assert rows.to_polars().equals(whole.to_polars()[: len(rows)])
        both = pyarrow.concat_tables([made, pyarrow.table(whole)])
        assert both.num_rows == len(polars.concat([rows.to_polars(), whole.to_polars()])) == len(rows) + len(whole)
    assert not any(kind in (polars.Null, polars.Object) for kind in kinds.values())


def test_a_table_shows_a_few_columns_with_units(tmp_path: Path) -> None:
    with kymo.capture(tmp_path / "run.kymo") as run:
        kymo.emit_span("lane", "first", 1_000_000_000, 1_234_567, "", size=3)
        kymo.emit_span("lane", "second \x1b[31m", 3_500_000_000, 900)
    shown = repr(run.open().spans)
    start = run.open().start_ns
    assert shown.splitlines() == [
        "spans: 2 rows, 15 more columns",
        "     start  duration     self  track  name          arguments",
        f'{(1_000_000_000 - start) / 1e9:.6f} s   1.23 ms  1.23 ms  lane   first         {{"size": 3}}',
        f"{(3_500_000_000 - start) / 1e9:.6f} s    900 ns   900 ns  lane   second \N{REPLACEMENT CHARACTER}[31m",
    ]
    assert repr(run.open().frames) == "frames: 0 rows, 5 more columns"


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [(0, "0 ns"), (999, "999 ns"), (1000, "1.00 us"), (12_345, "12.3 us"), (123_456_789, "123 ms"),
     (-1_500_000, "-1.50 ms"),
     (59_999_999_999, "60.0 s"), (90 * 10**9, "1.50 min"), (7_200 * 10**9, "2.00 h")],
)  # fmt: skip
def test_durations_have_three_digits(nanoseconds: int, text: str) -> None:
    assert duration(nanoseconds) == text
    assert moment(nanoseconds) == f"{nanoseconds / 1e9:.6f} s"


def test_a_figure_that_is_missing_is_none(tmp_path: Path) -> None:
    with kymo.capture(tmp_path / "missing.kymo") as run:
        assert not list(kymo.frames([], stream="none"))
        kymo.record_metric("unreadable", math.nan)
        kymo.record_metric("endless", math.inf)
    found = run.open().stats()
    frames = next(row for row in found["frame_streams"] if row["name"] == "none")
    assert (frames["count"], frames["mean_ns"], frames["min_ns"], frames["p99_9_ns"]) == (0, None, None, None)
    rows = {row["name"]: row for row in found["metrics"]}
    assert (rows["unreadable"]["count"], rows["unreadable"]["mean"], rows["unreadable"]["p50"]) == (0, None, None)
    assert (rows["endless"]["p50"], rows["endless"]["standard_deviation"]) == (math.inf, None)
