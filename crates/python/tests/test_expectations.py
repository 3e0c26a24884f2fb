"""Lookups through indexes, records that expire and expected values, in transactions and batches, against a dictionary."""

from __future__ import annotations

import asyncio
import pickle
import random
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import ogive
import pytest

FIELDS = {"name": str, "email": [str], "score": "i32"}


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with ogive.open(tmp_path / "s", key=str, value=int) as db:
        users = db.keyspace("users", key=int, value=FIELDS)
        db.create_index("by_email", users, "lower(email)", unique=True, where_not_null="email")
        db.create_index("by_score", users, "score desc, name")
        yield db


def row(number: int, score: int, name: str = "n") -> dict[str, Any]:
    return {"name": name, "email": f"{number}@X", "score": score}


@pytest.mark.parametrize("seed", range(6))
def test_lookups_in_transactions_have_what_a_dictionary_has(db: Any, seed: int) -> None:
    users = db.keyspace("users")
    draw = random.Random(seed)
    model: dict[int, dict[str, Any]] = {}
    for _ in range(12):
        tx = db.begin()
        mine, seen = tx.of(users), dict(model)
        before: list[tuple[int, dict[int, Any]]] = []
        for _ in range(draw.randrange(12)):
            number = draw.randrange(8)
            match draw.randrange(6):
                case 0:
                    mine.discard(number)
                    seen.pop(number, None)
                case 1:
                    low = draw.randrange(8)
                    mine.remove_range(low, low + 2)
                    seen = {key: value for key, value in seen.items() if not low <= key < low + 2}
                case 2:
                    # One that has expired is as if it were removed.
                    is_alive = draw.random() < 0.5
                    mine.insert_with(number, row(number, 1), expires=2**33 if is_alive else 0)
                    seen.pop(number, None)
                    if is_alive:
                        seen[number] = row(number, 1)
                case 3:
                    before.append((tx.savepoint(), dict(seen)))
                case 4 if before:
                    savepoint, seen = before.pop()
                    tx.rollback_to(savepoint)
                case _:
                    mine[number] = seen[number] = row(number, draw.randrange(3), draw.choice("ab"))
            mine.expect(number, seen.get(number))
            with pytest.raises(ogive.Conflict):
                mine.expect(number, row(number, 99))
            with pytest.raises(ogive.Conflict):
                mine.expect(number, row(number, 99) if number not in seen else None)
            in_order = sorted(seen.items(), key=lambda record: (-record[1]["score"], record[1]["name"], record[0]))
            assert list(mine.find("by_score")) == in_order
            assert list(mine.find("by_score", reverse=True)) == in_order[::-1]
            assert [key for key, _ in mine.find("by_score", 1)] == [key for key, it in in_order if it["score"] == 1]
            assert [key for key, _ in mine.find("by_score", 1, "b")] == [
                key for key, it in in_order if (it["score"], it["name"]) == (1, "b")
            ]
            assert list(mine.find("by_score", start=2, stop=0)) == [it for it in in_order if 0 < it[1]["score"] <= 2]
            assert list(mine.find("by_score", start=(1, "b"))) == [
                it for it in in_order if it[1]["score"] < 1 or (it[1]["score"] == 1 and it[1]["name"] >= "b")
            ]
            assert list(mine.find("by_email", f"{number}@x")) == [(key, it) for key, it in seen.items() if key == number]
            assert [key for key, _ in mine.find("by_email", str(number), prefix=True)] == [number] * (number in seen)
        if draw.random() < 0.7:
            tx.commit()
            model = seen
        else:
            tx.abandon()
        assert dict(users) == model
        assert [key for key, _ in users.find("by_email")] == sorted(model)


def test_what_a_lookup_found_or_did_not_find_conflicts_as_far_as_it_was_iterated(db: Any) -> None:
    users = db.keyspace("users")
    users.update({number: row(number, number) for number in range(1, 6)})
    for reads, written, is_conflict in [(1, 5, True), (1, 3, False), (5, 3, True), (0, 3, False)]:
        tx = db.begin()
        found = tx.of(users).find("by_score")
        assert [next(found)[0] for _ in range(reads)] == [5, 4, 3, 2, 1][:reads]
        tx["x"] = 1
        users[written] = row(written, written, draw_name())
        if is_conflict:
            with pytest.raises(ogive.Conflict) as caught:
                tx.commit()
            assert (caught.value.keyspace, caught.value.key) == ("users", written)
        else:
            tx.commit()
    tx = db.begin()
    assert list(tx.of(users).find("by_email", "9@x")) == []
    tx["x"] = 1
    users[9] = row(9, 0)
    with pytest.raises(ogive.Conflict) as caught:
        tx.commit()
    assert (caught.value.keyspace, caught.value.key) == ("users", 9)

    tx = db.begin()
    db.create_index("by_name", users, "name")
    with pytest.raises(ogive.Conflict) as caught:
        tx.of(users).find("by_name")
    assert (caught.value.keyspace, caught.value.key) == ("users", None)
    with pytest.raises(ogive.InvalidArgument, match="no index"):
        tx.of(users).find("by_age")
    with pytest.raises(ogive.InvalidArgument, match="of the keyspace"):
        tx.find("by_email")
    with pytest.raises(ogive.InvalidArgument, match="give values"):
        tx.of(users).find("by_email", "a", stop="b")
    tx.abandon()
    with pytest.raises(ogive.Closed):
        tx.of(users).find("by_email")


