"""Following stores: changes, subscribers, readers, asyncio."""

from __future__ import annotations

import asyncio
import os
from typing import Any
from unittest import mock

import pytest

import ogive
from s3_server import Server


def seen(batches: Any) -> list[list[tuple[str, str, Any, Any]]]:
    return [[(change.kind, change.keyspace, change.key, change.value) for change in batch.changes] for batch in batches]


def test_a_subscriber_gets_each_batch_once_in_order_and_typed(folder: str) -> None:
    with ogive.open(folder, key=str, value=int) as db:
        start = db.subscribe("search")
        with db.batch() as batch:
            batch["a"] = 1
            batch["b"] = 2
        del db["a"]
        colours = db.keyspace("colours", key=int, value=str)
        colours[7] = "red"
        db.flush()
        changes = db.changes(start)
        first = next(changes)
        assert seen([first]) == [[("put", "default", "a", 1), ("put", "default", "b", 2)]]
        db.acknowledge("search", first.position)
        rest = list(changes)
        assert seen(rest) == [[("remove", "default", "a", None)], [("put", "colours", 7, "red")]]
        db.drop_keyspace("colours")
        assert seen(changes) == [[("drop", "colours", None, None)]]
    with ogive.open(folder) as db:
        assert db.subscribers == {"search": first.position}
        again = list(db.changes(db.subscribe("search")))
        assert [batch.position for batch in again[:2]] == [batch.position for batch in rest[:2]]
        assert db.unsubscribe("search") and not db.unsubscribe("search")
        db["c"] = 3
        db.flush()
        with pytest.raises(ogive.Busy, match="does not have the next changes any more"):
            next(db.changes(first.position))
        with pytest.raises(ogive.InvalidArgument, match="not a position"):
            db.changes("42")
        # A subscriber that was removed does not come back by itself.
        with pytest.raises(ogive.InvalidArgument, match='no subscriber "search"'):
            db.acknowledge("search", first.position)


def test_a_reader_follows_what_is_written_meanwhile(folder: str) -> None:
    async def follow(reader: ogive.Db) -> list[Any]:
        found: list[Any] = []
        async for batch in reader.achanges(reader.subscribe("cache"), every=0.01):
            found += [change.key for change in batch.changes]
            reader.acknowledge("cache", batch.position)
            if len(found) == 3:
                return found
        return found

    async def both(db: Any, reader: ogive.Db) -> list[Any]:
        task = asyncio.create_task(follow(reader))
        await asyncio.sleep(0.05)
        for key in ("a", "b", "c"):
            await asyncio.to_thread(db.__setitem__, key, 1)
            await asyncio.sleep(0.02)
        return await asyncio.wait_for(task, 60)

    with ogive.open(folder, key=str, value=int) as db, ogive.open(folder, read_only=True) as reader:
        assert asyncio.run(both(db, reader)) == ["a", "b", "c"]


def test_a_store_in_a_bucket_is_followed_archived_and_restored() -> None:
    server = Server()
    url, kept = "s3://bucket/fruit", "s3://bucket/kept"
    with mock.patch.dict(os.environ, server.environment), ogive.open(url, key=str, value=int) as db:
        db["a"] = 1
        db.backup(kept, archive=True)
        with ogive.open(url, read_only=True) as reader:
            start = reader.subscribe("search")
            db["b"] = 2
            db.flush()
            del db["a"]
            changes = reader.changes(start)
            batches = list(changes)
            assert seen(batches) == [[("put", "default", "b", 2)], [("remove", "default", "a", None)]]
            reader.acknowledge("search", batches[0].position)
            assert db.subscribers["search"] == batches[0].position
            db["c"] = 3
            assert seen(changes) == [[("put", "default", "c", 3)]]
        db.archive(kept)
        ogive.restore(kept, "s3://bucket/before", until=batches[0].position)
        with ogive.open("s3://bucket/before") as before:
            assert dict(before) == {"a": 1, "b": 2}
        ogive.restore(kept, "s3://bucket/now", until="newest")
        with ogive.open("s3://bucket/now") as now:
            assert dict(now) == {"b": 2, "c": 3}
        with pytest.raises(ogive.InvalidArgument, match='is no moment; give a time, such as .*, or "newest"'):
            ogive.restore(kept, "s3://bucket/other", until="noon")
        with pytest.raises(ogive.InvalidArgument, match="the archive begins after that time"):
            ogive.restore(kept, "s3://bucket/other", until="2001-01-01 12:00")
    server.shutdown()


def test_changes_have_the_types_of_their_keyspace_and_not_of_another_one_of_its_name(folder: str) -> None:
    with ogive.open(folder) as db:
        start = db.subscribe("search")
        first = db.keyspace("p", key=int, value=int)
        first[1] = 7
        first.remove_range(5, None)
        db.drop_keyspace("p")
        db.keyspace("p", key=str, value=str)["x"] = "y"
        put, removed, dropped, again = [batch.changes[0] for batch in db.changes(start)]
        assert (put.key, put.value) == (1, 7)
        assert (removed.kind, removed.key, removed.start, removed.end) == ("remove_range", None, 5, None)
        assert (dropped.kind, again.key, again.value) == ("drop", "x", "y")
