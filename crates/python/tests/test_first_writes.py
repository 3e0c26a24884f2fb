"""First writes, readers and batches, where types are not decided yet.

Goal: a write that fails decides no types, whatever kind of write it is and however it fails; a reader's types are those
that it stated; a batch changes what it was told to, all or nothing. Method: each way to write, made to fail in each way
that there is, and what is on the disk after it; two handles; a reader that goes on; keyspaces that are made again.
"""

from __future__ import annotations

import collections
import pickle
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ogive


def _in_batch(db: Any, keyspace: Any, key: Any, value: Any) -> None:
    with db.batch() as batch:
        batch.put(key, value, keyspace)


def _in_updated_batch(db: Any, keyspace: Any, key: Any, value: Any) -> None:
    with db.batch() as batch:
        batch.remove_range(key, None, keyspace)
        batch.update([(key, value)], keyspace)


WRITES: dict[str, Any] = {
    "[]": lambda db, keyspace, key, value: keyspace.__setitem__(key, value),
    "update": lambda db, keyspace, key, value: keyspace.update([(key, value)]),
    "setdefault": lambda db, keyspace, key, value: keyspace.setdefault(key, value),
    "insert_if_absent": lambda db, keyspace, key, value: keyspace.insert_if_absent(key, value),
    "batch": _in_batch,
    "batch.update": _in_updated_batch,
}


def _types_on_disk(folder: str, name: str) -> tuple[str, str] | None:
    with ogive.open(folder, read_only=True) as reader:
        return reader.keyspace(name).types if name in reader.keyspaces else None


@pytest.mark.parametrize("write", WRITES)
def test_a_write_that_fails_decides_nothing(folder: str, write: str) -> None:
    with ogive.open(folder) as db:
        kept = db.keyspace("kept")
        for key, value in [("x" * 70_000, 1), ("a", object()), ("a", 2**200), (object(), 1), ((), 1)]:
            with pytest.raises((ogive.OgiveError, TypeError)):
                WRITES[write](db, kept, key, value)
        dropped = db.keyspace("dropped")
        db.drop_keyspace("dropped")
        with pytest.raises(ogive.NoKeyspace):
            WRITES[write](db, dropped, "a", 1)
        db.persist()
        assert _types_on_disk(folder, "kept") == ("bytes", "bytes")
        again = db.keyspace("dropped")
        assert again.types == ("bytes", "bytes")
        for keyspace in (kept, again):
            WRITES[write](db, keyspace, 1.5, True)
            assert dict(keyspace) == {1.5: True} and keyspace.types == ("f64", "bool")


@pytest.mark.parametrize("durability", ["synced", "buffered"])
@pytest.mark.parametrize("write", WRITES)
def test_a_write_to_a_folder_that_is_gone_decides_nothing(folder: str, write: str, durability: Any) -> None:
    db = ogive.open(folder, durability=durability)
    keyspace = db.keyspace("x")
    moved = folder + " moved"
    shutil.move(folder, moved)
    with pytest.raises(ogive.Gone):
        WRITES[write](db, keyspace, "a", 1)
    db.close()
    with ogive.open(moved) as found:
        assert found.keyspace("x").types == ("bytes", "bytes")
        found.keyspace("x")[5] = b"five"


def test_a_batch_with_one_refused_row_decides_nothing_for_any_keyspace(db: ogive.MutableDb) -> None:
    one, other = db.keyspace("one"), db.keyspace("other")
    gone = db.keyspace("gone", key=bytes, value=float)
    batch = db.batch()
    batch.put("a", 1, one)
    batch.put(1, "a", other)
    batch.put(b"a", 1.5, gone)
    db.drop_keyspace("gone")
    with pytest.raises(ogive.NoKeyspace):
        batch.commit()
    assert not one and not other
    one[7], other["x"] = b"seven", 2.5
    assert (one.types, other.types) == (("i64", "bytes"), ("text", "f64"))


