"""Awaitable variants."""

from __future__ import annotations

import asyncio
from pathlib import Path

import ogive
import pyarrow
import pyarrow.parquet
import pytest


def test_stores_tables_and_indexes(tmp_path: Path) -> None:
    async def main() -> None:
        db = ogive.open(tmp_path / "db", key=int, value=str)
        await asyncio.gather(*(db.aput(number, str(number)) for number in range(100)))
        assert await db.aget(7) == "7" and await db.aget(100, "?") == "?" and await db.acontains(99)
        await db.adelete(7)
        with pytest.raises(KeyError):
            await db.adelete(7)
        assert (await db.amulti_get([6, 7])).column("value") == ["6", None]
        rows = [row async for batch in db.ascan(90) for row in batch]
        assert [row["key"] for row in rows] == list(range(90, 100))
        with db.snapshot() as snapshot:
            assert await snapshot.aget(8) == "8"
        db.close()

        table = ogive.build({1: 2}, to=tmp_path / "t.ogive")
        assert await table.aget(1) == 2
        pyarrow.parquet.write_table(pyarrow.table({"id": [1], "v": [5]}), tmp_path / "e.parquet")
        index = ogive.index_parquet(tmp_path / "e.parquet", key="id", to=tmp_path / "e.idx")
        assert (await index.aget(1, columns=["v"])).to_pylist() == [{"v": 5}]
        assert [len(batch) async for batch in index.ascan(columns=["v"])] == [1]
        with ogive.Index(tmp_path / "i.idx") as ix:
            await ix.aput(1, 2)
            assert await ix.aget(1) == 2

    asyncio.run(main())


def test_a_cancelled_write_happens_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    async def main() -> set[int]:
        with ogive.open(tmp_path / "db", key=int, value=str) as db:
            tasks = [asyncio.create_task(db.aput(number, "x" * 1000)) for number in range(50)]
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            assert any(isinstance(result, asyncio.CancelledError) for result in done)
            await asyncio.get_running_loop().shutdown_default_executor()
            return {number for number, value in db.range() if value != "x" * 1000}

    assert asyncio.run(main()) == set()
