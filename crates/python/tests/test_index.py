"""Indexes that are updated in place."""

from __future__ import annotations

import os
import pickle
import threading
import uuid
from pathlib import Path

import numpy
import ogive
import pyarrow
import pytest


def test_an_index_is_an_ordered_mapping(tmp_path: Path) -> None:
    with ogive.Index(tmp_path / "ids.idx", key="u64", value="u64") as ix:
        for key in (5, 1, 9):
            ix[key] = key * 10
        assert ix[5] == 50 and ix.get(2) is None and ix.get(2, 7) == 7
        assert 9 in ix and 2 not in ix and len(ix) == 3 and list(ix) == [1, 5, 9] and list(reversed(ix)) == [9, 5, 1]
        assert list(ix.range(1, 9)) == [(1, 10), (5, 50)] and list(ix.values(reverse=True)) == [90, 50, 10]
        assert ix.first() == (1, 10) and ix.last() == (9, 90)
        del ix[1]
        with pytest.raises(KeyError):
            del ix[1]
        with pytest.raises(KeyError):
            ix[1]
        assert ix.setdefault(1, 3) == 3 and ix.setdefault(1, 4) == 3 and ix.pop(1) == 3 and ix.pop(1, None) is None
        ix.update({2: 20})
        assert ix.multi_get(numpy.array([9, 3, 2], "uint64")).column("value") == [90, None, 20]
        assert ix.scan(3).to_pylist() == [{"key": 5, "value": 50}, {"key": 9, "value": 90}]
        with pytest.raises(ogive.WrongType):
            ix[-1] = 1
        with pytest.raises(ogive.WrongType):
            ix["a"] = 1
    with pytest.raises(ogive.Closed):
        ix[5]
    assert ogive.Index(tmp_path / "ids.idx", read_only=True)[5] == 50


def test_transactions_happen_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    ix = ogive.Index(tmp_path / "ids.idx")
    with ix.transaction() as t:
        t[1], t[2] = 10, 20
        assert t[1] == 10 and 1 not in ix and len(t) == 2
    assert list(ix) == [1, 2]
    with pytest.raises(RuntimeError), ix.transaction() as t:
        del t[1]
        t[3] = 30
        raise RuntimeError
    assert list(ix) == [1, 2]
    with pytest.raises(ogive.Closed):
        t[4] = 40
    with ix.transaction() as t:
        with pytest.raises(ogive.InvalidArgument, match="transaction open"):
            ix[5] = 50
        t.discard(7)
    ix[5] = 50
    ix.close()


def test_writers_of_several_threads_wait_for_each_other(tmp_path: Path) -> None:
    ix = ogive.Index(tmp_path / "ids.idx", durability="buffered")
    ix[0] = 0

    def count() -> None:
        for _ in range(50):
            with ix.transaction() as t:
                t[0] = t[0] + 1

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ix[0] == 200
    ix.close()


def test_loads_of_any_order(tmp_path: Path) -> None:
    ix = ogive.Index(tmp_path / "ids.idx", key="i64", value="f64")
    keys = numpy.arange(5000, dtype="int64")
    assert ix.load(keys, keys * 0.5) == 5000 and ix[4999] == 2499.5
    shuffled = numpy.random.default_rng(1).permutation(numpy.arange(4000, 8000))
    assert ix.load(pyarrow.array(shuffled), pyarrow.array(shuffled * 1.0), memory="1MiB") == 3000
    assert len(ix) == 8000 and ix[4500] == 4500.0 and list(ix) == list(range(8000))
    assert ix.load({-1: 1.0}) == 1 and ix.load([(-2, 2.0), (-3, 3.0)]) == 2
    with pytest.raises(ogive.InvalidArgument, match="as many"):
        ix.load([1, 2], [1.0])
    assert [len(batch) for batch in ix.scan().batches()] == [8003]
    ix.close()


def test_types_are_stored(tmp_path: Path) -> None:
    key = uuid.uuid4()
    with ogive.Index(tmp_path / "u.idx", key=uuid.UUID, value={"n": int, "s": [str]}, value_size=40) as ix:
        ix[key] = {"n": 1, "s": None}
        assert ix[key] == {"n": 1, "s": None}
        assert ix.load([uuid.UUID(int=1)], [{"n": 2, "s": "two"}]) == 1
    with ogive.Index(tmp_path / "u.idx") as ix:
        assert ix.types[0] == "uuid" and ix[uuid.UUID(int=1)]["s"] == "two"
    with pytest.raises(ogive.WrongType, match="uuid"):
        ogive.Index(tmp_path / "u.idx", key=int)
    with pytest.raises(ogive.InvalidArgument, match="value_size"):
        ogive.Index(tmp_path / "v.idx", value=str)
    with ogive.Index(tmp_path / "d.idx", duplicates=True) as ix:
        ix.load([1, 1, 1], [3, 1, 2])
        assert ix.get_all(1) == [3, 1, 2] or sorted(ix.get_all(1)) == [1, 2, 3]
    with ogive.Index(tmp_path / "t.idx", key=("u16", "u16"), kind="btree") as ix:
        ix[(1, 2)], ix[(1, 3)], ix[(2, 0)] = 1, 2, 3
        assert [k for k, _ in ix.range((1,), (2,))] == [(1, 2), (1, 3)] and ix.stats()["kind"] == "btree"
        assert ix.explain((1, 2))[0]["depth"] == 0


