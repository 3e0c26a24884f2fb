"""Tables: what they are built from, look-ups, ranks, ranges."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ogive

ROWS = {"user_id": [3, 1, 2], "name": ["c", "a", None], "score": [1.5, 2.5, None]}


def sources(folder: Path) -> dict[str, Any]:
    """The same rows in all forms."""
    table = pa.table(ROWS)
    pq.write_table(table, folder / "rows.parquet")
    pd.DataFrame(ROWS).to_csv(folder / "rows.csv", index=False)
    return {
        "pyarrow": table,
        "batches": table.to_reader(max_chunksize=1),
        "pandas": pd.DataFrame(ROWS),
        "polars": pl.DataFrame(ROWS),
        "parquet": folder / "rows.parquet",
        "csv": str(folder / "rows.csv"),
    }


@pytest.mark.parametrize("form", ["pyarrow", "batches", "pandas", "polars", "parquet", "csv"])
def test_rows_come_from_frames_and_files(tmp_path: Path, form: str) -> None:
    table = ogive.build(sources(tmp_path)[form], key="user_id", to=tmp_path / "users.ogive")
    assert [key for key, _ in table.range()] == [1, 2, 3]
    assert table[3] == {"name": "c", "score": 1.5}
    assert table[2]["name"] in (None, "") and table[2]["score"] is None
    assert table.get(4) is None and 4 not in table and len(table) == 3
    # As the command has it.
    assert table.types[0] == ("u64" if form == "csv" else "i64")
    assert table.scan().to_pyarrow().column_names == ["user_id", "name", "score"]


def test_columns_are_chosen_and_several_are_a_key(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1, 1, 2], "b": ["x", "y", "x"], "c": [1, 2, 3], "d": [[1], [2], [3]]})
    with pytest.raises(ogive.WrongType, match="'d'"):
        ogive.build(frame, key="a", to=tmp_path / "t.ogive")
    table = ogive.build(frame, key=["b", "a"], columns=["c"], to=tmp_path / "t.ogive")
    assert list(table.items()) == [(("x", 1), {"c": 1}), (("x", 2), {"c": 3}), (("y", 1), {"c": 2})]
    assert table.count(("x",), ("y",)) == 2 and table.rank(("y",)) == 2
    assert table.scan().to_polars().columns == ["b", "a", "c"]
    with pytest.raises(ValueError, match="there are: a, b, c, d"):
        ogive.build(frame, key="z", to=tmp_path / "t.ogive")
    with pytest.raises(ValueError, match="which column"):
        ogive.build(frame, to=tmp_path / "t.ogive")


@pytest.mark.parametrize(
    ("dtype", "key_type"),
    [
        ("i1", "i8"), ("i2", "i16"), ("i4", "i32"), ("i8", "i64"), (">i8", "i64"), ("u1", "u8"), ("u2", "u16"),
        ("u4", "u32"), ("u8", "u64"), (">u4", "u32"), ("f4", "f32"), ("f8", "f64"), ("M8[D]", "date"),
        ("M8[s]", "timestamp(s)"), ("M8[ns]", "timestamp(ns)"),
    ],
)  # fmt: skip
def test_arrays_of_numpy_are_keys(tmp_path: Path, dtype: str, key_type: str) -> None:
    keys = np.array([5, 3, 100, 0]).astype(dtype)
    table = ogive.build(keys, to=tmp_path / "t.ogive")
    assert table.types[0] == key_type and len(table) == 4
    assert table.multi_get(keys).column("value") == [b""] * 4
    assert table.multi_get(keys[::2]).column("value") == [b""] * 2
    assert table.multi_get(np.array([7]).astype(dtype)).column("value") == [None]


def test_arrays_of_text_are_keys_and_masked_ones_are_refused(tmp_path: Path) -> None:
    for keys in (np.array(["b", "a"]), np.array(["b", "a"], dtype=object), np.array(["b", "a"], dtype=np.dtypes.StringDType())):
        assert list(ogive.build(keys, to=tmp_path / "t.ogive")) == ["a", "b"]
    with pytest.raises(ogive.WrongType, match="masked"):
        ogive.build(np.ma.array([1, 2], mask=[0, 1]), to=tmp_path / "t.ogive")


def test_columns_that_cannot_be_told_apart_and_nulls_in_keys_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="several columns 'k'"):
        ogive.build(pa.table([[3], [1], [1]], names=["k", "k", "v"]), key="k", to=tmp_path / "t.ogive")
    with pytest.raises(ValueError, match="'b' of the key in row 1 is null"):
        ogive.build(pa.table({"a": [1, 2], "b": ["x", None]}), key=["a", "b"], to=tmp_path / "t.ogive")


def test_what_is_not_taken_is_said(tmp_path: Path) -> None:
    for data, message in [(5, "int is not taken"), (["b", "a"], "a record is a key and its value, not 1 elements"), (pl.LazyFrame({"k": [1]}), "collect")]:
        with pytest.raises((TypeError, ValueError), match=message):
            ogive.build(data, key="k" if isinstance(data, pl.LazyFrame) else None, to=tmp_path / "t.ogive")


def test_mappings_of_arrays_are_columns(tmp_path: Path) -> None:
    columns = {"id": np.arange(10)[::-1], "x": np.arange(10.0), "even": np.arange(10) % 2 == 0}
    table = ogive.build(columns, key="id", to=tmp_path / "t.ogive")
    assert table[9] == {"x": 0.0, "even": True} and len(table) == 10
    with pytest.raises(ValueError):
        ogive.build(np.zeros((2, 2)), to=tmp_path / "t.ogive")


def test_pairs_and_mappings_are_records(tmp_path: Path) -> None:
    table = ogive.build({"fig": Decimal("1.5")}, value="decimal(4,2)", to=tmp_path / "t.ogive")
    assert list(table.items()) == [("fig", Decimal("1.50"))]
    table = ogive.build((((i % 7, str(i)), i) for i in range(1000)), to=tmp_path / "t.ogive")
    assert len(table) == 1000 and table[(3, "10")] == 10
    assert ogive.build([], key=int, value=str, to=tmp_path / "t.ogive").get(1) is None
    assert len(ogive.build(iter([]), to=tmp_path / "t.ogive")) == 0
    with pytest.raises((TypeError, ValueError)):
        ogive.build([1, 2, 3], to=tmp_path / "t.ogive")


def test_equal_keys_are_all_kept(tmp_path: Path) -> None:
    table = ogive.build([("a", 1), ("b", 2), ("a", 3)], to=tmp_path / "t.ogive")
    assert len(table) == 3 and sorted(table.get_all("a")) == [1, 3] and table.count("a", "b") == 2


def test_a_null_in_the_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'k' of the key in row 1 is null"):
        ogive.build(pl.DataFrame({"k": [1, None]}), key="k", to=tmp_path / "t.ogive")
    assert not (tmp_path / "t.ogive").exists() and list(tmp_path.iterdir()) == []


def test_look_ups_ranks_and_ranges(tmp_path: Path) -> None:
    keys = np.unique(np.random.default_rng(1).integers(0, 1 << 40, 20_000).astype("u8"))
    table = ogive.build({"k": keys, "v": keys // 2}, key="k", to=tmp_path / "t.ogive", profile="ssd")
    for position in (0, 17, len(keys) - 1):
        key = int(keys[position])
        assert table[key] == {"v": key // 2} and table.rank(key) == position
        assert table.nth(position) == (key, {"v": key // 2})
        assert table.get(key + 1) is None or key + 1 in keys
    assert table.nth(len(keys)) is None and table.rank(1 << 63) == len(keys)
    low, high = int(keys[100]), int(keys[200])
    assert table.count(low, high) == 100 and list(table.keys(low, high)) == keys[100:200].tolist()
    assert [key for key, _ in table.range(low, high, reverse=True)] == keys[100:200][::-1].tolist()
    assert table.scan(low, high).to_polars()["k"].to_list() == keys[100:200].tolist()


def test_rows_are_in_the_order_of_the_keys_with_nulls_where_absent(tmp_path: Path) -> None:
    table = ogive.build({"k": np.arange(0, 2000, 2), "v": np.arange(1000)}, key="k", to=tmp_path / "t.ogive")
    asked = np.random.default_rng(2).integers(-10, 2010, 5000)
    rows = table.multi_get(asked)
    expected = [int(key) // 2 if 0 <= key < 2000 and key % 2 == 0 else None for key in asked]
    assert rows.column("k") == asked.tolist() and rows.column("v") == expected
    for same in (asked.tolist(), pa.array(asked), pl.Series(asked), pd.Series(asked), pa.chunked_array([asked])):
        assert table.multi_get(same).column("v") == expected
    assert len(table.multi_get([])) == 0
    with pytest.raises(TypeError):
        table.multi_get(["x"])
    with pytest.raises(ValueError, match="null"):
        table.multi_get(pa.array([1, None]))


def test_an_explanation_lists_the_reads(tmp_path: Path) -> None:
    table = ogive.build({"k": np.arange(100_000)}, key="k", to=tmp_path / "t.ogive")
    for key in (42, 100_001):
        explanation = table.explain(key)
        assert explanation.found == (key in table) and explanation.reads[0].purpose == "open"
        assert all(read.offset + read.size_bytes <= explanation.file_bytes for read in explanation.reads)
        assert explanation.modelled_us("s3") > explanation.modelled_us("nvme") > 0
        assert "reads" in repr(explanation) and "<table>" in explanation._repr_html_()
    assert table.report()["records"] == 100_000


def test_a_table_is_pickled_by_its_path(tmp_path: Path) -> None:
    table = ogive.build({1: "a"}, to=tmp_path / "t.ogive")
    again = pickle.loads(pickle.dumps(table))
    table.close()
    assert again[1] == "a"
    with pytest.raises(ogive.Closed, match="closed"):
        table[1]


def test_other_files_are_refused_and_kept(tmp_path: Path) -> None:
    target = tmp_path / "notes.txt"
    target.write_text("mine")
    with pytest.raises(OSError):
        ogive.build({1: "a"}, to=target)
    assert target.read_text() == "mine"
    with pytest.raises(ogive.OgiveError):
        ogive.Table(target)
    with pytest.raises(FileNotFoundError):
        ogive.Table(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        ogive.build(tmp_path / "nothing.csv", key="a", to=tmp_path / "t.ogive")
    (tmp_path / "bad.parquet").write_text("no parquet")
    with pytest.raises(ogive.WrongFile):
        ogive.build(tmp_path / "bad.parquet", key="a", to=tmp_path / "t.ogive")


def test_the_command_and_python_share_files(tmp_path: Path) -> None:
    table = ogive.build(pd.DataFrame(ROWS), key="user_id", to=tmp_path / "t.ogive")
    content = (tmp_path / "t.ogive").read_bytes()
    assert b"user_id" in content and table.report()["key_type"] == "i64"


def test_prefixes_of_tables(tmp_path: Path) -> None:
    words = ogive.build({word: 1 for word in ("a", "ab", "abc", "ab\xff", "b", "")}, to=tmp_path / "words.ogive")
    assert list(words.keys(prefix="ab")) == ["ab", "abc", "ab\xff"] and words.count(prefix="ab") == 3
    assert list(words.keys(prefix="ab", reverse=True)) == ["ab\xff", "abc", "ab"] and words.last() == ("b", 1)
    pairs = ogive.build({(a, b): 0 for a in (0, 1, 255) for b in range(3)}, key=("u8", "u8"), to=tmp_path / "p.ogive")
    assert list(pairs.keys(prefix=(255,))) == [(255, 0), (255, 1), (255, 2)] and pairs.count(prefix=(2,)) == 0
    codes = ogive.build({code: 0 for code in (b"ab", b"\xff\xff")}, key="bytes2", to=tmp_path / "codes.ogive")
    assert list(codes.keys(prefix=b"\xff")) == [b"\xff\xff"] and list(codes.keys(prefix=b"abc")) == []


def test_frames_of_very_many_columns(tmp_path: Path) -> None:
    frame = pa.table({f"c{number}": pa.array([number, number + 1], pa.int64()) for number in range(1_001)})
    table = ogive.build(frame, key="c0", to=tmp_path / "wide.ogive")
    assert table[1]["c1000"] == 1001 and table.scan().to_pyarrow().num_columns == 1_001


def test_csv_files_without_values_and_with_late_errors(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("k,v\n1,\n2,\n")
    assert ogive.build(file, key="k", to=tmp_path / "t.ogive")[2] == {"v": None}
    file.write_text("k,v\n")
    assert len(ogive.build(file, key="k", to=tmp_path / "t.ogive")) == 0
    rows = "".join(f"{number},1\n" for number in range(10_500))
    file.write_text(f"k,v\n{rows}x,1\n")
    assert ogive.build(file, key="k", to=tmp_path / "t.ogive").types[0] == "text"
    file.write_text(f"k,v\n{rows}10500\n")
    for use in (
        lambda: ogive.build(file, key="k", to=tmp_path / "u.ogive"),
        lambda: ogive.join(file, file, on="k").collect(),
        lambda: ogive.join(file, file, on="k").to_pyarrow(),
    ):
        with pytest.raises(ogive.WrongFile, match="a.csv.*line 10502 has 1 field, the rows before it have 2") as raised:
            use()
        assert raised.value.file == str(file)


def test_look_ups_of_very_many_keys_come_back_as_they_were_asked(tmp_path: Path) -> None:
    drawn = np.random.default_rng(1)
    keys = np.unique(drawn.integers(0, 1 << 20, 100_000))
    values = [f"v{key}" * (key % 4) for key in keys.tolist()]
    table = ogive.build(zip(keys.tolist(), values), to=tmp_path / "t.ogive")
    index = ogive.Index(tmp_path / "t.idx", key=int, value=int)
    index.load(keys, keys)
    asked = np.concatenate([drawn.integers(0, 1 << 20, 150_000), keys[:10], keys[:10]])
    known = dict(zip(keys.tolist(), values))
    with ogive.open(tmp_path / "db", key=int, value=str) as db:
        db.update(known)
        for rows in (table.multi_get(asked), db.multi_get(asked), db.snapshot().multi_get(asked.tolist())):
            assert rows.column("key") == asked.tolist()
            assert rows.column("value") == [known.get(key) for key in asked.tolist()]
    assert index.multi_get(asked).column("value") == [key if key in known else None for key in asked.tolist()]
    index.close()


def test_items_have_every_row_of_a_key(tmp_path: Path) -> None:
    rows = [(1, "a"), (1, "b"), (2, "c")]
    table = ogive.build(rows, to=tmp_path / "t.ogive", key=int, value=str)
    index = ogive.Index(tmp_path / "i.idx", key=int, value=str, value_size=8, duplicates=True)
    index.load([key for key, _ in rows], [value for _, value in rows])
    with index.snapshot() as snapshot:
        for held in (table, index, snapshot):
            assert list(held.items()) == rows and all(row in held.items() for row in rows)
            assert sorted(snapshot.get_all(1)) == ["a", "b"]
            for absent in ((1, "c"), (2, "a"), (3, "a"), ("1", "a"), (1, b"a"), 1, (1, "a", "a"), ("\ud800", "a")):
                assert absent not in held.items()
            assert held.items() == set(rows) and held.items() & {(1, "b")} == {(1, "b")}
    assert (1, "a") in ogive.build({1: "a"}, to=tmp_path / "u.ogive").items()


def test_values_that_are_scalars_of_numpy_are_no_columns(tmp_path: Path) -> None:
    table = ogive.build({1: np.float64(0.5), 2: np.float64(1.5)}, to=tmp_path / "t.ogive")
    assert dict(table) == {1: 0.5, 2: 1.5}
    assert ogive.build({1: np.int8(7)}, key="u8", value="i16", to=tmp_path / "u.ogive")[1] == 7


def test_csv_files_are_read_as_the_command_reads_them(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    for text, message in {
        'k,v\n1,"a"b\n': "line 2 has text behind a closing quote",
        'k,v\n1,"a': "line 2 has an unclosed quote",
        "k,v\n1,2,3\n": "line 2 has 3 fields",
        "": "no records",
    }.items():
        file.write_text(text)
        for use in (
            lambda: ogive.build(file, key="k", to=tmp_path / "t.ogive"),
            lambda: ogive.join(file, file, on="k").collect(),
        ):
            with pytest.raises(ogive.WrongFile, match=message):
                use()
    # No value is changed: codes, digits and quotes stay.
    columns = {
        "u64": ["7", "18446744073709551615"],
        "i64": ["-7", "9223372036854775807"],
        "decimal(18,1)?": ["0.1", ""],
        "text": ["007", "8"],
        "text?": ["", '""'],
        "decimal": ["0.12345678901234567890", "1"],
        "bool": ["True", "FALSE"],
        "words": ["yes", "no"],
        "date": ["2026-02-28", "0001-01-01"],
        "timestamp(ms)": ["2026-02-28T12:00:00.5", "2026-02-28 12:00:00"],
        "timestamp(s)": ["2026-02-28T12:00:00Z", "2026-02-28T12:00:00+01:00"],
        "time(s)": ["12:00:00", "23:59:59"],
        "uuid": ["01890a5d-ac96-774b-bcce-b302099a8057"] * 2,
        "f64": ["0.25", "1e3"],
        "quoted": ['"a,""b"""', '"line\nline"'],
    }
    names = ",".join(f"c{place}" for place in range(len(columns)))
    file.write_text("\ufeffkey," + names + "\r\n" + "".join(f"{row}," + ",".join(of[row] for of in columns.values()) + "\r\n" for row in (0, 1)))
    table = ogive.build(file, key="key", to=tmp_path / "t.ogive")
    expected = [name.removesuffix("?") if "(" in name or name.removesuffix("?") in ("u64", "i64", "f64", "bool", "date", "uuid") else "text" for name in columns]
    fields = ", ".join(f"c{place}: {of}{'?' if name.endswith('?') else ''}" for place, (of, name) in enumerate(zip(expected, columns, strict=True)))
    assert table.types == ("u64", f"{{{fields}}}")
    first, second = table[0], table[1]
    assert (first["c0"], second["c0"], first["c2"], second["c2"]) == (7, 2**64 - 1, Decimal("0.1"), None)
    assert (first["c3"], first["c4"], second["c4"], first["c5"]) == ("007", None, "", "0.12345678901234567890")
    assert (first["c6"], second["c6"], first["c7"]) == (True, False, "yes")
    assert (first["c14"], second["c14"]) == ('a,"b"', "line\nline")
    assert second["c10"].hour == 11 and second["c8"].year == 1
    # A key of one column has no nulls, so that an empty one is text, as in the command.
    file.write_text("k,v\n1,-0.0\n,2\n")
    with pytest.warns(UserWarning, match="a.csv: column 'k' has numbers, but record 2 is empty, so all of it is text"):
        table = ogive.build(file, key="k", to=tmp_path / "t.ogive")
    assert table.types == ("text", "{v: f64}")
    assert [(row["k"], str(row["v"])) for row in table.scan().to_pylist()] == [("", "2.0"), ("1", "-0.0")]
    # In a join it is a null, which matches nothing.
    assert len(ogive.join(file, file, on="k").collect()) == 1
    assert str(ogive.build(file, key="v", to=tmp_path / "t.ogive").scan().to_pylist()[0]["v"]) == "0.0"
    # Of several columns, some may be null; they come last.
    file.write_text("a,b,v\n1,,x\n1,7,y\n")
    table = ogive.build(file, key=["a", "b"], to=tmp_path / "t.ogive")
    assert table.types == ("(u64, u64? nulls last)", "{v: text}")
    assert [row["b"] for row in table.scan().to_pylist()] == [7, None]
    # A null is equal to nothing, whether the other side has nulls or not.
    other = tmp_path / "b.csv"
    other.write_text("a,b,w\n1,7,z\n")
    on = ["a", "b"]
    for left, right in [(file, file), (file, other), (other, file)]:
        assert len(ogive.join(left, right, on=on).collect()) == 1
    assert len(ogive.join(table, other, on=(None, on)).collect()) == 1
    assert len(ogive.join(file, table, on=(on, None)).collect()) == 1
    assert len(ogive.join(other, table, on=(on, None)).collect()) == 1
    assert len(ogive.join(file, other, on=on, how="left").collect()) == 2
    # Columns have names, each its own.
    file.write_text("k,,k\n1,x,7\n2,y,8\n")
    table = ogive.build(file, key="k_2", to=tmp_path / "t.ogive")
    assert table.types == ("u64", "{k: u64, column2: text}") and table[8] == {"k": 2, "column2": "y"}
    # An integer beside floats that is none of them is not rounded.
    file.write_text("k,v\n0.5,1\n9007199254740993,2\n")
    with pytest.warns(UserWarning, match="'9007199254740993', which f64 cannot hold"):
        assert ogive.build(file, key="k", to=tmp_path / "t.ogive").types[0] == "text"


