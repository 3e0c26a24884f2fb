"""Stores, snapshots, indexes and tables as mappings.

Goal: whatever takes a mapping takes them, and threads that share one lose nothing. Method: the interpreter's own tests
of mappings, where it has them; then what they do not ask: classes, views, comparisons, removals by several threads.
"""

from __future__ import annotations

import collections
import itertools
import shutil
import tempfile
import threading
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

import pytest

import ogive

mapping_tests = pytest.importorskip("test.mapping_tests", reason="this interpreter comes without its tests")


class KeyspacesAsDictionaries(mapping_tests.TestMappingProtocol):  # type: ignore[misc,name-defined]
    """Keyspaces of one store, each of its own types."""

    #: They make dictionaries, or change a default in place, which no store sees.
    test_fromkeys = test_copy = test_setdefault = test_constructor = None
    #: They call `copy`; and `values(None)`, which is a range here.
    test_popitem = test_values = test_items = None

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.mkdtemp()
        cls.db = ogive.open(cls.folder + "/db", durability="buffered")
        cls.names = itertools.count()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.db.close()
        shutil.rmtree(cls.folder)

    def _empty_mapping(self) -> Any:
        return self.db.keyspace(f"mapping {next(self.names)}")

    def _reference(self) -> dict[str, str]:
        return {"1": "2", "key1": "value1", "key2": "value2"}


class IndexesAsDictionaries(mapping_tests.BasicTestMappingProtocol):  # type: ignore[misc,name-defined]
    """Indexes of integers."""

    #: They put text; and `values(None)` is a range here.
    test_update = test_values = test_items = None

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.mkdtemp()
        cls.names = itertools.count()

    @classmethod
    def tearDownClass(cls) -> None:
        shutil.rmtree(cls.folder)

    def _empty_mapping(self) -> Any:
        return ogive.Index(f"{self.folder}/{next(self.names)}.idx", durability="buffered")

    def _reference(self) -> dict[int, int]:
        return {1: 2, 11: 12, 22: 23}


def test_classes_say_what_is_a_mapping_and_what_can_be_changed(tmp_path: Path) -> None:
    with ogive.open(tmp_path / "db", key=int, value=str) as db:
        db[1] = "one"
        assert isinstance(db, MutableMapping) and isinstance(db.keyspace("x"), MutableMapping)
        with db.snapshot() as snapshot:
            assert isinstance(snapshot, Mapping) and not isinstance(snapshot, MutableMapping)
        with ogive.open(tmp_path / "db", read_only=True) as reader:
            assert isinstance(reader, ogive.Db) and isinstance(reader, Mapping)
            assert not isinstance(reader, MutableMapping) and not isinstance(reader.keyspace("x"), MutableMapping)
            assert reader == db == {1: "one"} == reader
    with ogive.Index(tmp_path / "a.idx") as index:
        assert isinstance(index, MutableMapping) and isinstance(index.snapshot(), Mapping)
    with ogive.Index(tmp_path / "a.idx", read_only=True) as index:
        assert isinstance(index, Mapping) and not isinstance(index, MutableMapping)
    with ogive.Index(tmp_path / "b.idx", duplicates=True) as index:
        assert isinstance(index, ogive.Index)
        assert not isinstance(index, Mapping) and not isinstance(index.snapshot(), Mapping)
    table = ogive.build({1: "a", 2: "b"}, to=tmp_path / "unique.ogive")
    assert isinstance(table, ogive.Table) and isinstance(table, Mapping) and not isinstance(table, MutableMapping)
    assert table == {1: "a", 2: "b"} and collections.ChainMap({}, table)[2] == "b"  # type: ignore[arg-type]
    assert not isinstance(ogive.build([(1, "a"), (1, "b")], to=tmp_path / "repeats.ogive"), Mapping)