names = iter(range(10**6))


def draw_name() -> str:
    """Another name each time."""
    return f"name {next(names)}"


def test_records_of_transactions_and_batches_expire(db: Any) -> None:
    sessions = db.keyspace("sessions", key=int, value=str)
    colours = db.keyspace("colours")
    with db.begin() as tx:
        mine = tx.of(sessions)
        mine.insert_with(1, "ada", ttl=0.4)
        mine.insert_with(2, "bob", ttl=timedelta(hours=1))
        mine.insert_with(3, "cid", expires=datetime(2020, 1, 31, tzinfo=timezone.utc))
        tx.of(colours).insert_with("red", 1, ttl=3600)
        assert dict(mine) == {1: "ada", 2: "bob"}
        with pytest.raises(ogive.InvalidArgument, match="ttl= or expires="):
            mine.insert_with(1, "ada")
        with pytest.raises(ogive.WrongType):
            mine.insert_with("1", "ada", ttl=1)
    with db.batch() as batch:
        batch.insert_with("x", 1, ttl=0.4)
        batch.insert_with(4, "dan", sessions, expires=time.time() + 3600)
        batch.insert_with(5, "eve", sessions, expires=0)
        batch.insert_with("first", 2, db.keyspace("counts"), ttl=0.4)
        with pytest.raises(ogive.InvalidArgument, match="time zone"):
            batch.insert_with("x", 1, expires=datetime(2030, 1, 31))
    assert set(sessions) | set(db) >= {1, 2, 4, "x"}
    time.sleep(0.5)
    assert dict(sessions) == {2: "bob", 4: "dan"} and len(db) == 0
    assert dict(colours) == {"red": 1} and colours.types == ("text", "i64")
    assert len(db.keyspace("counts")) == 0


def test_batches_are_committed_if_all_values_are_as_expected(db: Any) -> None:
    draw = random.Random(7)
    users = db.keyspace("users")
    model: dict[str, int] = {}
    for _ in range(150):
        batch, holds, writes = db.batch(), [], {}
        for _ in range(draw.randrange(1, 4)):
            key, value = draw.choice("abcd"), draw.choice([None, 1, 2])
            batch.expect(key, value)
            holds.append(model.get(key) == value)
        for _ in range(draw.randrange(3)):
            key, value = draw.choice("abcd"), draw.randrange(1, 3)
            batch[key] = writes[key] = value
        assert len(batch) >= len(writes)
        if all(holds):
            batch.commit()
            model.update(writes)
        else:
            with pytest.raises(ogive.Conflict) as caught:
                batch.commit()
            assert caught.value.keyspace == "default" and caught.value.key in "abcd"
        assert dict(db) == model
    users[1] = row(1, 1)
    with db.batch() as batch:
        batch.expect(1, row(1, 1), users)
        batch.expect(2, None, users)
        batch.put(2, row(2, 2), users)
    with pytest.raises(ogive.WrongType):
        db.batch().expect("1", None, users)
    with pytest.raises(ogive.WrongType):
        db.batch().expect(1, "row", users)
    batch.abandon()
    with pytest.raises(ogive.Closed):
        batch.expect(1, None, users)


