"""Awaitable variants of calls, for :mod:`asyncio`: they run on threads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import islice
from typing import Any

_END: Any = object()


class Awaitable:
    """Awaitable variants of the calls of stores, tables and indexes.

    Each runs on a thread of the event loop's default executor, where it does not hold the interpreter's lock while it
    reads, writes or waits. A call that has begun is not cut short by a cancellation: a write happens as a whole, or not
    at all.

    >>> import asyncio, ogive, tempfile
    >>> async def main():
    ...     with ogive.open(tempfile.mkdtemp(), key=int, value=str) as db:
    ...         await db.aput(1, "one")
    ...         return await db.aget(1), await db.aget(2, "?")
    >>> asyncio.run(main())
    ('one', '?')
    """

    async def aget(self, key: Any, *args: Any, **named: Any) -> Any:
        """As ``get``, awaitable."""
        return await asyncio.to_thread(getattr(self, "get"), key, *args, **named)

    async def amulti_get(self, keys: Any, **named: Any) -> Any:
        """As ``multi_get``, awaitable."""
        return await asyncio.to_thread(getattr(self, "multi_get"), keys, **named)

    async def acontains(self, key: Any) -> bool:
        """As ``key in ...``, awaitable."""
        return bool(await asyncio.to_thread(getattr(self, "__contains__"), key))

    async def ascan(self, start: Any = None, stop: Any = None, **named: Any) -> AsyncIterator[Any]:
        """The record batches of ``scan``, as an asynchronous iterator."""
        stream = await asyncio.to_thread(getattr(self, "scan"), start, stop, **named)
        batches = stream.batches()
        while True:
            batch = await asyncio.to_thread(next, batches, _END)
            if batch is _END:
                return
            yield batch


class AwaitableWrites(Awaitable):
    """As :class:`Awaitable`, with the calls that write."""

    async def aput(self, key: Any, value: Any) -> None:
        """As ``[key] = value``, awaitable. It is durable when awaited, as the call is."""
        await asyncio.to_thread(getattr(self, "__setitem__"), key, value)

    async def adelete(self, key: Any) -> None:
        """As ``del [key]``, awaitable; ``KeyError`` if the key is absent."""
        await asyncio.to_thread(getattr(self, "__delitem__"), key)


class AwaitableKeyspace(AwaitableWrites):
    """As :class:`AwaitableWrites`, with the other calls of keyspaces, and of keyspaces in transactions."""

    #: Records of an index that are read by one call.
    _found_at_once = 64

    async def ainsert_with(self, key: Any, value: Any, **named: Any) -> None:
        """As ``insert_with``, awaitable."""
        await asyncio.to_thread(getattr(self, "insert_with"), key, value, **named)

    async def afind(self, index: str, *values: Any, **named: Any) -> AsyncIterator[tuple[Any, Any]]:
        """The records of ``find``, as an asynchronous iterator."""
        found = await asyncio.to_thread(getattr(self, "find"), index, *values, **named)
        while True:
            records = await asyncio.to_thread(lambda: list(islice(found, self._found_at_once)))
            for record in records:
                yield record
            if len(records) < self._found_at_once:
                return
