"""Values that do not fit the type, by every way into a store, a table or an index.

Goal: the same value is refused by the same class of exception, whichever way it comes, and nothing is kept of it.
Method: each way of reading and writing, each type of keys and values, and values beyond each end of the type, of another
type, null, or without meaning; as single objects, in lists, arrays of NumPy, Arrow data and frames.
"""

from __future__ import annotations

import datetime as dt
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

#: Types, a value of each, and values that do not fit.
CASES: dict[str, tuple[Any, list[Any]]] = {
    "bool": (True, [1, "true", np.int8(1)]),
    "u8": (255, [256, -1, 10**40, 0.5, True, "1", np.int16(256), Decimal("0.5"), Decimal("NaN")]),
    "i8": (-128, [128, -129, -(10**40), np.int64(-129)]),
    "u64": (2**64 - 1, [2**64, -1, np.int64(-1)]),
    "i64": (-(2**63), [2**63, -(2**63) - 1, 1e300, float("nan"), np.uint64(2**63), "1", b"1", (1,), [1]]),
    "u128": (2**128 - 1, [2**128, -1]),
    "i128": (2**127 - 1, [2**127, -(2**127) - 1]),
    "f32": (0.5, [0.1, 1e300, 2**24 + 1, "0.5", True]),
    "f64": (0.1, [2**53 + 1, 10**400, Decimal("0.1"), Decimal("1E+1000"), Decimal("sNaN"), "0.5", 1j]),
    "text": ("a", [b"a", 1, "\ud800"]),
    "bytes": (b"a", ["a", 1, np.int64(1)]),
    "bytes3": (b"abc", [b"ab", b"abcd", "abc"]),
    "uuid": (b"0123456789abcdef", [b"0", "00000000-0000-0000-0000-000000000000", 1]),
    "date": (
        dt.date(9999, 12, 31),
        [dt.datetime(2026, 1, 1), 2**31, -(2**31) - 1, np.datetime64(2**40, "D"), np.datetime64("NaT"), "2026-01-01"],
    ),
    "timestamp(s)": (
        dt.datetime(1, 1, 1),
        [dt.date(2026, 1, 1), dt.datetime(2026, 1, 1, 0, 0, 0, 1), 2**63, np.datetime64(1, "ns"), pd.Timestamp(1), pd.NaT],
    ),
    "timestamp(ns)": (
        dt.datetime(1970, 1, 1),
        [dt.datetime(1, 1, 1), dt.datetime.max, np.datetime64(2**62, "s"), dt.timedelta(1), -(2**63) - 1],
    ),
    "time(us)": (dt.time(23, 59, 59, 999_999), [dt.time(1, tzinfo=dt.timezone.utc), -1, 86_400_000_000, dt.datetime.now()]),
    "decimal(4,2)": (Decimal("99.99"), [Decimal(100), Decimal("0.001"), 100, 1.5, Decimal("Infinity"), "1.5", 10**38]),
}


def arrays_of(value: Any) -> Iterator[Any]:
    """The value in a list, and in arrays of every library that has it."""
    yield [value]
    makers: list[Callable[[], Any]] = [
        lambda: np.array([value]),
        lambda: np.array([value], object),
        lambda: pa.array([value]),
        lambda: pa.chunked_array([pa.array([value])]),
        lambda: pd.Series([value]),
        lambda: pl.Series([value], strict=True),
    ]
    for make in makers:
        try:
            array = make()
            # Some make another value of it: text of a number, a float of an integer.
            has_value = is_one(array.to_pylist() if hasattr(array, "to_pylist") else list(array), value)
        except (Exception, pl.exceptions.PanicException):
            continue  # This library does not have it.
        if has_value:
            yield array


def is_one(held: list[Any], value: Any) -> bool:
    return len(held) == 1 and type(held[0]) is type(value) and bool(held[0] == value or value != value)


def frame_of(column: str, value: Any, other: str) -> Any:
    """A table with the value in a column, if pyarrow has it."""
    try:
        frame = pa.table({column: [value], other: [2]})
        return frame if is_one(frame[column].to_pylist(), value) else None
    except Exception:
        return None


def check(call: Callable[[], Any], what: str) -> None:
    try:
        got = call()
    except ogive.WrongType as error:
        assert isinstance(error, ogive.OgiveError) and isinstance(error, TypeError) and isinstance(error, ValueError)
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
    else:
        raise AssertionError(f"{what}: was taken, and gave {got!r}")


