"""Captures read in Python are what was recorded, and what the command says of them."""

from __future__ import annotations

import collections
import csv
import gc
import io
import json
import math
import os
import pickle
import subprocess
import sys
import threading
import types
import typing
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import kymograph as kymo
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from kymograph import _results
from kymograph._selection import COLUMNS
from reading import ask_kymo, copy_to, import_trace, run_kymo


@pytest.fixture
def capture(folder: Path, truth: dict[str, Any]) -> kymo.Capture:
    return kymo.open(folder / "model.kymo")


def test_spans_are_what_happened(capture: kymo.Capture, truth: dict[str, Any]) -> None:
    columns = capture.spans.to_numpy(["track", "name", "start_ns", "duration_ns", "depth", "self_ns", "flags"])
    read = sorted(zip(*(column.tolist() for column in columns.values()), strict=True))
    keys = ("track", "name", "start_ns", "duration_ns", "depth", "self_ns")
    happened = sorted(tuple(span[key] for key in keys) for span in truth["spans"])
    assert [row[:5] for row in read] == [row[:5] for row in happened]
    is_bound = 16  # some of what ran inside was dropped
    for row, real in zip(read, happened, strict=True):
        assert row[5] == real[5] or (row[6] & is_bound and row[5] > real[5])
    assert columns["start_ns"].dtype == np.int64
    given = {
        (span["start_ns"], span["name"]): {argument.split("=", 1)[0] for argument in span["arguments"]}
        for span in truth["spans"]
    }
    found = zip(columns["start_ns"], columns["name"], columns["flags"], capture.spans.arguments, strict=True)
    for start, name, flags, arguments in found:
        assert set(arguments) == given[int(start), name] or flags & is_bound


def test_metrics_are_what_was_sampled(capture: kymo.Capture, truth: dict[str, Any]) -> None:
    metric = capture.metrics["load"]
    samples = capture.samples
    assert len(metric) == len(truth["samples"]) == len(samples)
    assert np.all(np.diff(metric.times) >= 0)
    assert [str(array.dtype) for array in (metric.times, metric.values, metric.stale)] == ["int64", "float64", "bool"]
    declared = ask_kymo("info", capture.paths[0])["metrics"][0]
    assert (metric.unit, metric.kind, metric.labels) == (declared["unit"], declared["kind"], declared["labels"])
    assert metric.provenance.source == declared["source"]
    assert metric.provenance.step == declared["step"]
    assert np.nansum(metric.values) == pytest.approx(np.nansum(samples["value"]))
    assert int(metric.stale.sum()) == int(samples["stale"].sum())


def test_tables_agree_with_csv(capture: kymo.Capture, folder: Path) -> None:
    for table, kind in ((capture.spans, "spans"), (capture.frames, "frames"), (capture.samples, "metrics")):
        run_kymo("export", "--to", f"csv-{kind}", "-o", folder / f"{kind}.csv", capture.paths[0])
        rows = list(csv.DictReader(io.StringIO((folder / f"{kind}.csv").read_text())))
        for name in ("start_ns", "duration_ns", "time_ns"):
            if name in rows[0]:
                assert sorted(int(row[name]) for row in rows) == sorted(table[name].tolist())


def test_statistics_are_those_of_the_command(capture: kymo.Capture) -> None:
    said = ask_kymo("stats", capture.paths[0])
    said.pop("warnings")
    said.pop("damage")
    assert capture.stats() == said
    middle = (capture.start_ns + capture.end_ns) // 2
    view = capture.between(None, middle)
    offset = middle - capture.start_ns
    part = ask_kymo("stats", "--time", f"..{offset}ns", capture.paths[0])
    assert view.stats()["sites"] == part["sites"]
    with pytest.raises(KeyError):
        capture.stats(site="nothing is named so")