def test_of_threads_that_write_first_by_batches_those_of_one_type_succeed(db: ogive.MutableDb) -> None:
    for number in range(30):
        start, outcomes = threading.Barrier(4), []

        def write(key: Any, number: int = number, start: Any = start, outcomes: Any = outcomes) -> None:
            start.wait()
            try:
                _in_batch(db, db.keyspace(f"k{number}"), key, key)
                outcomes.append(key)
            except ogive.WrongType:
                pass

        threads = [threading.Thread(target=write, args=(key,)) for key in (1, "a", 2, "b")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(map(str, outcomes)) in (["1", "2"], ["a", "b"])
        assert sorted(db.keyspace(f"k{number}")) == sorted(outcomes)


def test_a_tuple_has_the_fields_that_a_handle_knew_and_nulls_behind(db: ogive.MutableDb) -> None:
    old = db.keyspace("rows", key=int, value={"a": int, "b": str})
    old[1] = (5, "five")
    new = db.keyspace("rows", key=int, value={"a": int, "b": str, "c": [float], "d": [str]})
    old[2] = (6, "six")
    with db.batch() as batch:
        batch.put(3, (7, "seven"), old)
        batch.put(4, (8, "eight", 0.5, None), new)
    rows = [(5, "five", None, None), (6, "six", None, None), (7, "seven", None, None), (8, "eight", 0.5, None)]
    assert [tuple(row.values()) for row in new.values()] == rows
    assert [(row["a"], row["b"]) for row in old.values()] == [row[:2] for row in rows]
    for handle, wrong in [(old, (9,)), (old, ()), (old, (9, "nine", 0.5)), (old, ("nine", 9)), (new, (9, "nine"))]:
        with pytest.raises(ogive.WrongType):
            handle[9] = wrong
    old[8] = (8, "eight", 0.5, None)
    assert new[8] == new[4]
    del new[8]
    Row = collections.namedtuple("Row", ["b", "a"])
    old[9] = Row(a=9, b="nine")
    assert new[9] == {"a": 9, "b": "nine", "c": None, "d": None}


def test_a_reader_goes_on_with_the_types_that_it_stated(folder: str) -> None:
    narrow, wide = {"a": int}, {"a": int, "b": [str]}
    with ogive.open(folder) as db:
        db.keyspace("rows", key=int, value=narrow)[1] = {"a": 1}
        with ogive.open(folder, read_only=True) as reader:
            of_old, of_new = (reader.keyspace("rows", key=int, value=value) for value in (narrow, wide))
            unstated = reader.keyspace("rows")
            db.persist()
            assert reader.refresh()
            assert (of_old[1], of_new[1], unstated[1]) == ({"a": 1}, {"a": 1, "b": None}, {"a": 1})
            assert of_new.types == ("i64", "{a: i64, b: text?}")
            db.keyspace("rows", key=int, value=wide)[2] = {"a": 2, "b": "two"}
            before = reader.snapshot()
            assert reader.refresh()
            assert (of_old[2], of_new[2], unstated[2]) == ({"a": 2}, *[{"a": 2, "b": "two"}] * 2)
            assert list(of_old.values()) == [{"a": 1}, {"a": 2}] == [value for _, value in of_old.range()]
            assert list(of_new.multi_get([1, 2]).column("b")) == [None, "two"]
            assert "b" not in of_old.multi_get([2]).column_names and len(list(of_old.scan())) == 2
            with reader.snapshot() as snapshot:
                assert snapshot.of(of_old)[2] == {"a": 2} == dict(snapshot.of(of_old))[2]
                assert snapshot.of(of_new)[2] == {"a": 2, "b": "two"}
            assert before.of(of_old).get(2) is None and before.of(of_new)[1] == {"a": 1, "b": None}
            db.drop_keyspace("rows")
            reader.refresh()
            for handle in (of_old, of_new, unstated):
                with pytest.raises(ogive.NoKeyspace):
                    handle.get(1)
            db.keyspace("rows", key=int, value=str)[1] = "one"
            reader.refresh()
            for stated in (of_old, of_new):
                with pytest.raises(ogive.WrongType):
                    stated.get(1)
            assert unstated[1] == "one"


def test_a_reader_has_no_keyspace_of_a_name_that_is_not_there(folder: str) -> None:
    with ogive.open(folder) as db:
        db.keyspace("there")["a"] = 1
        with ogive.open(folder, read_only=True) as reader, db.snapshot() as snapshot:
            for look in (reader.keyspace, snapshot.keyspace, reader.snapshot().keyspace):
                with pytest.raises(ogive.NoKeyspace, match="typo.*there"):
                    look("typo")
            with pytest.raises(ogive.NoKeyspace):
                reader.keyspace("typo", key=int, value=int)
        assert sorted(db.keyspaces) == ["default", "there"]


def test_one_stated_type_leaves_the_other_to_the_first_record(db: ogive.MutableDb) -> None:
    keys = db.keyspace("keys", key="u8")
    assert keys.types == ("u8", "bytes") and not keys and keys.multi_get([1]).column("key") == [1]
    with pytest.raises(ogive.WrongType):
        keys[300] = "text"
    keys[7] = "text"
    assert keys.types == ("u8", "text") and dict(db.keyspace("keys")) == {7: "text"}
    values = db.keyspace("values", value="u8")
    with db.batch() as batch:
        batch.put("a", 1, values)
        batch.put("b", 2, values)
    assert values.types == ("text", "u8")
    assert db.keyspace("values", key=str)["a"] == 1 == db.keyspace("values", value="u8")["a"]
    for stated in ({"key": int}, {"value": int}, {"value": "json"}):
        with pytest.raises(ogive.WrongType, match="values"):
            db.keyspace("values", **stated)
    # Another handle decides what this one did not expect.
    early = db.keyspace("other", key=int)
    db.keyspace("other")["text"] = 1
    with pytest.raises(ogive.WrongType, match="keys are not i64"):
        early.get(1)
    with pytest.raises(ogive.WrongType):
        early[1] = 1
    # `dict` says of a `TypeError` that a mapping cannot be iterated over.
    for look in (dict, list, lambda mapping: list(mapping.items()), lambda mapping: list(reversed(mapping.values()))):
        with pytest.raises(ogive.WrongType, match="keys are not i64"):
            look(early)
    assert dict(db.keyspace("other")) == {"text": 1}
    json = db.keyspace("json", value="json")
    json[1] = [1, {"a": None}]
    assert json.types == ("i64", "text") and json[1] == [1, {"a": None}]


def test_a_batch_knows_a_keyspace_that_was_made_again_as_another(db: ogive.MutableDb) -> None:
    first = db.keyspace("x")
    batch = db.batch()
    batch.put(1, 1, first)
    db.drop_keyspace("x")
    second = db.keyspace("x")
    batch.put("a", "b", second)
    with pytest.raises(ogive.NoKeyspace):
        batch.commit()
    assert not second
    second[b"bytes"] = 1.5
    removing = db.batch()
    removing.remove(b"bytes", db.keyspace("y"))
    db.drop_keyspace("y")
    db.keyspace("y")[b"bytes"] = 1
    with pytest.raises(ogive.NoKeyspace):
        removing.commit()
    assert dict(db.keyspace("y")) == {b"bytes": 1}


def test_an_update_that_fails_leaves_the_batch_as_it_was(db: ogive.MutableDb) -> None:
    def failing() -> Iterator[tuple[Any, Any]]:
        yield "f", 6
        raise ZeroDivisionError

    typed = db.keyspace("typed", key=str, value=int)
    for keyspace in (db.keyspace("x"), typed):
        with db.batch() as batch:
            for wrong in ([("a", 1), ("b", "text")], [("c", 3), 5], [("d", 4), (4, 4)], [("e", 5), ("x" * 70_000, 1)]):
                with pytest.raises((ogive.OgiveError, TypeError)):
                    batch.update(wrong, keyspace)
                assert len(batch) == 0
            with pytest.raises(ZeroDivisionError):
                batch.update(failing(), keyspace)
            batch.remove("z", keyspace)
            batch.update([], keyspace)
            with pytest.raises(ogive.WrongType):
                batch.update([("z", 1), ("y", b"bytes")], keyspace)
            batch.update({"g": 7, "h": 8}, keyspace)
        assert dict(keyspace) == {"g": 7, "h": 8}
    # Types that a failed update would have decided are open still.
    other = db.keyspace("other")
    with db.batch() as batch:
        with pytest.raises(ogive.WrongType):
            batch.update([("a", 1), (1, "a")], other)
        batch.put(1, "a", other)
    assert dict(other) == {1: "a"}
    # So are removals that the first record cannot read.
    third = db.keyspace("third")
    with db.batch() as batch:
        batch.remove("a", third)
        with pytest.raises(ogive.WrongType):
            batch.put(1, 1, third)
        batch.put("b", 1, third)
    assert dict(third) == {"b": 1}


def test_an_import_that_fails_leaves_the_types_open(folder: str, tmp_path: Path) -> None:
    with ogive.open(folder) as db:
        index = ogive.Index(tmp_path / "a.idx", key="u8", value="u8")
        for keys, values in ([[1, 2], [3, 300]], [[1, "b"], [3, 4]], [[1], [2, 3]]):
            with pytest.raises(ogive.OgiveError):
                index.load(keys, values)
        assert not index and not db
        index.close()


def test_a_reader_is_pickled_with_the_types_that_it_stated(folder: str) -> None:
    with ogive.open(folder) as db:
        db.keyspace("rows", key=int, value={"a": int})[1] = {"a": 1}
        db.keyspace("json", value="json")["k"] = [1]
        with ogive.open(folder, read_only=True, key=str) as reader:
            wide = reader.keyspace("rows", key=int, value={"a": int, "b": [str]})
            copies = pickle.loads(pickle.dumps([wide, reader.keyspace("json", key=str, value="json"), reader]))
            assert (copies[0][1], copies[1]["k"]) == ({"a": 1, "b": None}, [1]) and copies[0].types == wide.types
            assert copies[2].types == ("text", "bytes")
            db[5] = 5
            reader.refresh()
            with pytest.raises(ogive.WrongType):
                copies[2].get("k")
