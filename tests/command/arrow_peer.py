"""pyarrow, DuckDB and pandas read captures through the Arrow C data interface and find what was put in.

arrow_peer.py KYMO LIBKYMO_ANALYSIS
"""

import ctypes
import gc
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import duckdb
import polars
import pyarrow
import pyarrow.compute
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: {got}, not {wanted}")


class Captures:
    def __init__(self, library):
        self.open = ctypes.CDLL(library).kymo_open_arrow_stream_v1

    def stream(self, paths, table):
        """A pyarrow reader of a table; raises OSError."""
        struct = (ctypes.c_void_p * 5)()
        names = (ctypes.c_char_p * len(paths))(*[os.fsencode(path) for path in paths])
        error = ctypes.create_string_buffer(200)
        number = self.open(names, ctypes.c_size_t(len(paths)), table, ctypes.byref(struct), error, ctypes.c_size_t(200))
        if number != 0:
            raise OSError(number, error.value.decode())
        return pyarrow.RecordBatchReader._import_from_c(ctypes.addressof(struct))


def make_events():
    """Enough for several blocks."""
    events, spans = [], []
    for i in range(90_000):
        span = (i % 3, f"work {i % 10}", i * 1000, 100 + i % 7, i)
        spans.append(span)
        event = {"name": span[1], "cat": "scope", "ph": "X", "ts": span[2] / 1000, "dur": span[3] / 1000}
        event |= {"pid": 1, "tid": span[0]} | ({"args": {"i": i}} if i % 2 else {})
        events.append(event)
        if i % 100 == 0:
            events.append(
                {"name": "load \u00e9", "ph": "C", "ts": i, "pid": 1, "args": {"cpu": i / 8, "gpu": float("nan")}}
            )
            events.append(
                {
                    "name": "frame",
                    "cat": "frame",
                    "ph": "X",
                    "ts": i,
                    "dur": 100,
                    "pid": 1,
                    "tid": 9,
                    "args": {"number": 1},
                }
            )
    events.append({"name": "request", "cat": "net", "id": 5, "ph": "b", "ts": 5, "pid": 1, "tid": 1})
    events.append({"name": "request", "cat": "net", "id": 5, "ph": "e", "ts": 9.5, "pid": 1, "tid": 1})
    return events, spans


def check_spans(captures, path, spans):
    reader = captures.stream([path], 0)
    batches = list(reader)
    expect("several batches", len(batches) > 1, True)
    del reader
    gc.collect()
    table = pyarrow.Table.from_batches(batches)
    del batches
    table.validate(full=True)
    expect("the names are coded", pyarrow.types.is_dictionary(table.schema.field("name").type), True)
    rows = (
        table.filter(pyarrow.compute.equal(table["kind"].cast("string"), "thread"))
        .select(["name", "start_ns", "duration_ns", "arguments", "async_id"])
        .to_pylist()
    )
    expect("spans", len(rows), len(spans))
    for row, (_, name, start, duration, i) in zip(sorted(rows, key=lambda row: row["start_ns"]), spans, strict=True):
        expect(name, (row["name"], row["start_ns"], row["duration_ns"]), (name, start, duration))
        expect("arguments", row["arguments"], json.dumps({"i": i}, separators=(",", ":")) if i % 2 else None)
    lane = table.filter(pyarrow.compute.equal(table["kind"].cast("string"), "async")).to_pylist()
    expect(
        "async spans",
        [(row["track"], row["name"], row["start_ns"], row["duration_ns"]) for row in lane],
        [("net", "request", 5000, 4500)],
    )
    frame = captures.stream([path], 0).read_pandas()
    expect(
        "pandas",
        frame[frame["kind"] == "thread"].groupby("name", observed=True)["duration_ns"].sum().to_dict(),
        {f"work {k}": sum(span[3] for span in spans if span[4] % 10 == k) for k in range(10)},
    )


TABLES = ["spans", "frames", "samples", "sites", "tracks", "metrics", "phases", "messages", "processes"]


def plain(table):
    """A table with its coded texts as texts."""
    columns = {}
    for name in table.column_names:
        column = table[name]
        columns[name] = column.cast("string") if pyarrow.types.is_dictionary(column.type) else column
    return pyarrow.table(columns)


