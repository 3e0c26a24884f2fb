"""Transactions of stores: reads over own writes, conflicts, functions that run again, savepoints, and asyncio."""

from __future__ import annotations

import asyncio
import pickle
import threading
from pathlib import Path
from typing import Any

import ogive
import pytest


@pytest.fixture
def bank(tmp_path: Path) -> Any:
    with ogive.open(tmp_path / "bank", key=str, value=int) as db:
        db.update({"ann": 100, "bob": 0})
        yield db


def test_a_transaction_reads_its_snapshot_with_its_own_writes(bank: ogive.MutableDb[str, int]) -> None:
    orders = bank.keyspace("orders", key=(str, int), value={"item": str, "amount": int})
    orders["ann", 1] = ("fig", 3)
    with bank.begin() as tx:
        mine = tx.of(orders)
        mine["ann", 2] = {"item": "lime", "amount": 1}
        bank["bob"] = 7
        assert tx["bob"] == 0 and tx.get("eve") is None and "eve" not in tx
        assert dict(mine) == {("ann", 1): {"item": "fig", "amount": 3}, ("ann", 2): {"item": "lime", "amount": 1}}
        assert [key for key, _ in mine.range(prefix=("ann",), reverse=True)] == [("ann", 2), ("ann", 1)]
        assert mine.last() == (("ann", 2), {"item": "lime", "amount": 1}) and len(mine) == 2
        assert tx.keyspace("orders")["ann", 2]["item"] == "lime"
        assert mine.multi_get([("ann", 2), ("eve", 1)]).to_pylist()[0]["item"] == "lime"
        assert [row["amount"] for row in mine.scan()] == [3, 1]
        mine.remove_range(("ann", 1), ("ann", 2))
        with pytest.raises(KeyError):
            del mine["ann", 1]
        mine.discard(("ann", 1))
        assert mine.pop(("ann", 2))["amount"] == 1 and not mine
        mine.update({("bob", 1): ("pear", 9)})
        assert ("ann", 1) in orders and repr(mine).startswith("<ogive.Transaction")
        assert bank.stats()["open_transactions"] == 1 and bank.stats()["oldest_transaction_s"] >= 0
        tx.abandon()
        with pytest.raises(ogive.Closed):
            mine.get(("ann", 1))
    assert ("ann", 1) in orders and ("bob", 1) not in orders and bank.stats()["open_transactions"] == 0
    tx = bank.begin()
    tx["ann"] = 5
    tx.commit()
    pytest.raises(ogive.Closed, tx.commit)
    assert bank["ann"] == 5


def test_an_exception_drops_the_writes_and_savepoints_a_part_of_them(bank: ogive.MutableDb[str, int]) -> None:
    with pytest.raises(ZeroDivisionError):
        with bank.begin() as tx:
            tx["ann"] = 0
            1 // 0
    assert bank["ann"] == 100 and bank.stats()["open_transactions"] == 0
    with bank.begin() as tx:
        tx["ann"] = 1
        before = tx.savepoint()
        tx["ann"] = 2
        tx.clear()
        assert "bob" not in tx
        tx.rollback_to(before)
        assert tx["ann"] == 1 and tx["bob"] == 0
    assert dict(bank) == {"ann": 1, "bob": 0}


def test_a_conflict_names_keyspace_and_key(bank: ogive.MutableDb[str, int]) -> None:
    orders = bank.keyspace("orders", key=(str, int), value=int)
    tx = bank.begin()
    assert tx.of(orders).get(("ann", 7)) is None
    tx["ann"] = 0
    orders["ann", 7] = 1
    with pytest.raises(ogive.Conflict, match="orders") as caught:
        tx.commit()
    conflict = caught.value
    assert isinstance(conflict, ogive.Busy) and isinstance(conflict, OSError)
    assert (conflict.keyspace, conflict.key, bank["ann"]) == ("orders", ("ann", 7), 100)
    assert conflict.hint == "leave it and begin another"
    again = pickle.loads(pickle.dumps(conflict))
    assert (str(again), again.keyspace, again.key) == (str(conflict), "orders", ("ann", 7))

    # A range is read as far as it was iterated, and no further.
    for reads, is_conflict in [(1, False), (2, True)]:
        with_range = bank.begin()
        records = with_range.range()
        assert [next(records)[0] for _ in range(reads)] == ["ann", "bob"][:reads]
        with_range["x"] = 1
        bank["bob"] = reads
        if is_conflict:
            pytest.raises(ogive.Conflict, with_range.commit)
        else:
            with_range.commit()

    dropped = bank.begin()
    dropped.of(orders).get(("ann", 7))
    dropped["ann"] = 0
    bank.drop_keyspace("orders")
    with pytest.raises(ogive.Conflict) as caught:
        dropped.commit()
    assert (caught.value.keyspace, caught.value.key) == ("orders", None)


def test_isolation_by_snapshots_looks_only_at_what_is_written(bank: ogive.MutableDb[str, int]) -> None:
    def write_skew(isolation: Any) -> None:
        one, other = bank.begin(isolation=isolation), bank.begin(isolation=isolation)
        one["ann"] = one["bob"] + 1
        other["bob"] = other["ann"] + 1
        one.commit()
        other.commit()

    write_skew("snapshot")
    with pytest.raises(ogive.Conflict):
        write_skew("serializable")
    with pytest.raises(ogive.Conflict):
        with bank.begin(isolation="snapshot") as tx:
            tx["ann"] = 7
            bank["ann"] = 8
    with pytest.raises(ogive.InvalidArgument, match="isolation"):
        bank.begin(isolation="none")  # type: ignore[arg-type]


