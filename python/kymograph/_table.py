"""What all tables of a capture can do: read as NumPy arrays or Arrow data, sliced, shown, pickled."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from kymograph import _show
from kymograph._analysis import Snapshot
from kymograph._errors import warn_of
from kymograph._selection import COLUMNS, Selection, unknown_key

if TYPE_CHECKING:
    import polars
    from typing_extensions import Self

    Array = npt.NDArray[Any]
    Rows = slice | npt.NDArray[np.bool_] | npt.NDArray[np.integer[Any]] | Sequence[int] | Sequence[bool]

#: Rows of shorter captures, in bytes, are counted to be shown.
_QUICKLY_COUNTED = 50_000_000

#: The cheapest column of each table, used for counting its rows.
_CHEAPEST = {"spans": "depth", "samples": "stale"}


def _make_array(loaded: Any) -> Array:
    """Return the reader's data of a column as an array."""
    array: Array
    if isinstance(loaded, tuple):
        codes, texts = loaded
        # -1 (none) selects the last text.
        categories = np.array([*texts, None], dtype=object)
        array = categories[codes]
    elif isinstance(loaded, list):
        array = np.array(loaded, dtype=object)
    else:
        array = loaded
    array.flags.writeable = False
    return array


def _take(loaded: Any, rows: npt.NDArray[np.intp]) -> Any:
    """Return some rows of the reader's data of a column."""
    if isinstance(loaded, tuple):
        codes, texts = loaded
        return codes[rows], texts
    return [loaded[row] for row in rows] if isinstance(loaded, list) else loaded[rows]


