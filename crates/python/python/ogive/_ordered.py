"""What ordered mappings have in common: stores, snapshots, tables, indexes."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from . import _internal
from ._errors import WrongType
from ._rows import Rows, RowStream

if TYPE_CHECKING:
    from typing_extensions import Self
    from typing_extensions import TypeVar as DefaultedTypeVar

    from ._internal import RowBatch, RowReader, _KeyRange, _Part

    K = DefaultedTypeVar("K", default=Any)
    V = DefaultedTypeVar("V", default=Any)
else:
    K = TypeVar("K")
    V = TypeVar("V")

_ALL: _KeyRange = (None, None, None)


class _Unset:
    """The default of the ends of a range: without any, a method is about all keys."""

    def __repr__(self) -> str:
        return "None"


_UNSET: Any = _Unset()
MISSING: Any = object()


def pairs_of(records: Any) -> Iterator[tuple[Any, Any]]:
    """The pairs of a mapping, of whatever else has keys, or of an iterable of pairs, as ``dict.update`` takes them."""
    if hasattr(records, "items"):
        records = records.items()
    elif hasattr(records, "keys"):
        return ((key, records[key]) for key in records.keys())
    elif not isinstance(records, Iterable) and not hasattr(records, "__getitem__"):
        raise WrongType(f"{records!r} is neither a mapping nor an iterable of pairs of keys and values")
    return map(_internal.pair_of, records)


def has_arrow(data: Any) -> bool:
    """Whether this has Arrow data."""
    return hasattr(data, "__arrow_c_array__") or hasattr(data, "__arrow_c_stream__")


def is_frame(data: Any) -> bool:
    """Whether this is a frame, a table or a stream of Arrow data, which has columns with names."""
    return has_arrow(data) and any(hasattr(data, name) for name in ("columns", "column_names", "schema"))


def column_names(frame: Any) -> list[str]:
    """The names of the columns of a frame, a table or a stream."""
    # Of Arrow's tables, ``columns`` are the values.
    for attribute in ("column_names", "columns"):
        names = getattr(frame, attribute, None)
        if names is not None:
            return [str(name) for name in names]
    schema = getattr(frame, "schema", None)
    return [] if schema is None else [str(name) for name in schema.names]


def arrow_of(frame: Any) -> Any:
    """A frame as Arrow data that others read and that has the values of its columns, which some of polars and some
    columns of objects of pandas have not: those are taken by the types of records, or, for want of any, of their values.
    """
    library = type(frame).__module__.partition(".")[0]
    if not hasattr(frame, "columns"):
        return frame
    if library == "pandas":
        index, columns = frame.index, [(str(name), frame.iloc[:, at]) for at, name in enumerate(frame.columns)]
        levels = [(at, str(name)) for at, name in enumerate(index.names) if name is not None and name not in frame.columns]
        columns += [(name, index.get_level_values(at)) for at, name in levels]
        kinds = [_kind_of_objects(column) for _, column in columns]
        # Arrow data have no level of an index that is a range, as one of consecutive numbers is.
        if any(kinds) or (levels and type(index).__name__ == "RangeIndex"):
            return _internal.Columns([(name, _taken(column, kind)) for (name, column), kind in zip(columns, kinds)])
    if library == "polars" and any(str(dtype) in ("Int128", "UInt128", "Null", "Object") for dtype in frame.dtypes):
        return _internal.Columns([(name, frame[name]) for name in frame.columns])
    return frame


def _taken(column: Any, kind: str) -> Any:
    """A column of pandas as it is taken: times in nanoseconds as those, other objects as they are, and the rest as Arrow
    data, as in frames without such objects."""
    if kind == "datetime":
        return column.infer_objects()
    if kind or str(column.dtype).startswith(("Sparse[", "period[")):
        return column
    import pyarrow

    return pyarrow.Array.from_pandas(column)


def _kind_of_objects(column: Any) -> str:
    """What the objects of a column of pandas are, if their Arrow data may lose something, such as zones of times."""
    if column.dtype != object:
        return ""
    from pandas.api.types import infer_dtype

    kind = str(infer_dtype(column, skipna=True))
    return "" if kind in ("string", "bytes", "boolean", "empty") else kind


class Closing:
    """What is closed at the end of a ``with`` block."""

    def close(self) -> None:
        """Closes it. Later calls raise :class:`ogive.Closed`."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _all(mapping: Any, reverse: bool, part: _Part) -> Iterator[Any]:
    """An iterator over all of a mapping. The interpreter takes a `TypeError` of `__iter__` for an object without one."""
    try:
        found: Iterator[Any] = mapping._iterate(_ALL, reverse, part)
        return found
    except WrongType as error:
        return _raising(error)


