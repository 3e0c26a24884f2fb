"""Transactions of stores: :class:`Transaction`, and the loop that runs a function again after conflicts."""

from __future__ import annotations

import asyncio
import inspect
import random
import time
from collections.abc import Awaitable as AwaitableObject
from collections.abc import Callable, Iterator, MutableMapping
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from . import _internal
from ._async import AwaitableKeyspace
from ._errors import Conflict, InvalidArgument
from ._expiry import expires_ms
from ._lookups import lookup
from ._ordered import MISSING, K, OrderedMapping, V

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._store import Db, Keyspace

    _K = TypeVar("_K")
    _V = TypeVar("_V")

T = TypeVar("T")

Isolation = Literal["serializable", "snapshot"]

#: A transaction is run at most this number of times, and is begun again within this number of seconds.
_RUNS_MAX = 64
_RUNS_S_MAX = 10.0

#: Before it is run again it waits for a random time up to this, in seconds, which doubles each time.
_WAIT_S = 20e-6
_WAIT_DOUBLINGS_MAX = 10


class Transaction(AwaitableKeyspace, OrderedMapping[K, V], MutableMapping[K, V]):
    """Reads and writes that happen together, or not at all; see :meth:`Db.begin` and :meth:`Db.transact`.

    It reads the store as it was when it began, with its own writes. Its commit raises :class:`ogive.Conflict` if others
    have written what it has read: keys that were there, keys that were not, and ranges as far as they were iterated.
    Nothing is locked meanwhile. Without a keyspace, methods are about the default one; :meth:`of` has the others.
    """

    #: What is read ahead of a program would be read by its transaction.
    _found_at_once = 1

    def __init__(
        self,
        db: Db[Any, Any],
        isolation: Isolation = "serializable",
        keyspace: Keyspace[Any, Any] | None = None,
        native: _internal.Transaction | None = None,
    ) -> None:
        self._db = db
        self._keyspace: Keyspace[Any, Any] = db if keyspace is None else keyspace
        self._transaction = _internal.Transaction(db._store, isolation) if native is None else native

    def of(self, keyspace: Keyspace[_K, _V]) -> Transaction[_K, _V]:
        """Another keyspace in this transaction.

        >>> import ogive, tempfile
        >>> with ogive.open(tempfile.mkdtemp()) as db:
        ...     users, mails = db.keyspace("users", key=int, value=str), db.keyspace("mails", key=str, value=int)
        ...     with db.begin() as tx:
        ...         if "ann@example.com" not in tx.of(mails):
        ...             tx.of(mails)["ann@example.com"] = 7
        ...             tx.of(users)[7] = "Ann"
        ...     users[7], mails["ann@example.com"]
        ('Ann', 7)
        """
        return Transaction(self._db, keyspace=keyspace, native=self._transaction)

    def keyspace(self, name: str, *, key: Any = None, value: Any = None) -> Transaction[Any, Any]:
        """As :meth:`of`, of the keyspace that :meth:`Db.keyspace` has by this name; one that is absent is created."""
        return self.of(self._db.keyspace(name, key=key, value=value))

    @property
    def types(self) -> tuple[str, str]:
        """The types of keys and values, as the engine names them."""
        return self._keyspace.types

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key; ``default`` if it is absent."""
        return self._transaction.get(self._keyspace, key, default)

    def __getitem__(self, key: Any) -> Any:
        found = self._transaction.get(self._keyspace, key, MISSING)
        if found is MISSING:
            raise KeyError(key)
        return found

    def __contains__(self, key: Any) -> bool:
        return self._transaction.contains(self._keyspace, key)

    def __len__(self) -> int:
        """Number of records. They are counted, and all of the keyspace is read by that."""
        return self._transaction.count(self._keyspace)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._transaction.put(self._keyspace, key, value)

    def __delitem__(self, key: Any) -> None:
        if key not in self:
            raise KeyError(key)
        self.discard(key)

    def insert_with(
        self,
        key: Any,
        value: Any,
        *,
        ttl: float | timedelta | None = None,
        expires: float | datetime | None = None,
    ) -> None:
        """Sets the value of a key until a time; see :meth:`Keyspace.insert_with`. The transaction itself sees the record as
        of its beginning.

        >>> import ogive, tempfile
        >>> with ogive.open(tempfile.mkdtemp(), key=str, value=str) as db:
        ...     with db.begin() as tx:
        ...         tx.insert_with("ada", "logged in", ttl=1800)
        ...         tx.insert_with("bob", "logged in", expires=0)
        ...     dict(db)
        {'ada': 'logged in'}
        """
        self._transaction.put(self._keyspace, key, value, expires_ms(ttl, expires))

    def expect(self, key: Any, value: Any) -> None:
        """Raises :class:`ogive.Conflict` unless a key has this value, or is absent if that is ``None``; and the commit does
        if others write the key before, with ``isolation="snapshot"``, too.

        :meth:`Db.transact` does not run again after it. Values of JSON are compared by their text.

        >>> import ogive, tempfile
        >>> db = ogive.open(tempfile.mkdtemp(), key=str, value=int)
        >>> db["version"] = 7
        >>> with db.begin() as tx:
        ...     tx.expect("version", 7)
        ...     tx.expect("lock", None)
        ...     tx["version"] = 8
        >>> try:
        ...     with db.begin() as tx:
        ...         tx.expect("version", 7)
        ... except ogive.Conflict as conflict:
        ...     conflict.keyspace, conflict.key, db["version"]
        ('default', 'version', 8)
        >>> db.close()
        """
        self._transaction.expect(self._keyspace, key, value)

    def find(
        self,
        index: str,
        *values: Any,
        prefix: bool = False,
        start: Any = None,
        stop: Any = None,
        reverse: bool = False,
    ) -> Iterator[tuple[Any, Any]]:
        """The records that an index leads to, with the transaction's own writes; see :meth:`Keyspace.find`.

        What was iterated is read: the records that came, and that no others have such values. So the commit raises
        :class:`ogive.Conflict` if others have written such a record, which a lookup has not found.

        >>> import ogive, tempfile
        >>> db = ogive.open(tempfile.mkdtemp())
        >>> users = db.keyspace("users", key=int, value={"name": str, "email": str})
        >>> db.create_index("by_email", users, "email")
        >>> tx = db.begin()
        >>> list(tx.of(users).find("by_email", "ann@example.com"))
        []
        >>> tx.of(users)[1] = ("Ann", "ann@example.com")
        >>> [user["name"] for _, user in tx.of(users).find("by_email", "ann@example.com")]
        ['Ann']
        >>> users[2] = ("Ana", "ann@example.com")
        >>> try:
        ...     tx.commit()
        ... except ogive.Conflict as conflict:
        ...     conflict.keyspace, conflict.key
        ('users', 2)
        >>> db.close()
        """
        return self._transaction.find(self._keyspace, *lookup(index, values, prefix, start, stop), bool(reverse))

    def discard(self, key: Any) -> None:
        """Removes a key, whether it is there or not; the key is not read by that."""
        self._transaction.remove(self._keyspace, key)

    def remove_range(self, start: Any = None, stop: Any = None, *, prefix: Any = None) -> None:
        """Removes all keys of a range, those included that others write before the commit. Nothing is read by that."""
        self._transaction.remove_range(self._keyspace, (start, stop, prefix))

    def clear(self) -> None:
        """Removes all records of the keyspace."""
        self.remove_range()

    def _iterate(self, range: _internal._KeyRange, reverse: bool, part: _internal._Part) -> Iterator[Any]:
        return self._transaction.range(self._keyspace, range, reverse, part)

    def _multi_get(self, keys: Any) -> _internal.RowBatch:
        return self._transaction.multi_get(self._keyspace, keys)

    def _scan(self, range: _internal._KeyRange) -> _internal.RowReader:
        return self._transaction.scan(self._keyspace, range)

    def savepoint(self) -> int:
        """The number of writes up to now, in all keyspaces, to which :meth:`rollback_to` goes back."""
        return self._transaction.savepoint()

    def rollback_to(self, savepoint: int) -> None:
        """Undoes the writes since a savepoint. What was read since stays read.

        >>> import ogive, tempfile
        >>> with ogive.open(tempfile.mkdtemp(), key=str, value=int) as db:
        ...     with db.begin() as tx:
        ...         tx["apples"] = 3
        ...         before = tx.savepoint()
        ...         tx["apples"] = 0
        ...         tx.rollback_to(before)
        ...     db["apples"]
        3
        """
        self._transaction.rollback_to(savepoint)

    def commit(self) -> None:
        """Applies all writes, of all keyspaces. The transaction cannot be used again.

        :raises Conflict: if others have written what was read; nothing has changed then
        """
        self._transaction.commit()

    def abandon(self) -> None:
        """Drops the writes, and ends the transaction; also within its ``with`` block, which then commits nothing."""
        self._transaction.abandon()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.abandon()
        elif self._transaction.is_open:
            self.commit()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(f"a transaction of {self._db.path} is of this process alone")

    def __repr__(self) -> str:
        return f"<ogive.Transaction of {self._db.path!r}, keyspace {self._keyspace.name!r}>"


class _Runs:
    """The runs of a function, and the pauses before it is run again."""

    def __init__(self) -> None:
        self._runs = 0
        self._begun = time.monotonic()

    def pause_s(self) -> float | None:
        """How long to wait after a conflict, in seconds; ``None`` if it was the last run."""
        self._runs += 1
        if self._runs >= _RUNS_MAX or time.monotonic() - self._begun >= _RUNS_S_MAX:
            return None
        return random.uniform(0, _WAIT_S * 2 ** min(self._runs, _WAIT_DOUBLINGS_MAX))


def transact(db: Db[Any, Any], work: Callable[[Transaction[Any, Any]], T], isolation: Isolation) -> T:
    """See :meth:`Db.transact`."""
    if inspect.iscoroutinefunction(work):
        raise InvalidArgument("the function is a coroutine function; await db.atransact(...) runs it")
    runs = _Runs()
    while True:
        transaction: Transaction[Any, Any] = Transaction(db, isolation)
        try:
            done = work(transaction)
        except BaseException:
            transaction.abandon()
            raise
        try:
            transaction.commit()
            return done
        except Conflict:
            pause = runs.pause_s()
            if pause is None:
                raise
        time.sleep(pause)


async def atransact(db: Db[Any, Any], work: Callable[[Transaction[Any, Any]], Any], isolation: Isolation) -> Any:
    """See :meth:`Db.atransact`."""
    if not inspect.iscoroutinefunction(work):
        return await asyncio.to_thread(transact, db, work, isolation)
    begin: Callable[[Transaction[Any, Any]], AwaitableObject[Any]] = work
    runs = _Runs()
    while True:
        transaction: Transaction[Any, Any] = Transaction(db, isolation)
        try:
            done = await begin(transaction)
        except BaseException:
            transaction.abandon()
            raise
        try:
            await asyncio.to_thread(transaction.commit)
            return done
        except Conflict:
            pause = runs.pause_s()
            if pause is None:
                raise
        await asyncio.sleep(pause)