def test_percentiles_of_metrics_are_those_of_numpy(capture: kymo.Capture) -> None:
    row = capture.stats()["metrics"][0]
    values = capture.metrics[row["name"]].values
    known = values[~np.isnan(values)]
    assert row["standard_deviation"] == pytest.approx(float(np.std(known)), rel=1e-9)
    for percent in (50, 95, 99):
        exact = float(np.percentile(known, percent, method="inverted_cdf"))
        assert abs(exact) * (1 - 1 / 1024) <= abs(row[f"p{percent}"]) <= abs(exact)


def test_frames_are_selected_by_their_number(capture: kymo.Capture) -> None:
    frames = capture.frames
    for number, duration_ns in zip(frames["number"][:3].tolist(), frames["duration_ns"][:3].tolist(), strict=True):
        stream = capture.stats(frames=(number, number))["frame_streams"][0]
        assert (stream["count"], stream["total_ns"]) == (1, duration_ns)
    assert frames["number"][0] == 1
    with pytest.raises(KeyError):
        capture.stats(frames=(0, 0))


def test_compare_is_that_of_the_command(capture: kymo.Capture, folder: Path) -> None:
    copied = copy_to(folder / "model.kymo", folder / "other", "b.kymo")
    said = ask_kymo("compare", capture.paths[0], copied)
    found = capture.compare(copied)
    for key in ("compared", "only_in_base", "only_in_new", "other_units", "configuration", "seed"):
        assert found[key] == said[key]
    assert {row["verdict"] for row in found["compared"]} <= {"same here", "too few samples"}
    assert {row["kind"] for row in found["compared"]} >= {"scope", "span", "frames", "metric"}
    if sys.version_info >= (3, 11):
        _check_type(found, _results.Comparison)


def test_what_is_on_one_side_only_or_in_other_units_has_the_types_that_are_stated(tmp_path: Path) -> None:
    recorded = """if True:
        import sys, kymograph as kymo
        name, unit, path = sys.argv[1:]
        with kymo.capture(path):
            for value in range(40):
                kymo.record_metric_unit("lag", value, unit)
                with kymo.scope(name), kymo.scope("both"):
                    pass
    """
    paths = {"base": tmp_path / "base.kymo", "new": tmp_path / "new.kymo"}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    for (name, path), unit in zip(paths.items(), ("ms", "s"), strict=True):
        subprocess.run([sys.executable, "-c", recorded, name, unit, path], check=True, env=environment)
    found = kymo.open(paths["base"]).compare(paths["new"])
    assert [row["name"] for row in (*found["only_in_base"], *found["only_in_new"])] == ["base", "new"]
    assert [(row["unit"], row["new_unit"]) for row in found["other_units"]] == [("ms", "s")]
    assert {row["name"]: row["more_runs"] for row in found["compared"]}.keys() == {"both"}
    if sys.version_info >= (3, 11):
        _check_type(found, _results.Comparison)


RECORDED = """
import ctypes, kymograph as kymo
library = ctypes.CDLL(kymo.get_library())
library.kymo_record_metric_unit.argtypes = [ctypes.c_char_p, ctypes.c_double, ctypes.c_char_p]
assert library.kymo_enable()
for i in range(300):
    library.kymo_record_metric_unit(b"board_power", 10.0 + i % 7, b"W")
    library.kymo_frame_mark(None)
    if i % 100 == 0:
        library.kymo_sync()
library.kymo_stop_capture()
"""


