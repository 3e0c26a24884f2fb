"""Stores: :func:`open`, :class:`Db`, :class:`Keyspace`, :class:`Batch`, :class:`Snapshot`. Transactions are beside."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import os
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, MutableMapping
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, overload

from . import _internal
from ._async import Awaitable, AwaitableKeyspace
from ._changes import ChangeBatch, Changes
from ._errors import Closed, InvalidArgument
from ._expiry import expires_ms, milliseconds
from ._lookups import INDEX, lookup
from ._options import OpenOptions, stated
from ._ordered import MISSING, Closing, K, OrderedMapping, V, arrow_of, is_frame, pairs_of
from ._paths import PathLike, absolute, identity, name_text, path_text
from ._sizes import size_bytes
from ._transaction import Isolation, T, Transaction, atransact, transact

if TYPE_CHECKING:
    from typing import Concatenate, ParamSpec, TypeVar

    from typing_extensions import Self, Unpack

    _P = ParamSpec("_P")
    _K = TypeVar("_K")
    _V = TypeVar("_V")

#: The stores that are open in this process, by what they are and whether they are read-only.
_open_stores: weakref.WeakValueDictionary[tuple[str, bool], Db[Any, Any]] = weakref.WeakValueDictionary()
_open_lock = threading.RLock()


def _after_fork() -> None:
    global _open_lock
    _internal.forked()
    _open_lock = threading.RLock()
    _open_stores.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


#: What a name is of, in errors.
_KEYSPACE = "the name of a keyspace"


class Keyspace(AwaitableKeyspace, _internal.Keyspace, OrderedMapping[K, V]):
    """An ordered mapping of typed keys to typed values, which is a part of a store.

    It is used as a dictionary whose keys are in order: ``keyspace[key] = value``, ``key in keyspace``,
    ``del keyspace[key]``, ``for key in keyspace``. Every write is durable when the call returns, unless the store was
    opened with another ``durability``. Those of a store that is open for writing are of the class
    :class:`MutableKeyspace`, too.

    >>> import ogive, tempfile
    >>> db = ogive.open(tempfile.mkdtemp())
    >>> ages = db.keyspace("ages", key=str, value=int)
    >>> ages["Ada"] = 36
    >>> ages["Grace"] = 85
    >>> ages["Ada"], "Alan" in ages, ages.get("Alan")
    (36, False, None)
    >>> list(ages.range("A", "B"))
    [('Ada', 36)]
    >>> ages == {"Ada": 36, "Grace": 85}
    True
    >>> db.close()

    With ``value="json"``, values are whatever JSON can say, and are stored as its text. The store knows text alone:
    whoever opens the keyspace says ``value="json"`` again. ``multi_get`` and ``scan`` give the text.

    >>> with ogive.open(tempfile.mkdtemp()) as db:
    ...     colours = db.keyspace("colours", key=int, value="json")
    ...     colours[1] = {"name": "red", "rgb": [255, 0, 0]}
    ...     colours[1]["rgb"]
    [255, 0, 0]
    """

    _of: Db[Any, Any]

    def __new__(cls, store: Any, name: str, key: Any = None, value: Any = None, *_: Any) -> Self:
        return super().__new__(cls, store, name_text(name, _KEYSPACE), key, value)

    @property
    def db(self) -> Db[Any, Any]:
        """The store."""
        return self._of

    def alter(
        self,
        *,
        add: Mapping[str, Any] | None = None,
        nullable: Iterable[str] = (),
        widen: Mapping[str, Any] | None = None,
    ) -> None:
        """Alters the fields of values, without rewriting records.

        :param add: fields that come behind the others, with their types; they may be ``None``, and are so in the
            records that are there
        :param nullable: names of fields that may be ``None`` from now on
        :param widen: fields with types that hold all their values exactly: wider integers, ``"f64"`` for ``"f32"``,
            decimals with no fewer digits on either side of the point, times in a finer unit; of values without
            fields, the name is ``"value"``
        :raises InvalidArgument: for what would not keep every value with its meaning; the message says what to do

        It is durable when it returns. Handles that stated other types of fields when they were opened raise
        :class:`WrongType` from then on; all others go on with the types of now.

        >>> import ogive, tempfile
        >>> db = ogive.open(tempfile.mkdtemp())
        >>> fruit = db.keyspace("fruit", key=str, value={"name": str, "amount": "u32"})
        >>> fruit["f"] = ("fig", 3)
        >>> fruit.alter(add={"origin": str}, widen={"amount": "u64"})
        >>> fruit = db.keyspace("fruit")
        >>> fruit["l"] = ("lime", 2**40, None)
        >>> fruit["f"], fruit.types
        ({'name': 'fig', 'amount': 3, 'origin': None}, ('text', '{name: text, amount: u64, origin: text?}'))
        >>> db.close()
        """
        self._alter(list((add or {}).items()), list(nullable), list((widen or {}).items()))

    def insert_with(
        self,
        key: Any,
        value: Any,
        *,
        ttl: float | timedelta | None = None,
        expires: float | datetime | None = None,
    ) -> None:
        """Sets the value of a key until a time: from then on it is as if it were removed.

        :param ttl: the time from now on, in seconds or as a :class:`~datetime.timedelta`
        :param expires: the time itself, in seconds since the start of 1970 as of :func:`time.time`, or as a
            :class:`~datetime.datetime` with a time zone; one that has passed is allowed
        :raises InvalidArgument: while the clock is more than a day ahead of the time that has passed since the store was
            written

        >>> import ogive, tempfile
        >>> db = ogive.open(tempfile.mkdtemp())
        >>> sessions = db.keyspace("sessions", key=int, value=str)
        >>> sessions.insert_with(7, "ada", ttl=1800)
        >>> sessions.insert_with(8, "bob", expires=0)
        >>> dict(sessions)
        {7: 'ada'}
        >>> db.close()
        """
        self._insert_with(key, value, expires_ms(ttl, expires))

    def expire_after(self, ttl: float | timedelta | None) -> None:
        """Lets records expire so long after they are written, in seconds or as a :class:`~datetime.timedelta`, from now on;
        with ``None``, none expires that is written without a time of its own. It is recorded, and holds for all who
        write."""
        seconds = ttl.total_seconds() if isinstance(ttl, timedelta) else ttl
        self._expire(None if seconds is None else milliseconds(seconds), None)

    def expire_at_field(self, field: str) -> None:
        """Lets records expire at the time in a field of their rows, a timestamp in UTC, from now on. A row with ``None``
        there does not expire."""
        self._expire(None, field)

    @property
    def options(self) -> dict[str, str | int]:
        """The options that the keyspace has of its own; see :meth:`set_options`."""
        return dict(json.loads(self._own_options))

    def set_options(
        self,
        *,
        compression: str | None | Any = MISSING,
        filter_bits_per_key: int | None | Any = MISSING,
        separation_bytes: int | None | Any = MISSING,
        block_bytes: int | None | Any = MISSING,
    ) -> None:
        """Sets options of the keyspace, which the store records for all programs that write to it.

        They hold for values and tables that are written from now on; ``None`` stands for that of the store, and those
        that are not given stay. Older programs refuse such a store.

        :param compression: of tables, and of values in value files: ``"none"``, ``"lz4"`` or ``"zstd"``
        :param filter_bits_per_key: up to 32; 0 for no filters
        :param separation_bytes: values of at least this many bytes are stored in value files
        :param block_bytes: size of data blocks, a power of two

        >>> import ogive, tempfile
        >>> db = ogive.open(tempfile.mkdtemp())
        >>> photos = db.keyspace("photos", key=str, value=bytes)
        >>> photos.set_options(compression="zstd", block_bytes=16384)
        >>> photos.set_options(block_bytes=None)
        >>> db.keyspace("photos").options
        {'compression': 'zstd'}
        >>> db.close()
        """
        stated: dict[str, Any] = {
            "compression": compression,
            "filter_bits_per_key": filter_bits_per_key,
            "separation_bytes": separation_bytes,
            "block_bytes": block_bytes,
        }
        self._set_own_options([(name, value) for name, value in stated.items() if value is not MISSING])

    def find(
        self,
        index: str,
        *values: Any,
        prefix: bool = False,
        start: Any = None,
        stop: Any = None,
        reverse: bool = False,
    ) -> Iterator[tuple[Any, Any]]:
        """The records that an index leads to, in its order, all as of one time; see :meth:`Db.create_index`.

        ``values`` are the first values of the index, or all of them; with ``prefix``, the last of them is the beginning
        of a text. ``start`` and ``stop`` are bounds instead: a value, or a tuple of several; records with ``start`` are
        included, and those with ``stop`` are not.
        """
        return self._find(*lookup(index, values, prefix, start, stop), bool(reverse))

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The value of a key, which is inserted if the key is absent."""
        while True:
            found = self.get(key, MISSING)
            if found is not MISSING:
                return found
            if self.insert_if_absent(key, default):
                return default

    def pop(self, key: Any, default: Any = MISSING) -> Any:
        """Removes a key and returns its value. Of several threads that do so at the same time, one gets the value."""
        found = self._take(key, MISSING)
        if found is not MISSING:
            return found
        if default is MISSING:
            raise KeyError(key)
        return default

    def popitem(self, *, last: bool = True) -> tuple[K, V]:
        """Removes the record with the greatest key, or with the smallest one, and returns it.

        Of several threads that do so at the same time, each gets another record. ``KeyError`` if there is none.
        """
        found = self._take_end(bool(last))
        if found is None:
            raise KeyError(f"the keyspace {self.name!r} is empty")
        return found

    def update(self, records: Any = (), /, **named: Any) -> None:
        """Inserts the records of a mapping, pairs of keys and values, or the rows of a frame: all or nothing.

        The columns of a frame have the names that :meth:`scan` gives them: ``key`` and ``value``, or those of the fields.
        """
        with Batch(self.db) as batch:
            batch.update(records, self)
            batch.update(named, self)

    def clear(self) -> None:
        """Removes all records, by one write."""
        self.remove_range()

    def __len__(self) -> int:
        """Number of records. They are counted, which takes as long as a scan of the keys."""
        return self.count()

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened_keyspace, (self.db, self.name, *self._stated)

    def __repr__(self) -> str:
        try:
            key, value = self.types
        except Closed:
            return f"<ogive.Keyspace {self.name!r}: closed>"
        return f"<ogive.Keyspace {self.name!r}: {key} to {'json' if self._is_json else value}>"


