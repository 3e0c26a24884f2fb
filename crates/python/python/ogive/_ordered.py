"""What ordered mappings have in common: stores, snapshots, tables, indexes."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._rows import Rows, RowStream

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._internal import RowBatch, RowReader, _KeyRange, _Part


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


class Ordered:
    """Reads of a mapping whose keys are in order. Subclasses say how a range is read."""

    def _iterate(self, range: _KeyRange, reverse: bool, part: _Part) -> Iterator[Any]:
        raise NotImplementedError

    def _scan(self, range: _KeyRange) -> RowReader:
        raise NotImplementedError

    def _multi_get(self, keys: Any) -> RowBatch:
        raise NotImplementedError

    def range(
        self, start: Any = None, stop: Any = None, *, prefix: Any = None, reverse: bool = False
    ) -> Iterator[tuple[Any, Any]]:
        """The records whose keys are at least ``start`` and below ``stop``, or begin with ``prefix``, in order.

        Of keys that are tuples, ``start``, ``stop`` and ``prefix`` may be the first components.
        """
        return self._iterate((start, stop, prefix), reverse, "items")

    def items(
        self, start: Any = None, stop: Any = None, *, prefix: Any = None, reverse: bool = False
    ) -> Iterator[tuple[Any, Any]]:
        """As :meth:`range`."""
        return self._iterate((start, stop, prefix), reverse, "items")

    def keys(
        self, start: Any = None, stop: Any = None, *, prefix: Any = None, reverse: bool = False
    ) -> Iterator[Any]:
        """The keys of a range, in order. Values in files of their own are not read."""
        return self._iterate((start, stop, prefix), reverse, "keys")

    def values(
        self, start: Any = None, stop: Any = None, *, prefix: Any = None, reverse: bool = False
    ) -> Iterator[Any]:
        """The values of a range, in the order of their keys."""
        return self._iterate((start, stop, prefix), reverse, "values")

    def __iter__(self) -> Iterator[Any]:
        return self.keys()

    def __reversed__(self) -> Iterator[Any]:
        return self.keys(reverse=True)

    def __bool__(self) -> bool:
        return True

    def first(self) -> tuple[Any, Any] | None:
        """The record with the smallest key."""
        return next(self.range(), None)

    def last(self) -> tuple[Any, Any] | None:
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