def test_energy_is_that_of_the_command(tmp_path: Path) -> None:
    path = tmp_path / "power.kymo"
    environment = {**os.environ, "KYMO_RECORD": str(path), "KYMO_SAMPLE": "0,0,0"}
    environment["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
    subprocess.run([sys.executable, "-c", RECORDED], check=True, env=environment)
    said = ask_kymo("stats", "--energy", path)
    said.pop("warnings")
    with kymo.open(path) as capture:
        found = capture.energy()
        assert found == said
        assert [source["name"] for source in found["power_sources"]] == ["board_power"]
        assert found["total"]["joules"] > 0
        assert len(capture.energy(by="phase")) == 3
        assert capture.energy(by="frame")[0]["count"] == len(capture.frames) == 299
        assert capture.metrics["board_power"].unit == "W"
        with pytest.raises(ValueError, match="whole captures"):
            capture.between(0, 1).energy()
        with pytest.raises(ValueError, match="there are site"):
            capture.energy(by="moon")
        assert capture.energy(power_sources="board_power") == capture.energy(power_sources=["board_power"])
        for wrong in ("board_powr", ["board_powr"], ["board_power", "board_powr"]):
            with pytest.raises(KeyError, match="no power source 'board_powr'; did you mean 'board_power'"):
                capture.energy(power_sources=wrong)
        assert capture.energy(idle_watts=0)["total"]["idle_watts"] == 0
        for watts in (-1.0, math.nan, math.inf):
            with pytest.raises(ValueError, match="idle_watts must be"):
                capture.energy(idle_watts=watts)


def test_joules_are_unknown_where_no_power_was_recorded(capture: kymo.Capture) -> None:
    found = capture.energy()
    assert found["power_sources"] == []
    for prefix in ("", "gpu_"):
        total: Any = found["total"]
        assert total[f"{prefix}joules"] is total[f"{prefix}bound_joules"] is None
        assert total[f"{prefix}unknown_s"] == pytest.approx(capture.duration_ns / 1e9)
    with pytest.raises(KeyError, match="no power source 'supply_power': there are none"):
        capture.energy(power_sources="supply_power")


def overlapping(truth: dict[str, Any], start: int, end: int) -> list[tuple[str, int, int]]:
    return sorted(
        (span["name"], span["start_ns"], span["duration_ns"])
        for span in truth["spans"]
        if span["start_ns"] < end and (span["start_ns"] + span["duration_ns"] > start or span["start_ns"] >= start)
    )


def rows_of(spans: kymo.Spans) -> list[tuple[str, int, int]]:
    columns = spans.to_numpy(["name", "start_ns", "duration_ns"])
    return sorted(zip(*(column.tolist() for column in columns.values()), strict=True))


def test_a_stretch_of_time_has_what_overlaps_it(capture: kymo.Capture, truth: dict[str, Any]) -> None:
    start, length = capture.start_ns, capture.duration_ns
    for first, last in ((0.0, 0.1), (0.3, 0.31), (0.5, 0.9), (0.99, 1.0), (0.2, 3.0), (-2.0, 0.5), (0.7, 0.7)):
        begin, end = start + int(first * length), start + int(last * length)
        assert rows_of(capture.spans.between(begin, end)) == overlapping(truth, begin, end), (first, last)
        inside = capture.between(begin, end).metrics["load"].times
        every = capture.metrics["load"].times
        assert inside.tolist() == every[(every >= begin) & (every < end)].tolist()


def test_partitions_make_up_the_whole(capture: kymo.Capture, truth: dict[str, Any]) -> None:
    middle = capture.start_ns + capture.duration_ns // 3
    later = middle + capture.duration_ns // 4
    parts = capture.partitions(scopes=300)
    assert len(parts) > 2
    for begin, end in ((None, None), (middle, later)):
        whole = capture.between(begin, end)
        for table in ("spans", "samples", "frames", "messages", "sites"):
            name = "name" if "name" in whole.table(table) else "process"
            pieces = [whole.partition(part).table(table)[name].tolist() for part in parts]
            assert sorted(chain.from_iterable(pieces)) == sorted(whole.table(table)[name].tolist()), table
    rows = [rows_of(capture.partition(part).spans) for part in parts]
    assert sorted(chain.from_iterable(rows)) == rows_of(capture.spans)
    # Opened once more, as another process would.
    other = kymo.open(parts[1].path)
    assert rows_of(other.partition(parts[1]).spans) == rows_of(capture.partition(parts[1]).spans)


def _refuse_what_has_no_parts(view: kymo.Capture) -> None:
    for answer in (view.stats, view.functions, view.thread_activity):
        with pytest.raises(ValueError, match="has only its tables and metrics"):
            answer()


def test_a_partition_has_its_own_metrics_and_time_and_no_statistics(
    capture: kymo.Capture, truth: dict[str, Any]
) -> None:
    parts = [capture.partition(part) for part in capture.partitions(scopes=300)]
    whole = capture.metrics["load"]
    for name in ("times", "values", "stale"):
        pieces = [getattr(part.metrics["load"], name) for part in parts]
        assert all(len(piece) < len(whole) for piece in pieces)
        np.testing.assert_array_equal(np.concatenate(pieces), getattr(whole, name))
    assert [len(part.metrics["load"]) for part in parts] == [len(part.samples) for part in parts]
    later = parts[1].between(int(parts[1].metrics["load"].times[1]), None)
    assert len(later.metrics["load"]) == len(parts[1].metrics["load"]) - 1
    assert (min(part.start_ns for part in parts), max(part.end_ns for part in parts)) == capture._snapshot().range
    assert all(part.duration_ns < capture.duration_ns for part in parts)
    assert parts[1].overview() != capture.overview()
    for part in parts:
        _refuse_what_has_no_parts(part)


def test_selections_choose(capture: kymo.Capture, truth: dict[str, Any]) -> None:
    name = truth["spans"][0]["name"]
    track = truth["spans"][0]["track"]
    chosen = capture.spans.select(name=name, track=[track, "nothing"])
    assert len(chosen) == sum(span["name"] == name and span["track"] == track for span in truth["spans"])
    assert set(chosen["name"]) == {name}
    assert len(capture.spans.select(name="no*")) == 0
    assert len(capture.spans.select(host="elsewhere")) == 0
    assert len(capture.spans.select(process=0)) == len(truth["spans"])


def test_mistakes_are_told(capture: kymo.Capture) -> None:
    for given in ((), capture.paths, (*capture.paths, ())):
        with pytest.raises(TypeError, match=r"kymo\.open\(path\) opens one"):
            kymo.Capture(*given)  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="did you mean 'start_ns'"):
        capture.spans["start"]
    with pytest.raises(KeyError, match="did you mean 'load'"):
        capture.metrics["laod"]
    with pytest.raises(KeyError, match="no column of spans 'nam'"):
        capture.spans.with_columns(["nam"])
    with pytest.raises(AttributeError, match="no column 'nothing'"):
        capture.spans.nothing  # noqa: B018
    with pytest.raises(KeyError, match="no table"):
        capture.table("span")
    with pytest.raises(ValueError, match="read-only"):
        capture.metrics["load"].values[0] = 1