def _raising(error: WrongType) -> Iterator[Any]:
    try:
        raise error
    finally:
        # The error has this frame, which would have the error, and with it the handles of the caller, until a collection.
        del error
    yield


class Keys(KeysView[K]):
    """The keys of an ordered mapping, in order."""

    _mapping: Any

    def __contains__(self, key: object) -> bool:
        native = _internal.equal_key(self._mapping.types[0], key)
        return native is not None and native in self._mapping

    def __iter__(self) -> Iterator[K]:
        return _all(self._mapping, False, "keys")

    def __reversed__(self) -> Iterator[K]:
        return _all(self._mapping, True, "keys")


class Items(ItemsView[K, V]):
    """The records of an ordered mapping, in order: one scan, not a look-up for each."""

    _mapping: Any

    def __iter__(self) -> Iterator[tuple[K, V]]:
        return _all(self._mapping, False, "items")

    def __reversed__(self) -> Iterator[tuple[K, V]]:
        return _all(self._mapping, True, "items")

    def __contains__(self, item: object) -> bool:
        if not isinstance(item, tuple) or len(item) != 2:
            return False
        return any(_is_value(found, item[1]) for found in _all_found(self._mapping, item[0]))


class Values(ValuesView[V]):
    """The values of an ordered mapping, in the order of their keys."""

    _mapping: Any

    def __iter__(self) -> Iterator[V]:
        return _all(self._mapping, False, "values")

    def __reversed__(self) -> Iterator[V]:
        return _all(self._mapping, True, "values")

    def __contains__(self, value: object) -> bool:
        return any(_is_value(found, value) for found in self)


def _is_value(found: Any, value: Any) -> bool:
    return bool(found is value or found == value)


def _found(mapping: Any, key: Any) -> Any:
    """The value of a key that need not be of the mapping's type: keys are equal as those of dictionaries are."""
    if isinstance(mapping, OrderedMapping):
        key = _internal.equal_key(mapping.types[0], key)
        if key is None:
            return MISSING
    return mapping.get(key, MISSING)


def _all_found(mapping: Any, key: Any) -> list[Any]:
    """The values of a key that need not be of the mapping's type: several where a key may be there twice."""
    if isinstance(mapping, OrderedMapping):
        found = _found(mapping, key)
        return [] if found is MISSING else [found]
    try:
        values: list[Any] = mapping.get_all(key)
    except WrongType:
        return []
    return values


