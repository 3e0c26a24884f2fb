"""Types of keys and values, at their limits, as Python objects and as Arrow columns."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import pytest

import ogive

UTC = dt.timezone.utc

CASES: list[tuple[Any, list[Any]]] = [
    (bool, [False, True]),
    (int, [-(2**63), -1, 0, 1, 2**63 - 1]),
    ("u8", [0, 255]),
    ("u64", [0, 2**64 - 1]),
    ("i16", [-(2**15), 2**15 - 1]),
    ("u128", [0, 2**127, 2**128 - 1]),
    ("i128", [-(2**127), 0, 2**127 - 1]),
    (float, [float("-inf"), -1.5, 0.0, 5e-324, 1.7e308, float("inf")]),
    ("f32", [-0.5, 0.0, 0.25]),
    (str, ["", "\0", "a", "a\0", "é", "\uffff", "😀"]),
    (bytes, [b"", b"\0", b"\0\0", b"a", b"\xff"]),
    ("bytes3", [b"\0\0\0", b"abc", b"\xff\xff\xff"]),
    (uuid.UUID, [uuid.UUID(int=0), uuid.UUID(int=2**128 - 1)]),
    (dt.date, [dt.date.min, dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date.max]),
    (dt.time, [dt.time.min, dt.time(1, 2, 3, 4), dt.time.max]),
    (dt.datetime, [dt.datetime.min, dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime.max]),
    ("timestamp(s)", [dt.datetime(1970, 1, 1), dt.datetime(2026, 2, 28, 12)]),
    ("timestamp(ns)", [-(2**63), 0, 2**63 - 1]),
    ("decimal(10,2)", [Decimal("-99999999.99"), Decimal("0.01"), Decimal("1E+2")]),
    ((str, int), [("", 0), ("a", -1), ("a", 1), ("a\0", 0), ("b", 0)]),
    ((int, (str, bytes)), None),
]


@pytest.mark.parametrize(("stated", "values"), [case for case in CASES if case[1]], ids=lambda it: str(it)[:30])
def test_keys_and_values_come_back_in_order(db: ogive.Db, stated: Any, values: list[Any]) -> None:
    keys = db.keyspace("keys", key=stated, value=int)
    for number, key in reversed(list(enumerate(values))):
        keys[key] = number
    assert list(keys.items()) == [(key, number) for number, key in enumerate(values)]
    assert [keys[key] for key in values] == list(range(len(values)))
    assert keys.multi_get(values).column("value") == list(range(len(values)))
    assert [key for key, _ in keys.range(values[1])] == values[1:]
    if not isinstance(stated, tuple):
        held = db.keyspace("values", key=int, value=stated)
        held.update(enumerate(values))
        assert list(held.values()) == values
        assert all(type(found) is type(value) for found, value in zip(held.values(), values, strict=True))


@pytest.mark.parametrize(
    ("stated", "wrong"),
    [
        ("u8", [256, -1, 1.0, "1", None, True]),
        (int, [2**63, 1.5, "1", b"1", True, None]),
        (float, ["1", None, True]),
        (str, [1, b"a", None]),
        (bytes, [1, None, 1.5]),
        ("bytes3", [b"ab", b"abcd"]),
        (dt.date, [dt.datetime(2026, 1, 1), "2026-01-01"]),
        (dt.time, [dt.time(1, tzinfo=UTC)]),
        (dt.datetime, [dt.date(2026, 1, 1), "2026-01-01"]),
        ("timestamp(s)", [dt.datetime(2026, 1, 1, 0, 0, 0, 1)]),
        ("decimal(4,2)", [Decimal("0.001"), Decimal("100"), 1.5, Decimal("NaN"), Decimal("Infinity")]),
        ((str, int), [("a",), ("a", "b"), ["a", 1], ("a", 1, 2), ("a", None)]),
    ],
    ids=str,
)
def test_what_is_not_of_the_type_is_refused(db: ogive.Db, stated: Any, wrong: list[Any]) -> None:
    keys = db.keyspace("keys", key=stated, value=int)
    for key in wrong:
        with pytest.raises((TypeError, ValueError)):
            keys[key] = 1
    assert len(keys) == 0


def test_times_with_a_zone_are_stored_in_utc(db: ogive.Db) -> None:
    times = db.keyspace("times", key=dt.datetime, value=int)
    times[dt.datetime(2026, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))] = 1
    assert list(times) == [dt.datetime(2026, 1, 1, 10)]


def test_not_a_number_is_one_key_at_the_end(db: ogive.Db) -> None:
    numbers = db.keyspace("numbers", key=float, value=int)
    numbers[float("inf")] = 1
    try:
        numbers[float("nan")] = 2
    except ValueError:
        assert list(numbers) == [float("inf")]
    else:
        assert numbers[float("nan")] == 2 and list(numbers.values())[0] == 1


def test_bytes_like_objects_are_bytes(db: ogive.Db) -> None:
    raw = db.keyspace("raw", key=bytes, value=bytes)
    raw[bytearray(b"a")] = memoryview(b"xyz")[1:]
    assert raw[memoryview(b"a")] == b"yz"


def test_strings_that_are_not_unicode_are_refused(db: ogive.Db) -> None:
    with pytest.raises(ValueError):
        db["\ud800"] = "x"


@pytest.mark.parametrize("stated", [list, dict, complex, None.__class__, "u7", "decimal(50,2)", 3, [], (str, list)])
def test_types_that_no_key_has_are_named(db: ogive.Db, stated: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        db.keyspace("x", key=stated)


def test_decimals_are_exact_whatever_the_context(db: ogive.Db) -> None:
    keys = [Decimal("12345678901234567890123456789012345.01"), Decimal("12345678901234567890123456789012345.02")]
    prices = db.keyspace("prices", key="decimal(37,2)", value="decimal(38,0)")
    with localcontext() as context:
        context.prec = 5
        for key in keys:
            prices[key] = int(key)
        assert [str(key) for key in prices] == [str(key) for key in keys]
        assert [str(value) for value in prices.values()] == [str(int(key)) for key in keys]
        assert all(key in prices for key in prices) and str(prices.multi_get(keys).column("key")[1]) == str(keys[1])


def test_integers_that_no_float_has_are_refused(db: ogive.Db) -> None:
    doubles, singles = db.keyspace("doubles", key=float, value="f32"), db.keyspace("singles", key="f32", value=float)
    doubles[2**53] = 2**24
    singles[2**24] = 2**53
    assert doubles[2**53] == 2**24 and list(doubles) == [2**53]
    with pytest.raises(ogive.WrongType):
        doubles[2**53 + 1] = 1
    with pytest.raises(ogive.WrongType):
        doubles[1] = 2**24 + 1
    with pytest.raises(ogive.WrongType):
        singles[2**24 + 1] = 1


def test_times_that_python_does_not_have_are_named(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    days = pa.table({"day": pa.array([0, 10**8], pa.date32()), "at": pa.array([0, 2**62], pa.timestamp("us"))})
    table = ogive.build(days, key="day", to=tmp_path / "days.ogive")
    assert next(iter(table.keys())) == dt.date(1970, 1, 1)
    for read in (lambda: list(table), lambda: list(table.values()), lambda: table.scan().to_pylist()):
        with pytest.raises(ogive.InvalidArgument, match="Arrow"):
            read()
    assert table.scan().to_pyarrow().num_rows == 2


@pytest.mark.parametrize(
    "wrong",
    [
        lambda path: ogive.build({1: 1}, to=path, block_size=2**40),
        lambda path: ogive.build({1: 1}, to=path, filter_bits=-1),
        lambda path: ogive.build({1: 1}, to=path, key=list),
        lambda path: ogive.open("a\0b"),
        lambda path: ogive.Index("a\0b"),
        lambda path: ogive.open(b"a"),
    ],
)
def test_absurd_arguments_are_errors_of_this_package(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(ogive.OgiveError):
        wrong(tmp_path / "t.ogive")
