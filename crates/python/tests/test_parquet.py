"""Indexes beside Parquet files."""

from __future__ import annotations

import datetime
import os
import pickle
import random
from pathlib import Path
from typing import Any

import numpy
import ogive
import pyarrow
import pyarrow.parquet
import pytest
from s3_server import Server


def write(path: Path, ids: list[int], **options: object) -> None:
    table = pyarrow.table({"user_id": ids, "ts": [10 * i for i in ids], "name": [f"n{i}" for i in ids]})
    pyarrow.parquet.write_table(table, path, **options)


@pytest.fixture
def index(tmp_path: Path) -> ogive.ParquetIndex:
    folder = tmp_path / "events"
    folder.mkdir()
    write(folder / "a.parquet", [1, 1, 2, 3], row_group_size=2)
    write(folder / "b.parquet", [5, 7, 9])
    return ogive.index_parquet(folder, key="user_id", to=tmp_path / "events.idx")


def test_rows_are_found_by_key(index: ogive.ParquetIndex) -> None:
    assert index.get(1, columns=["ts"]).to_pylist() == [{"ts": 10}, {"ts": 10}]
    assert index.get(4).to_pylist() == []
    assert index.get(7).to_pylist() == [{"user_id": 7, "ts": 70, "name": "n7"}]
    assert 7 in index and 8 not in index
    with pytest.raises(KeyError):
        index[8]
    assert len(index) == 7 and index.is_sorted
    assert index.key == ["user_id"] and index.column_names == ["user_id", "ts", "name"]
    assert [Path(file).name for file in index.files] == ["a.parquet", "b.parquet"]
    assert index.rank(3) == 3 and index.count(1, 3) == 3 and index.count(start=5) == 3


def test_many_keys_are_found_in_their_order(index: ogive.ParquetIndex) -> None:
    wanted = [9, 4, 1]
    for keys in (wanted, numpy.array(wanted), pyarrow.array(wanted)):
        assert index.multi_get(keys, columns=["user_id"]).column("user_id") == [9, 1, 1]
    assert index.multi_get([]).column_names == ["user_id", "ts", "name"]


def test_ranges_are_streams(index: ogive.ParquetIndex) -> None:
    assert index.scan(2, 7).to_polars()["ts"].to_list() == [20, 30, 50]
    assert [row["user_id"] for row in index.scan(columns=["user_id"])] == [1, 1, 2, 3, 5, 7, 9]
    for limit, found in [(0, []), (3, [2, 3, 5]), (9, [2, 3, 5, 7, 9])]:
        assert [row["user_id"] for row in index.scan(2, limit=limit)] == found
    with pytest.raises(ogive.InvalidArgument, match="limit is -1; give a number of rows"):
        index.scan(limit=-1)


def test_rows_up_to_a_limit_are_read_at_once_from_files_in_no_order(tmp_path: Path) -> None:
    ids = list(range(5_000))
    random.Random(1).shuffle(ids)
    write(tmp_path / "d.parquet", ids)
    index = ogive.index_parquet(tmp_path / "d.parquet", key="user_id", to=tmp_path / "d.idx")
    limited = index.scan(700, limit=100).batches()
    assert [row["user_id"] for row in next(limited)] == list(range(700, 800))
    assert next(limited, None) is None


def test_explanations_and_verification(index: ogive.ParquetIndex, tmp_path: Path) -> None:
    found = index.explain(7, columns=["ts"])
    assert found.rows == 1 and found.rounds == 2 and found.requests[0].path.endswith("events.idx")
    assert found.modelled_us("s3") > found.modelled_us("nvme") > 0
    assert "round 2" in repr(found) and "<table>" in found._repr_html_()
    assert index.verify() and index.verify().rows == 7
    write(tmp_path / "events" / "b.parquet", [5, 7, 10])
    assert not index.verify()
    with pytest.raises(ogive.WrongVersion):
        ogive.ParquetIndex(index.path).get(7)


def test_an_update_takes_new_files_in(index: ogive.ParquetIndex, tmp_path: Path) -> None:
    write(tmp_path / "events" / "c.parquet", [11])
    newer = ogive.index_parquet(tmp_path / "events", to=index.path, update=True)
    assert len(newer) == 8 and 11 in newer
    with pytest.raises(ogive.InvalidArgument):
        ogive.index_parquet(tmp_path / "events", key="ts", to=index.path, update=True)


