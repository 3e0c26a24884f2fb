"""Indexes that a store keeps: made, used, kept by all writes, and refused where they cannot be kept."""

from __future__ import annotations

import datetime
from pathlib import Path

import ogive
import pytest

FIELDS = {"name": str, "email": [str], "score": "i32"}


def test_every_write_keeps_an_index(tmp_path: Path) -> None:
    db = ogive.open(tmp_path / "s")
    users = db.keyspace("users", key=int, value=FIELDS)
    users[1] = ("Ann", "Ann@x", 5)
    db.create_index("by_email", users, "lower(email)", unique=True, where_not_null="email")
    db.create_index("by_score", users, "score desc")
    users.update({2: ("Bob", "bob@x", 7), 3: ("Cid", None, 5)})
    with pytest.raises(ogive.InvalidArgument, match='row "1"'):
        users[4] = ("Dan", "ANN@X", 0)
    with pytest.raises(ogive.InvalidArgument, match="not unique"), db.batch() as batch:
        batch.put(5, ("Eve", "eve@x", 1), users)
        batch.put(6, ("Fay", "Eve@x", 1), users)
    assert len(users) == 3
    assert list(users.find("by_email", "ann@x")) == [(1, {"name": "Ann", "email": "Ann@x", "score": 5})]
    assert [key for key, _ in users.find("by_score")] == [2, 1, 3]
    assert [key for key, _ in users.find("by_score", 5, reverse=True)] == [3, 1]
    assert [key for key, _ in users.find("by_score", start=7, stop=5)] == [2]
    assert [key for key, _ in users.find("by_email", "b", prefix=True)] == [2]
    del users[1]
    users.remove_range(3, 9)
    assert [key for key, _ in users.find("by_score")] == [2]
    assert db.indexes == {
        "by_email": ("users", "lower(email) unique where email is not null"),
        "by_score": ("users", "score desc"),
    }
    db.close()
    with ogive.open(tmp_path / "s", read_only=True) as reader:
        assert [key for key, _ in reader.keyspace("users").find("by_email", "bob@x")] == [2]


def test_dates_of_timestamps_are_found(tmp_path: Path) -> None:
    with ogive.open(tmp_path / "s") as db:
        events = db.keyspace("events", key=int, value={"at": "timestamp(ms)", "what": str})
        events[1] = (datetime.datetime(2024, 2, 29, 23, 59, 59), "late")
        events[2] = (datetime.datetime(2024, 3, 1), "next")
        db.create_index("by_day", events, "date(at), what")
        assert [key for key, _ in events.find("by_day", datetime.date(2024, 2, 29))] == [1]
        assert [key for key, _ in events.find("by_day", datetime.date(2024, 3, 1), "ne", prefix=True)] == [2]


def test_what_cannot_be_kept_or_found_is_refused(tmp_path: Path) -> None:
    with ogive.open(tmp_path / "s") as db:
        users = db.keyspace("users", key=int, value=FIELDS)
        words = db.keyspace("words", key=str, value=str)
        words["a"] = "b"
        users.update({1: ("Ann", "a@x", 1), 2: ("Ann", "b@x", 1)})
        for keyspace, by in ((words, "a"), (users, "mail"), (users, "lower(score)"), (users, "upper(name)")):
            with pytest.raises(ogive.InvalidArgument):
                db.create_index("i", keyspace, by)
        with pytest.raises(ogive.InvalidArgument, match="not unique"):
            db.create_index("i", users, "name", unique=True)
        assert db.indexes == {} and not db.drop_index("i")
        db.create_index("i", users, "name")
        for found in (
            lambda: users.find("j", "Ann"),
            lambda: words.find("i", "Ann"),
            lambda: users.find("i", "Ann", "more"),
            lambda: users.find("i", "Ann", start="A"),
            lambda: users.find("i", 7),
        ):
            with pytest.raises((ogive.InvalidArgument, TypeError)):
                list(found())
        assert db.drop_index("i")
