"""Joins."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import ogive
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

LEFT = {"id": [1, 2, 3, 3], "name": ["a", "b", "c", "d"]}
RIGHT = {"id": [2, 3, 4], "name": ["x", "y", "z"], "price": [20, 30, 40]}

WANTED: dict[str, list[tuple[Any, ...]]] = {
    "inner": [(2, "b", "x", 20), (3, "c", "y", 30), (3, "d", "y", 30)],
    "left": [(1, "a", None, None), (2, "b", "x", 20), (3, "c", "y", 30), (3, "d", "y", 30)],
    "right": [(2, "b", "x", 20), (3, "c", "y", 30), (3, "d", "y", 30), (4, None, "z", 40)],
    "full": [(1, "a", None, None), (2, "b", "x", 20), (3, "c", "y", 30), (3, "d", "y", 30), (4, None, "z", 40)],
    "semi": [(2, "b"), (3, "c"), (3, "d")],
    "anti": [(1, "a")],
}


def rows(join: ogive.Join) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in join]


def key(row: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(str(field) for field in row)


@pytest.mark.parametrize("how", WANTED)
@pytest.mark.parametrize("frame", [pyarrow.table, polars.DataFrame, pandas.DataFrame])
def test_kinds_of_joins_of_frames(how: Any, frame: Any) -> None:
    joined = ogive.join(frame(LEFT), frame(RIGHT), on="id", how=how)
    assert sorted(rows(joined), key=key) == sorted(WANTED[how], key=key)
    wanted = ["id", "name"] if how in ("semi", "anti") else ["id", "name", "right_name", "price"]
    assert joined.column_names == wanted
    assert joined.collect().column_names == wanted


@pytest.mark.parametrize("how", WANTED)
def test_kinds_of_joins_of_tables_and_into_tables(how: Any, tmp_path: Path) -> None:
    left = ogive.build(pyarrow.table(LEFT), key="id", to=tmp_path / "l.ogive")
    ogive.build(pyarrow.table(RIGHT), key="id", to=tmp_path / "r.ogive")
    joined = ogive.join(left, tmp_path / "r.ogive", how=how)
    assert rows(joined) == sorted(WANTED[how], key=key)
    written = joined.write(tmp_path / "out.ogive")
    assert [tuple(row.values()) for row in written.scan()] == sorted(WANTED[how], key=key)
    with pytest.raises(ogive.InvalidArgument, match="both an input and the output"):
        joined.write(left.path)


def test_inputs_of_all_kinds(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table(RIGHT), tmp_path / "r.parquet")
    (tmp_path / "r.csv").write_text("id,name,price\n4,z,40\n2,x,20\n3,y,30\n")
    left = ogive.build(pyarrow.table(LEFT), key="id", to=tmp_path / "l.ogive")
    for path in (tmp_path / "r.parquet", str(tmp_path / "r.csv")):
        assert rows(ogive.join(left, path, on="id")) == WANTED["inner"]
    stream = pyarrow.RecordBatchReader.from_batches(pyarrow.table(RIGHT).schema, pyarrow.table(RIGHT).to_batches())
    joined = ogive.join(left, stream, on="id")
    assert rows(joined) == WANTED["inner"] and rows(joined) == WANTED["inner"]

    db = ogive.open(tmp_path / "db", key=int, value=str)
    db[2], db[9] = "two", "nine"
    other = db.keyspace("other", key=int, value=str)
    other[3] = "three"
    with db.snapshot() as snapshot:
        db[3] = "later"
        assert rows(ogive.join(left, snapshot)) == [(2, "b", "two")]
    assert [row[2] for row in rows(ogive.join(left, db))] == ["two", "later", "later"]
    assert [row[2] for row in rows(ogive.join(left, tmp_path / "db"))] == ["two", "later", "later"]
    assert [row[2] for row in rows(ogive.join(left, other))] == ["three", "three"]
    db.close()

    words = ogive.open(tmp_path / "words", key=str, value=int)
    words["ada"] = 1
    joined = ogive.join(words, words)
    assert [row[0] for row in rows(joined)] == ["ada"]
    assert joined.write(tmp_path / "words.ogive").types[0] == "text"
    words.close()

    with ogive.Index(tmp_path / "i.idx", key=int, value="u32") as index:
        index[1] = 11
        assert rows(ogive.join(left, index)) == [(1, "a", 11)]
    assert rows(ogive.join(left, tmp_path / "i.idx")) == [(1, "a", 11)]


def test_keys_of_different_widths_and_names() -> None:
    left = pyarrow.table({"a": pyarrow.array([1, 2], "uint32")})
    right = pyarrow.table({"b": pyarrow.array([2, 3], "int64"), "v": [5, 6]})
    joined = ogive.join(left, right, on=("a", "b"))
    assert joined.to_pylist() == [{"a": 2, "v": 5}]
    both = {"x": [1, 1, 2], "y": ["p", "q", "p"], "v": [1, 2, 3]}
    joined = ogive.join(pyarrow.table(both), pyarrow.table(both).slice(1), on=["x", "y"])
    assert [(row["x"], row["y"], row["v"], row["right_v"]) for row in joined] == [(1, "q", 2, 2), (2, "p", 3, 3)]


NULLS: dict[str, list[tuple[Any, ...]]] = {
    "inner": [(2, "c", "x")],
    "left": [(1, "a", None), (2, "c", "x"), (None, "b", None), (None, "d", None)],
    "right": [(2, "c", "x"), (3, None, "z"), (None, None, "y")],
    "full": [(1, "a", None), (2, "c", "x"), (3, None, "z"), (None, "b", None), (None, "d", None), (None, None, "y")],
    "semi": [(2, "c")],
    "anti": [(1, "a"), (None, "b"), (None, "d")],
}


@pytest.mark.parametrize("how", NULLS)
def test_null_keys_match_nothing(how: Any, tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("id,name\n1,a\n,b\n2,c\n,d\n")
    (tmp_path / "r.csv").write_text("id,town\n3,z\n,y\n2,x\n")
    left = {"id": [1, None, 2, None], "name": ["a", "b", "c", "d"]}
    right = {"id": [3, None, 2], "town": ["z", "y", "x"]}
    pyarrow.parquet.write_table(pyarrow.table(left), tmp_path / "l.parquet")
    for one in (tmp_path / "l.csv", tmp_path / "l.parquet", pyarrow.table(left), pandas.DataFrame(left).convert_dtypes()):
        for other in (tmp_path / "r.csv", polars.DataFrame(right)):
            found = rows(ogive.join(one, other, on="id", how=how))
            assert found == NULLS[how], (one, other)
    pairs = ogive.join(tmp_path / "l.csv", tmp_path / "l.csv", on=["id", "name"], how=how)
    assert len(rows(pairs)) == {"inner": 2, "semi": 2, "anti": 2, "left": 4, "right": 4, "full": 6}[how]
    # Of text, an empty field is a null as well.
    (tmp_path / "t.csv").write_text('id,name\nx,a\n,b\n"",c\n')
    texts = rows(ogive.join(tmp_path / "t.csv", tmp_path / "t.csv", on="id", how=how))
    assert len(texts) == {"inner": 2, "semi": 2, "anti": 1, "left": 3, "right": 3, "full": 4}[how]


def test_numbers_of_different_types_match_where_they_are_equal(tmp_path: Path) -> None:
    columns = [
        pyarrow.array([1, 2**53 + 1, -1]),
        pyarrow.array([1, 2**53, -1], "float64"),
        pyarrow.array([1, 2**64 - 1], "uint64"),
        pyarrow.array([1, 7], "int8"),
        pyarrow.array([Decimal("1.00"), Decimal("2.50")]),
    ]
    sides: list[Any] = [pyarrow.table({"id": column}) for column in columns]
    (tmp_path / "c.csv").write_text("id\n-1\n1.00\n9007199254740993.00\n")
    for at, left in enumerate(sides):
        for right in sides[:at] + sides[at + 1 :] + [tmp_path / "c.csv"]:
            found = [int(row["id"]) for row in ogive.join(left, right, on="id")]
            assert 1 in found and set(found) <= {1, -1, 2**53 + 1}, (left, right)
    table = ogive.build(sides[2], key="id", to=tmp_path / "u.ogive")
    assert rows(ogive.join(sides[0], table, how="anti")) == [(-1,), (2**53 + 1,)]
    assert [row["id"] for row in ogive.join(table, sides[0], how="right")] == [-1, 1, 2**53 + 1]
    assert len(rows(ogive.join(table, sides[0], how="full"))) == 4
    with pytest.raises(ogive.OgiveError, match="no type holds all keys"):
        ogive.join(sides[0], sides[1], on="id", how="full").collect()


def test_a_plan_shows_the_choice() -> None:
    joined = ogive.join(pyarrow.table(LEFT), pyarrow.table(RIGHT), on="id")
    plan = joined.plan
    assert plan.predicted_us > 0 and plan.method in repr(plan) and not plan.is_asked_for
    assert {it.method for it in plan.alternatives} >= {"merge", "hash", "partition"}
    assert all((it.predicted_us is None) == (it.refused is not None) for it in plan.alternatives)
    assert "<table>" in plan._repr_html_()
    asked = ogive.join(pyarrow.table(LEFT), pyarrow.table(RIGHT), on="id", method="hash", how="right")
    assert asked.plan.method == "hash" and asked.plan.is_asked_for
    assert asked.plan.left["name"] == "the left frame"
    assert sorted(rows(asked), key=key) == WANTED["right"]


def test_arrow_and_frames_take_a_join() -> None:
    joined = ogive.join(pyarrow.table(LEFT), pyarrow.table(RIGHT), on="id")
    assert polars.DataFrame(joined).equals(joined.to_polars())
    assert pyarrow.table(joined).num_rows == len(joined.collect()) == 3
    assert list(joined.to_pandas()["price"]) == [20, 30, 30]


def test_a_join_spills_within_its_memory_and_leaves_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    random.seed(1)
    left = [random.randrange(60_000) for _ in range(200_000)]
    right = [random.randrange(60_000) for _ in range(100_000)]
    counts: dict[int, int] = defaultdict(int)
    for number in right:
        counts[number] += 1
    wanted = sum(counts[number] for number in left)
    frames = (
        pyarrow.table({"id": left, "text": [f"left {number}" for number in left]}),
        pyarrow.table({"id": right, "other": [f"right {number}" for number in right]}),
    )
    joined = ogive.join(*frames, on="id", memory="4MiB")
    found = sum(len(batch) for batch in joined.batches())
    assert found == wanted
    stream = iter(joined.stream())
    assert next(stream)["id"] == min(set(left) & set(right))
    del stream
    assert os.listdir(tmp_path) == []


def test_ctrl_c_stops_a_join(tmp_path: Path) -> None:
    script = """