def check_files(kymo, captures, path, directory):
    """Arrow and Parquet files of kymo export hold what the streams hold, for every reader."""
    for number, name in enumerate(TABLES):
        streamed = captures.stream([path], number).read_all()
        files = {kind: os.path.join(directory, f"{name}.{kind}") for kind in ("arrow", "parquet")}
        for kind, file in files.items():
            subprocess.run([kymo, "export", "--to", kind, "--table", name, "-o", file, path], check=True)
        arrow = pyarrow.ipc.open_file(files["arrow"]).read_all()
        arrow.validate(full=True)
        expect(f"{name}.arrow: columns", arrow.schema.equals(streamed.schema), True)
        expect(f"{name}.arrow", plain(arrow).equals(plain(streamed)), True)
        parquet = pyarrow.parquet.read_table(files["parquet"])
        parquet.validate(full=True)
        expect(f"{name}.parquet", plain(parquet).equals(plain(streamed)), True)
        rows = duckdb.sql(f"select * from '{files['parquet']}'").to_arrow_table()
        expect(f"DuckDB: {name}.parquet", rows.num_rows, streamed.num_rows)
        expect(f"Polars: {name}.parquet", polars.read_parquet(files["parquet"]).height, streamed.num_rows)
    spans = os.path.join(directory, "spans.parquet")
    expect(
        "DuckDB: durations",
        duckdb.sql(f"select sum(duration_ns), count(arguments) from '{spans}' where kind = 'thread'").fetchall(),
        [(sum(100 + i % 7 for i in range(90_000)), 45_000)],
    )
    expect("Polars: names", polars.read_ipc(os.path.join(directory, "spans.arrow"))["name"].n_unique(), 11)

    # kymo knows its own Arrow files; of Parquet files nobody can tell.
    again = [kymo, "export", "-o"]
    own, other = os.path.join(directory, "spans.arrow"), os.path.join(directory, "other.arrow")
    subprocess.run([*again, own, "--to", "arrow", path], check=True)
    pyarrow.feather.write_feather(pyarrow.table({"x": [1]}), other, compression="uncompressed")
    for file, kind in ((other, "arrow"), (spans, "parquet")):
        before = pathlib.Path(file).read_bytes()
        refused = subprocess.run([*again, file, "--to", kind, path], stderr=subprocess.PIPE, check=False)
        expect(f"{kind} over another's file", (refused.returncode, pathlib.Path(file).read_bytes()), (1, before))
    wrong = subprocess.run(
        [*again, own, "--to", "chrome", "--table", "spans", path], stderr=subprocess.PIPE, check=False
    )
    expect("--table without a table", wrong.returncode, 2)


def main():
    kymo, library = sys.argv[1:]
    captures = Captures(library)
    events, spans = make_events()
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "run.kymo")
        with open(os.path.join(directory, "run.json"), "w") as trace:
            json.dump(events, trace)
        subprocess.run([kymo, "import", os.path.join(directory, "run.json")], check=True, stdout=subprocess.DEVNULL)
        check_spans(captures, path, spans)
        check_files(kymo, captures, path, directory)

        duck = duckdb.connect()
        duck.register("samples", captures.stream([path], 2))
        expect(
            "DuckDB: samples",
            duck.sql(
                "select name, labels, count(*), count(value), max(value), max(time_ns) from samples "
                "group by all order by all"
            ).fetchall(),
            [
                ("load \u00e9", "series=cpu", 900, 900, 89_900 / 8, 89_900_000),
                ("load \u00e9", "series=gpu", 900, 0, None, 89_900_000),
            ],
        )
        duck.register("frames", captures.stream([path], 1))
        expect(
            "DuckDB: frames",
            duck.sql(
                "select stream, min(number), max(number), min(start_ns), sum(duration_ns) from frames group by all"
            ).fetchall(),
            [("", 1, 900, 0, 90_000_000)],
        )

        # A stream that nobody reads, and one that is given up in the middle.
        captures.stream([path], 0)
        half = captures.stream([path, path], 0)
        batch = half.read_next_batch()
        del half
        gc.collect()
        batch.validate(full=True)
        try:
            captures.stream([os.path.join(directory, "none.kymo")], 0)
            sys.exit("a capture that is not there can be opened")
        except OSError as error:
            expect("the error names it", "none.kymo" in str(error), True)


main()