def test_a_file_of_a_delta_table_with_deletion_vectors_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "a.parquet")
    (tmp_path / "_delta_log").mkdir()
    protocol = '{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"]}}'
    (tmp_path / "_delta_log" / "00000000000000000000.json").write_text(protocol)
    path, other = tmp_path / "a.parquet", pa.table({"id": [2, 3]})
    with pytest.raises(ogive.InvalidArgument, match="ignore_table_log=True"):
        ogive.build(path, to=tmp_path / "t.ogive", key="id")
    with pytest.raises(ogive.InvalidArgument, match="Delta Lake"):
        ogive.join(path, other, on="id").to_pylist()
    with pytest.warns(UserWarning, match="Delta Lake"):
        assert len(ogive.build(path, to=tmp_path / "t.ogive", key="id", ignore_table_log=True)) == 2
    with pytest.warns(UserWarning, match="Delta Lake"):
        assert len(ogive.join(path, other, on="id", ignore_table_log=True).to_pylist()) == 1


@pytest.mark.parametrize("of", ["(i64, i64)", "(i64, text)", "(u8, date)", "bytes3"])
def test_tables_take_the_first_components_as_bounds(tmp_path: Path, of: str) -> None:
    second: dict[str, list[Any]] = {"(i64, text)": ["", "a", "b"], "(u8, date)": [dt.date(1970, 1, day) for day in (1, 2, 3)]}
    keys: list[Any] = [(i, j) for i in range(3) for j in second.get(of, [0, 1, 2])]
    one, two = (1,), (2,)
    bounds: Any = {"start": one, "stop": two}
    if of == "bytes3":
        keys, bounds = [b"abc", b"bab", b"bca", b"b\xff\xff", b"cab"], {"prefix": b"b"}
    table = ogive.build([(key, 1) for key in keys], key=of, value=int, to=tmp_path / "t.ogive")
    with ogive.open(tmp_path / "db", key=of, value=int) as db:
        db.update((key, 1) for key in keys)
        ways = [bounds] if of == "bytes3" else [bounds, {"prefix": one}, {"start": one}, {"stop": one}]
        for way in ways:
            expected = list(db.keys(**way))
            assert 3 <= len(expected) < 9
            assert list(table.keys(**way)) == [key for key, _ in table.items(**way)] == expected
            assert table.count(**way) == len(expected) == len(table.scan(**way).to_pyarrow())
            assert list(table.keys(reverse=True, **way)) == expected[::-1]
        if of != "bytes3":
            assert table.rank(one) == 3 and table.rank(two) == 6