@pytest.mark.parametrize("kind", ["ogive", "btree"])
def test_what_is_popped_of_repeated_keys_is_what_is_removed(tmp_path: Path, kind: str) -> None:
    with ogive.Index(tmp_path / "d.idx", kind=kind, duplicates=True) as ix:
        ix.load([5, 5, 5, 6], [3, 1, 2, 4])
        first, *others = ix.get_all(5)
        assert ix.pop(5) == first and ix.get_all(5) == others and len(ix) == 3
        assert ix.popitem() == (6, 4) and ix.popitem() == (5, others[1]) and ix.get_all(5) == others[:1]
        assert ix.popitem(last=False) == (5, others[0]) and not len(ix) and ix.pop(5, None) is None
        entries = [(key, value) for value in range(500) for key in range(7)]
        ix.load([key for key, _ in entries], [value for _, value in entries])
        popped = [ix.popitem(last=number % 3 == 0) for number in range(len(entries))]
        assert sorted(popped) == sorted(entries) and not len(ix)
        ix.load([1, 1, 2, 2, 3, 3], range(6))
        del ix[1]
        ix.discard(2)
        with ix.transaction() as t:
            del t[3]
            with pytest.raises(KeyError):
                del t[1]
        assert not len(ix)


def test_snapshots_and_readers_see_one_commit(tmp_path: Path) -> None:
    ix = ogive.Index(tmp_path / "ids.idx")
    ix[1] = 10
    reader = ogive.Index(tmp_path / "ids.idx", read_only=True)
    with ix.snapshot() as before:
        ix[1], ix[2] = 11, 20
        assert before[1] == 10 and 2 not in before and list(before.range()) == [(1, 10)] and len(before) == 1
        assert reader[1] == 10
    with pytest.raises(ogive.Closed):
        before[1]
    assert reader.refresh() and reader[1] == 11 and not reader.refresh()
    again = pickle.loads(pickle.dumps(reader))
    assert again[2] == 20
    with pytest.raises(TypeError, match="open for writing"):
        pickle.dumps(ix)
    with pytest.raises(ogive.OgiveError):
        reader[3] = 1
    ix.close()


def test_the_same_file_is_the_same_index(tmp_path: Path) -> None:
    ix = ogive.Index(tmp_path / "ids.idx")
    assert ogive.Index(tmp_path / "ids.idx") is ix
    with pytest.raises(ogive.InvalidArgument, match="durability"):
        ogive.Index(tmp_path / "ids.idx", durability="buffered")
    ix.close()
    with pytest.raises(FileNotFoundError):
        ogive.Index(tmp_path / "absent.idx", create=False)
    with pytest.raises(ogive.InvalidArgument, match="object store"):
        ogive.Index("s3://bucket/ids.idx")


def test_a_closed_index_can_be_opened_again_whatever_was_begun(tmp_path: Path) -> None:
    path = tmp_path / "ids.idx"
    ix = ogive.Index(path)
    ix.load({key: key for key in range(5_000)})
    with ix.transaction() as committed:
        committed[1] = 10
    snapshot, entries, rows = ix.snapshot(), ix.range(), ix.scan()
    assert next(entries) == (0, 0) and snapshot[1] == 10
    ix.close()
    with pytest.raises(ogive.Closed):
        snapshot[1]
    with pytest.raises(ogive.Closed):
        list(entries)
    with pytest.raises(ogive.Closed):
        rows.to_pyarrow()
    with pytest.raises(ogive.Closed):
        committed[2] = 1
    with ogive.Index(path) as again:
        assert again[1] == 10


def test_prefixes_are_the_first_components(tmp_path: Path) -> None:
    with ogive.Index(tmp_path / "pairs.idx", key=("u32", "i32"), value="u64") as ix:
        entries = {(group, number): group * 100 + number + 50 for group in (0, 1, 255, 2**32 - 1) for number in range(-3, 3)}
        ix.update(entries)
        for group in (0, 1, 2, 255, 256, 2**32 - 1):
            wanted = sorted((key, value) for key, value in entries.items() if key[0] == group)
            assert list(ix.range(prefix=(group,))) == wanted
            assert list(ix.range(prefix=(group,), reverse=True)) == wanted[::-1]
            assert ix.snapshot().scan(prefix=(group,)).to_pyarrow().num_rows == len(wanted)
        with pytest.raises(ogive.InvalidArgument):
            ix.range((1,), prefix=(1,))


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("how", ["removed", "renamed"])
def test_a_file_that_is_gone_is_opened_anew(tmp_path: Path, how: str, read_only: bool) -> None:
    path = tmp_path / "a.idx"
    with ogive.Index(path) as index:
        index[1] = 10
    old = ogive.Index(path, read_only=read_only)
    assert ogive.Index(path, read_only=read_only) is old
    if how == "removed":
        path.unlink()
    else:
        path.rename(tmp_path / "moved.idx")
    assert old[1] == 10
    if not read_only:
        with pytest.raises(ogive.Gone):
            old[2] = 20
    with ogive.Index(path) as new:
        new[3] = 30
        again = ogive.Index(path, read_only=read_only)
        assert again is not old and dict(again) == dict(new) == {3: 30}
        with pytest.raises((ogive.Closed, ogive.Gone)):
            old[2] = 20
    if how == "renamed":
        with ogive.Index(tmp_path / "moved.idx") as moved:
            assert dict(moved) == {1: 10}