def test_notebooks_show_the_first_rows(capture: kymo.Capture) -> None:
    for name in COLUMNS:
        table = capture.table(name)
        drawn = ElementTree.fromstring(f"<div>{table._repr_html_()}</div>")
        assert len(drawn.findall("./table/tbody/tr")) == min(len(table), 10)
        lines = repr(table).splitlines()
        assert lines[0].startswith(f"{name}: {len(table):,} row")
        assert len(lines) == (1 if len(table) == 0 else 2 + min(len(table), 10) + (len(table) > 10))
        assert ("\N{HORIZONTAL ELLIPSIS}</p>" in table._repr_html_()) == (len(table) > 10)
    assert len(capture.metrics._repr_html_()) > 0


def test_metrics_of_one_name_are_told_apart(tmp_path: Path) -> None:
    events = [
        {"name": "power", "ph": "C", "ts": i, "pid": 1, "args": {"gpu": i, "cpu": float("nan")}} for i in range(9)
    ]
    metrics = kymo.open(import_trace(tmp_path, events)).metrics
    assert list(metrics) == ["power series=gpu", "power series=cpu"]
    assert metrics["power series=gpu"].values.tolist() == list(range(9))
    assert all(math.isnan(value) for value in metrics["power series=cpu"].values)
    assert [metric.labels for metric in metrics.all("power", series="cpu")] == [{"series": "cpu"}]
    with pytest.raises(KeyError, match="several metrics are named 'power'"):
        metrics["power"]
    alone = [metric.values.tobytes() + metric.times.tobytes() for metric in metrics.values()]
    together = kymo.open(tmp_path / "run.kymo").metrics
    together.read()
    assert [metric.values.tobytes() + metric.times.tobytes() for metric in together.values()] == alone
    assert together["power series=gpu"].stale.dtype == bool


