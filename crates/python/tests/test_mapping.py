"""Stores, snapshots, indexes and tables as mappings.

Goal: whatever takes a mapping takes them, and threads that share one lose nothing. Method: the interpreter's own tests
of mappings, where it has them; then what they do not ask: classes, views, comparisons, removals by several threads.
"""

from __future__ import annotations

import collections
import datetime
import itertools
import math
import operator
import shutil
import tempfile
import threading
import uuid
from collections.abc import Iterator, Mapping, MutableMapping, Set
from decimal import Decimal
from fractions import Fraction
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


def test_popitem_takes_the_end_as_an_ordered_dictionary_does(db: ogive.MutableDb, tmp_path: Path) -> None:
    with ogive.Index(tmp_path / "a.idx") as index:
        for mapping in (db.keyspace("x", key=int, value=int), index):
            expected = collections.OrderedDict((key, key * 2) for key in range(1, 9))
            mapping.update(expected)
            for last in (1, 0, True, False):
                assert mapping.popitem(last=last) == expected.popitem(last=last)  # type: ignore[arg-type]
            assert mapping.popitem(last=None) == expected.popitem(last=None)  # type: ignore[arg-type]
            assert mapping.popitem(last=[1]) == expected.popitem(last=[1])  # type: ignore[arg-type]
            assert dict(mapping) == dict(expected)
            assert list(mapping.range(reverse=1)) == list(expected.items())[::-1]  # type: ignore[arg-type]


#: Keys of each type that is there, and objects that are asked for.
KEYS: dict[Any, list[Any]] = {
    "bool": [False, True],
    "u8": [0, 1, 255],
    "i64": [-1, 0, 1, 2**62],
    "u128": [0, 1, 2**100],
    "f32": [-1.5, 0.0, 1.0],
    "f64": [-1.5, 0.0, 1.0, 2.0**62, math.inf],
    "decimal(20,2)": [Decimal("-1.50"), Decimal("0.00"), Decimal("1.00")],
    "text": ["", "1", "a"],
    "bytes": [b"", b"1", b"a", b"\1" * 16],
    "bytes16": [b"\1" * 16],
    "uuid": [uuid.UUID(bytes=b"\1" * 16)],
    "date": [datetime.date(1970, 1, 2)],
    "time(us)": [datetime.time(0, 0, 0, 1)],
    "timestamp(us)": [datetime.datetime(1970, 1, 1, 0, 0, 0, 1)],
    "timestamp(s)": [datetime.datetime(1970, 1, 1, 0, 0, 1), datetime.datetime(1970, 1, 2)],
    "timestamp(ns)": [0, 1],
    "(i64, text)": [(1, "a"), (2, "b")],
    "(f64, bytes)": [(1.0, b"a"), (1.5, b"")],
    "(bool?, u8)": [(True, 1), (None, 2)],
}

PROBES: list[Any] = [
    *itertools.chain.from_iterable(KEYS.values()),
    *[-0.0, 1.5, math.nan, -math.inf, 1 + 0j, 1j, Fraction(1), Fraction(1, 3), Fraction(-3, 2), 2**62 + 1, 10**400],
    *[Decimal(1), Decimal("1.001"), Decimal("NaN"), Decimal("Infinity"), Decimal(2) ** 62, None, (), (1,), frozenset()],
    *[(1, b"a"), (1.0, "a"), (True, "a"), (Decimal(1), "a"), (1, 1), (None, 2.0), (1, True), (1, "a", 2), ((1, "a"),)],
    *[datetime.datetime(1970, 1, 2, tzinfo=datetime.timezone.utc), datetime.time(0, 0, 0, 1, datetime.timezone.utc)],
    *[datetime.timedelta(microseconds=1), datetime.date(1970, 1, 1), "0", b"0", object(), int, "\ud800", b"\1"],
]


def _numpy_probes() -> list[Any]:
    numpy = pytest.importorskip("numpy")
    return [
        *[numpy.int8(1), numpy.uint64(1), numpy.float32(1), numpy.float64(-1.5), numpy.bool_(True), numpy.str_("a")],
        *[numpy.bytes_(b"a"), numpy.datetime64(1, "us"), numpy.datetime64(1, "D"), numpy.timedelta64(1, "us")],
    ]