@pytest.mark.parametrize("stated", CASES)
def test_keys_that_do_not_fit_are_the_same_error_by_every_way(db: ogive.Db, tmp_path: Path, stated: str) -> None:
    fit, wrong = CASES[stated]
    keys = db.keyspace("keys", key=stated, value=int)
    keys[fit] = 1
    index = ogive.Index(tmp_path / "i.idx", key=stated, value=int) if stated not in ("text", "bytes") else None
    if index is not None:
        index[fit] = 1
    table = ogive.build({fit: 1}, key=stated, to=tmp_path / "t.ogive")
    column = keys.scan().to_pyarrow().select(["key"])
    pyarrow.parquet.write_table(column, tmp_path / "rows.parquet")
    beside = ogive.index_parquet(tmp_path / "rows.parquet", key="key", to=tmp_path / "rows.idx")
    is_same_type = stated != "uuid"
    with db.snapshot() as snapshot:
        of_keys = snapshot.of(keys)
        readers: list[Any] = [keys, of_keys, table] + ([index] if index is not None else [])
        for value in [*wrong, None, object(), {"a": 1}]:
            for held in readers + ([beside] if is_same_type else []):
                ways = [
                    lambda: held.get(value),
                    lambda: held[value],
                    lambda: value in held,
                    lambda: held.multi_get([value]),
                    lambda: held.scan(value or object()),
                    lambda: held.scan(None, value or object()),
                ]
                for number, way in enumerate(ways):
                    # No bound is not a bound.
                    check(way, f"{type(held).__name__} {number}: {value!r} as {stated}")
                if held is not beside:
                    check(lambda: held.range(value if value is not None else object()), f"range {value!r}")
                for array in arrays_of(value):
                    check(lambda: held.multi_get(array), f"{type(held).__name__} {array!r} as {stated}")
            for number, write in enumerate(writes_of_keys(db, keys, index, stated, value, tmp_path)):
                check(write, f"write {number}: {value!r} as {stated}")
    assert len(keys) == 1 and (index is None or len(index) == 1)


def writes_of_keys(
    db: ogive.Db, keys: Any, index: Any, stated: str, value: Any, folder: Path
) -> Iterator[Callable[[], Any]]:
    def batch(write: Callable[[Any], None]) -> None:
        with db.batch() as open_batch:
            write(open_batch)

    yield lambda: keys.__setitem__(value, 1)
    yield lambda: keys.__delitem__(value)
    yield lambda: keys.pop(value, None)
    yield lambda: keys.discard(value)
    yield lambda: keys.setdefault(value, 1)
    yield lambda: keys.insert_if_absent(value, 1)
    yield lambda: keys.update([(value, 1)])
    yield lambda: batch(lambda b: b.put(value, 1, keys))
    yield lambda: batch(lambda b: b.remove(value, keys))
    if value is not None:
        yield lambda: keys.remove_range(value)
        yield lambda: batch(lambda b: b.remove_range(value, None, keys))
    yield lambda: ogive.build([(value, 1)], key=stated, value=int, to=folder / "w.ogive")
    frame = frame_of("key", value, "value")
    if frame is not None:
        yield lambda: keys.update(frame)
    if index is not None:
        yield lambda: index.__setitem__(value, 1)
        yield lambda: index.__delitem__(value)
        yield lambda: index.pop(value, None)
        yield lambda: index.discard(value)
        yield lambda: index.update([(value, 1)])
        for array in arrays_of(value):
            yield lambda array=array: index.load(array, [1])


