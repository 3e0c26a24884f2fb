"""Indexes that are updated in place: :class:`Index`."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import weakref
from collections.abc import MutableMapping
from types import TracebackType
from typing import Any, Literal, overload

from . import _internal
from ._async import Awaitable, AwaitableWrites
from ._errors import Closed, InvalidArgument, OgiveError
from ._ordered import MISSING, Closing, K, Ordered, OrderedMapping, V, arrow_of, is_frame, pairs_of
from ._paths import PathLike, absolute, identity, name_text, path_text
from ._progress import Progress
from ._sizes import size_bytes

_SORT_MEMORY = 256 << 20

#: The indexes that are open in this process, by their files and whether they are read-only.
_open_indexes: weakref.WeakValueDictionary[tuple[str, bool], Index[Any, Any]] = weakref.WeakValueDictionary()
_open_lock = threading.RLock()


def _after_fork() -> None:
    global _open_lock
    _open_lock = threading.RLock()
    _open_indexes.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Index(AwaitableWrites, _internal.Index, Ordered[K, V], Closing):
    """An index in one file, with keys and values of a fixed size, which is updated in place.

    It is used as a dictionary whose keys are in order. Each write is a transaction of its own, durable when the call
    returns, unless ``durability`` says otherwise; :meth:`transaction` makes one of many. One process at a time has it
    open for writing, and any number read-only.

    ``key`` and ``value`` are types as in :meth:`ogive.Db.keyspace`, ``"u64"`` unless stated; an index that is there
    has its own. ``value_size`` is the length of the longest value, for types that vary in length; of ``bytes``, that
    of every value, and 0 unless stated. ``kind`` is the structure: ``"ogive"`` or ``"btree"``. What is stated and is
    not what an index that is there was created with is an error. ``memory`` is the upper limit of all that the index
    keeps and works with, caches included, in bytes or as ``"64MiB"``.

    If its file was removed, renamed or replaced, what is written raises :class:`ogive.Gone`, and opening the path again
    closes the old index and opens what is there now.

    One without ``duplicates`` is a mapping: of the class :class:`MutableIndex`, or :class:`UniqueIndex` if it was opened
    read-only.

    >>> import ogive, tempfile
    >>> ix = ogive.Index(tempfile.mkdtemp() + "/ids.idx", key="u64", value="u64")
    >>> ix[7] = 70
    >>> with ix.transaction() as t:
    ...     t[8] = 80
    ...     del t[7]
    >>> list(ix.range()), 7 in ix, ix.get(9, 0), len(ix)
    ([(8, 80)], False, 0, 1)
    >>> ix.close()
    """

    _options: dict[str, Any]

    @overload
    def __new__(
        cls,
        path: PathLike,
        key: type[K],
        value: type[V],
        kind: str | None = None,
        *,
        create: bool = True,
        read_only: Literal[False] = False,
        value_size: int | str | None = None,
        duplicates: Literal[False] = False,
        memory: int | str | None = None,
        durability: Literal["synced", "grouped", "buffered"] = "synced",
        page_size: int | str | None = None,
    ) -> MutableIndex[K, V]: ...
    @overload
    def __new__(
        cls,
        path: PathLike,
        key: Any = None,
        value: Any = None,
        kind: str | None = None,
        *,
        create: bool = True,
        read_only: Literal[False] = False,
        value_size: int | str | None = None,
        duplicates: Literal[False] = False,
        memory: int | str | None = None,
        durability: Literal["synced", "grouped", "buffered"] = "synced",
        page_size: int | str | None = None,
    ) -> MutableIndex[Any, Any]: ...
    @overload
    def __new__(
        cls,
        path: PathLike,
        key: Any = None,
        value: Any = None,
        kind: str | None = None,
        *,
        create: bool = True,
        read_only: bool = False,
        value_size: int | str | None = None,
        duplicates: bool = False,
        memory: int | str | None = None,
        durability: Literal["synced", "grouped", "buffered"] = "synced",
        page_size: int | str | None = None,
    ) -> Index[Any, Any]: ...
    def __new__(
        cls,
        path: PathLike,
        key: Any = None,
        value: Any = None,
        kind: str | None = None,
        *,
        create: bool = True,
        read_only: bool = False,
        value_size: int | str | None = None,
        duplicates: bool = False,
        memory: int | str | None = None,
        durability: Literal["synced", "grouped", "buffered"] = "synced",
        page_size: int | str | None = None,
    ) -> Any:
        text = absolute(path_text(path))
        options: dict[str, Any] = {
            "kind": name_text(kind, "a kind of index"),
            "value_size": size_bytes(value_size),
            "duplicates": duplicates,
            "create": create,
            "read_only": read_only,
            "memory": size_bytes(memory),
            "durability": name_text(durability, "a durability"),
            "page_size": size_bytes(page_size),
        }
        with _open_lock:
            known = _open_indexes.get((identity(text), read_only))
            if known is not None and not known._is_in_place():
                # Its lock may be in place, although its file is not.
                with contextlib.suppress(OgiveError):
                    known._close()
                # An opening that fails now must not leave it to be found again.
                del _open_indexes[identity(text), read_only]
                known = None
            if known is not None:
                used = ("memory", "durability")
                different = sorted(name for name in used if options[name] != known._options[name])
                if different:
                    raise InvalidArgument(
                        f"{text} is open in this process with other options ({', '.join(different)}); close it first, or "
                        f"open it with the same ones"
                    )
                known._check(key, value, options)
                return known
            self = super().__new__(cls, text, key, value, options)
            self._options = options
            if cls is Index and not self.duplicates:
                object.__setattr__(self, "__class__", UniqueIndex if read_only else MutableIndex)
            _open_indexes[identity(text), read_only] = self
            return self

    @property
    def read_only(self) -> bool:
        """Whether it was opened for reading alone."""
        return bool(self._options["read_only"])

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The value of a key, which is inserted if the key is absent."""
        with self.transaction() as transaction:
            found = transaction.get(key, MISSING)
            if found is not MISSING:
                return found
            transaction[key] = default
            return default

    def pop(self, key: Any, default: Any = MISSING) -> Any:
        """Removes a key and returns its value; of several entries, the first one."""
        with self.transaction() as transaction:
            if key in transaction:
                return transaction._pop(key, last=False)
        if default is MISSING:
            raise KeyError(key)
        return default

    def popitem(self, *, last: bool = True) -> tuple[K, V]:
        """Removes the last entry, or the first one, and returns it.

        ``KeyError`` if there is none.
        """
        with self.transaction() as transaction:
            # No other write is under way.
            found = self.last() if last else self.first()
            if found is None:
                raise KeyError(f"the index {self.path} is empty")
            return found[0], transaction._pop(found[0], last=last)

    def discard(self, key: Any) -> None:
        """Removes all entries of a key, if there are any."""
        with self.transaction() as transaction:
            transaction.discard(key)

    def update(self, entries: Any = (), /, **named: Any) -> None:
        """Inserts the entries of a mapping, pairs of keys and values, or the rows of a frame: all or nothing."""
        if is_frame(entries) and not named:
            self.load(entries)
            return
        with self.transaction() as transaction:
            for records in (entries, named):
                for key, value in pairs_of(records):
                    transaction[key] = value

    def clear(self) -> None:
        """Removes all entries, in one transaction."""
        with self.transaction() as transaction:
            transaction.clear()

    def load(
        self,
        keys: Any,
        values: Any = None,
        *,
        memory: int | str | None = None,
        progress: bool | None = None,
    ) -> int:
        """Inserts many entries, in any order, as one transaction; returns by how many the index grew.

        ``keys`` and ``values`` are lists, arrays of NumPy, or Arrow arrays; or ``keys`` is a mapping, pairs of keys and
        values, or a frame whose columns have the names that :meth:`scan` gives them. Values with fields may be a frame,
        too. Sorted keys of an empty index are written leaf by leaf; others are sorted first, within ``memory``.
        Ctrl-C stops the work and leaves the index as it was.

        >>> import ogive, tempfile
        >>> ix = ogive.Index(tempfile.mkdtemp() + "/ids.idx")
        >>> ix.load(range(1000), [i * i for i in range(1000)]), ix[12]
        (1000, 144)
        >>> ix.load({2000: 1, 1500: 2}), ix.last()
        (2, (2000, 1))
        >>> ix.close()
        """
        sort_memory = size_bytes(memory) or _SORT_MEMORY
        is_of_rows = values is None and is_frame(keys)
        if values is None and not is_of_rows:
            pairs = list(pairs_of(keys))
            keys, values = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        with Progress.start(f"loading {self.path}", progress) as shown:
            if is_of_rows:
                return self._load_frame(arrow_of(keys), sort_memory, shown)
            return self._load(keys, arrow_of(values), sort_memory, shown)

    def transaction(self) -> IndexTransaction:
        """Changes that happen together, or not at all.

        Other threads that write wait until it ends. As a context manager it commits at the end, and drops the changes
        after an exception.
        """
        return IndexTransaction(self._begin())

    def snapshot(self) -> IndexSnapshot[K, V]:
        """The index as it is now, whatever is written later."""
        return IndexSnapshot(self) if self.duplicates else UniqueIndexSnapshot(self)

    def stats(self) -> dict[str, Any]:
        """Sizes and counts. All nodes are read."""
        found: dict[str, Any] = json.loads(self._stats())
        return found

    def explain(self, key: Any) -> list[dict[str, Any]]:
        """The nodes on the path to a key: what they are, and which way is taken there."""
        found: list[dict[str, Any]] = json.loads(self._explain(key))
        return found

    def close(self) -> None:
        """Writes everything to the file and closes it. Later calls raise :class:`ogive.Closed`."""
        with _open_lock:
            if _open_indexes.get((identity(self.path), self.read_only)) is self:
                del _open_indexes[identity(self.path), self.read_only]
            self._close()

    def __reduce__(self) -> tuple[Any, tuple[str, int | None]]:
        if not self.read_only:
            raise TypeError(f"{self.path} is open for writing, which another process cannot do as well; pickle a reader")
        return _reopened, (absolute(self.path), self._options["memory"])

    def __repr__(self) -> str:
        try:
            key, value = self.types
        except Closed:
            return f"<ogive.Index {self.path!r}: closed>"
        return f"<ogive.Index {self.path!r}: {key} to {value}>"