def _matches(texts: Sequence[str], patterns: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Tell of each text whether a pattern fits; the last entry is that of no text."""
    wanted = "|".join(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".") for pattern in patterns)
    fits = re.compile(wanted, re.DOTALL).fullmatch
    return np.array([*(fits(text) is not None for text in texts), False])


class Table:
    """
    A table of a capture. Columns are read on first use, and only the parts of the file that they need.

    ``table["start_ns"]`` or ``table.start_ns`` is a column as a read-only NumPy array. ``table[5]`` is a row as a dict,
    and iterating yields rows. ``table[10:20]``, ``table[mask]`` and ``table[indices]`` are tables of these rows.

    pyarrow, polars, pandas and DuckDB accept the table itself, through ``__arrow_c_stream__``, batch by batch:
    ``pyarrow.table(spans)``, ``polars.DataFrame(spans)``, ``pandas.DataFrame.from_arrow(spans)``, ``duckdb.sql("from
    spans")``. Threads may share a table; other Python threads can run while it is read. A pickled table takes its rows
    along.
    """

    _name = ""

    #: The columns that may lack a value: None, NaN, or 0 of integers.
    _nullable: frozenset[str] = frozenset()

    def __init__(
        self,
        snapshot: Snapshot,
        selection: Selection | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._selection = selection or Selection()
        self._columns = tuple(columns) if columns is not None else COLUMNS[self._name]
        self._loaded: dict[str, Any] = {}
        self._arrays: dict[str, Array] = {}
        self._count: int | None = None
        #: The table of which this one has some rows, and which.
        self._picked: tuple[Table, npt.NDArray[np.intp]] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._columns

    def __iter__(self) -> Iterator[dict[str, Any]]:
        columns = [array.tolist() for array in self.to_numpy().values()]
        for row in zip(*columns, strict=True):
            yield dict(zip(self._columns, row, strict=True))

    def keys(self) -> tuple[str, ...]:
        """Return the names of the columns, so that ``dict(table)`` has the columns by name."""
        return self._columns

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __len__(self) -> int:
        if self._picked is not None:
            return len(self._picked[1])
        if self._count is None:
            loaded = next(iter(self._loaded.values()), None)
            if loaded is None:
                cheapest = _CHEAPEST.get(self._name, "process")
                self._count = self._snapshot.count(self._selection.query(self._name, [cheapest]))
            else:
                self._count = len(loaded[0] if isinstance(loaded, tuple) else loaded)
        return self._count

    @overload
    def __getitem__(self, key: str) -> Array: ...
    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: Rows) -> Self: ...

    def __getitem__(self, key: str | int | Rows) -> Any:
        if isinstance(key, str):
            return self.to_numpy([key])[key]
        rows = np.arange(len(self))[key]
        if rows.ndim == 0:
            row = self._pick(rows[np.newaxis])
            return {name: array.tolist()[0] for name, array in row.to_numpy().items()}
        return self._pick(rows)

    def _pick(self, rows: npt.NDArray[np.intp]) -> Self:
        picked = type(self)(self._snapshot, self._selection, self._columns)
        picked._picked = self, rows
        return picked

    def head(self, rows: int = 10) -> Self:
        """Return the first rows; only the blocks that they are in are read."""
        if self._picked is not None or self._loaded:
            return self[: max(rows, 0)]
        loaded = self._snapshot.columns(self._selection.query(self._name, self._columns), rows)
        begun = type(self)(self._snapshot, self._selection, self._columns)
        begun._loaded = loaded
        return begun[: max(rows, 0)]

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_") or name not in self._columns:
            message = f"{type(self).__name__} has no column {name!r}; it has {', '.join(COLUMNS[type(self)._name])}"
            raise AttributeError(message, name=name, obj=self)
        return self[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._columns]

    def _load(self, names: Sequence[str]) -> None:
        missing = [name for name in names if name not in self._loaded]
        if missing and self._picked is not None:
            whole, rows = self._picked
            whole._load(missing)
            self._loaded.update({name: _take(whole._loaded[name], rows) for name in missing})
        elif missing:
            self._loaded.update(self._snapshot.columns(self._selection.query(self._name, missing)))
            warn_of(self._snapshot.captures())

    def to_numpy(self, columns: Sequence[str] | None = None) -> dict[str, Array]:
        """
        Read columns in one pass.

        Parameters
        ----------
        columns : sequence of str, optional
            Their names; all columns by default.

        Returns
        -------
        dict of str to numpy.ndarray
            One-dimensional, read-only arrays of the same length. Times and durations are int64 nanoseconds on the
            capture's axis. Names are arrays of ``str``, which share the texts.

        Raises
        ------
        KeyError
            There is no such column.
        """
        names = list(self._columns if columns is None else columns)
        for name in names:
            if name not in self._columns:
                raise unknown_key(f"column of {self._name}", name, self._columns)
        self._load(names)
        return {name: self._array_of(name) for name in names}

    def _array_of(self, name: str) -> Array:
        array = self._arrays.get(name)
        if array is None:
            array = self._arrays[name] = _make_array(self._loaded[name])
        return array

    def codes(self, name: str) -> tuple[npt.NDArray[np.int32], list[str]]:
        """
        Read a column of names as numbers.

        Parameters
        ----------
        name : str
            A column whose values are names.

        Returns
        -------
        codes : numpy.ndarray
            int32; -1 for none.
        texts : list of str
            The text of each code.

        Raises
        ------
        KeyError
            There is no such column, or its values are not names.
        """
        self[name]
        loaded = self._loaded[name]
        if not isinstance(loaded, tuple):
            raise KeyError(f"column {name!r} of {self._name} is not made of names")
        return loaded[0], list(loaded[1])

    def with_columns(self, columns: Sequence[str]) -> Self:
        """
        Return the table with only these columns, in this order.

        Raises
        ------
        KeyError
            There is no such column.
        """
        for name in columns:
            if name not in COLUMNS[self._name]:
                raise unknown_key(f"column of {self._name}", name, COLUMNS[self._name])
        narrow = type(self)(self._snapshot, self._selection, columns)
        narrow._picked = self._picked
        return narrow

    def to_pandas(self) -> Any:
        """
        Return the table as a pandas data frame, with names as categories.

        Returns
        -------
        pandas.DataFrame
            A column for each of the table's.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        pandas: Any = importlib.import_module("pandas")

        self._load(self._columns)
        columns = {
            name: pandas.Categorical.from_codes(*self.codes(name))
            if isinstance(self._loaded[name], tuple)
            else self._array_of(name)
            for name in self._columns
        }
        return pandas.DataFrame(columns)

    def to_polars(self) -> polars.DataFrame:
        """
        Return the table as a polars data frame.

        Raises
        ------
        ImportError
            polars is not installed.
        """
        import polars  # noqa: PLC0415

        if self._picked is None:
            return polars.DataFrame(self)
        # The types are those that polars makes of the whole table.
        self._load(self._columns)
        series = []
        for name in self._columns:
            loaded = self._loaded[name]
            if isinstance(loaded, tuple):
                column = polars.Series(name, self._array_of(name).tolist(), polars.Categorical)
            elif isinstance(loaded, list):
                column = polars.Series(name, self._texts_of(name), polars.String)
            else:
                column = polars.Series(name, loaded)
            if (missing := self._missing(name)) is not None:
                column = column.set(polars.Series(missing), None)
            series.append(column)
        return polars.DataFrame(series)

    def _texts_of(self, name: str) -> list[str | None]:
        """Return a loaded column of free text for other libraries."""
        texts: list[str | None] = self._loaded[name]
        return texts

    def _missing(self, name: str) -> npt.NDArray[np.bool_] | None:
        """Tell where a loaded column of numbers has none for other libraries; None: nowhere."""
        loaded = self._loaded[name]
        if name not in self._nullable or isinstance(loaded, tuple | list):
            return None
        missing: npt.NDArray[np.bool_] = np.isnan(loaded) if loaded.dtype.kind == "f" else loaded == 0
        return missing

    def __reduce__(self) -> tuple[Any, ...]:
        self._load(self._columns)
        return _restore, (
            type(self),
            self._columns,
            {name: self._loaded[name] for name in self._columns},
            self._start(),
        )

    def between(self, start_ns: int | None, end_ns: int | None) -> Self:
        """
        Return the rows that overlap a time range.

        Parameters
        ----------
        start_ns, end_ns : int or None
            Nanoseconds on the capture's axis; the end is exclusive. None: no limit.
        """
        selection = self._selection.between(start_ns, end_ns)
        if self._picked is None:
            return type(self)(self._snapshot, selection, self._columns)
        if selection == self._selection:
            return self
        whole = self.with_columns(COLUMNS[self._name])
        starts = whole["start_ns" if "start_ns" in whole else "time_ns"]
        ends = starts + whole["duration_ns"] if "duration_ns" in whole else starts
        inside = (starts < selection.end_ns) & ((ends > selection.start_ns) | (starts >= selection.start_ns))
        return self[np.flatnonzero(inside)]

    def _narrowed(
        self,
        *,
        processes: tuple[int, ...] | None,
        names: tuple[str, ...] | None,
        tracks: tuple[str, ...] | None = None,
    ) -> Self:
        """Return the rows that were selected so far and fit these patterns; None: all."""
        known = self._selection
        if names == () or tracks == ():
            processes = ()
        if self._picked is None:
            # The reader takes the rows that fit any of its patterns, not those that fit one of each of two lists.
            if (names and known.names not in ((), names)) or (tracks and known.tracks not in ((), tracks)):
                return self[:]._narrowed(processes=processes, names=names, tracks=tracks)
            chosen = replace(known, processes=processes, names=names or known.names, tracks=tracks or known.tracks)
            return type(self)(self._snapshot, chosen, self._columns)
        whole = self.with_columns(COLUMNS[self._name])
        fits = np.full(len(self), processes != ())
        for column, patterns in (("stream" if "stream" in whole else "name", names), ("track", tracks)):
            if patterns:
                codes, texts = whole.codes(column)
                fits &= _matches(texts, patterns)[codes]
        if processes:
            fits &= np.isin(whole["process"], np.array(processes, dtype=np.int64) - 1)
        return self[np.flatnonzero(fits)]

    def _of_processes(
        self, process: int | None, host: str | None, rank: str | int | None, pid: int | None
    ) -> tuple[int, ...] | None:
        """Return the ids of the matching processes; `process` is an index, as in the column."""
        if process is None and host is None and rank is None and pid is None:
            return self._selection.processes
        known = self._selection.processes
        return tuple(
            entry["id"]
            for index, entry in enumerate(self._snapshot.processes())
            if (process is None or index == process)
            and (host is None or entry["host"] == host)
            and (rank is None or entry["rank"] == str(rank))
            and (pid is None or entry["pid"] == pid)
            and (known is None or entry["id"] in known)
        )

    def _arrow_of_rows(self) -> Any:
        """Return picked rows as a table of pyarrow."""
        try:
            pyarrow: Any = importlib.import_module("pyarrow")
        except ImportError as error:
            raise ImportError("rows of a table need pyarrow: pip install 'kymograph[parquet]'") from error
        # The types are those of the whole table, so that both can be put together.
        self._load(self._columns)
        arrays = []
        for name in self._columns:
            loaded = self._loaded[name]
            if isinstance(loaded, tuple):
                codes, texts = loaded
                used, places = np.unique(codes, return_inverse=True)
                known = used[used >= 0]
                indices = np.maximum(places - (len(used) - len(known)), 0).astype(np.uint32)
                dictionary = pyarrow.array([texts[code] for code in known], pyarrow.string())
                array = pyarrow.DictionaryArray.from_arrays(pyarrow.array(indices, mask=codes < 0), dictionary)
            elif isinstance(loaded, list):
                array = pyarrow.array(self._texts_of(name), pyarrow.string())
            else:
                array = pyarrow.array(loaded, mask=self._missing(name))
            arrays.append(array)
        fields = [
            pyarrow.field(name, array.type, nullable=name in self._nullable)
            for name, array in zip(self._columns, arrays, strict=True)
        ]
        return pyarrow.table(arrays, schema=pyarrow.schema(fields))

    def __arrow_c_schema__(self) -> object:
        if self._picked is not None:
            return self._arrow_of_rows().schema.__arrow_c_schema__()
        return self._snapshot.schema(self._selection.query(self._name, self._columns))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        if self._picked is not None:
            return self._arrow_of_rows().__arrow_c_stream__(requested_schema)
        return self._snapshot.stream(self._selection.query(self._name, self._columns))

    def _start(self) -> int:
        return self._snapshot.range[0]

    def _size(self, shown: int, has_more: bool) -> str:
        """Tell how many rows there are, unless that takes a pass over a long capture."""
        is_known = self._picked is not None or self._count is not None or bool(self._loaded) or not has_more
        is_short = is_known or sum(capture["bytes"] for capture in self._snapshot.captures()) < _QUICKLY_COUNTED
        count = len(self) if is_short else shown
        return f"{count:,} row{'' if count == 1 else 's'}" if is_short else f"more than {count:,} rows"

    def _shown(self, rows: int) -> _show.Shown:
        is_whole = self._columns == COLUMNS[self._name]
        names = [name for name in _show.SHOWN[self._name] if name in self._columns] if is_whole else list(self._columns)
        begun = self.with_columns(names).head(rows + 1)
        columns = [begun.to_numpy([name])[name].tolist() for name in names]
        has_more = len(begun) > rows
        hidden = len(self._columns) - len(names)
        columns_said = f", {hidden} more columns" if hidden else ""
        title = f"{self._name}: {self._size(rows, has_more)}{columns_said}"
        rest = "\N{HORIZONTAL ELLIPSIS}" if has_more else ""
        return _show.show(title, names, [column[:rows] for column in columns], self._start(), rest)

    def __repr__(self) -> str:
        return _show.as_text(self._shown(10))

    def _repr_html_(self) -> str:
        return _show.as_html(self._shown(10))


class _Kept:
    """What a table without a capture knows of one."""

    def __init__(self, start_ns: int) -> None:
        self.range = (start_ns, start_ns)

    def processes(self) -> list[dict[str, Any]]:
        raise ValueError("a table that was pickled does not know its processes")

    def columns(self, *_: object) -> dict[str, Any]:
        raise ValueError("the column was not among those of the table that was pickled")


def _restore(kind: type[Table], columns: tuple[str, ...], loaded: dict[str, Any], start_ns: int) -> Table:
    kept: Any = _Kept(start_ns)
    whole = kind(kept, None, columns)
    whole._loaded = loaded
    return whole[:]