class MutableKeyspace(Keyspace[K, V], MutableMapping[K, V]):
    """A keyspace of a store that is open for writing."""


class Db(Keyspace[K, V], Closing):
    """A store: a folder, or a prefix of an object store, with any number of keyspaces. See :func:`open`.

    A store is itself the keyspace ``"default"``. It may be used by many threads at once; only one process at a time has
    it open for writing, and any number read-only. One that is open for writing is of the class :class:`MutableDb`, too.
    """

    _store: _internal.Store
    _options: dict[str, Any]

    def __new__(cls, store: _internal.Store, key: Any, value: Any, options: dict[str, Any]) -> Self:
        self = super().__new__(cls, store, "default", key, value)
        self._store = store
        self._options = options
        return self

    @property
    def db(self) -> Db[K, V]:
        """The store itself."""
        return self

    @property
    def path(self) -> str:
        """Where it is."""
        return str(self._store.path)

    @property
    def read_only(self) -> bool:
        """Whether it was opened for reading alone."""
        return self._store.is_read_only

    @property
    def keyspaces(self) -> list[str]:
        """Names of all keyspaces."""
        return self._store.keyspaces()

    @overload
    def keyspace(self, name: str, *, key: type[_K], value: type[_V]) -> Keyspace[_K, _V]: ...
    @overload
    def keyspace(self, name: str, *, key: Any = None, value: Any = None) -> Keyspace[Any, Any]: ...
    def keyspace(self, name: str, *, key: Any = None, value: Any = None) -> Keyspace[Any, Any]:
        """A keyspace, which is created if it is absent; by a reader, it raises :class:`ogive.NoKeyspace` then.

        ``key`` and ``value`` are types: ``int``, ``float``, ``str``, ``bytes``, ``bool``, ``uuid.UUID``,
        ``datetime.datetime``, ``date``, ``time``, tuples of these, or names of the engine, such as ``"u64"`` and
        ``"decimal(10,2)"``. ``value`` may be a dictionary of the types of fields, or ``"json"``. Types are stored. Those that
        are not stated are as they are stored, or else the first record decides them.
        """
        kind: type[Keyspace[Any, Any]] = Keyspace if self.read_only else MutableKeyspace
        found = kind(self._store, name, key, value)
        found._of = self
        return found

    def drop_keyspace(self, name: str) -> bool:
        """Removes a keyspace with all its records; returns whether there was one."""
        return self._store.drop_keyspace(name_text(name, _KEYSPACE))

    def create_index(
        self, name: str, keyspace: Keyspace[Any, Any], by: str, *, unique: bool = False, where_not_null: str | None = None
    ) -> None:
        """Creates an index of a keyspace whose values have fields. The store keeps it: every write, by any program, does.

        :param by: columns and expressions, as ``"country, joined desc"``; ``lower(COLUMN)`` has the letters a to z for A
            to Z, ``prefix(COLUMN, N)`` the first characters, ``date(COLUMN)`` the day of a timestamp
        :param unique: whether records are refused whose values another record has, by :class:`NotUnique`; those with a
            ``None`` among them do not count
        :param where_not_null: a column; records in which it is ``None`` are left out
        :raises NotUnique: if records are not unique
        :raises InvalidArgument: for a column that is not there

        If the process is killed meanwhile, the same call builds it again.

        >>> import ogive, tempfile
        >>> db = ogive.open(tempfile.mkdtemp())
        >>> users = db.keyspace("users", key=int, value={"name": str, "email": [str]})
        >>> users[1] = ("Ann", "Ann@example.com")
        >>> db.create_index("by_email", users, "lower(email)", unique=True, where_not_null="email")
        >>> list(users.find("by_email", "ann@example.com"))
        [(1, {'name': 'Ann', 'email': 'Ann@example.com'})]
        >>> try:
        ...     users[2] = ("Bob", "ANN@example.com")
        ... except ogive.NotUnique as error:
        ...     error.index, error.key, error.other_key
        ('by_email', 2, 1)
        >>> db.indexes
        {'by_email': ('users', 'lower(email) unique where email is not null')}
        >>> db.drop_index("by_email")
        True
        >>> db.close()
        """
        names = (name_text(name, INDEX), keyspace.name)
        column = None if where_not_null is None else name_text(where_not_null, "a column")
        self._store.create_index(names, name_text(by, "what an index is by"), bool(unique), column)

    def drop_index(self, name: str) -> bool:
        """Removes an index; the records stay. Returns whether there was one."""
        return self._store.drop_index(name_text(name, INDEX))

    @property
    def indexes(self) -> dict[str, tuple[str, str]]:
        """The indexes by name: the keyspace of each, and what it is by."""
        return {name: (keyspace, by) for name, keyspace, by in self._store.indexes()}

    def batch(self) -> Batch:
        """Writes that happen together, or not at all.

        >>> import ogive, tempfile
        >>> db = ogive.open(tempfile.mkdtemp())
        >>> with db.batch() as batch:
        ...     batch["apple"] = "red"
        ...     batch["pear"] = "green"
        >>> list(db)
        ['apple', 'pear']
        >>> db.close()
        """
        return Batch(self)

    def begin(self, *, isolation: Isolation = "serializable") -> Transaction[K, V]:
        """Begins a transaction: reads and writes of any keyspaces that happen together, or not at all.

        As a context manager it commits once at the end, and drops the writes after an exception. If others have written
        meanwhile what it has read, the commit raises :class:`ogive.Conflict`, and nothing has changed; :meth:`transact`
        runs again then. With ``isolation="snapshot"`` only the keys that it writes are compared: fewer conflicts, and two
        transactions may each read what the other one writes.

        >>> import ogive, tempfile
        >>> db = ogive.open(tempfile.mkdtemp(), key=str, value=int)
        >>> db["ann"] = 100
        >>> with db.begin() as tx:
        ...     tx["bob"] = tx.get("bob", 0) + 30
        ...     tx["ann"] -= 30
        >>> dict(db)
        {'ann': 70, 'bob': 30}
        >>> tx = db.begin()
        >>> tx["ann"] += 1
        >>> db["ann"] = 0
        >>> try:
        ...     tx.commit()
        ... except ogive.Conflict as conflict:
        ...     conflict.keyspace, conflict.key, db["ann"]
        ('default', 'ann', 0)
        >>> db.close()
        """
        return Transaction(self, isolation)

    def transact(self, work: Callable[[Transaction[K, V]], T], *, isolation: Isolation = "serializable") -> T:
        """Runs a function in a transaction, commits it, and returns what the function returns.

        After a conflict the function runs again in another transaction, at most 64 times or 10 seconds in all, with
        random pauses; so it should do nothing but read and write the store. An exception of the function ends it, and
        nothing is written.

        >>> import ogive, tempfile
        >>> with ogive.open(tempfile.mkdtemp(), key=str, value=int) as db:
        ...     def count(tx):
        ...         tx["visits"] = tx.get("visits", 0) + 1
        ...         return tx["visits"]
        ...     db.transact(count), db.transact(count)
        (1, 2)
        """
        return transact(self, work, isolation)

    async def atransact(
        self, work: Callable[[Transaction[K, V]], Any], *, isolation: Isolation = "serializable"
    ) -> Any:
        """As :meth:`transact`, awaitable. The function may be a coroutine function; others run on a thread."""
        return await atransact(self, work, isolation)

    @overload
    def transactional(
        self, function: Callable[Concatenate[Transaction[K, V], _P], T], /
    ) -> Callable[_P, T]: ...
    @overload
    def transactional(
        self, function: None = None, /, *, isolation: Isolation = ...
    ) -> Callable[[Callable[Concatenate[Transaction[K, V], _P], T]], Callable[_P, T]]: ...
    def transactional(self, function: Any = None, /, *, isolation: Isolation = "serializable") -> Any:
        """A decorator for functions whose first argument is a transaction: a call runs as :meth:`transact` does, and one
        of a coroutine function as :meth:`atransact`.

        >>> import ogive, tempfile
        >>> db = ogive.open(tempfile.mkdtemp(), key=str, value=int)
        >>> @db.transactional
        ... def transfer(tx, giver, taker, amount):
        ...     if tx.get(giver, 0) < amount:
        ...         return False
        ...     tx[giver] -= amount
        ...     tx[taker] = tx.get(taker, 0) + amount
        ...     return True
        >>> db["ann"] = 100
        >>> transfer("ann", "bob", 30), transfer("ann", "bob", 71), dict(db)
        (True, False, {'ann': 70, 'bob': 30})
        >>> db.close()
        """
        if function is None:
            return functools.partial(self.transactional, isolation=isolation)

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run_async(*args: Any, **named: Any) -> Any:
                async def work(transaction: Transaction[K, V]) -> Any:
                    return await function(transaction, *args, **named)

                return await atransact(self, work, isolation)

            return run_async

        @functools.wraps(function)
        def run(*args: Any, **named: Any) -> Any:
            return transact(self, lambda transaction: function(transaction, *args, **named), isolation)

        return run

    def snapshot(self) -> Snapshot[K, V]:
        """The store as it is now, whatever is written later.

        >>> import ogive, tempfile
        >>> db = ogive.open(tempfile.mkdtemp())
        >>> db["apple"] = "red"
        >>> with db.snapshot() as before:
        ...     db["apple"] = "green"
        ...     before["apple"], db["apple"]
        ('red', 'green')
        >>> db.close()
        """
        return Snapshot(self)

    def refresh(self) -> bool:
        """Goes on with what others have written since; returns whether there may be something new.

        For stores that were opened read-only. Iterators, streams and snapshots keep what they began with.
        """
        return self._store.refresh()

    def persist(self) -> None:
        """Makes all writes durable that are not, of a store with another ``durability`` than ``"synced"``."""
        self._store.persist()

    def flush(self) -> None:
        """Writes what is in memory and in logs to tables. Ctrl-C stops waiting; the work goes on."""
        self._store.flush()

    def compact(self) -> None:
        """Merges all tables of each keyspace. Ctrl-C stops waiting; the work goes on."""
        self._store.compact()

    def checkpoint(self, target: PathLike) -> None:
        """Copies the store as it is now to a new folder or URL. On one file system, files are linked."""
        self._store.checkpoint(path_text(target))

    def backup(
        self, target: PathLike, *, keep: int | None = None, trust: bool = False, archive: bool | str = False
    ) -> dict[str, Any]:
        """Makes an incremental, verified backup in a folder or at a URL; see :func:`ogive.restore`.

        :param keep: the number of backups that remain; older ones are removed
        :param trust: whether copies are not read back and verified
        :param archive: whether to archive the changes, too, so that the store can be restored as of any run of
            :meth:`archive` from then on; a name is that of the subscriber for which the store keeps them
        """
        if not self.read_only:
            self._store.persist()
        subscriber = (archive if isinstance(archive, str) else "archive") if archive else None
        return dict(json.loads(_internal.back_up(self._store.path, path_text(target), keep, trust, subscriber)))

    def archive(self, target: PathLike, subscriber: str = "archive") -> dict[str, Any]:
        """Archives the changes since the last run beside the backups, of which one began it; returns how far it is."""
        if not self.read_only:
            self._store.persist()
        return dict(json.loads(_internal.archive(self._store.path, path_text(target), subscriber)))

    def changes(self, since: str | None = None) -> Iterator[ChangeBatch]:
        """The committed changes behind a position, in their order; without one, those that are left.

        The iterator ends when there are no more now, and goes on when it is asked again after more was written, also by
        another process if the store was opened read-only. It raises :class:`ogive.Busy` if changes are gone.

        >>> import ogive, tempfile
        >>> db = ogive.open(tempfile.mkdtemp())
        >>> start = db.subscribe("search")
        >>> db["apple"] = "red"
        >>> for batch in db.changes(start):
        ...     for change in batch.changes:
        ...         print(change.kind, change.keyspace, change.key, change.value)
        ...     db.acknowledge("search", batch.position)
        put default apple red
        >>> db.close()
        """
        return Changes(self._store.changes(since))

    async def achanges(self, since: str | None = None, *, every: float = 1.0) -> AsyncIterator[ChangeBatch]:
        """As :meth:`changes`, without an end: it looks for more changes after ``every`` seconds."""
        changes = self.changes(since)
        while True:
            batch = await asyncio.to_thread(next, changes, None)
            if batch is None:
                await asyncio.sleep(every)
            else:
                yield batch

    def subscribe(self, name: str) -> str:
        """Makes a subscriber, and returns its position: the newest change, or the one that it has acknowledged.

        From now on the store keeps the changes behind that, within limits, also when it is opened again.
        """
        return self._store.subscribe(name_text(name, "a subscriber"))

    def acknowledge(self, name: str, position: str) -> None:
        """Records that a subscriber needs nothing up to a position any more.

        One that is not there, or was removed, is not made: it raises :class:`ogive.InvalidArgument`.
        """
        self._store.acknowledge(name_text(name, "a subscriber"), position)

    def unsubscribe(self, name: str) -> bool:
        """Removes a subscriber; returns whether there was one."""
        return self._store.unsubscribe(name_text(name, "a subscriber"))

    @property
    def subscribers(self) -> dict[str, str]:
        """The subscribers, each with the position up to which it has acknowledged."""
        return self._store.subscribers()

    def stats(self) -> dict[str, Any]:
        """Sizes and counts: levels, bytes read and written.

        ``memory_bytes`` is the memory given. ``least_memory_bytes`` is the least that an opening for writing needs with
        the records that are there, also to flush and compact them; it grows with the tables. ``open_transactions`` counts
        those that this process has begun and not ended, and ``oldest_transaction_s`` is the age of the oldest, in seconds.
        """
        found: dict[str, Any] = json.loads(self._store.stats())
        return found

    def close(self) -> None:
        """Makes everything durable and closes the store. Later calls raise :class:`ogive.Closed`."""
        with _open_lock:
            if _open_stores.get((identity(self.path), self.read_only)) is self:
                del _open_stores[identity(self.path), self.read_only]
            self._store.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if not self.read_only:
            raise TypeError(f"{self.path} is open for writing, which another process cannot do as well; pickle a reader")
        return _reopened, (absolute(self.path), self._options, *self._stated)

    def __repr__(self) -> str:
        return f"<ogive.Db {self.path!r}{' read-only' if self.read_only else ''}>"


