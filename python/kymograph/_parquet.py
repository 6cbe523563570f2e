"""Captures as partitioned Parquet (the extra ``kymograph[parquet]``)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from kymograph._capture import Capture
from kymograph._capture import open as open_capture
from kymograph._fleet import run_of
from kymograph._selection import COLUMNS, unknown_key
from kymograph._tables import TABLES

if TYPE_CHECKING:
    Captures = Capture | str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

_ROWS_A_GROUP = 1_000_000


def to_parquet(
    captures: Captures,
    directory: str | os.PathLike[str],
    *,
    tables: str | Sequence[str] = ("spans", "frames", "samples", "sites", "metrics", "processes"),
    compression: str = "zstd",
) -> list[str]:
    """
    Write tables of captures as Parquet, partitioned by run and host.

    The path of a table is ``directory/spans/run=NAME/host=NAME/FILE.parquet``, which pyarrow, DuckDB, polars and Spark
    read as one table with the columns run and host. A run is named after its directory of captures, or its only file.

    Parameters
    ----------
    captures : Capture, path, or iterable of paths
        The captures, on one time axis; of a view its part. Partitions of a capture may go to one directory, each in
        files of its own.
    directory : path
        Created if it is missing.
    tables : str or sequence of str
        Names of tables of `Capture`.
    compression : str
        One of pyarrow's.

    Returns
    -------
    list of str
        The files written. Captures are streamed: a million rows are in memory at a time. A file appears under its name
        when it is complete.

    Raises
    ------
    ImportError
        pyarrow is not installed: ``pip install 'kymograph[parquet]'``.
    FileExistsError
        A file exists already.
    KeyError
        There is no such table.
    ValueError
        The directory's path is empty.
    """
    if not os.fspath(directory):
        raise ValueError("the path of the directory is empty")
    try:
        pyarrow = import_module("pyarrow")
        pyarrow_parquet = import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError("kymograph.to_parquet needs pyarrow: pip install 'kymograph[parquet]'") from error
    tables = (tables,) if isinstance(tables, str) else tables
    for name in tables:
        if name not in TABLES:
            raise unknown_key("table", name, list(TABLES))
    capture = captures if isinstance(captures, Capture) else open_capture(captures)
    written = []
    for index, run, stem, hosts in _list_files(capture):
        for name in tables:
            for host in hosts:
                own = capture.table(name)
                blocks = own._selection.blocks or ((index, 0, 2**62),)
                part = replace(own._selection, blocks=tuple(block for block in blocks if block[0] == index))
                chosen = replace(part, processes=own._of_processes(None, host, None, None))
                stream = capture._select(name, chosen).with_columns([each for each in COLUMNS[name] if each != "host"])
                folder = Path(directory) / name / f"run={quote(run, safe='')}" / f"host={quote(host, safe='')}"
                folder.mkdir(parents=True, exist_ok=True)
                path = folder / f"{stem}.parquet"
                if path.exists():
                    raise FileExistsError(f"{path} is there already")
                _write(pyarrow, pyarrow_parquet, stream, path, compression)
                written.append(str(path))
    return written


def _list_files(capture: Capture) -> list[tuple[int, str, str, list[str]]]:
    """Return the index, run, name and hosts of each file that the capture or view has a part of."""
    files: list[tuple[int, str, str, list[str]]] = []
    taken: set[tuple[str, str]] = set()
    for index, facts in enumerate(capture.captures):
        path = Path(os.path.realpath(facts["path"]))
        parts = [block for block in capture._selection.blocks if block[0] == index]
        if capture._selection.blocks and not parts:
            continue
        processes = [process for process in capture.process_info if process["capture"] == index]
        run = run_of(processes[0]["infos"] if processes else {}, str(path))
        # Parts of a capture may go to one directory.
        named: str = path.stem + "".join(f"-from-{first}" for _, first, _ in parts)
        stem = named
        number = 1
        while (run, stem) in taken:
            number += 1
            stem = f"{named}-{number}"
        taken.add((run, stem))
        files.append((index, run, stem, sorted({process["host"] for process in processes})))
    return files


def _write(pyarrow: Any, parquet: Any, table: object, path: Path, compression: str) -> None:
    reader = pyarrow.RecordBatchReader.from_stream(table)
    partial = path.with_suffix(".partial")
    try:
        with parquet.ParquetWriter(partial, reader.schema, compression=compression) as writer:
            batches, rows = [], 0
            for batch in reader:
                batches.append(batch)
                rows += batch.num_rows
                if rows >= _ROWS_A_GROUP:
                    writer.write_table(pyarrow.Table.from_batches(batches))
                    batches, rows = [], 0
            if batches:
                writer.write_table(pyarrow.Table.from_batches(batches))
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
