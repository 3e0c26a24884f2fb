"""Stores as dictionaries, their batches, snapshots and keyspaces."""

from __future__ import annotations

import errno
import itertools
import os
import pickle
import re
import shutil
import threading
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

import ogive


def test_records_come_go_and_survive_closing(folder: str) -> None:
    with ogive.open(folder) as db:
        db["apple"] = b"red"
        db["pear"] = b"green"
        del db["apple"]
        assert db["pear"] == b"green" and "apple" not in db
        assert db.get("apple") is None and db.get("apple", b"?") == b"?"
        with pytest.raises(KeyError, match="apple"):
            db["apple"]
        with pytest.raises(KeyError, match="apple"):
            del db["apple"]
    with ogive.open(folder) as db:
        assert list(db.items()) == [("pear", b"green")]
        assert db.types == ("text", "bytes")


def test_an_empty_store_has_nothing_of_any_type(db: ogive.Db) -> None:
    assert db.get(1) is None and "a" not in db and list(db) == [] and len(db) == 0
    assert db.first() is None and db.last() is None and db.count() == 0
    assert db.multi_get([b"a"]).to_pylist() == [{"key": b"a", "value": None}]
    assert db.scan().to_pylist() == []
    with pytest.raises(KeyError):
        db[("tuple", 1)]


def test_the_first_record_decides_the_types(db: ogive.Db) -> None:
    db[7] = "seven"
    assert db.types == ("i64", "text") and db[7] == "seven"
    for key, value in [("7", "seven"), (7, b"seven"), (7.5, "seven"), (True, "seven"), (None, "seven")]:
        with pytest.raises(TypeError):
            db[key] = value
    with pytest.raises(ogive.WrongType):
        db.keyspace("default", key=str, value=str)
    assert list(db.items()) == [(7, "seven")]


def test_ranges_are_half_open_in_order_and_in_reverse(db: ogive.Db) -> None:
    db.update({number: str(number) for number in range(100)})
    assert [key for key, _ in db.range(10, 15)] == [10, 11, 12, 13, 14]
    assert [key for key, _ in db.range(10, 15, reverse=True)] == [14, 13, 12, 11, 10]
    assert list(db.keys(98)) == [98, 99] and list(db.values(stop=2)) == ["0", "1"]
    assert list(reversed(db))[:2] == [99, 98]
    assert db.first() == (0, "0") and db.last() == (99, "99")
    assert db.count(10, 20) == 10 and len(db) == 100
    assert list(db.range(20, 10)) == []


def test_a_range_sees_the_store_as_it_was(db: ogive.Db) -> None:
    db.update({number: number for number in range(10_000)})
    found = db.range()
    assert next(found) == (0, 0)
    db.clear()
    assert sum(1 for _ in found) == 9_999 and len(db) == 0


def test_prefixes_of_text_and_of_tuples(db: ogive.Db) -> None:
    words = db.keyspace("words", key=str, value=int)
    words.update(a=1, ab=2, abc=3, b=4)
    assert [key for key, _ in words.range(prefix="ab")] == ["ab", "abc"]
    pairs = db.keyspace("pairs", key=(str, int), value=int)
    for name in ("a", "b"):
        for number in range(3):
            pairs[name, number] = number
    assert list(pairs.range(prefix=("b",))) == [(("b", 0), 0), (("b", 1), 1), (("b", 2), 2)]
    assert [key for key, _ in pairs.range(("a", 1), ("b",))] == [("a", 1), ("a", 2)]
    with pytest.raises(ValueError):
        words.range("a", prefix="ab")


def test_a_batch_is_all_or_nothing(db: ogive.Db) -> None:
    ages = db.keyspace("ages", key=str, value=int)
    with db.batch() as batch:
        batch["apple"] = "red"
        batch.put("Ada", 36, ages)
        assert len(batch) == 2 and "apple" not in db
    assert db["apple"] == "red" and ages["Ada"] == 36
    with pytest.raises(RuntimeError, match="stop"), db.batch() as batch:
        batch["pear"] = "green"
        batch.remove("Ada", ages)
        raise RuntimeError("stop")
    assert "pear" not in db and "Ada" in ages
    with pytest.raises(ogive.Closed):
        batch["late"] = "x"


