"""Pickling: handles are opened again."""

from __future__ import annotations

import multiprocessing
import pickle
from pathlib import Path

import ogive
import pytest


def look(db: ogive.Db) -> str:
    return str(db[1])


def test_readers_of_stores_are_opened_again(tmp_path: Path) -> None:
    db = ogive.open(tmp_path / "db", key=int, value=str)
    db[1] = "one"
    db.keyspace("j", key=int, value="json")[1] = {"a": 1}
    with pytest.raises(TypeError, match="open for writing"):
        pickle.dumps(db)
    with db.snapshot() as snapshot, pytest.raises(TypeError, match="object store"):
        pickle.dumps(snapshot)
    db.close()
    reader = ogive.open(tmp_path / "db", read_only=True, memory="8MiB")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(look, [reader]) == ["one"]
    assert pickle.loads(pickle.dumps(reader)) is reader
    json = pickle.loads(pickle.dumps(reader.keyspace("j", key=int, value="json")))
    assert json[1] == {"a": 1}
    reader.close()