import ogive, pyarrow, signal, threading, os
ids = pyarrow.table({"id": list(range(1000)) * 20})
joined = ogive.join(ids, ids.append_column("v", ids["id"]).append_column("w", ids["id"]), on="id", memory="4MiB")
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True:
        joined.collect()
except KeyboardInterrupt:
    print("interrupted")
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=120)
    assert done.stdout == "interrupted\n", done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("how", ["inner", "right"])
@pytest.mark.parametrize("longest", [(3_000_000, 5_000_000), (5_000_000, 3_000_000), (2_000_000, 1)])
def test_an_error_about_memory_names_what_the_longest_rows_of_both_frames_take(how: Any, longest: Any) -> None:
    frames = [pyarrow.table({"id": range(50), "text": ["x"] * 49 + ["y" * length]}) for length in longest]
    with pytest.raises(ogive.MemoryShort) as raised:
        ogive.join(*frames, on="id", memory=2 << 20, how=how).collect()
    memory = int(re.findall(r"to (\d+) or more", str(raised.value))[0])
    assert 20 * sum(longest) < memory < 40 * sum(longest)


def test_errors_say_what_is_wrong(tmp_path: Path) -> None:
    left = pyarrow.table(LEFT)
    with pytest.raises(ogive.InvalidArgument, match="not a kind of join"):
        ogive.join(left, left, on="id", how="cross")  # type: ignore[arg-type]
    with pytest.raises(ogive.InvalidArgument, match="which column of the right input"):
        ogive.join(left, left, on=("id", [])).collect()
    with pytest.raises(ogive.InvalidArgument, match="no column 'key'"):
        ogive.join(left, left, on="key").collect()
    with pytest.raises(FileNotFoundError):
        ogive.join(left, tmp_path / "absent.ogive", on="id").collect()
    with pytest.raises(ogive.InvalidArgument, match="no|not"):
        ogive.join(left, left, on="id", method="magic").plan
    texts = pyarrow.table({"id": ["1"]})
    floats = pyarrow.table({"id": [1.0]})
    with pytest.raises(ogive.WrongType, match="convert one of them"):
        ogive.join(texts, floats, on="id").collect()
    assert ogive.join(texts, texts, on="id").to_pylist() == [{"id": "1"}]