def test_a_snapshot_stays_as_it_was(db: ogive.Db) -> None:
    ages = db.keyspace("ages", key=str, value="json")
    db["apple"], ages["Ada"] = "red", [36]
    with db.snapshot() as before:
        db["apple"], ages["Ada"], db["pear"] = "green", [37], "green"
        assert before["apple"] == "red" and before.of(ages)["Ada"] == [36]
        assert list(before.range()) == [("apple", "red")] and "pear" not in before
        assert before.multi_get(["pear", "apple"]).column("value") == [None, "red"]
        assert before.get("pear", "?") == "?"
    with pytest.raises(ogive.Closed):
        before["apple"]


def test_conditional_writes(db: ogive.Db) -> None:
    assert db.insert_if_absent("a", 1) and not db.insert_if_absent("a", 2)
    assert db.setdefault("a", 3) == 1 and db.setdefault("b", 3) == 3
    assert db.pop("a") == 1 and db.pop("a", None) is None
    with pytest.raises(KeyError):
        db.pop("a")
    db.discard("a")
    db.remove_range("b", "c")
    assert list(db) == []


def test_fields_of_values_have_names_and_may_be_none(db: ogive.Db) -> None:
    users = db.keyspace("users", key=int, value={"name": str, "score": [float]})
    users[1] = {"name": "Ada", "score": None}
    users[2] = ("Grace", 2.5)
    assert users[1] == {"name": "Ada", "score": None} and users[2]["score"] == 2.5
    for wrong in ({"name": None, "score": 1.0}, {"name": "x", "other": 1}, ("x",), "x"):
        with pytest.raises((TypeError, ValueError)):
            users[3] = wrong
    assert users.scan().to_polars().columns == ["key", "name", "score"]


def test_json_values_are_whatever_json_can_say(db: ogive.Db) -> None:
    colours = db.keyspace("colours", key=int, value="json")
    colours[1] = {"name": "red", "rgb": [255, 0, 0], "mixed": None}
    colours[2] = None
    assert colours[1]["rgb"] == [255, 0, 0] and colours[2] is None and colours.get(2, "?") is None
    assert colours.get(3, "?") == "?" and list(colours.values(2)) == [None]
    assert colours.pop(2, "?") is None and not colours.insert_if_absent(1, 0)
    with pytest.raises(ValueError):
        colours[3] = float("nan")


def test_opening_twice_gives_the_same_store(folder: str, tmp_path: Path) -> None:
    db = ogive.open(folder)
    os.symlink(folder, tmp_path / "link")
    assert ogive.open(folder) is db and ogive.open(tmp_path / "link") is db
    with pytest.raises(ValueError, match="memory"):
        ogive.open(folder, memory="32MiB")
    db.close()
    again = ogive.open(folder, memory="32MiB")
    assert again is not db
    again.close()


def test_a_store_that_is_dropped_is_closed(folder: str) -> None:
    db = ogive.open(folder)
    db["a"] = 1
    del db
    with ogive.open(folder, memory="32MiB") as again:
        assert again["a"] == 1


def test_readers_follow_a_writer(folder: str) -> None:
    with ogive.open(folder) as db:
        db["a"] = 1
        reader = ogive.open(folder, read_only=True)
        numbers = db.keyspace("numbers", key=int, value=int)
        db["b"] = 2
        assert list(reader) == ["a"]
        snapshot = reader.snapshot()
        assert reader.refresh() and list(reader) == ["a", "b"]
        assert list(snapshot.keys()) == ["a"]
        numbers[1] = 1
        assert reader.refresh() and list(reader.keyspace("numbers")) == [1]
        with pytest.raises(ogive.ReadOnly):
            reader["c"] = 3
        reader.close()