class Ordered(Generic[K, V]):
    """Reads of a mapping whose keys are in order. Subclasses say how a range is read."""

    if TYPE_CHECKING:
        # The native part has these.
        def __getitem__(self, key: K, /) -> V: ...
        @property
        def types(self) -> tuple[str, str]: ...

    def _iterate(self, range: _KeyRange, reverse: bool, part: _Part) -> Iterator[Any]:
        raise NotImplementedError

    def _scan(self, range: _KeyRange) -> RowReader:
        raise NotImplementedError

    def _multi_get(self, keys: Any) -> RowBatch:
        raise NotImplementedError

    def range(
        self, start: Any = None, stop: Any = None, *, prefix: Any = None, reverse: bool = False
    ) -> Iterator[tuple[K, V]]:
        """The records whose keys are at least ``start`` and below ``stop``, or begin with ``prefix``, in order.

        Of keys that are tuples, ``start``, ``stop`` and ``prefix`` may be the first components.
        """
        return self._iterate((start, stop, prefix), bool(reverse), "items")

    @overload
    def items(self) -> ItemsView[K, V]: ...
    @overload
    def items(self, start: Any, stop: Any = ..., *, prefix: Any = ..., reverse: bool = ...) -> Iterator[tuple[K, V]]: ...
    @overload
    def items(self, *, stop: Any, reverse: bool = ...) -> Iterator[tuple[K, V]]: ...
    @overload
    def items(self, *, prefix: Any, reverse: bool = ...) -> Iterator[tuple[K, V]]: ...
    @overload
    def items(self, *, reverse: bool) -> Iterator[tuple[K, V]]: ...
    def items(
        self, start: Any = _UNSET, stop: Any = _UNSET, *, prefix: Any = _UNSET, reverse: Any = _UNSET
    ) -> Any:
        """A view of all records; with arguments, an iterator as of :meth:`range`."""
        return self._part(Items, "items", start, stop, prefix, reverse)

    @overload
    def keys(self) -> KeysView[K]: ...
    @overload
    def keys(self, start: Any, stop: Any = ..., *, prefix: Any = ..., reverse: bool = ...) -> Iterator[K]: ...
    @overload
    def keys(self, *, stop: Any, reverse: bool = ...) -> Iterator[K]: ...
    @overload
    def keys(self, *, prefix: Any, reverse: bool = ...) -> Iterator[K]: ...
    @overload
    def keys(self, *, reverse: bool) -> Iterator[K]: ...
    def keys(
        self, start: Any = _UNSET, stop: Any = _UNSET, *, prefix: Any = _UNSET, reverse: Any = _UNSET
    ) -> Any:
        """A view of all keys; with arguments, an iterator over those of a range, in order.

        Values in files of their own are not read.
        """
        return self._part(Keys, "keys", start, stop, prefix, reverse)

    @overload
    def values(self) -> ValuesView[V]: ...
    @overload
    def values(self, start: Any, stop: Any = ..., *, prefix: Any = ..., reverse: bool = ...) -> Iterator[V]: ...
    @overload
    def values(self, *, stop: Any, reverse: bool = ...) -> Iterator[V]: ...
    @overload
    def values(self, *, prefix: Any, reverse: bool = ...) -> Iterator[V]: ...
    @overload
    def values(self, *, reverse: bool) -> Iterator[V]: ...
    def values(
        self, start: Any = _UNSET, stop: Any = _UNSET, *, prefix: Any = _UNSET, reverse: Any = _UNSET
    ) -> Any:
        """A view of all values; with arguments, an iterator over those of a range, in the order of their keys."""
        return self._part(Values, "values", start, stop, prefix, reverse)

    def _part(self, view: Any, part: _Part, start: Any, stop: Any, prefix: Any, reverse: Any) -> Any:
        if all(given is _UNSET for given in (start, stop, prefix, reverse)):
            return view(self)
        start, stop, prefix = (None if end is _UNSET else end for end in (start, stop, prefix))
        return self._iterate((start, stop, prefix), reverse is not _UNSET and bool(reverse), part)

    def __iter__(self) -> Iterator[K]:
        return self._iterate(_ALL, False, "keys")

    def __reversed__(self) -> Iterator[K]:
        return self._iterate(_ALL, True, "keys")

    def __bool__(self) -> bool:
        """Whether there is any key."""
        return next(self._iterate(_ALL, False, "keys"), MISSING) is not MISSING

    def first(self) -> tuple[K, V] | None:
        """The record with the smallest key."""
        return next(self.range(), None)

    def last(self) -> tuple[K, V] | None:
        """The record with the greatest key."""
        return next(self.range(reverse=True), None)

    def multi_get(self, keys: Any) -> Rows:
        """The records of many keys, in the order of the keys; null where a key is absent.

        ``keys`` is a list, an array of NumPy, or Arrow data. Keys that are near each other share reads, and other reads
        run side by side.
        """
        return Rows(self._multi_get(keys))

    def scan(self, start: Any = None, stop: Any = None, *, prefix: Any = None) -> RowStream:
        """The records of a range as Arrow data, which are read as they are used."""
        return RowStream(self._scan((start, stop, prefix)))


class OrderedMapping(Ordered[K, V], Mapping[K, V]):
    """An ordered mapping in which no key is there twice."""

    def __eq__(self, other: object) -> bool:
        """Whether the records are those of another mapping. Both are read side by side, up to the first difference."""
        if self is other:
            return True
        if not isinstance(other, Mapping):
            return NotImplemented
        if isinstance(other, OrderedMapping) and other.types[0] == self.types[0]:
            return _are_same(self._iterate(_ALL, False, "items"), other._iterate(_ALL, False, "items"))
        count = 0
        for key, value in self._iterate(_ALL, False, "items"):
            if not _is_value(_found(other, key), value):
                return False
            count += 1
        return count == sum(1 for _ in islice(other, count + 1))

    #: As of a dictionary: what is equal may not be so for long.
    __hash__ = None  # type: ignore[assignment]


def _are_same(records: Iterator[Any], others: Iterator[Any]) -> bool:
    for key, value in records:
        other = next(others, MISSING)
        if other is MISSING or other[0] != key or not _is_value(other[1], value):
            return False
    return next(others, MISSING) is MISSING