class UniqueIndex(Index[K, V], OrderedMapping[K, V]):
    """An index in which no key is there twice."""


class MutableIndex(UniqueIndex[K, V], MutableMapping[K, V]):
    """An index in which no key is there twice, and which is open for writing."""


def _reopened(path: str, memory: int | None) -> Index[Any, Any]:
    return Index(path, read_only=True, memory=memory)


class IndexTransaction:
    """Changes of an index that happen together; see :meth:`Index.transaction`. It reads its own changes."""

    def __init__(self, transaction: _internal.IndexTransaction) -> None:
        self._transaction = transaction

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key; ``default`` if it is absent."""
        return self._transaction.get(key, default)

    def __getitem__(self, key: Any) -> Any:
        found = self._transaction.get(key, MISSING)
        if found is MISSING:
            raise KeyError(key)
        return found

    def __contains__(self, key: Any) -> bool:
        return key in self._transaction

    def __setitem__(self, key: Any, value: Any) -> None:
        self._transaction[key] = value

    def __delitem__(self, key: Any) -> None:
        del self._transaction[key]

    def _pop(self, key: Any, *, last: bool) -> Any:
        """Removes the last entry of a key that is there, or its first one, and returns the value."""
        return self._transaction._pop(key, bool(last))

    #: Without it, Python would ask for the keys 0, 1, 2 and so on.
    __iter__ = None

    def discard(self, key: Any) -> None:
        """Removes all entries of a key, if there are any."""
        self._transaction.discard(key)

    def clear(self) -> None:
        """Removes all entries."""
        self._transaction.clear()

    def __len__(self) -> int:
        """Number of entries, with the changes."""
        return len(self._transaction)

    def commit(self) -> None:
        """Makes the changes visible. The transaction cannot be used again."""
        self._transaction.commit()

    def abort(self) -> None:
        """Drops the changes."""
        self._transaction.abort()

    def __enter__(self) -> IndexTransaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.abort()


class IndexSnapshot(Awaitable, _internal.IndexSnapshot, Ordered[K, V], Closing):
    """An index as of one commit; see :meth:`Index.snapshot`.

    >>> import ogive, tempfile
    >>> with ogive.Index(tempfile.mkdtemp() + "/ids.idx") as ix:
    ...     ix[1] = 10
    ...     with ix.snapshot() as before:
    ...         ix[1] = 11
    ...         before[1], ix[1]
    (10, 11)
    """

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a snapshot of an index lives in its process; pickle an index that is open read-only")


class UniqueIndexSnapshot(IndexSnapshot[K, V], OrderedMapping[K, V]):
    """An index in which no key is there twice, as of one commit."""