def test_after_closing_everything_says_so(folder: str) -> None:
    db = ogive.open(folder)
    db["a"] = 1
    ages = db.keyspace("ages", key=str, value=int)
    found = db.range()
    db.close()
    db.close()
    for call in (lambda: db["a"], lambda: list(db), lambda: ages.__setitem__("a", 1), lambda: db.multi_get(["a"])):
        with pytest.raises(ogive.Closed, match="closed"):
            call()
    del found


def test_errors_are_what_python_people_catch(folder: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        ogive.open(folder, create=False)
    assert isinstance(raised.value, ogive.OgiveError) and folder in str(raised.value)
    assert raised.value.errno == errno.ENOENT and raised.value.filename == raised.value.file
    (tmp_path / "file").write_text("not a store")
    with pytest.raises(OSError):
        ogive.open(tmp_path / "file")
    with pytest.raises(ValueError, match="not a size"):
        ogive.open(folder, memory="many")
    with pytest.raises(ValueError, match="durability"):
        ogive.open(folder, durability="never")  # type: ignore[arg-type]


def test_messages_say_what_is_wrong_with_a_value(db: ogive.Db) -> None:
    with pytest.raises(TypeError, match="state the types"):
        db[1j] = 1
    db[1] = 1
    with pytest.raises(TypeError, match="out of its range"):
        db[2**70] = 1
    users = db.keyspace("users", key=int, value={"score": float})
    with pytest.raises(TypeError, match="no field 'scroe'"):
        users[1] = {"scroe": 1.0}


def test_a_damaged_store_names_file_and_offset(folder: str) -> None:
    with ogive.open(folder) as db:
        db.update({number: "x" * 100 for number in range(10_000)})
        db.flush()
    table = next(path for path in sorted(Path(folder).iterdir()) if path.suffix == ".table")
    content = bytearray(table.read_bytes())
    content[len(content) // 2] ^= 1
    table.write_bytes(content)
    with ogive.open(folder) as db, pytest.raises(ogive.Damaged) as raised:
        sum(1 for _ in db.range())
    assert raised.value.file == str(table) and isinstance(raised.value.offset, int)


def test_checkpoints_and_statistics(folder: str, tmp_path: Path) -> None:
    with ogive.open(folder) as db:
        db["a"] = 1
        db.checkpoint(tmp_path / "copy")
        assert isinstance(db.stats(), dict) and db.keyspaces == ["default"]
        assert db.stats()["memory_bytes"] >= db.stats()["least_memory_bytes"] >= 1 << 20
    with ogive.open(tmp_path / "copy") as copy:
        assert list(copy.items()) == [("a", 1)]


def test_keyspaces_are_dropped(db: ogive.Db) -> None:
    ages = db.keyspace("ages", key=str, value=int)
    ages["a"] = 1
    assert db.drop_keyspace("ages") and not db.drop_keyspace("ages")
    with pytest.raises(ogive.NoKeyspace):
        ages["a"]


def test_a_closed_store_says_so_whatever_is_asked(folder: str) -> None:
    db = ogive.open(folder)
    db["a"] = 1
    ages, batch, snapshot = db.keyspace("ages", key=str, value=int), db.batch(), db.snapshot()
    batch["b"] = 2
    db.close()
    db.close()
    for use in (
        lambda: db["a"],
        lambda: db.stats(),
        lambda: db.keyspaces,
        lambda: db.keyspace("more"),
        lambda: db.snapshot(),
        lambda: db.batch(),
        lambda: db.scan().to_pyarrow(),
        lambda: list(ages),
        lambda: ages.update(c=3),
        lambda: batch.commit(),
        lambda: snapshot["a"],
        lambda: list(snapshot),
    ):
        with pytest.raises(ogive.Closed):
            use()


def test_what_was_not_written_decides_no_types(folder: str) -> None:
    db = ogive.open(folder)
    with pytest.raises(RuntimeError), db.batch() as batch:
        batch[1] = 2
        raise RuntimeError
    with pytest.raises(ogive.WrongType):
        db["a"] = 2**70
    done = db.batch()
    done.commit()
    with pytest.raises(ogive.Closed):
        done[1] = 2
    assert db.types == ("bytes", "bytes")
    with pytest.raises(ogive.WrongType), db.batch() as batch:
        batch["a"] = "b"
        batch[1] = "c"
    with db.batch() as batch:
        batch["a"] = "b"
        batch.put("b", "c")
    assert list(db.items()) == [("a", "b"), ("b", "c")] and db.types == ("text", "text")


def test_two_batches_that_decide_different_types(folder: str) -> None:
    db = ogive.open(folder)
    one, two = db.batch(), db.batch()
    one[1] = 1
    two["a"] = "a"
    one.commit()
    with pytest.raises(ogive.WrongType):
        two.commit()
    assert list(db.items()) == [(1, 1)]


def test_handles_stay_where_they_were_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    pq.write_table(pa.table({"k": [1, 2], "v": [3, 4]}), "a.parquet")
    with ogive.open("db") as db:
        db["a"] = 1
    reader, table, index = ogive.open("db", read_only=True), ogive.build({1: 2}, to="t.ogive"), ogive.Index("i.idx")
    rows = ogive.index_parquet("a.parquet", key="k", to="a.idx")
    index[1] = 2
    monkeypatch.chdir(tmp_path)
    assert reader.refresh() in (True, False) and reader["a"] == 1
    assert pickle.loads(pickle.dumps(reader))["a"] == 1
    assert table[1] == 2 and table.explain(1).found and pickle.loads(pickle.dumps(table))[1] == 2
    assert rows.get(2).to_pylist() == [{"k": 2, "v": 4}] and pickle.loads(pickle.dumps(rows)).get(1).to_pylist()
    index.close()


def test_messages_speak_of_python(tmp_path: Path) -> None:
    folder, path = tmp_path / "db", tmp_path / "t.ogive"
    ogive.open(folder).close()
    ogive.build({1: 2}, to=path)
    reader = ogive.open(folder, read_only=True)
    for use in (
        lambda: reader.__setitem__("a", 1),
        lambda: ogive.Index(path),
        lambda: ogive.open(path),
        lambda: ogive.open(tmp_path / "nowhere", create=False),
        lambda: ogive.open(tmp_path / "more", memory=100),
        lambda: ogive.build({1: 1}, to=path, profile="nothing"),
        lambda: ogive.open(tmp_path / "more", durability="never"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ogive.OgiveError) as raised:
            use()
        assert not re.search("resume|::|--|`|is no ", str(raised.value)), raised.value


def test_threads_that_refresh_one_reader_never_go_back(folder: str) -> None:
    with ogive.open(folder, key=str, value=int) as db, ogive.open(folder, read_only=True) as reader:
        # The more is in the log, the longer an opening takes.
        db.update({f"x{number}": number for number in range(20_000)})
        db["n"] = 0
        reader.refresh()
        numbers = reader.keyspace("default")
        failures: list[tuple[int, int]] = []
        done = threading.Event()

        def read() -> None:
            last = 0
            while not done.is_set():
                reader.refresh()
                found = numbers["n"]
                if found < last:
                    failures.append((last, found))
                last = found

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(1, 150):
            db["n"] = number
        done.set()
        for thread in threads:
            thread.join()
        assert not failures
        reader.refresh()
        assert reader["n"] == 149


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("how", ["removed", "renamed", "emptied"])
def test_a_folder_that_is_gone_is_opened_anew(folder: str, how: str, read_only: bool) -> None:
    old = ogive.open(folder)
    old["a"] = 1
    handle = ogive.open(folder, read_only=True) if read_only else old
    assert handle is ogive.open(folder, read_only=read_only)
    displace(folder, how)
    new = ogive.open(folder)
    assert new is not old and list(new) == []
    with pytest.raises(ogive.Gone, match="removed, renamed or replaced"):
        old["b"] = 2
    with pytest.raises(OSError):
        old.pop("a")
    assert old["a"] == 1 and list(new) == []
    new["c"] = 3
    if read_only:
        with pytest.raises(ogive.Gone):
            handle.refresh()
        assert handle["a"] == 1
        again = ogive.open(folder, read_only=True)
        assert again is not handle and dict(again) == {"c": 3}
    old.close()
    assert ogive.open(folder) is new and dict(new) == {"c": 3}
    new.close()
    if how == "renamed":
        with ogive.open(folder + " moved") as moved:
            assert dict(moved) == {"a": 1}


def displace(folder: str, how: str) -> None:
    if how == "removed":
        shutil.rmtree(folder)
    elif how == "renamed":
        os.rename(folder, folder + " moved")
    else:
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))


def test_a_dict_whose_keys_have_one_name_in_json_is_refused(db: ogive.Db) -> None:
    values = db.keyspace("values", key=int, value="json")
    repeated: list[Any] = [{1: "a", "1": "b"}, {True: 1, "true": 2}, {None: 1, "null": 2}, {1.5: 1, "a": 2, "1.5": 3}]
    for value in repeated:
        for nested in (value, [value], ({"a": [{"b": value}]},), {"1": {"1": value}}):
            with pytest.raises(ogive.WrongType, match="two keys of a dict have the name"):
                values[1] = nested
            with pytest.raises(ogive.WrongType, match="two keys of a dict"), db.batch() as batch:
                batch.put(1, nested, values)
    assert len(values) == 0
    # One name in two dicts is no repetition, nor are keys of other types whose names differ.
    values[1] = [{"1": 1}, {1: 1}, {1: {1: 2}, 2: {"1": {}}}]
    assert values[1] == [{"1": 1}, {"1": 1}, {"1": {"1": 2}, "2": {"1": {}}}]
    shared = ["x"]
    values[2] = {"a": shared, "b": shared}
    assert values[2] == {"a": ["x"], "b": ["x"]}


def test_the_default_keyspace_may_be_json(folder: str) -> None:
    with ogive.open(folder, value="json") as db:
        db["a"] = {"b": [1, None]}
        assert db["a"] == {"b": [1, None]} and db.pop("a") == {"b": [1, None]} and db.setdefault("a") is None
        with db.batch() as batch:
            batch["c"] = [2]
        assert dict(db) == {"a": None, "c": [2]} == db and list(db.values()) == [None, [2]]
        with db.snapshot() as snapshot:
            assert snapshot["c"] == [2] and snapshot == db
        assert ogive.open(folder) is db and ogive.open(folder, value="json") is db
        with pytest.raises(ogive.InvalidArgument, match="value"):
            ogive.open(folder, value=str)
        with ogive.open(folder, read_only=True, value="json") as reader:
            assert pickle.loads(pickle.dumps(reader))["c"] == [2]
            assert pickle.loads(pickle.dumps(reader.keyspace("default", value="json")))["c"] == [2]
    with ogive.open(folder) as db:
        assert db["c"] == "[2]"
        with pytest.raises(ogive.InvalidArgument, match="value"):
            ogive.open(folder, value="json")
    with ogive.open(folder + " other", key=int, value=int) as db:
        db[1] = 1
    with pytest.raises(ogive.WrongType):
        ogive.open(folder + " other", value="json")


def test_a_snapshot_keeps_a_keyspace_that_is_dropped(db: ogive.Db) -> None:
    fruit = db.keyspace("fruit", key=str, value="json")
    fruit["apple"] = ["red"]
    before, names = db.snapshot(), db.keyspaces
    of_fruit = before.of(fruit)
    records = iter(of_fruit.items())
    assert db.drop_keyspace("fruit")
    later = db.snapshot()
    for snapshot in (of_fruit, before.keyspace("fruit", value="json")):
        assert dict(snapshot) == {"apple": ["red"]} and len(snapshot) == 1 and "apple" in snapshot
        assert snapshot.multi_get(["apple"]).column("value") == ['["red"]']
    assert next(records) == ("apple", ["red"])
    db.keyspace("fruit", key=int, value=int)[1] = 2
    assert before.keyspace("fruit").get("apple") == '["red"]'
    for snapshot in (before, later):
        with pytest.raises(LookupError, match="typo"):
            snapshot.keyspace("typo")
    with pytest.raises(ogive.NoKeyspace):
        later.of(fruit)["apple"]
    with pytest.raises(ogive.NoKeyspace):
        fruit["pear"] = []
    assert sorted(db.keyspaces) == sorted(names)


def test_a_snapshot_of_a_reader_keeps_a_keyspace_that_is_dropped(folder: str) -> None:
    with ogive.open(folder) as db:
        db.keyspace("fruit", key=str, value=str)["apple"] = "red"
        with ogive.open(folder, read_only=True) as reader:
            fruit = reader.keyspace("fruit")
            before = reader.snapshot()
            db.drop_keyspace("fruit")
            assert reader.refresh()
            assert before.of(fruit)["apple"] == "red" and before.keyspace("fruit")["apple"] == "red"
            with pytest.raises(LookupError):
                reader.snapshot().keyspace("fruit")


def test_a_closed_store_that_never_had_a_record_says_so(folder: str) -> None:
    db = ogive.open(folder)
    empty, batch, snapshot = db.keyspace("empty"), db.batch(), db.snapshot()
    db.close()
    calls: list[Any] = [
        lambda: db.get("a"), lambda: "a" in db, lambda: list(db), lambda: len(db), lambda: bool(db), lambda: db.first(),
        lambda: db.discard("a"), lambda: db.clear(), lambda: db.pop("a", None), lambda: db.popitem(), lambda: db["a"],
        lambda: db == {}, lambda: list(db.items()), lambda: db.multi_get(["a"]), lambda: db.scan().to_pylist(),
        lambda: empty.get("a"), lambda: list(empty.range()), lambda: empty.remove_range("a", "b"), lambda: empty.types,
        lambda: batch.remove("a"), lambda: batch.remove_range("a"), lambda: batch.put("a", 1),
        lambda: snapshot.get("a"), lambda: list(snapshot), lambda: snapshot.keyspace("empty"),
    ]
    for number, call in enumerate(calls):
        with pytest.raises(ogive.Closed):
            call()
            raise AssertionError(f"call {number} was answered")


def test_a_stream_has_one_place(db: ogive.Db) -> None:
    numbers = db.keyspace("numbers", key=int, value=int)
    numbers.update({key: key for key in range(10)})
    stream = numbers.scan()
    assert next(iter(stream)) == {"key": 0, "value": 0} and next(iter(stream))["key"] == 1
    assert [row["key"] for row in itertools.islice(stream, 2)] == [2, 3]
    assert [row["key"] for row in stream] == [4, 5, 6, 7, 8, 9] and list(stream) == []
    for rest in (
        lambda stream: stream.to_pylist(),
        lambda stream: list(stream.to_pyarrow().to_pylist()),
        lambda stream: [row for batch in stream.batches() for row in batch],
    ):
        stream = numbers.scan()
        next(stream), next(stream)
        assert [row["key"] for row in rest(stream)] == [2, 3, 4, 5, 6, 7, 8, 9]


def test_writes_that_need_no_value_read_none(tmp_path: Path) -> None:
    with ogive.open(tmp_path / "s", key=str, value=bytes, memory="64MiB") as db:
        for key in "abcd":
            db[key] = bytes(6 << 20)
        db["z"] = b""
    with ogive.open(tmp_path / "s", memory="4MiB") as db:
        with pytest.raises(ogive.InvalidArgument, match="a value of 6291456 bytes"):
            db["a"]
        assert not db.insert_if_absent("a", b"") and db.insert_if_absent("e", b"")
        del db["a"]
        with pytest.raises(KeyError):
            del db["a"]
        db.discard("b")
        with db.batch() as batch:
            del batch["c"]
        assert "d" in db and db and len(db) == 3 and list(db) == ["d", "e", "z"] and list(reversed(db))[0] == "z"
        assert db.last() == ("z", b"") and db.popitem() == ("z", b"") and db.get("e") == b""
        with db.snapshot() as before:
            assert "d" in before and list(before) == ["d", "e"] and len(before) == 2 and before
        db["d"] = b"short"
        assert dict(db) == {"d": b"short", "e": b""}
        db.clear()
        assert not db


def test_a_batch_counts_the_removals_that_it_keeps(db: ogive.Db) -> None:
    with db.batch() as batch:
        del batch["a"]
        assert len(batch) == 1
        batch.remove_range("b", "c")
        assert len(batch) == 2
        batch["d"] = 1
        assert len(batch) == 3
    assert dict(db) == {"d": 1}


def test_names_and_paths_with_lone_surrogates_are_refused(db: ogive.Db, tmp_path: Path) -> None:
    bad = "\ud800"
    frame = pyarrow.table({"k": [1], "v": [2]})
    pyarrow.parquet.write_table(frame, tmp_path / "a.parquet")
    index = ogive.index_parquet(tmp_path / "a.parquet", key="k", to=tmp_path / "a.idx")
    text = db.keyspace("text", key=str, value=str)
    uses = [
        lambda: db.keyspace(bad),
        lambda: db.drop_keyspace(bad),
        lambda: db.snapshot().keyspace(bad),
        lambda: db.keyspace("n", key=bad),
        lambda: db.keyspace("n", key=str, value={bad: int}),
        lambda: text.__setitem__(bad, ""),
        lambda: text.__setitem__("", bad),
        lambda: text.get(bad),
        lambda: text.multi_get([bad]),
        lambda: list(text.range(bad)),
        lambda: list(text.range(prefix=bad)),
        lambda: ogive.open(tmp_path / bad),
        lambda: ogive.Index(str(tmp_path / bad)),
        lambda: ogive.Index(tmp_path / "i.idx", kind=bad),
        lambda: ogive.Table(tmp_path / bad),
        lambda: ogive.build(frame, key=bad, to=tmp_path / "t"),
        lambda: ogive.build(frame, key=["k"], columns=[bad], to=tmp_path / "t"),
        lambda: ogive.build(frame, key="k", to=tmp_path / "t", design=bad),
        lambda: ogive.build(frame, key="k", to=tmp_path / "t", profile=bad),
        lambda: ogive.build({bad: 1}, to=tmp_path / "t"),
        lambda: ogive.build({bad: [1]}, key=bad, to=tmp_path / "t"),
        lambda: ogive.build({"k": [1], bad: [1]}, key="k", to=tmp_path / "t"),
        lambda: ogive.join(frame, frame, on=bad),
        lambda: ogive.join(frame, frame, on="k", method=bad).to_pylist(),
        lambda: ogive.join(frame, frame, on="k", how=bad),
        lambda: ogive.tune([1], profile=bad),
        lambda: ogive.tune([1], designs=[bad]),
        lambda: ogive.index_parquet(tmp_path, key=bad, to=tmp_path / "b.idx"),
        lambda: ogive.index_parquet(tmp_path, key="k", to=tmp_path / "b.idx", files=[bad]),
        lambda: ogive.index_parquet(tmp_path, key="k", to=tmp_path / "b.idx", nanoseconds=[bad]),
        lambda: ogive.index_parquet(tmp_path, key="k", to=tmp_path / "b.idx", partitions={bad: str}),
        lambda: index.get(1, columns=[bad]),
        lambda: index.scan(columns=[bad]),
        lambda: index.multi_get([1], columns=[bad]),
        lambda: db.checkpoint(tmp_path / bad),
        lambda: ogive.profile(tmp_path / bad),
    ]
    for number, use in enumerate(uses):
        with pytest.raises(ogive.OgiveError):
            print(number, use())
