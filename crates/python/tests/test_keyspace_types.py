"""The types of a keyspace under several handles, threads and processes.

Goal: types live in the store, not in a handle: who uses a keyspace whose types are undecided looks again, a first write
decides for all, and no handle's types are replaced under it. Method: two handles for each call, drawn programs of twenty
handles against a model, threads that write first at the same time, and processes that read.
"""

import pickle
import random
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import ogive

CALLS: dict[str, Any] = {
    "get": lambda keyspace: keyspace.get("k"),
    "[]": lambda keyspace: keyspace["k"],
    "in": lambda keyspace: 1 if "k" in keyspace else 0,
    "items": lambda keyspace: next(iter(keyspace.items()))[1],
    "reversed": lambda keyspace: keyspace[next(iter(reversed(keyspace)))],
    "count": lambda keyspace: keyspace.count(),
    "len": len,
    "multi_get": lambda keyspace: len(list(keyspace.multi_get(["k"]))),
    "scan": lambda keyspace: sum(1 for _ in keyspace.scan()),
    "first": lambda keyspace: keyspace.first()[1],
    "insert_if_absent": lambda keyspace: 0 if keyspace.insert_if_absent("k", 5) else 1,
    "pop": lambda keyspace: keyspace.pop("k"),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_handle_from_before_the_first_record_sees_it(db: ogive.Db, call: str) -> None:
    early = db.keyspace("x")
    assert early.get("k") is None and list(early) == []
    db.keyspace("x")["k"] = 1
    assert CALLS[call](early) == 1


def test_clear_and_removals_of_a_handle_from_before_the_first_record_remove_it(db: ogive.Db) -> None:
    early = db.keyspace("x")
    db.keyspace("x")["k"] = 1
    early.clear()
    assert list(db.keyspace("x")) == []
    db.keyspace("x")["k"] = 1
    early.discard("k")
    assert list(db.keyspace("x")) == []
    db.keyspace("x")["k"] = 1
    early.remove_range("a", "z")
    assert list(db.keyspace("x")) == []
    with db.batch() as batch:
        batch.remove("k", early)
        batch.put("k", 2, early)
    assert early["k"] == 2


def test_a_second_opening_with_other_types_does_not_retype_the_first(folder: str) -> None:
    first = ogive.open(folder, key=int, value=int)
    with pytest.raises(ogive.WrongType, match="1 typed handle"):
        first.keyspace("default", key=int, value="u64")
    with pytest.raises(ogive.OgiveError):
        ogive.open(folder, key=int, value="u64")
    first[5] = 50
    assert first[5] == 50
    first.close()
    with ogive.open(folder) as again:
        assert again.types == ("i64", "i64")


@pytest.mark.parametrize("stated", [{"key": int}, {"value": str}])
def test_one_type_that_differs_says_how_to_replace_those_of_a_keyspace_without_records(
    db: ogive.Db, stated: dict[str, Any]
) -> None:
    keyspace = db.keyspace("u", key=str, value=int)
    keyspace["a"] = 1
    with pytest.raises(ogive.WrongType, match="open it with its own types, or use another keyspace$"):
        db.keyspace("u", **stated)
    keyspace.clear()
    del keyspace
    with pytest.raises(ogive.WrongType, match="has no records: state both key= and value= to replace its types$"):
        db.keyspace("u", **stated)
    assert db.keyspace("u", key=int, value=str).types == ("i64", "text")


@pytest.mark.parametrize("removed_first", [False, True])
def test_removals_in_the_batch_that_decides_the_types_are_kept(db: ogive.Db, removed_first: bool) -> None:
    with db.batch() as batch:
        if removed_first:
            del batch["a"]
        batch["a"] = 1
        batch["b"] = 2
        if not removed_first:
            del batch["a"]
    assert dict(db) == ({"a": 1, "b": 2} if removed_first else {"b": 2})
    with db.batch() as batch:
        batch["c"] = 3
        batch.remove_range("a", "c")
    assert dict(db) == {"c": 3}
    fresh = db.keyspace("fresh")
    with db.batch() as batch:
        batch.put("a", 1, fresh)
        batch.put("b", 1, fresh)
        batch.remove_range("a", "b", fresh)
    assert dict(fresh) == {"b": 1}


def test_a_batch_that_only_removes_removes_what_was_written_meanwhile(db: ogive.Db) -> None:
    keyspace = db.keyspace("x")
    batch = db.batch()
    batch.remove("k", keyspace)
    db.keyspace("x")["k"] = 1
    batch.commit()
    assert list(keyspace) == []


def test_first_writes_of_two_threads_never_mix_types(tmp_path: Path) -> None:
    for number in range(60):
        with ogive.open(str(tmp_path / str(number)), durability="buffered") as db:
            start = threading.Barrier(2)
            outcomes: list[bool] = []

            def write(key: Any, value: Any, db: ogive.Db = db, start: threading.Barrier = start) -> None:
                start.wait()
                try:
                    db[key] = value
                    outcomes.append(True)
                except ogive.OgiveError:
                    outcomes.append(False)

            threads = [threading.Thread(target=write, args=record) for record in [("a", 1), (7, b"x")]]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(outcomes) == [False, True]
            assert len(list(db.items())) == 1


@pytest.mark.parametrize("wrong", [("x" * 70_000, 1), ("a", object()), (b"x" * 70_000, "v"), ("a", 2**200)])
def test_a_put_that_fails_decides_no_types(db: ogive.Db, wrong: tuple[Any, Any]) -> None:
    keyspace = db.keyspace("x")
    with pytest.raises((ogive.OgiveError, TypeError, OverflowError, ValueError)):
        keyspace[wrong[0]] = wrong[1]
    with pytest.raises((ogive.OgiveError, TypeError, OverflowError, ValueError)), db.batch() as batch:
        batch.put(wrong[0], wrong[1], keyspace)
    db.keyspace("x")[1.5] = True
    assert dict(keyspace) == {1.5: True}


def test_a_field_that_one_handle_adds_is_null_in_what_another_writes(db: ogive.Db) -> None:
    old = db.keyspace("rows", key=int, value={"a": int})
    old[1] = {"a": 1}
    new = db.keyspace("rows", key=int, value={"a": int, "b": [str]})
    new[2] = {"a": 2, "b": "two"}
    old[3] = {"a": 3}
    assert new[3] == {"a": 3, "b": None} and new[1] == {"a": 1, "b": None}
    assert [value["a"] for value in old.values()] == [1, 2, 3]
    assert old[2]["a"] == 2
    assert old.pop(3)["a"] == 3


def test_a_keyspace_that_was_dropped_and_made_again_has_types_of_its_own(db: ogive.Db) -> None:
    before = db.keyspace("x")
    before["k"] = 1
    db.drop_keyspace("x")
    with pytest.raises(ogive.OgiveError):
        before.get("k")
    again = db.keyspace("x")
    again[7] = b"seven"
    assert dict(again) == {7: b"seven"}


READER = """
import sys, ogive
db = ogive.open(sys.argv[1], read_only=True)
early = db.keyspace("x") if "x" in db.keyspaces else None
print("ready", flush=True)
sys.stdin.readline()
db.refresh()
print(dict(db.keyspace("x")) if early is None else dict(early), flush=True)
"""


@pytest.mark.parametrize("is_made", [False, True])
def test_a_reader_of_another_process_sees_types_that_are_decided_later(folder: str, is_made: bool) -> None:
    with ogive.open(folder) as db:
        if is_made:
            db.keyspace("x")
            db.persist()
        reader = subprocess.Popen(
            [sys.executable, "-c", READER, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert reader.stdin is not None and reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"
        db.keyspace("x")["k"] = 1
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert reader.stdout.readline() == "{'k': 1}\n"
        reader.stdin.close()
        assert reader.wait() == 0


TYPES: list[tuple[Any, Any, Any]] = [
    (int, int, 5),
    (int, {"a": int}, {"a": 5}),
    (int, {"a": int, "b": [str]}, {"a": 5, "b": "x"}),
    (int, str, "text"),
]


def test_programs_of_twenty_handles_answer_as_a_model_does(db: ogive.Db) -> None:
    refused = 0
    for seed in range(25):
        draw = random.Random(seed)
        name = f"k{seed}"
        stated: int | None = None
        handles: list[tuple[int | None, ogive.Keyspace[Any, Any]]] = []
        model: dict[int, Any] = {}
        for _ in range(80):
            choice = draw.randrange(10)
            if choice < 3 and len(handles) < 20:
                asked = draw.choice([None, *range(len(TYPES))])
                is_extension = (stated, asked) == (1, 2)
                try:
                    key, value, _ = TYPES[asked] if asked is not None else (None, None, None)
                    handles.append((asked, db.keyspace(name, key=key, value=value)))
                    if asked is not None:
                        assert stated in (None, asked) or is_extension or not model
                        stated = asked
                except ogive.WrongType:
                    refused += 1
                    assert stated is not None and asked not in (None, stated) and not is_extension
                    assert handles or model
            elif choice < 6 and handles:
                _, handle = draw.choice(handles)
                number = stated if stated is not None else 0
                key, value = draw.randrange(5), TYPES[number][2]
                handle[key] = value
                del handle
                stated = number
                model[key] = value
            elif choice < 8 and handles:
                _, handle = draw.choice(handles)
                found = dict(handle)
                assert found.keys() == model.keys()
                for key, value in model.items():
                    wide = {**value, "b": value.get("b")} if stated == 2 else value
                    assert found[key] == wide and handle[key] == wide
                del handle
            elif choice == 8 and handles:
                draw.choice(handles)[1].clear()
                model.clear()
            elif handles:
                handles.pop(draw.randrange(len(handles)))
    assert refused > 50


def test_a_batch_uses_the_types_of_what_it_changes(db: ogive.Db) -> None:
    batch = db.batch()
    batch.put(1, 5, db.keyspace("x", key=int, value=int))
    with pytest.raises(ogive.WrongType, match="1 typed handle"):
        db.keyspace("x", key=int, value=float)
    batch.commit()
    assert dict(db.keyspace("x")) == {1: 5}
    db.keyspace("x").clear()
    removing = db.batch()
    removing.remove(1, db.keyspace("x"))
    with pytest.raises(ogive.WrongType):
        db.keyspace("x", key=str, value=int)
    removing.abandon()
    db.keyspace("x", key=str, value=int)["a"] = 1


def test_a_batch_refuses_a_keyspace_of_another_store(db: ogive.Db, tmp_path: Path) -> None:
    with ogive.open(str(tmp_path / "other")) as other:
        batch = db.batch()
        for refused in (lambda: batch.put(1, 1, other.keyspace("x")), lambda: batch.remove(1, other.keyspace("x"))):
            with pytest.raises(ogive.InvalidArgument, match="another store"):
                refused()
        batch.commit()
        assert other.keyspace("x").types == ("bytes", "bytes")


TAKES: dict[str, Any] = {
    "pop": lambda keyspace, key: keyspace.pop(key),
    "popitem": lambda keyspace, key: keyspace.popitem(),
    "first": lambda keyspace, key: keyspace.popitem(last=False),
}


@pytest.mark.parametrize("take", TAKES)
def test_a_record_that_python_has_no_object_for_is_not_popped(db: ogive.Db, take: str) -> None:
    db.keyspace("json")[1] = "no json"
    far = db.keyspace("far", key=int, value="timestamp(s)")
    far[1] = 1 << 45
    dates = db.keyspace("dates", key="date", value="date")
    dates[5_000_000] = 5_000_000  # the year 15659
    for keyspace, key in (db.keyspace("json", key=int, value="json"), 1), (far, 1), (dates, 5_000_000):
        with pytest.raises(ogive.OgiveError):
            TAKES[take](keyspace, key)
        assert keyspace.count() == 1


def test_a_field_is_added_by_values_alone(db: ogive.Db) -> None:
    rows = db.keyspace("x", key=int, value={"a": int})
    rows[1] = {"a": 1}
    wider = db.keyspace("x", value={"a": int, "b": [str]})
    wider[2] = {"a": 2, "b": "two"}
    assert list(wider.items()) == [(1, {"a": 1, "b": None}), (2, {"a": 2, "b": "two"})]


def test_a_reader_of_fewer_fields_reads_those_that_it_knows(tmp_path: Path) -> None:
    with ogive.open(tmp_path / "s", key=int, value={"a": int}) as db:
        db[1] = {"a": 1}
    with ogive.open(tmp_path / "s", key=int, value={"a": int, "b": [str]}) as db:
        db[2] = {"a": 2, "b": "two"}
    with ogive.open(tmp_path / "s", read_only=True, key=int, value={"a": int}) as reader:
        assert dict(reader) == {1: {"a": 1}, 2: {"a": 2}}
        assert dict(pickle.loads(pickle.dumps(reader))) == dict(reader)
    with pytest.raises(ogive.WrongType):
        ogive.open(tmp_path / "s", read_only=True, key=int, value={"c": int})


def test_altered_fields_keep_the_old_rows(db: ogive.Db) -> None:
    fruit = db.keyspace("fruit", key=str, value={"name": str, "amount": "u32", "price": "decimal(4,2)"})
    fruit["f"] = ("fig", 2**32 - 1, Decimal("1.25"))
    plain, snapshot = db.keyspace("fruit"), db.snapshot()
    with pytest.raises(ogive.InvalidArgument, match="does not hold all its values"):
        fruit.alter(widen={"amount": "i32"})
    with pytest.raises(ogive.InvalidArgument, match="there are: key, name, amount, price"):
        fruit.alter(nullable=["colour"])

    fruit.alter(nullable=["price"], add={"origin": str})
    assert fruit["f"]["origin"] is None and fruit["f"]["amount"] == 2**32 - 1
    fruit["l"] = {"name": "lime", "amount": 3, "price": None, "origin": "Iran"}
    assert fruit["l"]["price"] is None and plain["l"]["origin"] == "Iran"

    fruit.alter(widen={"amount": "u64", "price": "decimal(10,4)"})
    with pytest.raises(ogive.WrongType):
        fruit["f"]
    assert plain.types == ("text", "{name: text, amount: u64, price: decimal(10,4)?, origin: text?}")
    plain["p"] = ("pear", 2**40, None, None)
    amounts = [(row["name"], row["amount"]) for row in plain.values()]
    assert amounts == [("fig", 2**32 - 1), ("lime", 3), ("pear", 2**40)]
    assert str(plain["f"]["price"]) == "1.2500"
    assert snapshot.keyspace("fruit")["f"]["amount"] == 2**32 - 1
    assert [value["amount"] for value in snapshot.keyspace("fruit").values()] == [2**32 - 1]

    numbers = db.keyspace("numbers", key=str, value="u8")
    numbers["n"] = 255
    numbers.alter(widen={"value": "i64"})
    assert db.keyspace("numbers")["n"] == 255


def test_options_of_a_keyspace_are_recorded(db: ogive.Db) -> None:
    photos = db.keyspace("photos", key=str, value=bytes)
    assert photos.options == {}
    photos.set_options(compression="zstd", filter_bits_per_key=0, separation_bytes=100, block_bytes=16384)
    photos.set_options(block_bytes=None)
    expected = {"compression": "zstd", "filter_bits_per_key": 0, "separation_bytes": 100}
    assert db.keyspace("photos").options == expected
    photos["a"] = b"x" * 1000
    db.flush()
    assert photos["a"] == b"x" * 1000
    for wrong in ({"block_bytes": 1000}, {"compression": "gzip"}, {"filter_bits_per_key": 33}):
        with pytest.raises(ogive.InvalidArgument):
            photos.set_options(**wrong)
    with pytest.raises((TypeError, OverflowError)):
        photos.set_options(separation_bytes=-1)
    assert photos.options == expected
