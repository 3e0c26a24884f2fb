"""Conversions: arrays of every library and type, as keys and values of every type.

A value is converted where that is exact, and else refused; an array and a list of the same objects agree in that.
"""

from __future__ import annotations

import collections
import datetime as dt
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import ogive

TYPES = (
    "bool u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 text bytes bytes3 uuid date time(s) time(ms) time(us) time(ns) "
    "timestamp(s) timestamp(ms) timestamp(us) timestamp(ns) decimal(4,2) decimal(10,2) decimal(20,0) decimal(38,10)"
).split()

INTEGERS = [0, 1, -1, 100, 150, 2**24 + 1, 2**53 + 1, 2**63 - 1]
DECIMALS = [Decimal("1.5"), Decimal(150), Decimal("0.1"), Decimal("-2"), Decimal("0.0001")]
MOMENTS = [dt.datetime(1970, 1, 1), dt.datetime(2026, 2, 28, 12, 0, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)]
DAYS = [dt.date(1970, 1, 1), dt.date(2026, 2, 28)]
TIMES = [dt.time(0), dt.time(23, 59, 59), dt.time(1, 2, 3, 4_000), dt.time(1, 2, 3, 4)]
SPANS = [dt.timedelta(0), dt.timedelta(hours=1)]


def fitting(values: list[int], dtype: str) -> list[int]:
    return [value for value in values if np.iinfo(dtype).min <= value <= np.iinfo(dtype).max]