def test_keys_of_different_types_are_refused(tmp_path: Path) -> None:
    left = ogive.build({1: "a"}, to=tmp_path / "l.ogive")
    right = ogive.build({"1": "b"}, to=tmp_path / "r.ogive")
    with pytest.raises(ogive.WrongType, match="i64.*text"):
        ogive.join(left, right).to_pylist()
    with pytest.raises(ogive.OgiveError):
        ogive.join(left, right, memory="1KiB").to_pylist()


def test_the_key_of_a_table_is_not_confused_with_another_column(tmp_path: Path) -> None:
    path = str(tmp_path / "u.ogive")
    table = ogive.build(pyarrow.table({"id": [1, 2], "other": [2, 3]}), key="id", to=path)
    frame = pyarrow.table({"other": [1, 2], "x": [7, 8]})
    for left in (table, path):
        for on in ("other", ("other", "other"), ("zzz", "other")):
            with pytest.raises(ogive.InvalidArgument, match="joined by its key, id"):
                ogive.join(left, frame, on=on).to_pylist()
        for on in (("id", "other"), (None, "other")):
            assert len(ogive.join(left, frame, on=on).to_pylist()) == 2
    with pytest.raises(ogive.InvalidArgument, match="joined by its key, id"):
        ogive.join(frame, table, on="other").to_pylist()
    assert len(ogive.join(frame, table, on=("other", "id"), how="outer").to_pylist()) == 2
    with pytest.raises(ogive.InvalidArgument, match="memory"):
        ogive.join(frame, frame, on="x", memory=1000)