class MutableDb(Db[K, V], MutableKeyspace[K, V]):
    """A store that is open for writing."""

    if TYPE_CHECKING:

        @overload
        def keyspace(self, name: str, *, key: type[_K], value: type[_V]) -> MutableKeyspace[_K, _V]: ...
        @overload
        def keyspace(self, name: str, *, key: Any = None, value: Any = None) -> MutableKeyspace[Any, Any]: ...
        def keyspace(self, name: str, *, key: Any = None, value: Any = None) -> MutableKeyspace[Any, Any]: ...


class Batch:
    """Writes that happen together, or not at all; see :meth:`Db.batch`.

    As a context manager it commits at the end, and drops the writes after an exception.
    """

    def __init__(self, db: Db) -> None:
        self._db = db
        self._batch = _internal.Batch(db._store)

    def put(self, key: Any, value: Any, keyspace: Keyspace | None = None) -> None:
        """Inserts a record, into ``keyspace``, or else the default one."""
        self._batch.put(self._db if keyspace is None else keyspace, key, value)

    def insert_with(
        self,
        key: Any,
        value: Any,
        keyspace: Keyspace | None = None,
        *,
        ttl: float | timedelta | None = None,
        expires: float | datetime | None = None,
    ) -> None:
        """Inserts a record until a time; see :meth:`Keyspace.insert_with`."""
        self._batch.put(self._db if keyspace is None else keyspace, key, value, expires_ms(ttl, expires))

    def expect(self, key: Any, value: Any, keyspace: Keyspace | None = None) -> None:
        """Lets the commit raise :class:`ogive.Conflict` unless a key has this value then, or is absent if that is ``None``.
        Writes of the batch itself do not count, and values of JSON are compared by their text.

        >>> import ogive, tempfile
        >>> db = ogive.open(tempfile.mkdtemp(), key=str, value=int)
        >>> db["version"] = 7
        >>> def upgrade():
        ...     with db.batch() as batch:
        ...         batch.expect("version", 7)
        ...         batch.expect("owner", None)
        ...         batch["version"] = 8
        >>> upgrade()
        >>> try:
        ...     upgrade()
        ... except ogive.Conflict as conflict:
        ...     conflict.key, db["version"]
        ('version', 8)
        >>> db.close()
        """
        self._batch.expect(self._db if keyspace is None else keyspace, key, value)

    def update(self, records: Any, keyspace: Keyspace | None = None) -> None:
        """Inserts the records of a mapping, pairs of keys and values, or the rows of a frame, as of
        :meth:`Keyspace.update`: all of them, or none after an error."""
        target = self._db if keyspace is None else keyspace
        if is_frame(records):
            self._batch.put_frame(target, arrow_of(records))
        else:
            self._batch.put_all(target, pairs_of(records))

    def remove(self, key: Any, keyspace: Keyspace | None = None) -> None:
        """Removes a key, whether it is there or not."""
        self._batch.remove(self._db if keyspace is None else keyspace, key)

    def remove_range(self, start: Any = None, stop: Any = None, keyspace: Keyspace | None = None) -> None:
        """Removes all keys of a range."""
        self._batch.remove_range(self._db if keyspace is None else keyspace, (start, stop, None))

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def __delitem__(self, key: Any) -> None:
        self.remove(key)

    def __len__(self) -> int:
        """Number of writes."""
        return len(self._batch)

    def commit(self) -> None:
        """Writes everything. The batch cannot be used again."""
        self._batch.commit()

    def abandon(self) -> None:
        """Drops the writes."""
        self._batch.abandon()

    def __enter__(self) -> Batch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.abandon()