def test_what_was_read_outlives_the_capture(folder: Path, truth: dict[str, Any]) -> None:
    capture = kymo.open(folder / "model.kymo")
    starts = capture.spans.start_ns
    values = capture.metrics["load"].values
    table = capture.frames
    names = capture.spans["name"]
    expected = int(starts.sum()), float(np.nansum(values)), len(set(names))
    capture.close()
    with pytest.raises(ValueError, match="closed"):
        _ = capture.spans
    assert repr(capture).endswith("closed>")
    del capture
    gc.collect()
    assert (int(starts.sum()), float(np.nansum(values)), len(set(names))) == expected
    assert len(table) == len(table["number"])


def test_threads_share_a_capture(capture: kymo.Capture, truth: dict[str, Any]) -> None:
    expected = sum(span["duration_ns"] for span in truth["spans"])
    found: list[int] = []

    def work() -> None:
        for _ in range(3):
            found.append(int(kymo.Spans(capture.spans._snapshot)["duration_ns"].sum()))
            capture.stats()
            capture.refresh()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 12


def test_a_growing_file_is_followed(folder: Path, truth: dict[str, Any], tmp_path: Path) -> None:
    whole = (folder / "model.kymo").read_bytes()
    growing = tmp_path / "growing.kymo"
    growing.write_bytes(whole[: len(whole) // 3])
    capture = kymo.open(growing)
    before = capture.spans
    assert not capture.is_closed
    count = len(before)
    assert not capture.refresh()
    sizes = iter([len(whole) // 2, len(whole) * 3 // 4, len(whole)])
    rows: list[tuple[str, int, int]] = []
    samples: list[float] = []
    written: list[str] = []
    for view in capture.follow(poll_s=0):
        rows += rows_of(view.spans)
        samples += view.metrics["load"].times.tolist()
        written += kymo.to_parquet(view, tmp_path, tables=["spans", "samples"])
        _refuse_what_has_no_parts(view)
        size = next(sizes, None)
        if size is not None:
            with growing.open("ab") as file:
                file.write(whole[growing.stat().st_size : size])
    assert capture.is_closed
    # Scopes that were open at each stop are seen once, when they end.
    ended = [(span["name"], span["start_ns"], span["duration_ns"]) for span in truth["spans"] if not span["open"]]
    seen = collections.Counter(rows)
    assert all(seen[span] == count for span, count in collections.Counter(ended).items())
    assert len(rows) == len(truth["spans"])
    assert len(before["start_ns"]) == count
    assert len(capture.spans) == len(truth["spans"])
    assert samples == capture.metrics["load"].times.tolist()
    for table in ("spans", "samples"):
        files = [path for path in written if f"/{table}/" in path]
        assert len(files) > 2
        assert sum(pyarrow.parquet.read_metadata(path).num_rows for path in files) == len(capture.table(table))


def test_directories_are_one_capture(folder: Path, truth: dict[str, Any], tmp_path: Path) -> None:
    for name in ("a.kymo", "b.kymo"):
        copy_to(folder / "model.kymo", tmp_path / "run", name)
    (tmp_path / "run" / "broken.kymo").write_bytes(b"not a capture")
    with kymo.open(tmp_path / "run") as capture:
        assert len(capture) == 2
        assert len(capture.spans) == 2 * len(truth["spans"])
        assert set(capture.spans["process"]) == {0, 1}
        assert sorted(set(capture.spans["capture"])) == [str(tmp_path / "run" / name) for name in ("a.kymo", "b.kymo")]
        assert [Path(path).name for path in capture.damages.capture] == ["broken.kymo"]
        assert {row["process"] for row in capture.drops} == {0, 1}
        assert list(capture.metrics) == ["load process=0", "load process=1"]
        # A worker opens the file of its part alone.
        rows = [len(kymo.open(part.path).partition(part).spans) for part in capture.partitions(scopes=500)]
        assert sum(rows) == len(capture.spans)
        with pytest.raises(KeyError, match="does not have"):
            kymo.open(folder / "model.kymo").partition(capture.partitions()[0])


def test_a_capture_that_is_named_twice_counts_once_which_is_said(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    copy_to(folder / "model.kymo", tmp_path / "runs", "a.kymo")
    Path("link.kymo").symlink_to("runs/a.kymo")
    with kymo.open("runs/a.kymo") as capture:
        sites = capture.stats()["sites"]
    repeats = (
        ("runs/a.kymo", "./runs/a.kymo"),
        ("runs/a.kymo", "link.kymo"),
        ("runs", "runs/a.kymo"),
        ("runs", "./runs/"),
    )
    for paths in (*repeats, ("link.kymo", "runs")):
        with pytest.warns(UserWarning, match="is named more than once and counts once") as said:
            capture = kymo.open(paths)
        assert said[0].filename == __file__
        assert capture.stats()["sites"] == sites
        assert len(capture.paths) == 1


def test_arguments_are_dicts_in_python_and_json_elsewhere(tmp_path: Path) -> None:
    with kymo.capture(tmp_path / "run.kymo") as run:
        for layer in (3, 4):
            with kymo.scope("step", layer=layer, rate=0.5, is_warm=True, phase="träin"), kymo.scope("inner"):
                pass
    spans = run.open().spans
    steps = spans.select(name="step")
    first = {"layer": 3, "rate": 0.5, "is_warm": True, "phase": "träin"}
    for column in (spans.arguments, spans["arguments"], spans.to_numpy()["arguments"], spans.to_pandas()["arguments"]):
        assert list(column) == [{}, first, {}, {**first, "layer": 4}]
    assert [row["arguments"] for row in steps[:1]] == [steps[0]["arguments"]] == [first]
    assert '"phase": "träin"' in repr(steps)
    for table in (spans, spans[:], pickle.loads(pickle.dumps(spans))):
        for texts in (pyarrow.table(table)["arguments"].to_pylist(), table.to_polars()["arguments"].to_list()):
            assert [text and json.loads(text) for text in texts] == [None, first, None, {**first, "layer": 4}]
    question = "select cast(arguments->>'layer' as int) from spans where name = 'step' order by 1"
    assert kymo.sql(question, run.path).fetchall() == [(3,), (4,)]


def test_arguments_that_json_lacks_are_floats_in_python(tmp_path: Path) -> None:
    words = 'NaN \\"Infinity\\'
    with (
        kymo.capture(tmp_path / "run.kymo") as run,
        kymo.scope("step", loss=float("nan"), best=float("inf"), worst=float("-inf"), lr=0.25, NaN=words),
    ):
        pass
    spans = run.open().spans
    for table in (spans, spans[:], pickle.loads(pickle.dumps(spans))):
        (found,) = table.arguments
        assert found == {**found, "best": float("inf"), "worst": float("-inf"), "lr": 0.25, "NaN": words}
        assert math.isnan(found["loss"])
        wanted = {"loss": None, "best": None, "worst": None, "lr": 0.25, "NaN": words}
        for (text,) in (pyarrow.table(table)["arguments"].to_pylist(), table.to_polars()["arguments"].to_list()):
            assert json.loads(text, parse_constant=pytest.fail) == wanted
    assert kymo.sql("select arguments->>'lr', arguments->>'loss' from spans", run.path).fetchall() == [("0.25", None)]


def _check_type(value: Any, kind: Any) -> None:
    """Raise if a value is not of a type: of a TypedDict it must have the keys, and no others."""
    if typing.is_typeddict(kind):
        hints = typing.get_type_hints(kind, localns={"NotRequired": typing.NotRequired}, include_extras=True)
        needed = {name for name, hint in hints.items() if typing.get_origin(hint) is not typing.NotRequired}
        assert needed <= set(value) <= set(hints), (kind, needed ^ set(value))
        for name, each in value.items():
            hint = hints[name]
            _check_type(each, typing.get_args(hint)[0] if typing.get_origin(hint) is typing.NotRequired else hint)
    elif isinstance(kind, types.UnionType):
        (other,) = (each for each in typing.get_args(kind) if each is not type(None))
        if value is not None:
            _check_type(value, other)
    elif typing.get_origin(kind) is list:
        assert isinstance(value, list)
        for each in value:
            _check_type(each, typing.get_args(kind)[0])
    elif typing.get_origin(kind) is dict:
        assert isinstance(value, dict)
    else:
        assert isinstance(value, kind), (value, kind)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="types are told from Python 3.11 on")
@pytest.mark.parametrize("by_process", [False, True])
def test_results_have_the_types_that_are_stated(capture: kymo.Capture, tmp_path: Path, by_process: bool) -> None:
    statistics = capture.stats(by_process=by_process)
    assert all(statistics[name] for name in ("sites", "spans", "frame_streams", "metrics"))
    _check_type(statistics, _results.Statistics)
    with kymo.capture(tmp_path / "power.kymo") as run:
        for _ in kymo.frames(range(20)):
            kymo.record_metric_unit("supply_power", 40, "W")
            with kymo.scope("step"):
                sum(range(20_000))
        kymo.sync()
    joules = run.open().energy(by_process=by_process)
    assert all(joules[name] for name in ("power_sources", "sites", "frame_streams", "phases"))
    _check_type(joules, _results.EnergyStatistics)


def test_the_overview_is_sound_whatever_names_are(capture: kymo.Capture, tmp_path: Path) -> None:
    hostile = "</title><script>alert(1)</script>\x01&\"'"
    events: list[dict[str, Any]] = [
        {"name": hostile, "ph": "X", "ts": i, "dur": 1, "pid": 1, "tid": 1} for i in range(9)
    ]
    events += [{"name": hostile, "ph": "C", "ts": i, "pid": 1, "args": {hostile: i}} for i in range(9)]
    events += [{"name": "thread_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": hostile}}]
    other = kymo.open(import_trace(tmp_path, events))
    for drawn in (capture, other, capture.between(capture.start_ns, capture.start_ns), other.between(None, 5000)):
        svg = drawn._repr_svg_()
        root = ElementTree.fromstring(svg)
        assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
            "svg",
            "style",
            "rect",
            "g",
            "title",
            "path",
            "text",
        }
        assert svg in drawn._repr_html_()
    texts = [element.text for element in ElementTree.fromstring(capture.overview(400)).iter() if element.text]
    assert {"thread 0", "gpu", "load", "frames"} <= set(texts)
    assert "script" in other.overview()


def test_the_overview_names_values_as_people_do(tmp_path: Path) -> None:
    path = tmp_path / "values.kymo"
    record = f"""
import kymograph as kymo
kymo.start_capture({str(path)!r})
for _ in range(2):
    kymo.record_metric_unit("memory", 61_234_567, "B")
    kymo.record_metric_unit("clock", 999_900_000, "Hz")
    kymo.record_metric_unit("share", 12.345, "%")
    kymo.record_metric("steps", 512_345)
    kymo.record_metric("tokens", 3.5e9)
kymo.stop_capture()
"""
    subprocess.run([sys.executable, "-c", record], check=True)
    drawn = ElementTree.fromstring(kymo.open(path).overview())
    texts = {element.text for element in drawn.iter()}
    assert {"61.2 MB", "1 GHz", "12.3 %", "512345", "3.5e+09"} <= texts
