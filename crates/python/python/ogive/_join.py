"""Joins: :func:`join`, :class:`Join`, :class:`JoinPlan`."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from . import _internal
from ._errors import InvalidArgument
from ._index import Index
from ._ordered import arrow_of, column_names, has_arrow
from ._paths import PathLike, identity, name_text, names_text, path_text
from ._progress import Progress
from ._rows import Rows, RowStream, _Arrow
from ._sizes import size_bytes
from ._store import Keyspace, Snapshot
from ._table import PARQUET_ENDINGS, Table, _build, _is_numpy, parquet_reading

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

How = Literal["inner", "left", "right", "full", "outer", "semi", "anti"]
_HOW = ("inner", "left", "right", "full", "semi", "anti")
#: Each input that is opened may use this fraction (1/N) of the memory.
_SIDE_SHARE = 16
#: The engine takes a mebibyte, beside the caches of both inputs.
_MEMORY_MIN = 2 << 20


@dataclass(frozen=True)
class Alternative:
    """A method of a join."""

    #: Its name, as ``method=`` takes it.
    method: str
    #: The input that is looked up in, hashed or indexed: ``"left"``, ``"right"``, or none.
    inner: str | None
    #: Predicted time from start to end, in microseconds; none if it cannot run.
    predicted_us: float | None
    #: Predicted cost in detail: ``total_us`` by which methods are ranked, ``requests``, ``bytes_read``, ``bytes_spilled``.
    cost: dict[str, float] | None
    #: Why it cannot run.
    refused: str | None


class JoinPlan:
    """The method that a join takes, and what it was chosen from; see :attr:`Join.plan`."""

    def __init__(self, facts: dict[str, Any]) -> None:
        #: The method.
        self.method: str = facts["method"]
        #: Whether it was asked for.
        self.is_asked_for: bool = facts["is_asked_for"]
        #: The input that is looked up in, hashed or indexed.
        self.inner: str | None = facts["inner"]
        self._svg: str = facts["svg"]
        self._html: str = facts["html"]
        #: The storage, memory and threads that it is planned for.
        self.profile: str = facts["profile"]
        self.memory_bytes: int = facts["memory_bytes"]
        self.threads: int = facts["threads"]
        #: Predicted time, in microseconds.
        self.predicted_us: float = facts["predicted"]["elapsed_us"]
        #: What is known of the inputs: ``name``, ``rows``, ``bytes``, ``is_sorted``, ``has_index``.
        self.left: dict[str, Any] = facts["left"]
        self.right: dict[str, Any] = facts["right"]
        #: All methods, the cheapest first, those that cannot run last.
        self.alternatives: list[Alternative] = [
            Alternative(
                alternative["method"],
                alternative["inner"],
                None if alternative["predicted"] is None else alternative["predicted"]["elapsed_us"],
                alternative["predicted"],
                alternative["refused"],
            )
            for alternative in facts["alternatives"]
        ]

    def to_pylist(self) -> list[dict[str, Any]]:
        """The methods as dictionaries."""
        return [
            {"method": it.method, "inner": it.inner, "predicted_us": it.predicted_us, "refused": it.refused}
            for it in self.alternatives
        ]

    @staticmethod
    def _side(facts: dict[str, Any]) -> str:
        order = "sorted" if facts["is_sorted"] else "unsorted"
        index = ", with an index" if facts["has_index"] else ""
        return f"{facts['name']}, about {facts['rows']:,.0f} rows in {facts['bytes']:,.0f} B, {order}{index}"

    def __repr__(self) -> str:
        chosen = "requested" if self.is_asked_for else "chosen"
        probing = f", probing {self.inner}" if self.inner else ""
        lines = [
            f"left:  {self._side(self.left)}",
            f"right: {self._side(self.right)}",
            f"{chosen}: {self.method}{probing}, within {self.memory_bytes:,} B on {self.profile}",
        ]
        for it in self.alternatives:
            cost = f"{it.predicted_us:>14,.0f} us" if it.predicted_us is not None else f"not possible: {it.refused}"
            lines.append(f"  {it.method:<16} {cost}")
        return "\n".join(lines)

    def _repr_svg_(self) -> str:
        return self._svg

    def _repr_html_(self) -> str:
        return self._html


class Join(_Arrow):
    """A join that runs when its rows are used, each time anew; see :func:`join`."""

    def __init__(self, left: Any, right: Any, on: list[list[str]], settings: dict[str, Any], shown: bool | None) -> None:
        self._sides = (left, right)
        self._on = on
        self._settings = settings
        self._shown = shown
        self._opened: _internal.Join | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def _native(self) -> _internal.Join:
        if self._opened is None:
            memory = max(self._settings["memory"] // _SIDE_SHARE, 1 << 16)
            if self._on == [[], []]:
                self._on = self._found_on(memory)
            left, right = (self._checked(side, memory) for side in (0, 1))
            self._check_nanoseconds((left, right))
            opened = sum(isinstance(data, (str, os.PathLike)) for data in self._sides)
            rest = self._settings["memory"] - opened * memory
            self._opened = _internal.Join(left, right, {**self._settings, "memory": rest})
        return self._opened

    def _found_on(self, memory: int) -> list[list[str]]:
        """The columns to join by where none are given: the key of an input that has one, and of a file or a frame the
        column of that name, else its first one; of two files or frames the one column that both name."""
        left, right = self._column_names(0), self._column_names(1)
        if left is None and right is None:
            return [[], []]
        if left is None or right is None:
            keys = self._input(0 if left is None else 1, memory).names[0]
            named = (right if left is None else left) or []
            found = keys if keys and set(keys) <= set(named) else named[:1]
            return [keys, found] if left is None else [found, keys]
        common = [name for name in left if name in right]
        if len(common) == 1:
            return [common, common]
        headers = f"the left input has the columns {', '.join(left)}; the right one {', '.join(right)}"
        what = "several have the same name" if common else "none has the same name"
        example = repr(common[0]) if common else f"({left[0]!r}, {right[0]!r})" if left and right else "'id'"
        raise InvalidArgument(f"{headers}: {what}; say which are compared, as in on={example}")

    def _column_names(self, side: int) -> list[str] | None:
        """The names of the columns of a file or a frame; none of an input that has a key."""
        data = self._sides[side]
        if isinstance(data, (Snapshot, Keyspace, Table, Index)) or _is_numpy(data):
            return None
        if not isinstance(data, (str, os.PathLike)):
            return column_names(data) if has_arrow(data) else None
        path = path_text(data)
        if not path.endswith((*PARQUET_ENDINGS, ".csv")) or "://" in path:
            return None
        return _internal.JoinInput.columns_of_file(path, self._settings["reading"])

    @property
    def on(self) -> list[list[str]]:
        """The columns that are compared: those of the left and those of the right input. A key may have no names."""
        self._native()
        return [list(names) for names in self._on]

    def _check_nanoseconds(self, inputs: tuple[_internal.JoinInput, _internal.JoinInput]) -> None:
        """Refuses columns that no Parquet file has."""
        known: set[str] = set()
        for data, on, found in zip(self._sides, self._on, inputs, strict=True):
            if isinstance(data, (str, os.PathLike)) and path_text(data).endswith(PARQUET_ENDINGS):
                known.update(on, *found.names)
        for name in self._settings["reading"]["nanoseconds"]:
            if name not in known:
                raise InvalidArgument(f"no Parquet file that is joined has a column {name!r}; leave it out of nanoseconds=")

    def _checked(self, side: int, memory: int) -> _internal.JoinInput:
        """An input. One with keys of its own is joined by them, whatever ``on`` says of the other."""
        found, on, name = self._input(side, memory), self._on[side], ("left", "right")[side]
        keys, fields = found.names
        if on and (on != keys if keys else not set(on).isdisjoint(fields)):
            other = ("right", "left")[side]
            sides = f"({keys or None!r}, {on!r})" if side == 0 else f"({on!r}, {keys or None!r})"
            raise InvalidArgument(
                f"the {name} input is joined by its key{', ' + ', '.join(keys) if keys else ''}, not by {', '.join(on)}; if "
                f"that is the column of the {other} input, give on={sides}"
            )
        return found

    def _input(self, side: int, memory: int) -> _internal.JoinInput:
        data, on, name = self._sides[side], self._on[side], ("left", "right")[side]
        if isinstance(data, Snapshot):
            return _internal.JoinInput.of_snapshot(data._snapshot, data._keyspace)
        if isinstance(data, Keyspace):
            return _internal.JoinInput.of_keyspace(data)
        if isinstance(data, Table):
            return _internal.JoinInput.of_table(data)
        if isinstance(data, Index):
            return _internal.JoinInput.of_index(data)
        if isinstance(data, (str, os.PathLike)):
            path = path_text(data)
            if not path.endswith((*PARQUET_ENDINGS, ".csv")):
                return _internal.JoinInput.of_path(path, memory, self._settings["profile"])
            if "://" in path:
                raise InvalidArgument(f"{path} is behind a URL: read it with pyarrow or polars, and join the frame")
            return _internal.JoinInput.of_file(path, _required(on, name), self._settings["reading"])
        on = _required(on, name)
        if _is_numpy(data):
            stream = _internal.Columns([(on[0], data)])
            return _internal.JoinInput.of_frame(stream, on, f"the {name} array")
        if not has_arrow(data):
            raise InvalidArgument(
                f"the {name} input is of type {type(data).__name__}; give a table, an index, a store, a path, or a frame"
            )
        if hasattr(data, "__len__"):
            return _internal.JoinInput.of_frame(arrow_of(data), on, f"the {name} frame")
        # A stream can be read only once, and may be longer than memory.
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="ogive-")
        target: _internal._Target = {
            "path": os.path.join(self._folder.name, name),
            "profile": None,
            "design": "coded",
            "block_bytes": None,
            "filter_bits": None,
            "memory": max(memory, 1 << 20),
            "replace": True,
        }
        with Progress.start(f"copying the {name} stream", self._shown) as shown:
            _build(data, on, None, None, target, parquet_reading(None, False), shown)
        return _internal.JoinInput.of_path(target["path"], memory, None)

    @property
    def plan(self) -> JoinPlan:
        """The method that the join takes, with the predicted times of all. The inputs are sampled for it."""
        return JoinPlan(json.loads(self._native().plan()))

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        return self._native().column_names

    def _capsule(self, requested_schema: object | None) -> object:
        return self._native().rows().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._native().rows().__arrow_c_schema__()

    def stream(self) -> RowStream:
        """The rows as a stream, which are joined as they are used."""
        return RowStream(self._native().rows())

    def batches(self) -> Iterator[Rows]:
        """The rows, some thousand at a time."""
        return self.stream().batches()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.stream())

    def collect(self) -> Rows:
        """All rows, in memory, which the limit of the join does not count. Ctrl-C stops the join."""
        with Progress.start("joining", self._shown) as shown:
            return Rows(self._native().collect(shown))

    def to_pylist(self) -> list[dict[str, Any]]:
        """All rows as dictionaries."""
        return self.collect().to_pylist()

    def to_pyarrow(self) -> pyarrow.Table:
        """All rows as a :class:`pyarrow.Table`."""
        return self.collect().to_pyarrow()

    def to_polars(self) -> polars.DataFrame:
        """All rows as a :class:`polars.DataFrame`."""
        return self.collect().to_polars()

    def to_pandas(self) -> pandas.DataFrame:
        """All rows as a :class:`pandas.DataFrame`."""
        return self.collect().to_pandas()

    def write(self, to: PathLike, *, replace: bool = True) -> Table:
        """Writes the rows to a table, by their keys, and opens it. Ctrl-C stops the join and leaves nothing."""
        target = path_text(to)
        for side in self._sides:
            source = side if isinstance(side, (str, os.PathLike)) else getattr(side, "path", None)
            if isinstance(source, (str, os.PathLike)) and identity(path_text(source)) == identity(target):
                raise InvalidArgument(f"{target} cannot be both an input and the output")
        with Progress.start(f"joining into {target}", self._shown) as shown:
            self._native().write(target, replace, shown)
        return Table(target)

    def __repr__(self) -> str:
        names = [side if isinstance(side, (str, os.PathLike)) else type(side).__name__ for side in self._sides]
        return f"<ogive.Join {self._settings['how']}: {names[0]} and {names[1]}>"


def _required(on: list[str], name: str) -> list[str]:
    if not on:
        raise InvalidArgument(f"say which column of the {name} input is the key, or which: on='id'")
    return on


def _columns(on: str | list[str] | None) -> list[str]:
    return names_text([] if on is None else [on] if isinstance(on, str) else list(on)) or []


def join(
    left: Any,
    right: Any,
    on: str | list[str] | tuple[str | list[str] | None, str | list[str] | None] | None = None,
    how: How = "inner",
    *,
    memory: int | str = "256MiB",
    method: str = "auto",
    any_order: bool = False,
    threads: int = 1,
    profile: PathLike | None = None,
    nanoseconds: list[str] | None = None,
    ignore_table_log: bool = False,
    progress: bool | None = None,
) -> Join:
    """Joins two inputs by their keys; what does not fit ``memory`` is spilled to temporary files.

    An input is a table, an index or a store (or a keyspace or snapshot), open or by its path, which is joined by its
    key; or a frame, a Parquet or a CSV file, which is joined by the column ``on``, or the columns of that list. If the
    names differ, ``on`` is a tuple of those on the left and those on the right. Without ``on``, a frame or a file is
    joined by the column that has the name of the other input's key, else by its first one; two of them by the one column
    that both name. ``how`` is ``"inner"``, ``"left"``,
    ``"right"``, ``"full"`` (or ``"outer"``), ``"semi"`` or ``"anti"``. ``method`` is chosen by predicted cost. Rows come in the order of
    the keys, unless ``any_order`` is set. ``memory`` is the upper limit of all that the join keeps and works with, the
    inputs that it opens included, in bytes or as ``"1GiB"``. A Parquet file of a table of Delta Lake or Iceberg is refused as in
    :func:`ogive.build`, unless ``ignore_table_log`` is set; ``nanoseconds`` names columns of the type INT96 as there.

    The columns are those of the key, the fields of the left and those of the right input; of two with one name, that of
    the right one gets ``right_`` in front.

    As in SQL, a null in a key matches nothing, in a frame and in a file: where rows without partner are kept, such a row
    is kept, too, with its nulls. Keys of different types of numbers match where they are equal, exactly, and those of the
    result are of the left type; a full join has a type that holds the keys of both, or is refused.

    >>> import ogive, pyarrow
    >>> colours = pyarrow.table({"id": [1, 2, 3], "colour": ["red", "green", "blue"]})
    >>> prices = pyarrow.table({"id": [2, 3, 4], "price": [20, 30, 40]})
    >>> ogive.join(colours, prices, on="id", how="left").to_pylist()  # doctest: +NORMALIZE_WHITESPACE
    [{'id': 1, 'colour': 'red', 'price': None}, {'id': 2, 'colour': 'green', 'price': 20},
     {'id': 3, 'colour': 'blue', 'price': 30}]
    >>> ogive.join(colours, prices, on="id").plan.method in ("hash", "merge", "partition")
    True
    """
    how = "full" if how == "outer" else how
    if how not in _HOW:
        raise InvalidArgument(f"{how!r} is not a kind of join; give one of {', '.join(_HOW)}")
    sides = [on[0], on[1]] if isinstance(on, tuple) else [on, on]
    limit = size_bytes(memory) or 0
    if limit < _MEMORY_MIN:
        raise InvalidArgument(f"memory={memory!r} is too little for a join; give at least {_MEMORY_MIN} bytes")
    settings = {
        "how": how,
        "method": name_text(method, "a method"),
        "memory": limit,
        "threads": threads,
        "any_order": any_order,
        "profile": None if profile is None else path_text(profile),
        "reading": parquet_reading(nanoseconds, ignore_table_log),
    }
    return Join(left, right, [_columns(side) for side in sides], settings, progress)
