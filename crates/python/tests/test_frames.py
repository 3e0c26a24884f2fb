"""Frames with columns of Python objects, which are taken as lists of these objects are."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ogive

ID = uuid.UUID(int=5)
NAN = float("nan")
LONG = 2**63 + 1
OBJECTS: dict[str, Any] = {
    "decimals": Decimal("1.50"),
    "fine decimals": Decimal("1.555"),
    "long decimals": Decimal(LONG),
    "ids": ID,
    "integers": 7,
    "long integers": LONG,
    "longer integers": 2**64 + 1,
    "negative": -(2**100),
    "NumPy's integers": np.int64(7),
    "floats": 1.5,
    "text": "a",
    "bytes": b"\0" * 16,
    "arrays of bytes": bytearray(16),
    "truth": True,
    "days": dt.date(2026, 11, 29),
    "moments": dt.datetime(2026, 11, 29, 12),
    "moments with a zone": dt.datetime(2026, 11, 29, 12, tzinfo=dt.timezone(dt.timedelta(hours=2))),
    "moments of pandas": pd.Timestamp(1_700_000_000_000_000_001),
    "moments of NumPy": np.datetime64("2026-11-29T12", "s"),
    "days of NumPy": np.datetime64("2026-11-29", "D"),
    "times": dt.time(12, 30),
    "spans": dt.timedelta(hours=1),
    "tuples": (1, "a"),
    "others": object(),
}
TYPES = (
    "bool u8 u64 u128 i64 i128 f32 f64 text bytes bytes16 uuid date time(us) timestamp(us) timestamp(ns) decimal(10,2) "
    "decimal(38,0)"
).split()


def stored(into: Any) -> Any:
    """What a call stores, or the class of its error."""
    try:
        return into()
    except ogive.OgiveError as error:
        return type(error)


def frames_of(**columns: list[Any]) -> Iterator[Any]:
    yield pd.DataFrame({name: pd.Series(objects, dtype=object) for name, objects in columns.items()})
    yield pl.DataFrame({name: pl.Series(objects, dtype=pl.Object) for name, objects in columns.items()})


@pytest.mark.parametrize("what", OBJECTS)
def test_objects_of_frames_are_taken_by_the_types_that_are_stated(tmp_path: Path, what: str) -> None:
    one = OBJECTS[what]
    # Both libraries have made plain columns of these: what is stored is the same.
    with ogive.open(tmp_path / "db", durability="buffered") as db:
        for of in TYPES:
            values = db.keyspace(f"values {of}", key=int, value=of)
            fields = db.keyspace(f"fields {of}", key=int, value={"x": [of]})
            keys = db.keyspace(f"keys {of}", key=(of, int), value=int)

            def put(keyspace: Any, given: Any) -> Any:
                def into() -> list[Any]:
                    keyspace.clear()
                    keyspace.update(given)
                    return list(keyspace.items())

                return stored(into)

            value, field = put(values, [(1, one)]), put(fields, [(1, {"x": one}), (2, {"x": None})])
            key = put(keys, [((one, 3), 4)])
            for frame in frames_of(key=[1], value=[one]):
                assert put(values, frame) == value, (what, of, type(frame))
            for frame in frames_of(key=[1, 2], x=[one, None]):
                assert put(fields, frame) == field, (what, of, type(frame))
            for frame in frames_of(key1=[one], key2=[3], value=[4]):
                assert put(keys, frame) == key, (what, of, type(frame))


def test_objects_of_frames_are_loaded_by_the_types_of_the_index(tmp_path: Path) -> None:
    for number, frame in enumerate(frames_of(key=[Decimal("2.5")], a=[LONG], b=[None])):
        index = ogive.Index(tmp_path / f"{number}.idx", key="decimal(10,2)", value={"a": "u64", "b": [str]}, value_size=32)
        assert index.load(frame) == 1 and dict(index) == {Decimal("2.50"): {"a": LONG, "b": None}}
        index.clear()
        fields = frame[["a", "b"]] if number == 0 else frame.select("a", "b")
        assert index.load([Decimal("2.5")], fields) == 1 and index[Decimal("2.5")] == {"a": LONG, "b": None}


def test_objects_of_another_type_are_refused_with_their_column(tmp_path: Path) -> None:
    with ogive.open(tmp_path / "db", key=int, value={"x": "decimal(10,2)", "y": [str]}) as db:
        for frame in frames_of(key=[1], x=[Decimal("1.555")]):
            with pytest.raises(ogive.WrongType, match=r"Decimal\('1.555'\).*decimal\(10,2\), that of the column 'x'"):
                db.update(frame)
        for frame in frames_of(key=[1], x=[None]):
            with pytest.raises(ogive.WrongType, match="column 'x' in row 0"):
                db.update(frame)
        for frame in frames_of(key=[1], x=[Decimal("1.5")], z=[object()]):
            with pytest.raises(ogive.OgiveError, match="no column 'z'"):
                db.update(frame)
        assert not db


def test_what_pandas_has_for_missing_objects_is_null(tmp_path: Path) -> None:
    day = dt.date(2026, 11, 29)
    cases: list[tuple[Any, list[Any], list[Any]]] = [
        ("decimal(10,2)", [Decimal("1.5"), NAN], [Decimal("1.50"), None]),
        ("decimal(10,2)", [NAN, Decimal("1.5")], [None, Decimal("1.50")]),
        ("decimal(10,2)", [Decimal("1.5"), pd.NA], [Decimal("1.50"), None]),
        (uuid.UUID, [ID, NAN], [ID, None]),
        (dt.date, [pd.NaT, day], [None, day]),
        (int, [2, NAN], [2, None]),
        (str, ["a", NAN], ["a", None]),
        (str, [NAN, NAN], [None, None]),
        (bytes, [b"a", pd.NA], [b"a", None]),
    ]
    for number, (of, given, expected) in enumerate(cases):
        frame = pd.DataFrame({"key": [1, 2], "x": pd.Series(given, dtype=object)})
        # Another column of objects changes nothing.
        beside = frame.assign(y=pd.Series([ID, ID], dtype=object))
        for place, it in enumerate((frame, frame.set_index("key"), beside, beside.set_index("key"))):
            fields = {"x": [of], "y": [uuid.UUID]}
            with ogive.open(tmp_path / f"{number}-{place}", key=int, value=fields, durability="buffered") as db:
                db.update(it)
                assert [row["x"] for row in db.values()] == expected, (of, given, place)
    frame = pd.DataFrame({"key": [1, 2, 3, 4], "x": pd.Series([pd.NaT, NAN, pd.NA, ID], dtype=object)})
    with ogive.build(frame, key="key", to=tmp_path / "t.ogive") as table:
        assert [row["x"] for row in table.values()] == [None, None, None, ID]


@pytest.mark.parametrize("numbers", [[1, 2], [2, 7]])
@pytest.mark.parametrize("values", [[1, 2], [ID, None]], ids=["plain", "objects"])
def test_levels_of_an_index_of_pandas_are_columns(tmp_path: Path, numbers: list[int], values: list[Any]) -> None:
    days = pd.date_range("2026-11-29", periods=2, tz="Europe/Vienna")
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y"]), "day": days, "x": pd.Series(values, dtype=object), "n": numbers})
    indexed = frame.infer_objects()
    with ogive.build(indexed.set_index(["a", "day"]), key=["a", "day"], to=tmp_path / "levels.ogive") as table:
        assert table.types[0] in ("(text, timestamp(us))", "(text, timestamp(ns))")
        assert [(row["n"], row["x"]) for row in table.values()] == list(zip(numbers, values))
    for place, it in enumerate((indexed.set_index("n"), indexed.set_index("n", drop=False))):
        with ogive.build(it, key="n", columns=["x"], to=tmp_path / f"{place}.ogive") as table:
            assert [(key, row["x"]) for key, row in table.items()] == list(zip(numbers, values))
    with ogive.open(tmp_path / "db", key=int, value={"x": [type(values[0])]}) as db:
        db.update(indexed[["n", "x"]].rename(columns={"n": "key"}).set_index("key"))
        assert [(key, row["x"]) for key, row in db.items()] == list(zip(numbers, values))


def test_columns_of_objects_that_say_no_type_are_refused_with_advice(tmp_path: Path) -> None:
    frames = [*frames_of(k=[Decimal("1.5")], v=[1]), {"k": [Decimal("1.5")], "v": [1]}]
    for data in frames:
        with pytest.raises(ogive.WrongType, match=r"column 'k' .*Decimal.*pyarrow\.array\(values, pyarrow\.decimal128") as raised:
            ogive.build(data, key="k", to=tmp_path / "t.ogive")
        assert "key=" not in str(raised.value)
    typed = pd.DataFrame({"k": pd.array([Decimal("1.5")], pd.ArrowDtype(pa.decimal128(10, 2))), "v": [1]})
    with ogive.build(typed, key="k", to=tmp_path / "t.ogive") as table:
        assert list(table) == [Decimal("1.50")]


@pytest.mark.parametrize("of", ["bytes16", "bytes", "uuid", "u128"])
def test_uuids_and_periods_are_no_bytes_and_no_integers_in_arrays_either(tmp_path: Path, of: str) -> None:
    ids = pa.array([ID.bytes, None], pa.binary(16)).cast(pa.uuid())
    months = pa.array(pd.period_range("2026-02", periods=2, freq="M"))
    with ogive.open(tmp_path / "db", durability="buffered") as db:
        keys, values = db.keyspace("keys", key=of, value=int), db.keyspace("values", key=int, value=of)
        fields = db.keyspace("fields", key=(int, [of]), value={"x": [of]})
        index = ogive.Index(tmp_path / "i.idx", key=int, value=of, value_size=None if of == "uuid" else 16)
        one, other = pa.array([1]), pa.array([1, 2])
        ways = {
            "get": lambda array: keys.multi_get(array[:1]),
            "keys": lambda array: keys.update(pa.table({"key": array[:1], "value": one})),
            "values": lambda array: values.update(pa.table({"key": one, "value": array[:1]})),
            "fields": lambda array: fields.update(pa.table({"key1": other, "key2": array, "x": array})),
            "load": lambda array: index.load(one, array[:1]),
            "frame": lambda array: index.load(pa.table({"key": one, "value": array[:1]})),
        }
        for name, way in ways.items():
            if of == "uuid":
                way(ids)
            else:
                with pytest.raises(ogive.WrongType, match=f"has UUIDs, which are no values of type {of}"):
                    way(ids)
            with pytest.raises(ogive.WrongType, match="is of type period of pandas"):
                way(months)
        expected = [(1, ID)] if of == "uuid" else []
        assert list(values.items()) == list(index.items()) == expected


def test_frames_of_pandas_of_a_scan_can_be_put_back(tmp_path: Path) -> None:
    types = {"d": ["decimal(8,2)"], "u": ["u128"], "i": ["uuid"], "t": ["time(us)"], "a": ["date"]}
    one = {"d": Decimal("2.50"), "u": 2**100, "i": ID, "t": dt.time(12), "a": dt.date(2026, 11, 29)}
    with ogive.open(tmp_path / "db", key="decimal(38,10)", value=types) as db:
        db.update({Decimal(1): one, Decimal(2): dict.fromkeys(one)})
        before, frame = dict(db), db.scan().to_pandas()
        db.clear()
        db.update(frame)
        assert dict(db) == before


def test_columns_that_arrow_does_not_have_are_refused_with_advice(tmp_path: Path) -> None:
    twice = pd.DataFrame([[1, 2]], columns=["k", "k"])
    numbers = pd.DataFrame({"k": [1], "v": [1j]})
    for frame in (twice, numbers):
        with pytest.raises(ogive.WrongType, match="cannot be read.*rename, convert or leave out"):
            ogive.build(frame, key="k", to=tmp_path / "t.ogive")