def test_threads_that_refresh_one_reader_never_go_back_or_open_it_again(tmp_path: Path) -> None:
    path = tmp_path / "a.idx"
    with ogive.Index(path) as index:
        index[0] = 0
        reader = ogive.Index(path, read_only=True)
        failures: list[int] = []
        done = threading.Event()

        def read() -> None:
            last = 0
            try:
                while not done.is_set():
                    reader.refresh()
                    found = reader[0]
                    if found < last:
                        failures.append(found)
                    last = found
            except ogive.Closed:
                pass

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(1, 100):
            index[0] = number
        reader.close()
        done.set()
        for thread in threads:
            thread.join()
        assert not failures
        with pytest.raises(ogive.Closed):
            reader[0]


def test_a_good_file_is_opened_after_a_bad_one_in_its_place(tmp_path: Path) -> None:
    path, good = str(tmp_path / "a.idx"), str(tmp_path / "b.idx")
    first = ogive.Index(path)
    first[1] = 1
    with ogive.Index(good) as other:
        other[1] = 2
    os.rename(path, path + "~")
    Path(path).write_bytes(b"junk")
    with pytest.raises(ogive.OgiveError):
        ogive.Index(path)
    os.remove(path)
    os.rename(good, path)
    assert ogive.Index(path)[1] == 2


def test_an_index_of_one_value_a_key_is_not_opened_for_duplicates(tmp_path: Path) -> None:
    with ogive.Index(tmp_path / "one.idx", key=int, value=int) as index:
        index[1] = 1
        with pytest.raises(ogive.InvalidArgument, match="one value a key"):
            ogive.Index(tmp_path / "one.idx", duplicates=True)
    for _ in range(2):
        with pytest.raises(ogive.InvalidArgument, match="one value a key"):
            ogive.Index(tmp_path / "one.idx", duplicates=True)
    assert dict(ogive.Index(tmp_path / "one.idx")) == {1: 1}


def test_an_index_that_is_there_keeps_what_it_was_created_with(tmp_path: Path) -> None:
    path = tmp_path / "a.idx"
    created = {"key": int, "value": str, "kind": "btree", "page_size": 8192, "value_size": 8}
    with ogive.Index(path, **created) as index:
        index[1] = "one"
        for stated in ({}, created, {"key": "i64"}, {"value": "text"}, {"page_size": "8KiB"}):
            assert ogive.Index(path, **stated) is index
    others = [
        ({"kind": "ogive"}, "kind=btree, not ogive"),
        ({"page_size": 4096}, "page_size=8192, not 4096"),
        ({"value_size": 9}, "value_size=8, not 9"),
        ({"kind": "ogive", "value_size": "1KiB"}, "kind=btree, not ogive, value_size=8, not 1024"),
        ({"key": "u64"}, "keys of type i64"),
        ({"value": bytes}, "values of type text"),
        ({"duplicates": True}, "one value a key"),
        ({"kind": "tree"}, "tree"),
    ]
    for read_only in (False, True):
        for stated, message in others:
            with pytest.raises(ogive.OgiveError, match=message):
                ogive.Index(path, **stated, read_only=read_only)
        with ogive.Index(path, key=int, read_only=read_only) as index:
            assert dict(index) == {1: "one"}
            for stated, message in others:
                with pytest.raises(ogive.OgiveError, match=message):
                    ogive.Index(path, **stated, read_only=read_only)
    with ogive.Index(tmp_path / "fixed.idx", value="u32", value_size=4) as index:
        assert ogive.Index(tmp_path / "fixed.idx", value_size=4) is index


def test_values_of_bytes_all_have_the_size_that_is_stated(tmp_path: Path) -> None:
    for size in (None, 10):
        with ogive.Index(tmp_path / f"{size}.idx", key=int, value=bytes, value_size=size) as index:
            index[1] = b"a" * (size or 0)
            with pytest.raises(ogive.InvalidArgument, match=f"index of values of {size or 0} bytes"):
                index[2] = b"abc"
            assert dict(index) == {1: b"a" * (size or 0)}