def test_expected_values_of_a_keyspace_without_types(tmp_path: Path) -> None:
    with ogive.open(tmp_path / "s") as db:
        fruit = db.keyspace("fruit")

        def put(expected: Any, record: tuple[Any, Any] | None = None, first: Any = None) -> None:
            with db.batch() as batch:
                batch.expect("apple", expected, fruit)
                if first is not None:
                    first()
                if record is not None:
                    batch.put(*record, fruit)
                batch["done"] = 1

        with pytest.raises(ogive.Conflict):
            put(3)
        assert "done" not in db and fruit.types == ("bytes", "bytes")
        put(None)
        assert "done" in db and len(fruit) == 0
        # Another handle writes the first record before the commit.
        with pytest.raises(ogive.Conflict) as caught:
            put(None, first=lambda: db.keyspace("fruit").update({"apple": 3}))
        assert (caught.value.keyspace, caught.value.key) == ("fruit", "apple")
        put(3)
        db.drop_keyspace("fruit")
        with pytest.raises(ogive.NotFound):
            put(3)

        fruit = db.keyspace("fruit")
        with pytest.raises(ogive.Conflict):
            put(3, ("pear", 4))
        put(None, ("apple", 3))
        put(3, ("apple", 4))
        assert dict(fruit) == {"apple": 4} and fruit.types == ("text", "i64")

        # In transactions.
        other = db.keyspace("other")
        with pytest.raises(ogive.Conflict):
            db.begin().of(other).expect("x", 1)
        for isolation in ("serializable", "snapshot"):
            tx = db.begin(isolation=isolation)
            tx.of(other).expect("x", None)
            tx["y"] = 1
            other.update({"x": 1})
            with pytest.raises(ogive.Conflict):
                tx.commit()
            tx = db.begin(isolation=isolation)
            tx.of(other).expect("x", 1)
            tx["y"] = 1
            other["x"] = 1
            with pytest.raises(ogive.Conflict) as caught:
                tx.commit()
            assert (caught.value.keyspace, caught.value.key) == ("other", "x")
            db.drop_keyspace("other")
            other = db.keyspace("other")
        with db.begin() as tx:
            tx.of(other)[1] = "one"
            tx.of(other).expect(1, "one")
            with pytest.raises(ogive.Conflict):
                tx.of(other).expect(2, "two")
        colours = db.keyspace("colours", key=int, value="json")
        colours[1] = {"rgb": [255, 0, 0]}
        with db.begin() as tx:
            tx.of(colours).expect(1, {"rgb": [255, 0, 0]})


def test_a_conflict_of_a_function_that_expects_is_not_run_again(db: Any) -> None:
    runs = []

    def work(tx: Any) -> None:
        runs.append(1)
        tx.expect("a", 7)

    with pytest.raises(ogive.Conflict):
        db.transact(work)
    assert len(runs) == 1


def test_a_row_that_a_unique_index_refuses_is_told_with_the_other_one(db: Any) -> None:
    users = db.keyspace("users")
    users[1] = row(1, 1)
    users[2] = row(2, 2)
    same = {**row(1, 0), "name": "m"}

    def by_batch() -> None:
        with db.batch() as batch:
            batch.put(3, same, users)

    def by_transaction() -> None:
        with db.begin() as tx:
            tx.of(users)[3] = same

    def with_time() -> None:
        users.insert_with(3, same, ttl=60)

    writes = [lambda: users.update({3: same}), lambda: users.insert_if_absent(3, same), by_batch, by_transaction, with_time]
    for write in [lambda: users.__setitem__(3, same), *writes]:
        with pytest.raises(ogive.NotUnique, match='row "1"') as caught:
            write()
        error = caught.value
        assert isinstance(error, ogive.InvalidArgument) and isinstance(error, ValueError)
        assert (error.keyspace, error.index, error.key, error.other_key) == ("users", "by_email", 3, 1)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.keyspace, again.index, again.key, again.other_key) == (
        str(error), "users", "by_email", 3, 1,
    )
    with pytest.raises(ogive.NotUnique) as caught:
        db.create_index("by_name", users, "name", unique=True)
    assert (caught.value.index, {caught.value.key, caught.value.other_key}) == ("by_name", {1, 2})
    assert list(users) == [1, 2]


def test_the_calls_are_awaited(db: Any) -> None:
    users = db.keyspace("users")

    async def main() -> None:
        users.update({number: row(number, 0) for number in range(200)})
        async with db.begin() as tx:
            mine = tx.of(users)
            assert [key async for key, _ in mine.afind("by_email", "7@x")] == [7]
            await mine.ainsert_with(300, row(300, 1), ttl=60)
            assert [key async for key, _ in mine.afind("by_score", 1)] == [300]
        await users.ainsert_with(301, row(301, 1), expires=0)
        assert [key async for key, _ in users.afind("by_score", start=1)] == [300, *range(200)]

        # No record is read ahead.
        tx = db.begin()
        async for key, _ in tx.of(users).afind("by_score"):
            assert key == 300
            break
        tx["x"] = 1
        users[0] = row(0, 0, "another")
        tx.commit()

    asyncio.run(main())