def test_keys_of_several_columns_and_with_nulls(tmp_path: Path) -> None:
    table = pyarrow.table({"id": [None, 3, 1], "part": ["a", "b", "c"]})
    pyarrow.parquet.write_table(table, tmp_path / "n.parquet")
    one = ogive.index_parquet(tmp_path / "n.parquet", key="id", to=tmp_path / "n.idx")
    assert one.get(3).to_pylist() == [{"id": 3, "part": "b"}]
    assert one.multi_get([3, 1], columns=["part"]).column("part") == ["b", "c"]
    assert one.scan(2).to_pylist() == [{"id": 3, "part": "b"}]
    both = ogive.index_parquet(tmp_path / "n.parquet", key=["part", "id"], to=tmp_path / "m.idx")
    assert both.get(("c", 1)).to_pylist() == [{"id": 1, "part": "c"}]


@pytest.mark.parametrize(
    "layout",
    [
        [[None, None, 1, 2, 5]],
        [[1, 2, 5, None, None]],
        [[2, None, 5, 1, None]],
        [[None, 1, 2], [None, 5]],
        [[1, 2, None], [5, None]],
    ],
)
def test_null_keys_are_in_ranges_that_ask_for_them_whatever_the_layout(
    tmp_path: Path, layout: list[list[int | None]]
) -> None:
    (tmp_path / "data").mkdir()
    for number, ids in enumerate(layout):
        rows = pyarrow.table({"id": pyarrow.array(ids, "int64")})
        pyarrow.parquet.write_table(rows, tmp_path / f"data/{number}.parquet")
    index = ogive.index_parquet(tmp_path / "data", key="id", to=tmp_path / "n.idx")
    for start, stop, wanted in [
        (1, None, [1, 2, 5]), (None, 5, [1, 2]), (2, 6, [2, 5]), (9, None, []), (None, 1, []), (None, 99, [1, 2, 5]),
    ]:  # fmt: skip
        assert [row["id"] for row in index.scan(start, stop)] == wanted, (start, stop)
        assert index.count(start, stop) == len(wanted)
    assert index.rank(1) == 0 and index.rank(5) == 2
    assert sorted(row["id"] or 0 for row in index.scan()) == [0, 0, 1, 2, 5] and index.count() == 5
    assert len(index.get(None)) == 2 and [row["id"] for row in index.scan((None,), 0)].count(None) in (0, 2)


def test_errors_say_what_is_wrong(index: ogive.ParquetIndex, tmp_path: Path) -> None:
    with pytest.raises(ogive.InvalidArgument, match="no column 'nothing'"):
        index.get(1, columns=["nothing"])
    with pytest.raises(ogive.InvalidArgument, match="which column is the key"):
        ogive.index_parquet(tmp_path / "events", to=tmp_path / "x.idx")
    with pytest.raises(FileNotFoundError):
        ogive.index_parquet(tmp_path / "absent", key="a", to=tmp_path / "x.idx")
    ogive.build({1: 2}, to=tmp_path / "t.ogive")
    with pytest.raises(ogive.WrongFile):
        ogive.ParquetIndex(tmp_path / "t.ogive")
    again = pickle.loads(pickle.dumps(index))
    assert again.get(2, columns=["ts"]).to_pylist() == [{"ts": 20}]
    index.close()
    with pytest.raises(ogive.Closed):
        index.get(1)