@pytest.fixture(scope="module")
def mappings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[Any, dict[Any, int]]]]:
    """A keyspace, a snapshot, an index or a table for each type, beside a dictionary of the same records."""
    folder = tmp_path_factory.mktemp("mappings")
    with ogive.open(folder / "db") as db:
        found: list[tuple[Any, dict[Any, int]]] = []
        for number, (name, keys) in enumerate(KEYS.items()):
            records = {key: place for place, key in enumerate(keys)}
            keyspace = db.keyspace(name, key=name, value=int)
            keyspace.update(records)
            found.append((keyspace, records))
            found.append((ogive.build(records, to=folder / f"{number}.ogive", key=name, value=int), records))
            if name in ("u8", "i64", "uuid"):
                index = ogive.Index(folder / f"{number}.idx", key=name, value="i64")
                index.update(records)
                found.append((index, records))
        yield found
        with db.snapshot() as snapshot:
            assert snapshot == {}


def _outcome(ask: Any) -> Any:
    try:
        return ask()
    except TypeError as error:
        return type(error)


def test_views_find_what_those_of_a_dictionary_find(mappings: list[tuple[Any, dict[Any, int]]]) -> None:
    probes = [*PROBES, *_numpy_probes(), [1], {}, bytearray(b"a")]
    for mapping, records in mappings:
        for probe in probes:
            what = f"{probe!r} of {mapping.types}"
            assert _outcome(lambda p=probe: p in mapping.keys()) == _outcome(lambda p=probe: p in records.keys()), what
            for value in (0, 1, 1.0, True, "0"):
                item = (probe, value)
                found, expected = (_outcome(lambda m=m, i=item: i in m.items()) for m in (mapping, records))
                assert found == expected, f"{what}, {value!r}"
        assert "ab" not in mapping.items() and (1,) not in mapping.items()


def test_sets_of_keys_of_other_types_are_those_of_dictionaries(mappings: list[tuple[Any, dict[Any, int]]]) -> None:
    hashable = [probe for probe in [*PROBES, *_numpy_probes()] if probe == probe]
    others: list[Any] = [set(hashable), {True, "a", b"1"}, {1.0: 0}.keys(), [1, 1.0, "a", None], set(), {"1"}]
    for mapping, records in mappings:
        keys, expected = mapping.keys(), records.keys()
        of_types = [(other.keys(), known.keys()) for other, known in mappings]
        for other, known in [*((other, other) for other in others), *of_types]:
            what = f"{mapping.types} and {other!r}"
            assert set(keys & other) == set(expected & known), what
            assert set(keys | other) == set(expected | known), what
            assert set(keys - other) == set(expected - known), what
            assert set(keys ^ other) == set(expected ^ known), what
            assert keys.isdisjoint(other) == expected.isdisjoint(known), what
            if isinstance(other, Set):
                for compare in (operator.le, operator.lt, operator.ge, operator.gt, operator.eq):
                    assert compare(keys, other) == compare(expected, known), f"{what} {compare}"
                assert set(other & keys) == set(known & expected) and set(other - keys) == set(known - expected), what
                assert set(other | keys) == set(known | expected) and set(other ^ keys) == set(known ^ expected), what
        items = mapping.items()
        for other, known in mappings:
            assert set(items & other.items()) == records.items() & known.items()
            assert (items <= other.items()) == (records.items() <= known.items())
            assert items.isdisjoint(other.items()) == records.items().isdisjoint(known.items())


def test_mappings_of_other_types_are_equal_if_dictionaries_are(
    mappings: list[tuple[Any, dict[Any, int]]], db: ogive.MutableDb
) -> None:
    for mapping, records in mappings:
        for other, known in mappings:
            assert (mapping == other) == (records == known), f"{mapping.types} and {other.types}"
            assert (mapping == known) == (records == known) == (known == mapping)
    numbers = {"bool": [False, True], "u8": [0, 1], "f64": [0.0, 1.0], "decimal(9,1)": [Decimal(0), Decimal(1)]}
    keyspaces = [db.keyspace(name, key=name, value=int) for name in numbers]
    for keyspace, keys in zip(keyspaces, numbers.values(), strict=True):
        keyspace.update({key: int(key) for key in keys})
    assert all(one == other for one in keyspaces for other in keyspaces)
    as_times = db.keyspace("times", key="timestamp(us)", value=int)
    as_times.update({datetime.datetime(1970, 1, 1): 0, datetime.datetime(1970, 1, 1, 0, 0, 0, 1): 1})
    assert all(as_times != keyspace and keyspace != as_times for keyspace in keyspaces)