@pytest.mark.parametrize("stated", CASES)
def test_values_that_do_not_fit_are_the_same_error_by_every_way(db: ogive.Db, tmp_path: Path, stated: str) -> None:
    fit, wrong = CASES[stated]
    plain = db.keyspace("plain", key=int, value=stated)
    rows = db.keyspace("rows", key=int, value={"v": stated})
    # Values of bytes are as long as those of the index.
    size = 64 if stated == "text" else 1 if stated == "bytes" else None
    index = ogive.Index(tmp_path / "i.idx", key=int, value=stated, value_size=size)
    plain[1], rows[1], index[1] = fit, {"v": fit}, fit

    def update(keyspace: Any, value: Any) -> None:
        with db.batch() as batch:
            batch.put(2, value, keyspace)

    for value in [*wrong, None, object(), {"a": 1}]:
        ways = [
            lambda: plain.__setitem__(2, value),
            lambda: plain.setdefault(2, value),
            lambda: plain.update({2: value}),
            lambda: update(plain, value),
            lambda: rows.__setitem__(2, {"v": value}),
            lambda: rows.__setitem__(2, (value,)),
            lambda: rows.update({2: {"v": value}}),
            lambda: update(rows, {"v": value}),
            lambda: ogive.build({2: value}, key=int, value=stated, to=tmp_path / "w.ogive"),
            lambda: ogive.build({2: {"v": value}}, key=int, value={"v": stated}, to=tmp_path / "w.ogive"),
            lambda: index.__setitem__(2, value),
            lambda: index.update({2: value}),
            lambda: index.load({2: value}),
        ]
        for number, way in enumerate(ways):
            check(way, f"{number}: {value!r} as {stated}")
        for array in arrays_of(value):
            check(lambda: index.load([2], array), f"load {array!r} as {stated}")
        frame = frame_of("value", value, "key")
        if frame is not None:
            for way in (lambda: plain.update(frame), lambda: rows.update(frame.rename_columns(["v", "key"]))):
                check(way, f"a frame of {value!r} as {stated}")
    assert (len(plain), len(rows), len(index)) == (1, 1, 1) and not list(tmp_path.glob("w.ogive*"))


def test_first_components_that_do_not_fit_are_the_same_error(db: ogive.Db, tmp_path: Path) -> None:
    pairs = db.keyspace("pairs", key=("u8", str), value=int)
    pairs[1, "a"] = 1
    table = ogive.build({(1, "a"): 1}, key=("u8", str), to=tmp_path / "t.ogive")
    for held in (pairs, table):
        for value in (256, -1, "a", 0.5, None):
            for number, way in enumerate(
                [
                    lambda: held.get((value, "a")),
                    lambda: held.multi_get([(value, "a")]),
                    lambda: held.range((value,)),
                    lambda: held.range(None, (value,)),
                    lambda: held.range(prefix=(value,)),
                    lambda: held.count((value,)),
                    lambda: held.scan((value, "a")),
                ]
            ):
                check(way, f"{number}: {value!r}")
    check(lambda: pairs.remove_range((256,)), "remove_range")
    check(lambda: pairs.update(pa.table({"key1": [256], "key2": ["a"], "value": [1]})), "frame")
    check(lambda: pairs.update(pa.table({"key1": [None], "key2": ["a"], "value": [1]})), "frame")


def test_what_is_no_record_or_no_list_is_an_error_of_this_package(db: ogive.Db, tmp_path: Path) -> None:
    index = ogive.Index(tmp_path / "i.idx")
    db[1] = 1
    for records in (5, None, object(), [5], [(1,)], [(1, 2, 3)], ["abc"], [object()]):
        for way in (
            lambda: db.update(records),
            lambda: db.batch().update(records),
            lambda: index.update(records),
            lambda: index.load(records),
            lambda: ogive.build(records, to=tmp_path / "t.ogive"),
        ):
            with pytest.raises(ogive.OgiveError) as caught:
                way()
            assert isinstance(caught.value, TypeError | ValueError)
    for keys in (5, None, object(), "text", np.array([[1]]), pa.array([[1]])):
        for way in (lambda: db.multi_get(keys), lambda: index.multi_get(keys), lambda: index.load(keys, [1])):
            with pytest.raises(ogive.OgiveError):
                way()
    for stream in (pa.array([1]), pa.chunked_array([[1]]), pl.Series([1])):
        with pytest.raises(ogive.OgiveError):
            ogive.build(stream, key="key", to=tmp_path / "t.ogive")

    def broken() -> Iterator[Any]:
        yield 2, 2
        raise RuntimeError("mine")

    for way in (lambda: db.update(broken()), lambda: index.update(broken()), lambda: ogive.build(broken(), to=tmp_path / "b")):
        with pytest.raises(RuntimeError, match="mine"):
            way()
    assert dict(db) == {1: 1} and len(index) == 0


def test_json_that_cannot_be_written_or_read_is_an_error_of_this_package(db: ogive.Db) -> None:
    held = db.keyspace("held", key=int, value="json")
    endless: list[Any] = []
    endless.append(endless)
    for value in (float("nan"), {1, 2}, b"x", {"a": object()}, endless, "\ud800", {(1,): 2}):
        check(lambda: held.__setitem__(1, value), repr(value))
        check(lambda: held.update({1: value}), repr(value))
    db.keyspace("held")[2] = "{"
    for read in (lambda: held[2], lambda: held.get(2), lambda: list(held.values()), lambda: held.pop(2)):
        check(read, "read")