def test_views_follow_and_ranges_are_iterators(db: ogive.Db) -> None:
    keys, values, items = db.keys(), db.values(), db.items()
    assert not keys and not list(values) and not db and len(items) == 0
    db.update({2: "b", 1: "a"}, **{})
    assert list(keys) == [1, 2] and list(reversed(values)) == ["b", "a"] and list(items) == [(1, "a"), (2, "b")]
    assert 1 in keys and "a" in values and (1, "a") in items and (1, "b") not in items and ("1", "a") not in items
    assert keys & {2, 3} == {2} and items | {(3, "c")} == {(1, "a"), (2, "b"), (3, "c")}
    assert dict(db) == dict(items) == {1: "a", 2: "b"} and bool(db)
    assert next(db.keys(2)) == 2 and next(db.values(reverse=True)) == "b" and next(db.items(None, 2)) == (1, "a")


def test_mappings_are_compared_up_to_the_first_difference(db: ogive.Db, tmp_path: Path) -> None:
    one, other = db.keyspace("one", key=int, value=int), db.keyspace("other", key=int, value=int)
    one.update({key: key for key in range(1000)})
    assert one != other and other != one and one == dict(one)
    other.update(one)
    assert one == other and one == {**one} and not one != other
    other[0] = -1
    assert one != other and dict(one) != other
    other[0] = 0
    del other[999]
    assert one != other and other != one
    assert one != {"0": 0} and one != {} and one != 5 and one != db
    table = ogive.build(dict(one), to=tmp_path / "table.ogive")
    assert table == one and one == table and table != other
    with pytest.raises(TypeError):
        hash(one)

    class Endless(collections.UserDict[int, int]):
        """A mapping whose keys nobody should need."""

        def __iter__(self) -> Any:
            raise AssertionError("the keys of the other mapping were read")

    assert one != Endless({0: 5})


def test_several_threads_take_each_record_once(db: ogive.Db) -> None:
    tokens = db.keyspace("tokens", key=int, value=int)
    tokens.update({key: key * 7 for key in range(300)})
    popped: list[tuple[int, int]] = []
    start = threading.Barrier(3)

    def by_key() -> None:
        start.wait()
        for key in range(300):
            value = tokens.pop(key, None)
            if value is not None:
                popped.append((key, value))

    def from_an_end(last: bool) -> None:
        start.wait()
        try:
            while True:
                popped.append(tokens.popitem(last=last))
        except KeyError:
            pass

    threads = [threading.Thread(target=by_key)]
    threads += [threading.Thread(target=from_an_end, args=(last,)) for last in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(popped) == [(key, key * 7) for key in range(300)] and not tokens


def test_taking_by_an_end_setting_a_default_and_clearing(db: ogive.Db, tmp_path: Path) -> None:
    with ogive.Index(tmp_path / "a.idx") as index:
        keyspace = db.keyspace("x", key=int, value=int)
        for mapping in (keyspace, index):
            mapping.update({key: key * 10 for key in range(1, 6)})
            assert mapping.popitem() == (5, 50) and mapping.popitem(last=False) == (1, 10)
            assert mapping.setdefault(2, 0) == 20 and mapping.setdefault(9, 90) == 90
            assert mapping.pop(9) == 90 and mapping.pop(9, None) is None
            mapping.update([[6, 60]])
            assert dict(mapping) == {2: 20, 3: 30, 4: 40, 6: 60}
            mapping.clear()
            assert not mapping and len(mapping) == 0
            with pytest.raises(KeyError):
                mapping.popitem()


def test_clearing_is_one_write_whatever_is_there(db: ogive.Db) -> None:
    many = db.keyspace("many", key=int, value=int)
    many.update({key: key for key in range(2000)})
    before = db.stats()["activity"]["operations"]
    many.clear()
    assert not many and db.stats()["activity"]["operations"] == before + 1


def test_the_first_entry_of_an_index_needs_the_first_page_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.idx"
    with ogive.Index(path, key="u64", value="bytes255", page_size=4096) as index:
        index.load(range(900), [b"x" * 255] * 900)
    damaged = bytearray(path.read_bytes())
    # Leaves amid the others.
    for offset in range(30 * 4096, 34 * 4096, 512):
        damaged[offset] ^= 0xFF
    path.write_bytes(bytes(damaged))
    with ogive.Index(path, read_only=True) as index:
        assert index.first() == (0, b"x" * 255) and index
        with pytest.raises(ogive.Damaged):
            list(index.range())
