"""Rows: what look-ups of many keys and scans give, for Arrow, polars, pandas, DuckDB, DataFusion, and loops."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from . import _internal
from ._errors import InvalidArgument

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_ROWS_SHOWN = 10
_T = TypeVar("_T")


def _cell(value: Any) -> str:
    return "<i>null</i>" if value is None else html.escape(str(value))


def _missing(name: str) -> ImportError:
    return ImportError(f"this needs {name}; install it: pip install {name}")


class _Arrow:
    """What tables and streams of rows have in common."""

    def _capsule(self, requested_schema: object | None) -> object:
        raise NotImplementedError

    def _raise_failure(self) -> None:
        """Raises the exception that ended a stream, whose text alone other libraries show."""

    def _passed_to(self, taker: Callable[[Any], _T]) -> _T:
        try:
            return taker(self)
        except Exception:
            self._raise_failure()
            raise

    def _texts_of_long_integers(self) -> tuple[list[tuple[str, str]], Iterator[Rows]]:
        """The columns of integers of 128 bits with the names of their types, and the rows with these columns as text."""
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._capsule(requested_schema)

    def to_pyarrow(self) -> pyarrow.Table:
        """The rows as a :class:`pyarrow.Table`."""
        try:
            import pyarrow
        except ImportError:
            raise _missing("pyarrow") from None
        return self._passed_to(pyarrow.table)

    def to_polars(self) -> polars.DataFrame:
        """The rows as a :class:`polars.DataFrame`."""
        try:
            import polars
        except ImportError:
            raise _missing("polars") from None
        longs, texts = self._texts_of_long_integers()
        if not longs:
            return self._passed_to(polars.DataFrame)
        # It has integers of 128 bits, but no decimals of their length.
        types = {"u128": polars.UInt128, "i128": polars.Int128}
        frames = [rows._passed_to(polars.DataFrame) for rows in texts]
        return polars.concat(frames).with_columns(polars.col(name).cast(types[of]) for name, of in longs)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a :class:`pandas.DataFrame`. This needs pyarrow, too."""
        return self.to_pyarrow().to_pandas()


class Rows(_Arrow):
    """Rows in memory, in the order of the keys that were asked for; null where a key is absent.

    Anything that takes Arrow data takes them: ``pyarrow.table(rows)``, ``polars.DataFrame(rows)``,
    ``duckdb.sql("select * from rows")``.

    >>> import ogive, tempfile
    >>> with ogive.open(tempfile.mkdtemp(), key=int, value=str) as db:
    ...     db[1] = "one"
    ...     rows = db.multi_get([1, 2])
    >>> len(rows), rows.column_names
    (2, ['key', 'value'])
    >>> rows.to_pylist()
    [{'key': 1, 'value': 'one'}, {'key': 2, 'value': None}]
    """

    def __init__(self, rows: _internal.RowBatch) -> None:
        self._rows = rows

    def _capsule(self, requested_schema: object | None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)

    def _texts_of_long_integers(self) -> tuple[list[tuple[str, str]], Iterator[Rows]]:
        longs = self._rows.long_integers
        return longs, (Rows(self._rows.with_text()) for _ in longs[:1])

    def __arrow_c_schema__(self) -> object:
        return self._rows.__arrow_c_schema__()

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        return self._rows.column_names

    def column(self, name: str) -> list[Any]:
        """The values of a column."""
        names = self.column_names
        if name not in names:
            raise InvalidArgument(f"there is no column {name!r}; there are: {', '.join(names)}")
        return self._column(names.index(name))

    def _column(self, index: int) -> list[Any]:
        found = self._rows.column(index)
        # Lists and structs, which no key or value has, but the rows of Parquet files.
        return self.to_pyarrow().column(index).to_pylist() if found is None else found

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        names = self.column_names
        columns = [self._column(index) for index in range(len(names))]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.to_pylist())

    def __repr__(self) -> str:
        return f"<ogive.Rows: {len(self)} rows of {', '.join(self.column_names)}>"

    def _repr_html_(self) -> str:
        names = self.column_names
        shown = Rows(self._rows.head(_ROWS_SHOWN)).to_pylist()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join("<tr>" + "".join(f"<td>{_cell(row[name])}</td>" for name in names) + "</tr>" for row in shown)
        more = f"<p>{len(self)} rows, {_ROWS_SHOWN} of them shown</p>" if len(self) > _ROWS_SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


class RowStream(_Arrow):
    """Rows that are read as they are used, once.

    It has one place, as a file: loops, :meth:`batches` and other libraries go on where the last one of them stopped.

    >>> import ogive, tempfile
    >>> with ogive.open(tempfile.mkdtemp(), key=int, value=str) as db:
    ...     db[1], db[2] = "one", "two"
    ...     for row in db.scan():
    ...         print(row)
    {'key': 1, 'value': 'one'}
    {'key': 2, 'value': 'two'}
    """

    def __init__(self, reader: _internal.RowReader) -> None:
        self._reader = reader
        self._lock = threading.Lock()
        #: The batch whose rows are given one by one, those rows, and the number that were given.
        self._batch: Rows | None = None
        self._rows: Iterator[dict[str, Any]] = iter(())
        self._given = 0

    def _raise_failure(self) -> None:
        self._reader._raise_failure()

    def _put_back(self) -> None:
        """Puts the rows back that a loop has left of its batch."""
        batch, given = self._batch, self._given
        self._batch, self._rows, self._given = None, iter(()), 0
        if batch is not None and given < len(batch):
            self._reader._put_back(batch._rows.tail(given))

    def _capsule(self, requested_schema: object | None) -> object:
        with self._lock:
            self._put_back()
            return self._reader.__arrow_c_stream__(requested_schema)

    def _texts_of_long_integers(self) -> tuple[list[tuple[str, str]], Iterator[Rows]]:
        return self._reader.long_integers, self._texts()

    def _texts(self) -> Iterator[Rows]:
        # Of no rows first, which have columns, too.
        yield Rows(self._reader.no_rows().with_text())
        for rows in self.batches():
            yield Rows(rows._rows.with_text())

    def __arrow_c_schema__(self) -> object:
        return self._reader.__arrow_c_schema__()

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        return self._reader.column_names

    def batches(self) -> Iterator[Rows]:
        """The rows that are left, some thousand at a time."""
        while True:
            with self._lock:
                self._put_back()
                batch = next(self._reader, None)
            if batch is None:
                return
            yield Rows(batch)

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows that are left as dictionaries."""
        return list(self)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self

    def __next__(self) -> dict[str, Any]:
        with self._lock:
            while True:
                row = next(self._rows, None)
                if row is not None:
                    self._given += 1
                    return row
                self._batch, self._rows, self._given = None, iter(()), 0
                self._batch = Rows(next(self._reader))
                self._rows = iter(self._batch)

    def __repr__(self) -> str:
        state = "used" if self._reader.is_taken else ", ".join(self.column_names)
        return f"<ogive.RowStream: {state}>"