def test_damaged_files_give_errors_or_true_rows(tmp_path: Path) -> None:
    drawn = random.Random(1)
    ids = [3 * number for number in range(2_000)]
    drawn.shuffle(ids)
    data = tmp_path / "d.parquet"
    write(data, ids, row_group_size=400, data_page_size=500, use_dictionary=False, compression="none")
    sound, status = data.read_bytes(), data.stat()
    path = tmp_path / "d.idx"
    ogive.index_parquet(data, key="user_id", to=path).close()
    outcomes = set()
    for _ in range(120):
        damaged = bytearray(sound)
        at, count = drawn.randrange(len(damaged) - 32), drawn.choice([1, 4, 32])
        damaged[at : at + count] = drawn.randbytes(count)
        data.write_bytes(damaged)
        os.utime(data, ns=(status.st_atime_ns, status.st_mtime_ns))

        def look_up() -> None:
            with ogive.ParquetIndex(path) as index:
                for key in drawn.sample(ids, 20):
                    assert {row["user_id"] for row in index.get(key).to_pylist()} <= {key}

        uses = [
            look_up,
            lambda: ogive.ParquetIndex(path).scan().to_pyarrow(),
            lambda: ogive.ParquetIndex(path).verify(progress=False),
            lambda: ogive.build(data, key="user_id", to=tmp_path / "t.ogive", progress=False),
            lambda: ogive.join(data, data, on="user_id").to_pyarrow(),
            lambda: ogive.index_parquet(data, key="user_id", to=tmp_path / "e.idx", progress=False),
        ]
        for use in uses:
            try:
                use()
                outcomes.add("rows")
            except ogive.OgiveError as error:
                outcomes.add(type(error).__name__)
                assert "d.parquet" in str(error) or not isinstance(error, ogive.WrongFile)
    assert {"rows", "WrongFile"} <= outcomes


def test_old_timestamps_partitions_and_copies(tmp_path: Path) -> None:
    times = pyarrow.array([1_000, 2_001], pyarrow.timestamp("ns"))
    (tmp_path / "m=01").mkdir()
    path = tmp_path / "m=01" / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"t": times}), path, use_deprecated_int96_timestamps=True)
    with pytest.raises(ogive.InvalidArgument, match=r"row 2 of column 't' is 1970-01-01T00:00:00\.000002001"):
        ogive.index_parquet(tmp_path, key="t", to=tmp_path.with_suffix(".idx"))
    index = ogive.index_parquet(
        tmp_path, key="t", to=tmp_path.with_suffix(".idx"), nanoseconds=["t"], partitions={"m": "text"}
    )
    assert "timestamp(ns)" in index.key_type
    assert index.scan(columns=["m"]).to_pylist() == [{"m": "01"}, {"m": "01"}]
    os.utime(path, (1, 1))
    with pytest.raises(ogive.WrongVersion):
        ogive.ParquetIndex(index.path).get(None)
    assert not index.verify()
    assert index.verify(accept=True)
    assert len(index.scan().to_pylist()) == 2
    assert ogive.ParquetIndex(index.path).verify()


def test_an_update_keeps_how_columns_are_read(tmp_path: Path) -> None:
    data, to = tmp_path / "data", tmp_path / "a.idx"
    (data / "m=01").mkdir(parents=True)
    times = pyarrow.table({"t": pyarrow.array([1_000], pyarrow.timestamp("ns")), "n": [1]})
    pyarrow.parquet.write_table(times, data / "m=01" / "a.parquet", use_deprecated_int96_timestamps=True)
    ogive.index_parquet(data, key="n", to=to)
    for _ in range(2):
        with pytest.raises(ogive.InvalidArgument, match="'t' is not one that the index reads in nanoseconds"):
            ogive.index_parquet(data, to=to, update=True, nanoseconds=["t"])
        with pytest.raises(ogive.InvalidArgument, match="of type i64, which an update does not change"):
            ogive.index_parquet(data, to=to, update=True, partitions={"m": "text"})
        with pytest.raises(ogive.InvalidArgument, match="no path states a column 'k'"):
            ogive.index_parquet(data, to=to, update=True, partitions={"k": "text"})
        more = pyarrow.table({"t": times["t"], "n": [0]})
        pyarrow.parquet.write_table(more, data / "m=01" / "b.parquet", use_deprecated_int96_timestamps=True)
    ogive.index_parquet(data, to=to, update=True, partitions={"m": "i64"})
    (data / "m=01" / "b.parquet").unlink()
    ogive.index_parquet(data, key="n", to=to, nanoseconds=["t"])
    assert len(ogive.index_parquet(data, to=to, update=True, nanoseconds=["t"])) == 1