def test_without_on_files_and_frames_are_joined_by_what_both_name(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text("order_id,customer_id\n1,20\n2,10\n")
    people = pyarrow.table({"name": ["ada", "bob"], "customer_id": [10, 20]})
    joined = ogive.join(tmp_path / "orders.csv", people)
    assert rows(joined) == [(10, 2, "ada"), (20, 1, "bob")]
    assert joined.on == [["customer_id"], ["customer_id"]]
    # A table is joined by its key, a file by the column of that name, else by its first one.
    table = ogive.build(people, key="customer_id", to=tmp_path / "people.ogive")
    assert rows(ogive.join(tmp_path / "orders.csv", table)) == [(10, 2, "ada"), (20, 1, "bob")]
    towns = polars.DataFrame({"id": [10], "town": ["rome"]})
    joined = ogive.join(table, towns)
    assert (rows(joined), joined.on) == ([(10, "ada", "rome")], [["customer_id"], ["id"]])
    with pytest.raises(ogive.InvalidArgument, match=r"order_id, customer_id; the right one id, town: none .* on=\('order_id', 'id'\)"):
        ogive.join(tmp_path / "orders.csv", towns).collect()
    with pytest.raises(ogive.InvalidArgument, match="several have the same name; say which are compared, as in on='id'"):
        ogive.join(pyarrow.table(LEFT), pyarrow.table(RIGHT)).collect()