def test_functions_run_again_until_they_meet_no_write(bank: ogive.MutableDb[str, int]) -> None:
    @bank.transactional
    def transfer(tx: ogive.Transaction[str, int], giver: str, taker: str, amount: int = 1) -> bool:
        """Moves an amount."""
        if tx[giver] < amount:
            return False
        tx[giver] -= amount
        tx[taker] += amount
        return True

    assert transfer.__doc__ == "Moves an amount." and not transfer("bob", "ann", amount=1)
    outcomes: list[bool] = []

    def work(number: int) -> None:
        for _ in range(25):
            giver, taker = ("ann", "bob") if number % 2 else ("bob", "ann")
            outcomes.append(transfer(giver, taker))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bank["ann"] + bank["bob"] == 100 and len(outcomes) == 100

    runs = []

    def always_late(tx: ogive.Transaction[str, int]) -> None:
        runs.append(tx["ann"])
        bank["ann"] = len(runs)
        tx["bob"] = 0

    with pytest.raises(ogive.Conflict):
        bank.transact(always_late)
    assert len(runs) == 64
    with pytest.raises(ZeroDivisionError):
        bank.transact(lambda tx: 1 // 0)

    @bank.transactional(isolation="snapshot")
    def read(tx: ogive.Transaction[str, int]) -> int:
        return len(tx)

    assert read() == 2


def test_the_first_record_of_a_keyspace_decides_its_types_when_it_is_committed(tmp_path: Path) -> None:
    with ogive.open(tmp_path / "s") as db:
        fruit = db.keyspace("fruit")
        tx = db.begin()
        mine = tx.of(fruit)
        assert mine.get("apple") is None and "apple" not in mine and list(mine) == [] and len(mine) == 0
        mine.discard("apple")
        mine.remove_range()
        before = tx.savepoint()
        mine[7] = "seven"
        tx.rollback_to(before)
        mine["apple"] = 3
        assert mine["apple"] == 3 and list(mine.items("a", "b")) == [("apple", 3)]
        with pytest.raises(ogive.WrongType):
            mine["pear"] = "green"
        tx.commit()
        assert fruit.types == ("text", "i64") and dict(fruit) == {"apple": 3}

        # What was read of a keyspace without records conflicts with its first one.
        other = db.keyspace("other")
        tx = db.begin()
        assert tx.of(other).get(b"x") is None
        tx.of(fruit)["pear"] = 1
        other[1] = 1
        pytest.raises(ogive.Conflict, tx.commit)

        colours = db.keyspace("colours", key=int, value="json")
        with db.begin() as tx:
            tx.of(colours)[1] = {"rgb": [255, 0, 0]}
            assert tx.of(colours)[1]["rgb"] == [255, 0, 0]
        assert list(colours.values()) == [{"rgb": [255, 0, 0]}]


def test_handles_of_other_stores_and_processes_are_refused(bank: ogive.MutableDb[str, int], tmp_path: Path) -> None:
    with ogive.open(tmp_path / "elsewhere", key=str, value=int) as elsewhere:
        tx = bank.begin()
        with pytest.raises(ogive.InvalidArgument, match="another store"):
            tx.of(elsewhere)["ann"] = 1
        with pytest.raises(TypeError, match="process"):
            pickle.dumps(tx)
        tx.abandon()
    tx = bank.begin()
    tx["ann"] = 1
    bank.close()
    pytest.raises(ogive.Closed, tx.commit)


def test_transactions_are_awaited(bank: ogive.MutableDb[str, int]) -> None:
    async def main() -> None:
        async with bank.begin() as tx:
            await tx.aput("eve", await tx.aget("ann") + 1)
        assert bank["eve"] == 101
        with pytest.raises(ogive.Conflict):
            async with bank.begin() as tx:
                await tx.aput("eve", await tx.aget("ann"))
                await bank.aput("ann", 7)

        async def count(tx: ogive.Transaction[str, int]) -> int:
            seen = await tx.aget("bob")
            await asyncio.sleep(0)
            await tx.aput("bob", seen + 1)
            return int(seen)

        def count_by_thread(tx: ogive.Transaction[str, int]) -> int:
            tx["bob"] += 1
            return tx["bob"] - 1

        seen = await asyncio.gather(*(bank.atransact(work) for work in [count, count_by_thread] * 5))
        assert sorted(seen) == list(range(10)) and bank["bob"] == 10

        @bank.transactional
        async def add(tx: ogive.Transaction[str, int], amount: int) -> int:
            await tx.aput("bob", await tx.aget("bob") + amount)
            return await tx.aget("bob")

        assert await add(5) == 15 and bank["bob"] == 15
        with pytest.raises(ogive.InvalidArgument, match="atransact"):
            bank.transact(count)

        async def fail(tx: ogive.Transaction[str, int]) -> None:
            tx["bob"] = 0
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await bank.atransact(fail)
        assert bank["bob"] == 15 and bank.stats()["open_transactions"] == 0

    asyncio.run(main())
