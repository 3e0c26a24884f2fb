"""Options of stores: taken by their names, refused where they make no sense, the same when a store is opened again."""

from __future__ import annotations

import pickle
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import ogive
import pytest

ALL: dict[str, Any] = {
    "upgrade": True,
    "compression": "zstd",
    "threads": 2,
    "open_files": 64,
    "scrub_bytes_per_s": "64MiB",
    "memtable_bytes": "128KiB",
    "group_bytes": 65536,
    "transaction_bytes": "64KiB",
    "kept_changes_bytes": "1GiB",
    "kept_changes_age": timedelta(days=1),
    "block_bytes": "8KiB",
    "filter_bits_per_key": 0,
    "separation_bytes": 100,
    "expiry_grace": 60.5,
    "gather_ms": 5,
    "grace_s": 60,
}


def test_all_options_are_taken_together(tmp_path: Path) -> None:
    assert set(ALL) == set(ogive.OpenOptions.__annotations__)
    with ogive.open(tmp_path / "s", key=int, value=bytes, **ALL) as db:
        db.update({number: b"v" * 1000 for number in range(1000)})
        # A quarter of a megabyte of pointers and keys is more than a memtable has; values are in files.
        assert db.stats()["value_files"] >= 1
        with pytest.raises(ogive.InvalidArgument, match="commit what was written"), db.begin() as tx:
            for number in range(1000):
                tx[number] = b"w" * 1000
        # The same ones lead to the same store; they may be said in other words.
        assert ogive.open(tmp_path / "s", **{**ALL, "kept_changes_age": 86400}) is db
        with pytest.raises(ogive.InvalidArgument, match=r"\(block_bytes, threads\)"):
            ogive.open(tmp_path / "s", **{**ALL, "threads": 1, "block_bytes": None})
    reader = ogive.open(tmp_path / "s", read_only=True, open_files=16)
    again = pickle.loads(pickle.dumps(reader))
    assert again is reader
    reader.close()


def bytes_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def test_an_option_does_what_it_says(tmp_path: Path) -> None:
    def written(name: str, size: int, **options: Any) -> dict[str, Any]:
        with ogive.open(tmp_path / name, key=int, value=bytes, **options) as db:
            for first in range(0, 2000, 200):
                db.update({number: b"v" * size for number in range(first, first + 200)})
            if "memtable_bytes" not in options:
                db.flush()
            until = time.monotonic() + 60
            while not db.stats()["table_bytes"] and time.monotonic() < until:
                time.sleep(0.01)
            return db.stats()

    for name in ("none", "lz4", "zstd"):
        written(name, 1000, compression=name)
    assert bytes_of(tmp_path / "none") > 4 * max(bytes_of(tmp_path / name) for name in ("lz4", "zstd"))
    assert written("inline", 1000, separation_bytes="1MiB")["value_files"] == 0
    assert written("apart", 1100)["value_files"] == 1
    # What is in memory is flushed by itself.
    assert written("small", 500, memtable_bytes="64KiB", separation_bytes="1MiB")["table_bytes"] > 0
    none, many = written("unfiltered", 8, filter_bits_per_key=0), written("filtered", 8, filter_bits_per_key=32)
    assert none["table_bytes"] + 2000 * 32 // 8 <= many["table_bytes"] + 2000
    coarse, fine = written("coarse", 500, block_bytes="64KiB"), written("fine", 500, block_bytes=512)
    assert coarse["table_bytes"] != fine["table_bytes"]

    for kept, is_gone in (("1GiB", False), (0, True)):
        with ogive.open(tmp_path / f"kept {kept}", key=int, value=int, kept_changes_bytes=kept) as db:
            position = db.subscribe("search")
            db[1] = 1
            db.flush()
            if is_gone:
                with pytest.raises(ogive.Busy):
                    list(db.changes(position))
            else:
                assert len(list(db.changes(position))) == 1


def test_scrubbing_reads_the_files_over_and_over(tmp_path: Path) -> None:
    with ogive.open(tmp_path / "s", key=int, value=str, scrub_bytes_per_s="256MiB") as db:
        db.update({number: "v" for number in range(1000)})
        db.flush()
        until = time.monotonic() + 60
        while db.stats()["scrub"]["passes"] < 1 and time.monotonic() < until:
            time.sleep(0.05)
        assert db.stats()["scrub"]["passes"] >= 1 and db.stats()["scrub"]["findings"] == []


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "brotli"},
        {"block_bytes": 3},
        {"filter_bits_per_key": 33},
        {"threads": -1},
        {"open_files": "many"},
        {"kept_changes_age": -1},
        {"expiry_grace": timedelta(seconds=-1)},
        {"memtable_bytes": "much"},
        {"threads": 0, "scrub_bytes_per_s": 1},
        {"upgrade": "yes"},
    ],
)
def test_options_that_make_no_sense_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ogive.InvalidArgument):
        ogive.open(tmp_path / "s", **options)
    assert not (tmp_path / "s").exists() or not list((tmp_path / "s").glob("*.manifest"))


def test_a_name_that_is_no_option_is_an_error_of_the_call(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="scrub_bytes_per_s"):
        ogive.open(tmp_path / "s", scrub_rate=1)  # type: ignore[call-arg]
    # None stands for the default, as of other arguments.
    with ogive.open(tmp_path / "s", threads=None) as db:  # type: ignore[arg-type]
        assert ogive.open(tmp_path / "s") is db