def test_columns_of_int96_are_read_in_nanoseconds_where_parquet_is(tmp_path: Path) -> None:
    path, to = tmp_path / "a.parquet", tmp_path / "a.ogive"
    times = pyarrow.table({"t": pyarrow.array([1_001, 2_001], pyarrow.timestamp("ns")), "n": [1, 2]})
    pyarrow.parquet.write_table(times, path, use_deprecated_int96_timestamps=True)
    with ogive.Table(ogive.build({1: 1}, to=to).path) as table:
        uses = {
            "index_parquet": lambda **how: ogive.index_parquet(path, key="t", to=tmp_path / "a.idx", **how),
            "build": lambda **how: ogive.build(path, key="t", to=to, **how),
            "join": lambda **how: ogive.join(path, path, on="t", **how).to_pylist(),
            "tune": lambda **how: ogive.tune(path, key="t", **how),
        }
        for use in uses.values():
            with pytest.raises(ogive.InvalidArgument, match=r"name the column in nanoseconds=: \[\"t\"\]"):
                use()
            use(nanoseconds=["t"])
            with pytest.raises(ogive.InvalidArgument, match=r"'n'.* leave its type out|leave it out of nanoseconds="):
                use(nanoseconds=["t", "n"])
            with pytest.raises(ogive.InvalidArgument, match="'k'"):
                use(nanoseconds=["t", "k"])
    with pytest.raises(ogive.InvalidArgument, match="nanoseconds= is for Parquet files"):
        ogive.build(times, key="t", to=to, nanoseconds=["t"])
    assert [int(key.value) for key in ogive.Table(to).scan().to_pandas()["t"]] == [1_001, 2_001]
    assert len(ogive.join(path, times, on="t", nanoseconds=["t"]).to_pylist()) == 2


def test_files_of_a_lake_table_are_tuned_for_with_its_log_ignored(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "00000000000000000000.json").write_text("no log", encoding="utf-8")
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2]}), path)
    for use in (
        lambda **how: ogive.tune(path, key="id", **how),
        lambda **how: ogive.build(path, key="id", to=tmp_path / "a.ogive", **how),
        lambda **how: ogive.join(path, path, on="id", **how).to_pylist(),
    ):
        with pytest.raises(ogive.InvalidArgument, match="ignore_table_log=True"):
            use()
        with pytest.warns(UserWarning, match="Delta Lake"):
            use(ignore_table_log=True)


def test_types_of_partitions_are_stated_as_all_types_are(tmp_path: Path) -> None:
    path = tmp_path / "data" / "m=01" / "day=2026-11-29" / "a.parquet"
    path.parent.mkdir(parents=True)
    pyarrow.parquet.write_table(pyarrow.table({"id": [1]}), path)

    def index(types: dict[str, Any]) -> list[dict[str, Any]]:
        of = ogive.index_parquet(tmp_path / "data", key="id", to=tmp_path / "a.idx", partitions=types)
        return of.scan(columns=["m", "day"]).to_pylist()

    day = datetime.date(2026, 11, 29)
    assert index({"m": str, "day": str}) == [{"m": "01", "day": "2026-11-29"}]
    assert index({"m": int, "day": datetime.date}) == index({"m": "i64", "day": "date"}) == [{"m": 1, "day": day}]
    for other in (float, bool, bytes, "u32", datetime.datetime):
        with pytest.raises(ogive.InvalidArgument, match="choose i64, date or text"):
            index({"m": other})
    for other in (object, 5, None, [int], "int"):
        with pytest.raises(ogive.OgiveError, match="type"):
            index({"m": other})


def test_the_url_of_indexed_data_has_no_query(tmp_path: Path) -> None:
    server = Server()
    written = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2]}), written)
    server.objects["/bucket/data/a.parquet"] = written.getvalue().to_pybytes()
    address = f"http://127.0.0.1:{server.server_port}/bucket/data/a.parquet"
    with pytest.MonkeyPatch.context() as changed:
        for name, value in server.environment.items():
            changed.setenv(name, value)
        for url in (address, "s3://bucket/data/", "s3://bucket/data/a.parquet"):
            for to in (tmp_path / "a.idx", "s3://bucket/data.idx", "s3://bucket/data.idx?region=us-east-1"):
                assert ogive.index_parquet(url, key="id", to=to).get(1).to_pylist() == [{"id": 1}]
                for query in ("?X-Amz-Signature=a", "?X-Amz-Signature=a/b"):
                    with pytest.raises(ogive.InvalidArgument, match="leave the query out") as error:
                        ogive.index_parquet(url + query, key="id", to=to)
                    assert "X-Amz" not in str(error.value) and "a.parquet" in str(error.value) or "data" in url
        url = "s3://bucket/data/?region=us-east-1"
        assert len(ogive.index_parquet(url, key="id", to="s3://bucket/data.idx?region=us-east-1")) == 2
    server.shutdown()
