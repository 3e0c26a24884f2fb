"""Tables: :class:`Table`, :func:`build`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import _internal
from ._async import Awaitable
from ._errors import InvalidArgument, WrongType
from ._explain import Explanation
from ._ordered import Closing, K, Ordered, OrderedMapping, V, arrow_of, has_arrow
from ._paths import PathLike, absolute, identity, name_text, names_text, path_text
from ._progress import Progress
from ._sizes import size_bytes

if TYPE_CHECKING:
    from typing_extensions import Self


#: How the names of Parquet files end.
PARQUET_ENDINGS = (".parquet", ".pq")


class Table(Awaitable, _internal.Table, Ordered[K, V], Closing):
    """Sorted records that do not change, in one file, with an index that is tuned to them and to their storage.

    A look-up is one read of the file for each layer of the index below the root, which is in memory, and one of the
    data. ``memory`` is the upper limit of all that the table keeps and works with, caches included, in bytes or as
    ``"64MiB"``. See :func:`build`. One in which no key is there twice is a mapping, of the class :class:`UniqueTable`.

    >>> import ogive, tempfile
    >>> squares = ogive.build(((i, i * i) for i in range(1000)), to=tempfile.mkdtemp() + "/squares.ogive")
    >>> squares[12], squares.get(1000), len(squares), squares.rank(500), squares.count(10, 20)
    (144, None, 1000, 500, 10)
    """

    _memory: int | None
    _profile: str | None

    def __new__(cls, path: PathLike, *, memory: int | str | None = None, profile: PathLike | None = None) -> Self:
        limit = size_bytes(memory)
        name = None if profile is None else path_text(profile)
        self = super().__new__(cls, absolute(path_text(path)), limit, name)
        self._memory = limit
        self._profile = name
        if cls is Table and self._is_distinct:
            object.__setattr__(self, "__class__", UniqueTable)
        return self

    def explain(self, key: Any) -> Explanation:
        """The reads of a look-up: of which bytes of the file, for what, and how long they take on which storage."""
        return Explanation(json.loads(self._explain(key)))

    def report(self) -> dict[str, Any]:
        """What the table is made of: sizes, layers of the index, modelled times."""
        found: dict[str, Any] = json.loads(self._report())
        return found

    def page(self, to: PathLike | None = None, *, keys: Any = (), progress: bool | None = None) -> str:
        """A page of HTML that shows the table: the key curve under the layers of its index, what the file is made of,
        and an explorer that follows the look-up of any key; written to a file, if ``to`` is given.

        It is the page of the command ``ogive report``, and loads nothing. Of an index that does not fit a page, it has
        the parts around ``keys``.

        >>> import ogive, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> squares = ogive.build(((i * i, i) for i in range(1000)), to=folder + "/squares.ogive")
        >>> squares.page(folder + "/squares.html", keys=[144])[:15]
        '<!doctype html>'
        """
        with Progress.start(f"reading the index of {self.path}", progress) as shown:
            page = self._page(keys, shown)
        if to is not None:
            with open(path_text(to), "w", encoding="utf-8") as file:
                file.write(page)
        return page

    def _repr_svg_(self) -> str:
        return self._layers_svg()

    def __reduce__(self) -> tuple[Any, tuple[str, int | None, str | None]]:
        return _reopened, (absolute(self.path), self._memory, self._profile)

    def __repr__(self) -> str:
        return f"<ogive.Table {self.path!r}>"


class UniqueTable(Table[K, V], OrderedMapping[K, V]):
    """A table in which no key is there twice."""


def _reopened(path: str, memory: int | None, profile: str | None) -> Table[Any, Any]:
    return Table(path, memory=memory, profile=profile)


def build(
    data: Any,
    *,
    to: PathLike,
    key: Any = None,
    value: Any = None,
    columns: list[str] | None = None,
    profile: PathLike | None = None,
    design: str | None = None,
    block_size: int | str | None = None,
    filter_bits: int | None = None,
    memory: int | str | None = None,
    replace: bool = True,
    nanoseconds: list[str] | None = None,
    ignore_table_log: bool = False,
    progress: bool | None = None,
) -> Table[Any, Any]:
    """Builds a table, and opens it. The records need not be sorted.

    ``data`` is one of these:

    * a frame of pandas or polars, a table of pyarrow, or whatever else has Arrow data: ``key`` is the column of the key,
      or a list of them, and the others, or ``columns``, are the fields of the values;
    * the path of a CSV or Parquet file: the same;
    * an array of NumPy, which are the keys, or a mapping of names to arrays or lists: the same;
    * a mapping of keys to values, or an iterable of pairs: ``key`` and ``value`` are types, as in
      :meth:`ogive.Db.keyspace`; without them, the first pair decides.

    The index is tuned to the storage ``profile``: ``"nvme"``, ``"ssd"``, ``"hdd"``, ``"nfs"``, ``"s3"``, or a file of
    :func:`ogive.profile`; to that of ``to``, if it is a URL. ``memory`` is the upper limit of what the
    sort works with. A Parquet file of a table of Delta Lake or Iceberg is refused if the log of the table says that rows
    were deleted or columns renamed; with ``ignore_table_log`` that is a warning. ``nanoseconds`` names columns of such a
    file of the type INT96 that are read in nanoseconds; others are in microseconds. An existing table is replaced when the new one is complete. Ctrl-C stops the
    work and leaves nothing.

    >>> import ogive, tempfile
    >>> table = ogive.build({"fig": 3, "apple": 1}, to=tempfile.mkdtemp() + "/fruit.ogive")
    >>> list(table.range())
    [('apple', 1), ('fig', 3)]
    """
    target_path = path_text(to)
    target: _internal._Target = {
        "path": target_path,
        "profile": None if profile is None else path_text(profile),
        "design": name_text(design, "a design"),
        "block_bytes": size_bytes(block_size),
        "filter_bits": filter_bits,
        "memory": size_bytes(memory),
        "replace": replace,
    }
    with Progress.start(f"building {target_path}", progress) as shown:
        _build(data, key, value, names_text(columns), target, parquet_reading(nanoseconds, ignore_table_log), shown)
    return Table(target_path, profile=profile)


def _build(
    data: Any,
    key: Any,
    value: Any,
    columns: list[str] | None,
    target: _internal._Target,
    reading: _internal._ParquetReading,
    shown: Any,
) -> None:
    if value is not None and _is_of_columns(data, key):
        raise InvalidArgument("value= is for pairs of keys and values; of data with columns, the columns have their types")
    is_parquet = isinstance(data, (str, os.PathLike)) and path_text(data).endswith(PARQUET_ENDINGS)
    if reading["nanoseconds"] and not is_parquet:
        raise InvalidArgument("nanoseconds= is for Parquet files; of other data, the columns have their units")
    if isinstance(data, (str, os.PathLike)):
        return _build_file(path_text(data), _names(key), columns, target, reading, shown)
    if _is_numpy(data):
        name = key if isinstance(key, str) else "key"
        if data.dtype.kind in "OSTU":
            return _internal.build_pairs(data.tolist(), None, None, target, False, shown)
        stream = _internal.Columns([(name, data)])
        return _internal.build_stream(stream, [name], columns, target, len(data), shown)
    if isinstance(data, Mapping) and _has_columns(data, key):
        columns_of = [(name_text(str(name), "the name of a column"), _listed(column)) for name, column in data.items()]
        stream = _internal.Columns(columns_of)
        rows = len(next(iter(data.values())))
        return _internal.build_stream(stream, _names(key), columns, target, rows, shown)
    if has_arrow(data):
        rows = len(data) if hasattr(data, "__len__") else 0
        return _internal.build_stream(arrow_of(data), _names(key), columns, target, rows, shown)
    if columns is not None:
        raise InvalidArgument("columns= is for data with columns; these are keys and values")
    if hasattr(data, "collect") and hasattr(data, "lazy"):
        raise InvalidArgument("a lazy frame has no rows yet; collect it first: build(frame.collect(), ...)")
    if not isinstance(data, Iterable):
        raise WrongType(
            f"data of type {type(data).__name__} is not taken; give a frame, a path, an array, a mapping, or pairs of keys "
            f"and values"
        )
    items = getattr(data, "items", None)
    return _internal.build_pairs(data if items is None else items(), key, value, target, True, shown)


def parquet_reading(nanoseconds: list[str] | None, ignore_table_log: bool) -> _internal._ParquetReading:
    """How a Parquet file is read."""
    return {"nanoseconds": names_text(nanoseconds or []) or [], "ignore_table_log": ignore_table_log}


def _build_file(
    path: str,
    key: list[str],
    columns: list[str] | None,
    target: _internal._Target,
    reading: _internal._ParquetReading,
    shown: Any,
) -> None:
    if "://" in path:
        raise InvalidArgument("build from a local file, or from Arrow data: read the URL with pyarrow or polars first")
    if identity(path) == identity(target["path"]):
        raise InvalidArgument(f"{path} cannot be both the input and the table")
    if path.endswith(PARQUET_ENDINGS):
        return _internal.build_parquet(path, key, columns, target, reading, shown)
    if path.endswith((".csv", ".csv.txt")):
        return _internal.build_csv(path, key, columns, target, shown)
    raise InvalidArgument(f"{path} ends neither in .parquet nor in .csv; for other files, use the command `ogive build`")


def _names(key: Any) -> list[str]:
    if isinstance(key, str):
        return names_text([key]) or []
    if isinstance(key, (list, tuple)) and key and all(isinstance(name, str) for name in key):
        return names_text(list(key)) or []
    raise InvalidArgument("say which column is the key, or which: key='user_id', key=['country', 'user_id']")


def _is_of_columns(data: Any, key: Any) -> bool:
    is_file = isinstance(data, (str, os.PathLike))
    return is_file or _is_numpy(data) or has_arrow(data) or isinstance(data, Mapping) and _has_columns(data, key)


def _has_columns(data: Mapping[Any, Any], key: Any) -> bool:
    """Whether a mapping is one of names to columns: to arrays, or, if one of its names is the key, to lists."""
    if not data or all(_is_numpy(column) for column in data.values()):
        return bool(data)
    names = [key] if isinstance(key, str) else key
    is_named = isinstance(names, (list, tuple)) and names and all(isinstance(it, str) and it in data for it in names)
    return bool(is_named) and all(_is_column(column) for column in data.values())


def _is_column(data: Any) -> bool:
    return has_arrow(data) or isinstance(data, (list, range)) or _is_numpy(data)


def _listed(column: Any) -> Any:
    """An array of NumPy of objects or text as a list."""
    return column.tolist() if _is_numpy(column) and column.dtype.kind in "OSTU" else column


def _is_numpy(data: Any) -> bool:
    # Scalars have a type, too.
    return type(data).__module__.partition(".")[0] == "numpy" and hasattr(data, "dtype") and data.ndim > 0
