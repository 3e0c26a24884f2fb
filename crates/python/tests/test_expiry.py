"""Records that expire: by themselves, by a rule of their keyspace, and at the time in a field."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import ogive
import pytest


def test_records_expire_at_their_time(tmp_path: Path) -> None:
    with ogive.open(tmp_path / "s", key=int, value=str) as db:
        db.insert_with(1, "ada", ttl=3600)
        db.insert_with(2, "bob", ttl=timedelta(milliseconds=300))
        db.insert_with(3, "cid", expires=datetime(2020, 1, 31, tzinfo=timezone.utc))
        db.insert_with(4, "dan", expires=time.time() + 3600)
        assert list(db) == [1, 2, 4]
        time.sleep(0.4)
        assert dict(db) == {1: "ada", 4: "dan"}
        assert 2 not in db and db.get(2) is None
        assert db.setdefault(2, "eve") == "eve"


def test_followers_get_the_times_of_records(tmp_path: Path) -> None:
    with ogive.open(tmp_path / "s", key=int, value=str) as db:
        since = db.subscribe("search")
        due = datetime(2031, 1, 31, tzinfo=timezone.utc)
        db.insert_with(1, "ada", expires=due)
        db[2] = "bob"
        db.insert_with(3, "cid", ttl=1e15)
        changes = [change for batch in db.changes(since) for change in batch.changes]
        assert [change.expires for change in changes[:2]] == [due, None]
        assert changes[2].expires is not None and changes[2].expires.year == 9999


def test_a_time_is_given_once_and_with_its_zone(tmp_path: Path) -> None:
    with ogive.open(tmp_path / "s", key=int, value=str) as db:
        with pytest.raises(ogive.InvalidArgument, match="ttl= or expires="):
            db.insert_with(1, "ada")
        with pytest.raises(ogive.InvalidArgument, match="ttl= or expires="):
            db.insert_with(1, "ada", ttl=1, expires=1)
        with pytest.raises(ogive.InvalidArgument, match="time zone"):
            db.insert_with(1, "ada", expires=datetime(2030, 1, 31))


def test_a_keyspace_has_a_rule(tmp_path: Path) -> None:
    with ogive.open(tmp_path / "s") as db:
        sessions = db.keyspace("sessions", key=int, value=str)
        sessions[1] = "before"
        sessions.expire_after(timedelta(milliseconds=300))
        sessions[2] = "after"
        sessions.expire_after(None)
        sessions[3] = "later"
        time.sleep(0.4)
        assert list(sessions) == [1, 3]
        orders = db.keyspace("orders", key=int, value={"name": str, "due": "timestamp(s)"})
        orders.expire_at_field("due")
        orders[1] = ("fig", datetime(2020, 1, 31))
        orders[2] = ("lime", datetime(2120, 1, 31))
        assert list(orders) == [2]
        with pytest.raises(ogive.InvalidArgument, match="no timestamp"):
            orders.expire_at_field("name")