class Snapshot(Awaitable, OrderedMapping[K, V], Closing):
    """A store as it was at one moment; see :meth:`Db.snapshot`.

    Without a keyspace, methods are about the default one. Close snapshots that are not needed any more: the store keeps
    the versions that they see.
    """

    def __init__(
        self,
        db: Db[Any, Any],
        keyspace: _internal.Keyspace | None = None,
        native: _internal.Snapshot | None = None,
    ) -> None:
        self._db = db
        self._keyspace: _internal.Keyspace = db if keyspace is None else keyspace
        self._snapshot = _internal.Snapshot(db._store) if native is None else native

    def keyspace(self, name: str, *, value: Literal["json"] | None = None) -> Snapshot[Any, Any]:
        """The same moment of another keyspace, also of one that was dropped since.

        ``value="json"`` says again that values are JSON. :class:`ogive.NoKeyspace` if there is none of this name.

        >>> import ogive, tempfile
        >>> with ogive.open(tempfile.mkdtemp()) as db:
        ...     db.keyspace("fruit")["apple"] = "red"
        ...     with db.snapshot() as before:
        ...         db.drop_keyspace("fruit")
        ...         before.keyspace("fruit")["apple"]
        True
        'red'
        """
        return Snapshot(self._db, self._snapshot.keyspace(name_text(name, _KEYSPACE), value == "json"), self._snapshot)

    def of(self, keyspace: Keyspace[_K, _V]) -> Snapshot[_K, _V]:
        """The same moment of another keyspace."""
        return Snapshot(self._db, keyspace, self._snapshot)

    @property
    def types(self) -> tuple[str, str]:
        """The types of keys and values, as the engine names them."""
        return self._keyspace.types

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key; ``default`` if it is absent."""
        return self._snapshot.get(self._keyspace, key, default)

    def __getitem__(self, key: Any) -> Any:
        found = self._snapshot.get(self._keyspace, key, MISSING)
        if found is MISSING:
            raise KeyError(key)
        return found

    def __contains__(self, key: Any) -> bool:
        return self._snapshot.contains(self._keyspace, key)

    def __len__(self) -> int:
        """Number of records. They are counted, which takes as long as a scan of the keys."""
        return self._snapshot.count(self._keyspace)

    def _iterate(self, range: _internal._KeyRange, reverse: bool, part: _internal._Part) -> Iterator[Any]:
        return self._snapshot.range(self._keyspace, range, reverse, part)

    def _multi_get(self, keys: Any) -> _internal.RowBatch:
        return self._snapshot.multi_get(self._keyspace, keys)

    def _scan(self, range: _internal._KeyRange) -> _internal.RowReader:
        return self._snapshot.scan(self._keyspace, range)

    def close(self) -> None:
        """Lets the store forget what only the snapshot needs."""
        self._snapshot.close()

    def __reduce__(self) -> tuple[Any, ...]:
        version = self._snapshot.version
        if version is None:
            raise TypeError(
                f"only {self._db.path} as it is now can be opened in another process, not this snapshot of it; that takes "
                f"a store on an object store, opened read-only"
            )
        keyspace = (self._keyspace.name, *self._keyspace._stated)
        return _reopened_snapshot, (self._db.path, self._db._options, version, keyspace)

    def __repr__(self) -> str:
        return f"<ogive.Snapshot of {self._db.path!r}, keyspace {self._keyspace.name!r}>"


@overload
def open(
    path: PathLike,
    *,
    key: type[_K],
    value: type[_V],
    create: bool = True,
    read_only: Literal[False] = False,
    memory: int | str | None = None,
    durability: Literal["synced", "grouped", "buffered"] = "synced",
    profile: PathLike | None = None,
    wait: float = 0.0,
    clock_ahead: float = 86400.0,
    **more: Unpack[OpenOptions],
) -> MutableDb[_K, _V]: ...
@overload
def open(
    path: PathLike,
    *,
    key: Any = None,
    value: Any = None,
    create: bool = True,
    read_only: Literal[False] = False,
    memory: int | str | None = None,
    durability: Literal["synced", "grouped", "buffered"] = "synced",
    profile: PathLike | None = None,
    wait: float = 0.0,
    clock_ahead: float = 86400.0,
    **more: Unpack[OpenOptions],
) -> MutableDb[Any, Any]: ...
@overload
def open(
    path: PathLike,
    *,
    key: Any = None,
    value: Any = None,
    create: bool = True,
    read_only: bool,
    memory: int | str | None = None,
    durability: Literal["synced", "grouped", "buffered"] = "synced",
    profile: PathLike | None = None,
    wait: float = 0.0,
    clock_ahead: float = 86400.0,
    **more: Unpack[OpenOptions],
) -> Db[Any, Any]: ...
def open(
    path: PathLike,
    *,
    key: Any = None,
    value: Any = None,
    create: bool = True,
    read_only: bool = False,
    memory: int | str | None = None,
    durability: Literal["synced", "grouped", "buffered"] = "synced",
    profile: PathLike | None = None,
    wait: float = 0.0,
    clock_ahead: float = 86400.0,
    **more: Unpack[OpenOptions],
) -> Db[Any, Any]:
    """Opens a store; creates it if there is none and ``create`` is set.

    ``path`` is a folder, or a URL such as ``"s3://bucket/fruit"``. ``key`` and ``value`` are the types of the default
    keyspace; see :meth:`Db.keyspace`. ``memory`` is the upper limit of all that the store keeps and works
    with, caches included, in bytes or as ``"256MiB"``. ``durability`` says when a write survives a power loss:
    ``"synced"``, when the call returns; ``"grouped"``, with its group of some hundred kilobytes at the latest;
    ``"buffered"``, when the store flushes or closes. ``profile`` names the storage, as ``"ssd"`` or ``"nfs"``, or is a
    file of :func:`ogive.profile`. ``wait`` is how many seconds to wait for another process that has the store open for
    writing, before :class:`ogive.Locked` names that process. ``clock_ahead`` is how many seconds the clock may be ahead of
    the time that has passed since the store was written, if :meth:`records expire <Keyspace.insert_with>`; a program that
    opens its store more rarely than once a day gives more. ``more`` are the options of :class:`ogive.OpenOptions`.

    A store that is open in this process already is returned as it is, if the options are the same, and if its folder is
    still where it was: after it was removed or renamed, the path is opened anew, and what the old store writes raises
    :class:`ogive.Gone`.

    >>> import ogive, tempfile
    >>> db = ogive.open(tempfile.mkdtemp())
    >>> db["apple"] = b"red"
    >>> db["apple"], "pear" in db, db.get("pear", b"?")
    (b'red', False, b'?')
    >>> db.close()
    """
    text = absolute(path_text(path))
    options: dict[str, Any] = {
        "memory": size_bytes(memory),
        "durability": name_text(durability, "a durability"),
        "profile": None if profile is None else path_text(profile),
        **stated(more),
    }
    with _open_lock:
        known = _open_stores.get((identity(text), read_only))
        if known is not None and known._store.is_in_place():
            return _same(known, options, key, value)
        store = _internal.Store(
            text, create=create, read_only=read_only, wait=wait, clock_ahead=clock_ahead, **_native(options)
        )
        kind: type[Db[Any, Any]] = Db if read_only else MutableDb
        db = kind(store, key, value, options)
        _open_stores[identity(text), read_only] = db
        return db


def _native(options: dict[str, Any]) -> dict[str, Any]:
    """Options as the native module takes them: some are arguments, and the rest is a list."""
    more = [(name, value) for name, value in options.items() if name in OpenOptions.__annotations__]
    return {**{name: value for name, value in options.items() if name not in OpenOptions.__annotations__}, "more": more}


def _same(known: Db[Any, Any], options: dict[str, Any], key: Any, value: Any) -> Db[Any, Any]:
    different = sorted(name for name in {*options, *known._options} if options.get(name) != known._options.get(name))
    if value is not None and known._is_json is not (isinstance(value, str) and value == "json"):
        different.append("value")
    if different:
        raise InvalidArgument(
            f"{known.path} is open in this process with other options ({', '.join(different)}); close it first, or open "
            f"it with the same ones"
        )
    if key is not None or value is not None:
        # States the types again, which fails if they are others.
        Keyspace(known._store, "default", key, value)
    return known


def _reopened(path: str, options: dict[str, Any], key: str | None, value: str | None) -> Db[Any, Any]:
    return open(path, key=key, value=value, read_only=True, **options)


def _reopened_keyspace(db: Db[Any, Any], name: str, key: str | None, value: str | None) -> Keyspace[Any, Any]:
    return db.keyspace(name, key=key, value=value)


def _reopened_snapshot(
    path: str, options: dict[str, Any], version: str, keyspace: tuple[str, str | None, str | None]
) -> Snapshot[Any, Any]:
    store = _internal.Store(path, create=False, read_only=True, version=version, **_native(options))
    db: Db[Any, Any] = Db(store, None, None, options)
    return Snapshot(db, _reopened_keyspace(db, *keyspace))