def arrays() -> Iterator[tuple[str, Any, list[Any]]]:
    """Arrays, with their elements as the objects of their library."""
    for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
        array = np.array(fitting(INTEGERS, dtype), dtype)
        yield f"numpy {dtype}", array, list(array)
    for dtype in ("f2", "f4", "f8"):
        array = np.array([0.5, -0.0, 1.0, 0.1, np.inf], dtype)
        yield f"numpy {dtype}", array, list(array)
    for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps"):
        array = np.array([0, 1, 1_000, 86_400_000], f"M8[{unit}]")
        yield f"numpy M8[{unit}]", array, list(array)
    yield "numpy b1", np.array([True, False]), [np.True_, np.False_]
    yield "numpy m8[s]", np.array([0, 1], "m8[s]"), list(np.array([0, 1], "m8[s]"))
    yield "numpy S", np.array([b"abc", b"a"]), [b"abc", b"a"]
    yield "numpy U", np.array(["abc", "150"]), ["abc", "150"]
    yield "numpy O", np.array(DECIMALS), DECIMALS
    arrow: list[tuple[pa.DataType, list[Any]]] = [
        *((getattr(pa, name)(), fitting(INTEGERS, name)) for name in ("int8", "int32", "int64", "uint8", "uint64")),
        (pa.float16(), [0.5, 1.0]),
        (pa.float32(), [0.5, 1.0, 0.1]),
        (pa.float64(), [0.5, 1.0, 0.1, float("inf")]),
        (pa.bool_(), [True, False]),
        (pa.decimal32(9, 4), DECIMALS),
        (pa.decimal64(18, 4), DECIMALS),
        (pa.decimal128(10, 4), DECIMALS),
        (pa.decimal128(20, 0), [Decimal(2**64 - 1), Decimal(-(2**63)), Decimal(150)]),
        (pa.decimal256(39, 0), [Decimal(2**128 - 1), Decimal(-(2**127)), Decimal(150)]),
        (pa.decimal256(50, 12), [Decimal("150"), Decimal("1.5"), Decimal("0.000000000001")]),
        (pa.date32(), DAYS),
        (pa.time32("s"), TIMES[:2]),
        (pa.time32("ms"), TIMES[:3]),
        (pa.time64("us"), TIMES),
        (pa.time64("ns"), TIMES),
        (pa.timestamp("s"), MOMENTS[:2]),
        (pa.timestamp("ms"), MOMENTS[:2]),
        (pa.timestamp("us"), MOMENTS),
        (pa.timestamp("us", "Europe/Berlin"), MOMENTS),
        (pa.timestamp("ns"), MOMENTS),
        (pa.duration("us"), SPANS),
        (pa.string(), ["", "abc", "150"]),
        (pa.large_string(), ["", "abc"]),
        (pa.string_view(), ["", "abc"]),
        (pa.binary(), [b"", b"abc", b"abcd", b"0123456789abcdef"]),
        (pa.large_binary(), [b"abc"]),
        (pa.binary(3), [b"abc"]),
        (pa.binary(16), [b"0123456789abcdef"]),
        (pa.binary_view(), [b"", b"abc"]),
        (pa.binary(0), [b""]),
        (pa.int16(), fitting(INTEGERS, "int16")),
        (pa.uint16(), fitting(INTEGERS, "uint16")),
        (pa.uint32(), fitting(INTEGERS, "uint32")),
        (pa.decimal128(38, 38), [Decimal("0.5"), Decimal("1E-38")]),
        (pa.decimal128(5, -2), [Decimal(150) * 100, Decimal(-200)]),
        (pa.decimal256(76, 40), [Decimal("1.5"), Decimal("0.0001"), Decimal(-2)]),
        (pa.timestamp("s", "America/New_York"), MOMENTS[:2]),
        (pa.timestamp("ns", "+05:30"), MOMENTS),
        (pa.dictionary(pa.int8(), pa.string()), ["abc", "150"]),
        (pa.dictionary(pa.uint16(), pa.int64()), [1, 150, -1]),
        (pa.dictionary(pa.int32(), pa.binary()), [b"abc"]),
        (pa.null(), [None]),
        (pa.list_(pa.int64()), [[1]]),
        (pa.struct([("a", pa.int64())]), [{"a": 1}]),
    ]
    for of, values in arrow:
        array = pa.array(values, of)
        yield f"pyarrow {of}", array, array.to_pylist()
    for of, values in ((pa.decimal128(10, 4), DECIMALS), (pa.timestamp("us"), MOMENTS), (pa.date32(), DAYS)):
        words = pa.array(values, of).dictionary_encode()
        yield f"pyarrow {words.type}", words, words.to_pylist()
    yield "pyarrow nulls", pa.array([1, None, 150]), [1, None, 150]
    yield "pyarrow chunks", pa.chunked_array([[1], [], [150, -1]]), [1, 150, -1]
    encoded = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["abc", "150"]))
    yield "pyarrow runs", encoded, encoded.to_pylist()
    nanoseconds = pa.array([1_772_280_000_000_000_001, 1_000], pa.timestamp("ns"))
    yield "pyarrow nanoseconds", nanoseconds, nanoseconds.to_pylist()
    frames: list[pd.Series[Any]] = [
        pd.Series([1, 150]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series([0.5, 0.1]),
        pd.Series([True, False]),
        pd.Series(["abc", "150"]),
        pd.Series(["abc", "150"], dtype="category"),
        pd.Series(DECIMALS),
        pd.Series(pd.to_datetime(MOMENTS)),
        pd.Series(pd.to_datetime([1_772_280_000_000_000_001, 1_000])),
        pd.Series(pd.to_datetime(MOMENTS)).dt.tz_localize("Europe/Berlin"),
        pd.Series(pd.to_timedelta(SPANS)),
        *(pd.Series([1, 100], dtype=name) for name in ("int8", "uint16", "Int8", "Int16", "Int32", "UInt8", "UInt64")),
        pd.Series([2**63, None], dtype="UInt64"),
        pd.Series([0.5, None], dtype="Float32"),
        pd.Series([0.5, 0.1], dtype="Float64"),
        pd.Series([True, None], dtype="boolean"),
        pd.Series(["abc", None], dtype="string"),
        pd.Series([1, 150], dtype="category"),
        pd.Series(pd.to_datetime(MOMENTS)).astype("datetime64[s]"),
        pd.Series(pd.to_datetime(MOMENTS)).astype("datetime64[ms]"),
        pd.Series(pd.to_datetime([None, "2026-02-28"])),
        pd.Series([b"abc", "abc", 150, 0.5, None, Decimal("1.5"), *DAYS, *TIMES], dtype=object),
        pd.Series(DAYS, dtype=pd.ArrowDtype(pa.date32())),
        pd.Series(DECIMALS, dtype=pd.ArrowDtype(pa.decimal128(10, 4))),
        pd.Series([1, 150]).astype("Sparse[int64]"),
        pd.Series(pd.period_range("2026-02", periods=2, freq="M")),
    ]
    for series in frames:
        yield f"pandas {series.dtype}", series, list(series)
    for column in (
        pl.Series([1, 150, -1]),
        pl.Series([2**63], dtype=pl.UInt64),
        pl.Series([0.5, 0.1]),
        pl.Series([True]),
        pl.Series(["abc", "150"]),
        pl.Series(["abc"], dtype=pl.Categorical),
        pl.Series([b"abc"]),
        pl.Series(DECIMALS, dtype=pl.Decimal(10, 4)),
        pl.Series(DAYS),
        pl.Series(TIMES),
        pl.Series(MOMENTS, dtype=pl.Datetime("ms")),
        pl.Series(MOMENTS, dtype=pl.Datetime("us")),
        pl.Series(MOMENTS, dtype=pl.Datetime("ns")),
        pl.Series(SPANS),
        *(pl.Series([0, 1, 100], dtype=of) for of in (pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16, pl.UInt32)),
        pl.Series([-1, 0, 2**127 - 1], dtype=pl.Int128),
        pl.Series([0, 150, 2**128 - 1], dtype=pl.UInt128),
        pl.Series([0.5, 1.0, float("nan")], dtype=pl.Float32),
        pl.Series(["abc"], dtype=pl.Enum(["abc", "150"])),
        pl.Series([1, None, 150]),
        pl.Series([None], dtype=pl.Null),
        pl.Series([Decimal("1.5"), Decimal("1E-10")], dtype=pl.Decimal(38, 10)),
        pl.Series(MOMENTS, dtype=pl.Datetime("us")).dt.replace_time_zone("Europe/Berlin"),
        pl.Series(MOMENTS, dtype=pl.Datetime("ms")).dt.replace_time_zone("UTC"),
        pl.Series([b"abc", "abc", 150], dtype=pl.Object),
        pl.Series([[1]]),
    ):
        yield f"polars {column.dtype}", column, column.to_list()


ARRAYS = list(arrays())


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns; the class of what it raises."""
    try:
        return call()
    except (TypeError, ValueError) as error:
        assert isinstance(error, ogive.OgiveError), error
        return type(error)


def number(value: Any) -> Decimal:
    """A number with all its digits: NumPy compares some of them rounded."""
    return Decimal(value.item() if isinstance(value, np.generic) else value)


def same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and (one == other or one != one and other != other)


def is_null(held: Any) -> bool:
    return held is None or held is pd.NA or held is pd.NaT


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ogive.Db]:
    with ogive.open(tmp_path_factory.mktemp("conversions") / "db", durability="buffered") as db:
        yield db


@pytest.mark.parametrize("stated", TYPES)
def test_arrays_and_lists_of_the_same_objects_are_the_same_keys(store: ogive.Db, stated: str) -> None:
    keys = store.keyspace(stated, key=stated, value=int)
    taken = 0
    for name, array, objects in ARRAYS:
        for place, held in enumerate(objects):
            of_array = outcome(lambda: keys.multi_get(array[place : place + 1]).column("key")[0])
            of_list = outcome(lambda: keys.multi_get([held]).column("key")[0])
            # A null is refused by its own name.
            if is_null(held):
                assert isinstance(of_array, type) and isinstance(of_list, type)
                continue
            assert same(of_array, of_list), f"{name} {held!r} as {stated}: {of_array!r}, in a list {of_list!r}"
            if not isinstance(of_list, type):
                taken += 1
                is_number = isinstance(of_list, Decimal | int | float) and not stated.startswith(("date", "time"))
                is_kept = not is_number or held != held or number(of_list) == number(held)
                assert is_kept, f"{name} {held!r} became {of_list!r}"
    assert taken > 0


@pytest.mark.parametrize("stated", TYPES)
def test_arrays_and_single_objects_are_the_same_values(tmp_path: Path, stated: str) -> None:
    size = 32 if stated in ("text", "bytes") else None
    loaded = ogive.Index(tmp_path / "l.idx", key="u64", value=stated, value_size=size, durability="buffered")
    put = ogive.Index(tmp_path / "p.idx", key="u64", value=stated, value_size=size, durability="buffered")
    with loaded, put:
        for name, array, objects in ARRAYS:
            for place, held in enumerate(objects):
                of_array = outcome(lambda: (loaded.load([place], array[place : place + 1]), None)[1])
                of_object = outcome(lambda: put.__setitem__(place, held))
                both = isinstance(of_array, type) and isinstance(of_object, type)
                if is_null(held):
                    assert both
                    continue
                assert of_array is of_object, f"{name} {held!r} as {stated}: {of_array}, alone {of_object}"
                if not both:
                    found = [outcome(lambda index=index: index[place]) for index in (loaded, put)]
                    assert found[0] is found[1] or same(*found), f"{name} {held!r} as {stated}"


def test_keys_of_parquet_rows_are_found_by_arrays_and_lists_alike(tmp_path: Path) -> None:
    columns = {
        "moment": pa.array(MOMENTS, pa.timestamp("us")),
        "price": pa.array([Decimal("150.00"), Decimal("1.50"), Decimal("-2.00")], pa.decimal128(10, 2)),
        "number": pa.array([1, 150, -1], pa.int32()),
        "empty": pa.array([1, None, 150], pa.int64()),
    }
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "rows.parquet")
    for column in columns:
        found = 0
        index = ogive.index_parquet(tmp_path / "rows.parquet", key=column, to=tmp_path / f"{column}.idx")
        for name, array, objects in ARRAYS:
            for place, held in enumerate(objects):
                of_array = outcome(lambda: index.multi_get(array[place : place + 1], [column]).column(column))
                of_list = outcome(lambda: index.multi_get([held], [column]).column(column))
                if isinstance(of_array, list) and column == "price" and of_array:
                    assert of_array == [number(held)], name
                if not is_null(held):
                    assert of_array == of_list, f"{name} {held!r} as {column}"
                found += isinstance(of_array, list) and len(of_array)
        assert found > 0
    for nulls in ([None], pa.array([None], pa.int64()), pd.Series([None], dtype="Int64")):
        assert index.multi_get(nulls, ["number"]).column("number") == [150]
    with pytest.raises(ogive.WrongType, match="null"):
        ogive.ParquetIndex(tmp_path / "number.idx").multi_get(pa.array([None], pa.int64()))


def test_keys_of_another_unit_or_scale_are_neither_missed_nor_found_falsely(db: ogive.Db) -> None:
    moments = db.keyspace("moments", key="timestamp(us)", value=int)
    moments[MOMENTS[1]] = 1
    assert moments.multi_get(np.array([MOMENTS[1]], "M8[ns]")).column("value") == [1]
    prices = db.keyspace("prices", key="decimal(10,2)", value=int)
    prices[Decimal("150.00")], prices[Decimal("1.50")] = 150, 1
    assert prices.multi_get(pa.array([Decimal("1.5000")], pa.decimal128(10, 4))).column("value") == [1]
    assert prices.multi_get(np.array([150])).column("value") == [150]
    with pytest.raises(ogive.WrongType, match="decimal"):
        prices.multi_get(pa.array([Decimal("1.5001")], pa.decimal128(10, 4)))
    with pytest.raises(ogive.WrongType, match="timestamp"):
        moments.multi_get(pa.array([1], pa.timestamp("ns")))
    days = pa.array([dt.date(1970, 1, 1)], pa.date32())
    with pytest.raises(ogive.WrongType):
        moments.multi_get(days)


def test_nanoseconds_of_pandas_and_numpy_are_kept(db: ogive.Db) -> None:
    times = db.keyspace("times", key="timestamp(ns)", value=int)
    first = 1_772_280_000_000_000_000
    times.update((pd.Timestamp(first + number), number) for number in range(1_000))
    assert len(times) == 1_000 and times.first() == (first, 0)
    assert times[np.datetime64(first + 7, "ns")] == 7 and times[np.datetime64(first // 1_000, "us")] == 0
    zoned = pd.Timestamp(first + 9, tz="UTC").tz_convert("Europe/Berlin")
    assert times[zoned] == 9
    coarse = db.keyspace("coarse", key=dt.datetime, value=int)
    coarse[pd.Timestamp(first)] = 1
    assert coarse[dt.datetime(2026, 2, 28, 12)] == 1
    for finer in (pd.Timestamp(first + 1), np.datetime64(first + 1, "ns"), pd.NaT, np.datetime64("NaT")):
        with pytest.raises(ogive.WrongType):
            coarse[finer] = 2


def test_scalars_of_numpy_are_what_they_stand_for(db: ogive.Db) -> None:
    numbers = db.keyspace("numbers", key=int, value={"f": [float], "b": [bool], "d": [dt.date], "t": ["timestamp(s)"]})
    row = {"f": np.float32(0.5), "b": np.True_, "d": np.datetime64("2026-02-28"), "t": np.datetime64("2026-02-28T12")}
    numbers[np.int16(7)] = row
    assert numbers[7] == {"f": 0.5, "b": True, "d": dt.date(2026, 2, 28), "t": dt.datetime(2026, 2, 28, 12)}
    raw = db.keyspace("raw", key=bytes, value=int)
    for wrong in (np.int64(7), np.datetime64("2026-02-28"), np.float64(1), "text"):
        with pytest.raises(ogive.WrongType):
            raw[wrong] = 1
    for wrong in (np.timedelta64(7, "s"), np.float64(7), np.True_, np.datetime64(7, "s"), np.array([7])):
        with pytest.raises(ogive.WrongType):
            numbers[wrong] = row
    guessed = db.keyspace("guessed")
    guessed[np.int32(1)] = np.float32(0.25)
    assert guessed.types == ("i64", "f64") and guessed[1] == 0.25


def test_a_moment_is_no_time_of_day_and_no_date(db: ogive.Db) -> None:
    times = db.keyspace("times", key=dt.time, value=dt.date)
    for wrong in (dt.datetime(2026, 2, 28, 12), pd.Timestamp("2026-02-28 12:00"), dt.timedelta(hours=12)):
        with pytest.raises(ogive.WrongType):
            times[wrong] = dt.date(2026, 2, 28)
        with pytest.raises(ogive.WrongType):
            times[dt.time(12)] = wrong
    assert len(times) == 0


def test_no_field_hides_the_key(db: ogive.Db, tmp_path: Path) -> None:
    rows = db.keyspace("rows", key=int, value={"key": str, "a": int})
    rows[7] = {"key": "seven", "a": 1}
    assert rows[7] == {"key": "seven", "a": 1}
    assert rows.scan().to_pylist() == [{"key": 7, "key_2": "seven", "a": 1}]
    found = rows.multi_get([7, 8])
    assert found.column("key") == [7, 8] and found.column("key_2") == ["seven", None]
    assert rows.scan().to_pandas()["key"].tolist() == [7]
    for frame in (rows.scan().to_polars(), rows.scan().to_pyarrow()):
        assert ogive.build(frame, key="key", to=tmp_path / "t.ogive")[7] == {"key_2": "seven", "a": 1}
    pairs = db.keyspace("pairs", key=(int, int), value={"key1": str})
    pairs[1, 2] = {"key1": "x"}
    assert pairs.scan().to_pylist() == [{"key1": 1, "key2": 2, "key1_2": "x"}]


ENDS = {"u128": [0, 2**64, 2**127, 2**128 - 1], "i128": [-(2**127), -1, 0, 2**127 - 1]}


@pytest.mark.parametrize("stated", ENDS)
def test_integers_of_128_bits_come_back_by_every_way(db: ogive.Db, tmp_path: Path, stated: str) -> None:
    ends = ENDS[stated]
    numbers = db.keyspace("numbers", key=stated, value=stated)
    numbers.update({number: number for number in ends})
    frame = numbers.scan().to_pyarrow()
    assert frame.schema.field("key").type == pa.decimal256(39, 0)
    assert frame["key"].to_pylist() == [Decimal(number) for number in ends]
    assert numbers.scan().to_pylist() == [{"key": number, "value": number} for number in ends]
    for keys in (ends, frame["key"], frame["key"].combine_chunks(), frame["key"].to_pylist()):
        assert numbers.multi_get(keys).column("value") == ends
    for key in frame["key"].to_pylist():
        assert numbers[key] == int(key)
    table = ogive.build(frame, key="key", to=tmp_path / "t.ogive")
    assert table.types[0] == stated and [key for key in table] == ends
    assert [row["value"] for row in table.values()] == ends
    index = ogive.Index(tmp_path / "i.idx", key="u64", value=stated)
    index.load([0, 1, 2, 3], frame["value"])
    assert list(index.values()) == ends
    for longs in (numbers.scan().to_polars(), numbers.multi_get(ends).to_polars()):
        assert longs["key"].to_list() == ends and str(longs["key"].dtype) == {"u": "UInt128", "i": "Int128"}[stated[0]]
        assert numbers.multi_get(longs["key"].to_list()).column("value") == ends
        assert numbers.multi_get(longs["key"]).column("value") == ends
    assert numbers.scan(ends[1], ends[1]).to_polars().columns == ["key", "value"]
    pyarrow.parquet.write_table(frame, tmp_path / "rows.parquet")
    copied = ogive.build(tmp_path / "rows.parquet", key="key", to=tmp_path / "u.ogive")
    assert [key for key in copied] == ends
    beside = ogive.index_parquet(tmp_path / "rows.parquet", key="key", to=tmp_path / "rows.idx")
    assert beside.key_type == stated and beside.multi_get(ends).column("value") == ends
    assert beside.scan().to_pylist() == [{"key": number, "value": number} for number in ends]


def test_joins_of_signed_with_unsigned_integers_have_the_keys_of_both(tmp_path: Path) -> None:
    signed = pa.table({"id": pa.array([-(2**63), 7, 2**63 - 1], pa.int64()), "a": [1, 2, 3]})
    unsigned = pa.table({"id": pa.array([7, 2**63 - 1, 2**64 - 1], pa.uint64()), "b": [4, 5, 6]})
    joined = ogive.join(signed, unsigned, on="id", how="full")
    found = joined.to_pyarrow()
    assert found.schema.field("id").type == pa.decimal128(20, 0)
    ids = [-(2**63), 7, 2**63 - 1, 2**64 - 1]
    assert found["id"].to_pylist() == ids and found["b"].to_pylist() == [None, 4, 5, 6]
    table = joined.write(tmp_path / "joined.ogive")
    for keys in (ids, found["id"], [Decimal(number) for number in ids]):
        assert table.multi_get(keys).column("a") == [1, 2, 3, None]
    again = ogive.join(table, pa.table({"id": pa.array([7, -1], pa.int8()), "c": ["x", "y"]}), on="id").to_pylist()
    assert again == [{"id": 7, "a": 2, "b": 4, "c": "x"}]
    built = ogive.build(found, key="id", to=tmp_path / "built.ogive")
    assert built.types[0] == "decimal(20,0)" and [int(key) for key in built] == ids
    assert joined.to_polars()["id"].to_list() == ids


def test_named_tuples_are_taken_by_name(db: ogive.Db) -> None:
    people = db.keyspace("people", key=int, value={"name": str, "age": [int]})
    person = collections.namedtuple("person", ["age", "name"])
    people[1] = person(36, "Ada")
    people[2] = collections.namedtuple("named", ["name"])("Grace")
    assert list(people.values()) == [{"name": "Ada", "age": 36}, {"name": "Grace", "age": None}]
    with pytest.raises(ogive.WrongType, match="no field 'years'"):
        people[3] = collections.namedtuple("other", ["name", "years"])("Alan", 41)


def test_columns_are_built_from_lists(tmp_path: Path) -> None:
    columns = {"k": [3, 1, 2], "name": ["c", None, "b"], "price": [1, 2.5, 3], "day": DAYS + DAYS[:1]}
    table = ogive.build(columns, key="k", to=tmp_path / "t.ogive")
    assert table[1] == {"name": None, "price": 2.5, "day": dt.date(2026, 2, 28)} and list(table) == [1, 2, 3]
    mixed = {"a": np.array([1, 2]), "b": pa.array(["x", "y"]), "c": pl.Series([True, None]), "d": range(2)}
    pairs = ogive.build(mixed, key=["b", "a"], to=tmp_path / "p.ogive")
    assert pairs["x", 1] == {"c": True, "d": 0} and pairs["y", 2] == {"c": None, "d": 1}
    ids = [uuid.UUID(int=2), uuid.UUID(int=1)]
    assert list(ogive.build({"id": ids}, key="id", to=tmp_path / "u.ogive")) == sorted(ids)
    for wrong in ({"k": [1], "v": [1, 2]}, {"k": [None]}, {"k": [1, "a"]}, {"k": [[1]]}):
        with pytest.raises(ogive.OgiveError):
            ogive.build(wrong, key="k", to=tmp_path / "w.ogive")
    assert ogive.build({"text": "a"}, key="text", value="text", to=tmp_path / "x.ogive")["text"] == "a"


def test_parts_of_keys_may_be_none(db: ogive.Db) -> None:
    pairs = db.keyspace("pairs", key=(str, [int]), value=int)
    assert pairs.types == db.keyspace("named", key="(text, i64?)", value=int).types
    pairs["a", None], pairs["a", 1] = 1, 2
    assert list(pairs.items()) == [(("a", 1), 2), (("a", None), 1)] and pairs["a", None] == 1
    assert pairs.multi_get([("a", None)]).column("value") == [1]
    with pytest.raises(ogive.WrongType):
        pairs[None, 1] = 1


def test_keys_of_bytes_are_no_text(db: ogive.Db) -> None:
    raw = db.keyspace("raw", key=bytes, value=bytes)
    raw[b"a"] = b"1"
    for wrong in (lambda: raw.get("a"), lambda: raw.range("a"), lambda: raw.multi_get(["a"]), lambda: raw.range(prefix="a")):
        with pytest.raises(ogive.WrongType):
            wrong()
    with pytest.raises(ogive.WrongType):
        raw[b"b"] = "text"
    texts = db.keyspace("texts", key=str, value=int)
    with pytest.raises(ogive.WrongType):
        texts.range(prefix=b"a")
    empty = db.keyspace("empty")
    for keys in (["a", "b"], [1, 2], np.array([1, 2]), (key for key in ("a", "b"))):
        assert empty.multi_get(keys).column("value") == [None, None]
    with db.snapshot() as before:
        assert before.of(empty).multi_get(["a"]).column("value") == [None]


@pytest.mark.parametrize("stated", [float, "f32"])
def test_values_keep_signs_of_zero_and_keys_have_none(db: ogive.Db, tmp_path: Path, stated: Any) -> None:
    held = db.keyspace("held", key=stated, value=stated)
    held[-0.0] = -0.0
    assert str(held[0.0]) == "-0.0" and [str(key) for key in held] == ["0.0"]
    assert str(held.multi_get([-0.0]).to_pyarrow()["value"][0].as_py()) == "-0.0"
    rows = db.keyspace("rows", key=int, value={"x": stated})
    rows[1] = {"x": -0.0}
    assert str(rows[1]["x"]) == "-0.0"
    index = ogive.Index(tmp_path / "i.idx", key="u64", value=stated)
    index[1] = -0.0
    index.load([2, 3], np.array([-0.0, 0.0]))
    assert [str(value) for value in index.values()] == ["-0.0", "-0.0", "0.0"]
    built = ogive.build({"k": np.array([-0.0]), "v": np.array([-0.0])}, key="k", to=tmp_path / "t.ogive")
    assert [(str(key), str(row["v"])) for key, row in built.items()] == [("0.0", "-0.0")]


LONGS = {"UInt128": [0, 7, 2**128 - 1], "Int128": [-(2**127), 7, 2**127 - 1]}


@pytest.mark.parametrize("dtype", LONGS)
def test_integers_of_128_bits_of_polars_are_taken_exactly(db: ogive.Db, tmp_path: Path, dtype: str) -> None:
    ends, stated = LONGS[dtype], {"UInt128": "u128", "Int128": "i128"}[dtype]
    series = pl.Series("k", ends, dtype=getattr(pl, dtype))
    frame = pl.DataFrame({"k": series, "v": series, "n": pl.Series([None, *ends[1:]], dtype=series.dtype)})
    table = ogive.build(frame, key="k", to=tmp_path / "t.ogive")
    assert table.types == (stated, f"{{v: {stated}, n: {stated}?}}")
    assert list(table) == ends and [row["v"] for row in table.values()] == ends and table[ends[0]]["n"] is None
    assert ogive.build({"k": series}, key="k", to=tmp_path / "c.ogive").types[0] == stated
    assert table.multi_get(series).column("v") == ends
    assert table.scan().to_polars().equals(frame)
    with ogive.Index(tmp_path / "i.idx", key=stated, value=stated) as index:
        assert index.load(series, series) == 3 and list(index.items()) == list(zip(ends, ends, strict=True))
        assert index.load(frame.select(key="k", value="v")) == 0 and index[7] == 7
    numbers = db.keyspace("numbers", key=stated, value={"n": [stated]})
    numbers.update(frame.select(key="k", n="n"))
    assert numbers[ends[0]] == {"n": None} and numbers[7] == {"n": 7}
    shorts = db.keyspace("shorts", key="i64", value=int)
    shorts[7] = 1
    assert shorts.multi_get(series[1:2]).column("value") == [1]
    for wrong in (series, series[:1], pl.Series([None], dtype=series.dtype)):
        with pytest.raises(ogive.WrongType):
            db.keyspace("narrow", key="i16", value=int).multi_get(pl.concat([wrong, series]))
    assert db.keyspace("empty").multi_get(series).column("key") == ends
    pyarrow.parquet.write_table(pa.table({"k": pa.array([7], pa.int64())}), tmp_path / "rows.parquet")
    beside = ogive.index_parquet(tmp_path / "rows.parquet", key="k", to=tmp_path / "rows.idx")
    assert beside.multi_get(series[1:2]).column("k") == [7]
    of_64 = pa.array([7], pa.uint64() if dtype == "UInt128" else pa.int64())
    joined = ogive.join(frame, pa.table({"k": of_64, "x": ["seven"]}), on="k").to_pylist()
    assert joined == [{"k": 7, "v": 7, "n": 7, "x": "seven"}]
    for objects in (pl.Series([b"abc"], dtype=pl.Object), pd.Series([b"abc"], dtype=object)):
        # The Arrow data of polars are the addresses of the objects.
        assert db.keyspace("bytes", key=bytes, value=int).multi_get(objects).column("key") == [b"abc"]
        for columns in ({"k": objects}, pl.DataFrame({"k": objects}) if isinstance(objects, pl.Series) else objects.to_frame("k")):
            assert list(ogive.build(columns, key="k", to=tmp_path / "o.ogive")) == [b"abc"]
    for zoned in (pl.Series([dt.time(1, tzinfo=dt.timezone.utc)], dtype=pl.Object), pd.Series([dt.time(1, tzinfo=dt.timezone.utc)])):
        # pyarrow drops the zone.
        for way in (
            lambda: db.keyspace("times", key=dt.time, value=int).multi_get(zoned),
            lambda: db.keyspace("undecided times").multi_get(zoned),
            lambda: ogive.build({"k": zoned}, key="k", to=tmp_path / "w.ogive"),
        ):
            with pytest.raises(ogive.WrongType):
                way()
    nested = pl.DataFrame({"k": [1], "s": pl.Series([[7]], dtype=pl.List(series.dtype))})
    with pytest.raises(ogive.WrongType):
        ogive.build(nested, key="k", to=tmp_path / "w.ogive")


def test_values_of_json_are_for_stores_and_others_say_so(db: ogive.Db, tmp_path: Path) -> None:
    for wrong in (
        lambda: ogive.build({1: {"a": 1}}, to=tmp_path / "t.ogive", value="json"),
        lambda: ogive.Index(tmp_path / "i.idx", value="json", value_size=64),
        lambda: db.keyspace("x", key="json", value=int),
        lambda: db.keyspace("x", key=int, value={"a": "json"}),
    ):
        with pytest.raises(ogive.InvalidArgument, match=r"ogive.open\(path, value=\"json\"\).*json.dumps"):
            wrong()
    assert not list(tmp_path.glob("*.ogive")) and not list(tmp_path.glob("*.idx"))
    frame = pa.table({"k": [1], "v": [2]})
    frame_of_pandas = frame.to_pandas()
    pyarrow.parquet.write_table(frame, tmp_path / "rows.parquet")
    for data in (frame, frame_of_pandas, tmp_path / "rows.parquet", {"k": [1], "v": [2]}, np.array([1])):
        with pytest.raises(ogive.InvalidArgument, match="value="):
            ogive.build(data, key="k", value="json", to=tmp_path / "t.ogive")


def frames_of(columns: dict[str, list[Any]]) -> dict[str, Callable[[], Any]]:
    """The same rows as frames of all libraries, each made anew, since streams are read once."""
    table = pa.table(columns)
    return {
        "pandas": lambda: pd.DataFrame(columns),
        "filtered pandas": lambda: pd.concat([pd.DataFrame(columns)] * 2)[len(table) :],
        "polars": lambda: pl.DataFrame(columns),
        "pyarrow": lambda: table,
        "batches": lambda: table.to_reader(max_chunksize=1),
        "batch": lambda: table.to_batches()[0],
    }


@pytest.mark.parametrize("library", frames_of({"a": [1]}))
def test_columns_of_frames_are_taken_by_their_names(db: ogive.Db, tmp_path: Path, library: str) -> None:
    def frame(**columns: list[Any]) -> Any:
        return frames_of(columns)[library]()

    index = ogive.Index(tmp_path / "i.idx", key=int, value=int)
    # By place, each key would be a value.
    assert index.load(frame(value=[10, 20], key=[1, 2])) == 2 and dict(index) == {1: 10, 2: 20}
    index.update(frame(value=[30], key=[3]))
    assert index[3] == 30
    plain = db.keyspace("plain", key=int, value=float)
    plain.update(frame(value=[1, 2], key=[10, 20]))
    assert dict(plain) == {10: 1.0, 20: 2.0}
    rows = db.keyspace("rows", key=(str, [int]), value={"a": int, "b": [str]})
    rows.update(frame(b=["x", "y"], key2=[1, 2], a=[5, 6], key1=["k", "l"]))
    assert dict(rows) == {("k", 1): {"a": 5, "b": "x"}, ("l", 2): {"a": 6, "b": "y"}}
    with db.batch() as batch:
        batch.update(frame(key1=["m"], a=[7]), rows)
    assert rows["m", None] == {"a": 7, "b": None}
    fields = ogive.Index(tmp_path / "f.idx", key=int, value={"a": int, "b": [str]}, value_size=32)
    assert fields.load([1, 2], frame(b=["x", "y"], a=[1, 2])) == 2 and fields[2] == {"a": 2, "b": "y"}
    before = [dict(held) for held in (index, plain, rows, fields)]
    for message, wrong in {
        "no column 'other'": lambda: index.load(frame(key=[9], value=[9], other=[9])),
        "no column 'value'": lambda: index.load(frame(key=[9])),
        "no column 'key'": lambda: plain.update(frame(value=[9.0])),
        "no column 'name'": lambda: fields.load([9], frame(a=[9], name=[9])),
        "column 'a' in row 0": lambda: rows.update(frame(key1=["z"], a=["text"])),
        "of type i64|not exactly": lambda: index.load(frame(key=[0.5], value=[9])),
        "types": lambda: db.keyspace("undecided").update(frame(key=[1], value=[1])),
    }.items():
        with pytest.raises(ogive.OgiveError, match=message):
            wrong()
    assert [dict(held) for held in (index, plain, rows, fields)] == before


def test_what_a_scan_gives_can_be_put_back(db: ogive.Db) -> None:
    held = db.keyspace("held", key=(str, int), value={"key1": str, "at": [dt.datetime]})
    held["a", 1], held["b", 2] = {"key1": "x", "at": dt.datetime(2026, 2, 28)}, {"key1": "y", "at": None}
    copy = db.keyspace("copy", key=(str, int), value={"key1": str, "at": [dt.datetime]})
    for give in (lambda: held.scan(), lambda: held.multi_get(list(held)), lambda: held.scan().to_polars()):
        copy.clear()
        copy.update(give())
        assert copy == held
    colours = db.keyspace("colours", key=int, value="json")
    colours[1] = {"name": "red"}
    again = db.keyspace("again", key=int, value="json")
    again.update(colours.scan())
    assert again[1] == {"name": "red"}
    with pytest.raises(ogive.WrongType, match="JSON"):
        again.update(pa.table({"key": [2], "value": ["{"]}))


def drawn(random: np.random.Generator) -> Iterator[tuple[str, Any, list[Any]]]:
    """Arrays of drawn values, among them the ends of each type, and values one beyond a power of two or ten."""

    def integers(low: int, high: int) -> list[int]:
        near = [sign * base**power + by for base in (2, 10) for power in range(80) for sign in (1, -1) for by in (-1, 0, 1)]
        held = [low, high, *(number for number in near if low <= number <= high)]
        return [held[place] for place in random.integers(0, len(held), 12)] + [low, high]

    for bits in (8, 16, 32, 64):
        for prefix, low, high in (("int", -(2 ** (bits - 1)), 2 ** (bits - 1) - 1), ("uint", 0, 2**bits - 1)):
            held = integers(low, high)
            yield f"numpy {prefix}{bits}", np.array(held, f"{prefix}{bits}"), held
            yield f"polars {prefix}{bits}", pl.Series(held, dtype=getattr(pl, f"{'U' if low == 0 else ''}Int{bits}")), held
    for dtype, low, high in ((pl.Int128, -(2**127), 2**127 - 1), (pl.UInt128, 0, 2**128 - 1)):
        held = integers(low, high)
        yield f"polars {dtype}", pl.Series(held, dtype=dtype), held
    for digits, scale in ((9, 0), (9, 9), (18, 4), (38, 0), (38, 2), (38, 38), (76, 0), (76, 38), (76, 76), (20, -3)):
        bound = 10**digits - 1
        held_of = [Decimal(f"{number}E{-scale}") for number in integers(-bound, bound)]
        of = pa.decimal256(digits, scale) if digits > 38 else pa.decimal128(digits, scale)
        yield f"pyarrow {of}", pa.array(held_of, of), held_of
    for unit in ("s", "ms", "us", "ns"):
        array = pa.array(integers(-(2**63), 2**63 - 1)[:-2] + [-(2**63) + 1, 2**63 - 1], pa.int64())
        times = array.cast(pa.timestamp(unit))
        yield f"numpy M8[{unit}]", times.to_numpy(), list(times.to_numpy())
        yield f"pyarrow {times.type}", times, list(times.to_numpy())
    days = np.array([*integers(-(2**31), 2**31 - 1), 2**31, -(2**31) - 1, 2**62, -(2**62)], "M8[D]")
    yield "numpy M8[D]", days, list(days)
    python = [dt.datetime.min, dt.datetime.max, dt.datetime(1, 1, 1, 0, 0, 0, 1), dt.datetime(9999, 12, 31, 23, 59, 59)]
    yield "pyarrow years", pa.array(python, pa.timestamp("us")), python
    yield "pyarrow dates", pa.array([dt.date.min, dt.date.max], pa.date32()), [dt.date.min, dt.date.max]
    yield "polars years", pl.Series(python, dtype=pl.Datetime("us")), python
    bits_of = random.integers(0, 2**64, 16, "uint64")
    special = np.array([0x7FF0000000000001, 0xFFF8000000000002, 0x8000000000000000, 1, 0x7FF0000000000000], "uint64")
    doubles = np.concatenate([bits_of, special]).view("f8")
    yield "numpy f8", doubles, doubles.tolist()
    yield "pyarrow f8", pa.array(doubles), doubles.tolist()
    singles = np.concatenate([bits_of.astype("uint32"), np.array([0x7F800001, 0xFFC00002, 0x80000000, 1], "u4")]).view("f4")
    yield "numpy f4", singles, list(singles)
    halves = np.arange(0, 2**16, 977, "uint16").view("f2")
    yield "numpy f2", halves, list(halves)
    texts = ["", "\0", "a\0", "a\0b", "\uffff", "\U0010ffff", "a" * 300, "\u0301", "150"]
    for text in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        yield f"pyarrow {text}", pa.array(texts, text), texts
    raw = [b"", b"\0", b"a\0", b"\xff" * 16, b"\0" * 16, b"\0\0\0", bytes(range(256))]
    for binary in (pa.binary(), pa.large_binary(), pa.binary_view()):
        yield f"pyarrow {binary}", pa.array(raw, binary), raw
    yield "polars binary", pl.Series(raw), raw
    yield "numpy S", np.array([b"a", b"abc", b""], "S3"), np.array([b"a", b"abc", b""], "S3").tolist()


def bits(value: Any) -> Any:
    return np.float64(value).tobytes() if isinstance(value, float) else value


def are_same_keys(one: Any, other: Any) -> bool:
    """Whether two outcomes are the same class of an exception, or the same column of keys, in which NaNs are equal."""
    if isinstance(one, type) or isinstance(other, type):
        return one is other
    if pa.types.is_floating(one.type):
        return one.type == other.type and np.array_equal(one.to_numpy(), other.to_numpy(), equal_nan=True)
    return bool(one.equals(other))


@pytest.mark.parametrize("seed", range(3))
def test_drawn_values_are_the_same_in_arrays_and_lists_and_come_back_exactly(tmp_path: Path, seed: int) -> None:
    with ogive.open(tmp_path / "db", durability="buffered") as db:
        for name, array, objects in drawn(np.random.default_rng(seed)):
            for stated in TYPES:
                keys = db.keyspace(stated, key=stated, value=int)

                def taken(given: Any) -> Any:
                    return outcome(lambda: keys.multi_get(given).to_pyarrow()["key"])

                what = f"{name} as {stated}, seed {seed}"
                assert are_same_keys(taken(array), taken(objects)), what
                for place, held in enumerate(objects):
                    alone = taken([held])
                    assert are_same_keys(taken(array[place : place + 1]), alone), f"{what}: {held!r}"
                    is_number = isinstance(held, int | Decimal) and not stated.startswith(("date", "time"))
                    if not isinstance(alone, type) and is_number:
                        # What is taken is the same number.
                        assert Decimal(alone[0].as_py()) == Decimal(held), f"{what}: {held!r}"


def test_bits_of_floats_are_kept_in_values(db: ogive.Db, tmp_path: Path) -> None:
    doubles = np.array([0x7FF0000000000001, 0x7FF8000000000003, 0xFFF8000000000002, 1 << 63, 0, 1], "uint64").view("f8")
    held = db.keyspace("held", key=int, value=float)
    held.update(enumerate(doubles.tolist()))
    frame = db.keyspace("frame", key=int, value=float)
    frame.update(pa.table({"key": range(6), "value": doubles}))
    index = ogive.Index(tmp_path / "i.idx", key=int, value=float)
    index.load(range(6), doubles)
    built = ogive.build(pa.table({"key": range(6), "value": doubles}), key="key", to=tmp_path / "t.ogive")
    for found in (held.values(), frame.values(), index.values(), [row["value"] for row in built.values()]):
        assert [bits(value) for value in found] == [bits(value) for value in doubles.tolist()]


def test_periods_of_pandas_are_no_integers(db: ogive.Db, tmp_path: Path) -> None:
    months = pd.Series(pd.period_range("2026-02", periods=2, freq="M"))
    frame = pd.DataFrame({"key": [1, 2], "value": months})
    index = ogive.Index(tmp_path / "i.idx", key=int, value=int)
    numbers = db.keyspace("numbers", key=int, value=int)
    for way in (
        lambda: ogive.build(frame, key="key", to=tmp_path / "t.ogive"),
        lambda: ogive.build(frame, key="value", to=tmp_path / "t.ogive"),
        lambda: ogive.build({"k": months}, key="k", to=tmp_path / "t.ogive"),
        lambda: index.load(frame),
        lambda: index.load([1, 2], months),
        lambda: numbers.update(frame),
        lambda: numbers.multi_get(months),
        lambda: ogive.join(frame, frame, on="value").collect(),
    ):
        with pytest.raises(ogive.WrongType):
            way()
    assert len(index) == len(numbers) == 0


def test_what_libraries_have_in_place_of_none_is_null_where_there_may_be_one(db: ogive.Db, tmp_path: Path) -> None:
    rows = db.keyspace("rows", key=(str, [dt.datetime]), value={"at": [dt.datetime], "n": [int]})
    for number, missing in enumerate((None, pd.NaT, np.datetime64("NaT"), pd.NA)):
        rows[str(number), missing] = {"at": missing, "n": missing}
        assert rows[str(number), None] == {"at": None, "n": None}
        for way in (
            lambda: db.keyspace("single", key=dt.datetime, value=int).__setitem__(missing, 1),
            lambda: db.keyspace("strict", key=int, value={"at": dt.datetime}).__setitem__(1, {"at": missing}),
            lambda: rows.__setitem__((missing, None), {"at": None, "n": None}),
        ):
            with pytest.raises(ogive.WrongType):
                way()
    moments = pa.array([None, dt.datetime(2026, 2, 28)], pa.timestamp("us"))
    pyarrow.parquet.write_table(pa.table({"k": moments, "n": [1, 2]}), tmp_path / "rows.parquet")
    beside = ogive.index_parquet(tmp_path / "rows.parquet", key="k", to=tmp_path / "rows.idx")
    for keys in ([None], [pd.NaT], np.array(["NaT"], "M8[s]"), pd.Series([pd.NaT]), pa.array([None])):
        assert beside.multi_get(keys, ["n"]).column("n") == [1]


def test_columns_of_nulls_of_polars_are_nulls(db: ogive.Db, tmp_path: Path) -> None:
    rows = db.keyspace("rows", key=int, value={"a": [int], "b": str})
    rows.update(pl.DataFrame({"key": [1], "a": [None], "b": ["x"]}))
    assert rows[1] == {"a": None, "b": "x"}
    with pytest.raises(ogive.WrongType):
        rows.update(pl.DataFrame({"key": [2], "b": [None]}))
    with pytest.raises(ogive.WrongType, match="'a'"):
        ogive.build(pl.DataFrame({"key": [1], "a": [None]}), key="key", to=tmp_path / "t.ogive")
    pairs = db.keyspace("pairs", key=(int, [int]), value=int)
    pairs[1, None] = 2
    pairs.update(pl.DataFrame({"key1": [1], "key2": [None], "value": [3]}))
    assert dict(pairs) == {(1, None): 3}


def test_objects_in_a_frame_of_pandas_are_taken_as_a_list_of_them(db: ogive.Db) -> None:
    noon = dt.time(12, tzinfo=dt.timezone.utc)
    times = db.keyspace("times", key=int, value="time(us)")
    with pytest.raises(ogive.WrongType):
        times.update(pd.DataFrame({"key": [7], "value": [noon]}))
    times.update(pd.DataFrame({"key": [7], "value": [noon.replace(tzinfo=None)]}))
    texts = db.keyspace("texts", key=int, value={"text": [str]})
    texts.update(pd.DataFrame({"key": [1, 2], "text": pd.Series(["a", None], dtype=object)}))
    stamps = [pd.Timestamp(1_700_000_000_000_000_000 + i) for i in range(100)]
    fine = db.keyspace("fine", key="timestamp(ns)", value=int)
    fine.update(pd.DataFrame({"key": pd.Series(stamps, dtype=object), "value": range(100)}))
    assert len(fine) == 100
    with pytest.raises(ogive.WrongType):
        db.keyspace("coarse", key="timestamp(us)", value=int).update(
            pd.DataFrame({"key": pd.Series(stamps, dtype=object), "value": range(100)})
        )
    assert (times[7], texts[1], texts[2]) == (noon.replace(tzinfo=None), {"text": "a"}, {"text": None})


@pytest.mark.parametrize("text", ["NaN", "[-Infinity]", "nothing"])
def test_text_that_is_no_json_is_refused_in_frames(db: ogive.Db, text: str) -> None:
    values = db.keyspace("json", key=int, value="json")
    with pytest.raises(ogive.WrongType, match="no JSON"):
        values.update(pa.table({"key": [1], "value": [text]}))
    values.update(pa.table({"key": [1], "value": ['[1.5, null, "NaN"]']}))
    assert values[1] == [1.5, None, "NaN"] and len(values) == 1


def test_what_is_refused_is_found_by_its_row_and_column(db: ogive.Db, tmp_path: Path) -> None:
    scalars = db.keyspace("scalars", key=int, value="u8")
    rows = db.keyspace("rows", key=int, value={"a": "u8", "b": str})
    index = ogive.Index(tmp_path / "r.idx", key=int, value="u8")
    numbers = [300 if row == 777 else 1 for row in range(1000)]
    chunks = pa.chunked_array([pa.array(numbers[:500], pa.int64()), pa.array(numbers[500:], pa.int64())])
    texts = ["x"] * 1000
    keys = list(range(1000))
    pairs = list(zip(keys, numbers, strict=True))
    holes = pa.table({"b": pa.chunked_array([keys[:500], [None if key == 777 else key for key in keys[500:]]])})
    table = tmp_path / "t.ogive"
    for message, wrong in {
        "the value in row 777": lambda: scalars.update(pa.table({"key": keys, "value": chunks})),
        "column 'a' in row 777": lambda: rows.update(pa.table({"key": keys, "a": chunks, "b": texts})),
        "column 'b' of the key in row 777 is null": lambda: ogive.build(holes, key="b", to=table),
        "300.*; in row 777": lambda: scalars.update(pairs),
        "300.*in row 777": lambda: rows.update((key, (number, "x")) for key, number in pairs),
        "5, a value of type int.*; in field 'b'; in row 1": lambda: rows.update([(1, (1, "x")), (2, (1, 5))]),
        "of type str.*; in row 2": lambda: scalars.multi_get([1, 2, "x"]),
        "; in row 3": lambda: index.load([1, 2, 3, 4], [1, 1, 1, 300]),
        "the value in row 777 ": lambda: index.load(keys, chunks),
        "; in row 1": lambda: ogive.build([(1, 1), (2, 300)], key=int, value="u8", to=table),
    }.items():
        with pytest.raises(ogive.WrongType, match=message):
            wrong()
    with pytest.raises(ogive.WrongType) as alone:
        scalars[1] = 300
    assert "row" not in str(alone.value)
