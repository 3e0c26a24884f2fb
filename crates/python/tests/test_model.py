"""Stores beside a sorted dictionary, by random operations, reopenings and flushes."""

from __future__ import annotations

import tempfile
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule
from sortedcontainers import SortedDict

import ogive

KEYS: dict[Any, Any] = {
    str: st.text(max_size=4),
    bytes: st.binary(max_size=3),
    int: st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False).map(lambda number: number + 0.0 if number else 0.0),
    (str, int): st.tuples(st.sampled_from(["", "a", "a\0", "b"]), st.integers(-3, 3)),
}


class StoreMachine(RuleBasedStateMachine):
    """The operations."""

    snapshots = Bundle("snapshots")

    @initialize(kind=st.sampled_from(list(KEYS)), data=st.data())
    def begin(self, kind: Any, data: st.DataObject) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.kind = kind
        self.model: SortedDict = SortedDict()
        self.open()

    def open(self) -> None:
        self.db = ogive.open(self.folder.name + "/db", key=self.kind, value=bytes, memory="8MiB")

    def key(self, data: st.DataObject) -> Any:
        known = st.sampled_from(list(self.model)) if self.model else st.nothing()
        return data.draw(KEYS[self.kind] | known)

    @rule(data=st.data(), value=st.binary(max_size=2000))
    def insert(self, data: st.DataObject, value: bytes) -> None:
        key = self.key(data)
        self.db[key] = value
        self.model[key] = value

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        key = self.key(data)
        try:
            del self.db[key]
            found = True
        except KeyError:
            found = False
        assert found == (key in self.model)
        self.model.pop(key, None)

    @rule(data=st.data())
    def remove_range(self, data: st.DataObject) -> None:
        low, high = self.key(data), self.key(data)
        self.db.remove_range(low, high)
        for key in list(self.model.irange(low, high, inclusive=(True, False))):
            del self.model[key]

    @rule(data=st.data())
    def batch(self, data: st.DataObject) -> None:
        writes = [(self.key(data), data.draw(st.none() | st.binary(max_size=10))) for _ in range(data.draw(st.integers(0, 5)))]
        fails = data.draw(st.booleans())
        try:
            with self.db.batch() as batch:
                for key, value in writes:
                    if value is None:
                        del batch[key]
                    else:
                        batch[key] = value
                if fails:
                    raise InterruptedError
        except InterruptedError:
            return
        for key, value in writes:
            if value is None:
                self.model.pop(key, None)
            else:
                self.model[key] = value

    @rule(data=st.data())
    def look_up(self, data: st.DataObject) -> None:
        key = self.key(data)
        assert self.db.get(key) == self.model.get(key)
        assert (key in self.db) == (key in self.model)

    @rule(data=st.data())
    def look_up_many(self, data: st.DataObject) -> None:
        keys = [self.key(data) for _ in range(data.draw(st.integers(0, 20)))]
        assert self.db.multi_get(keys).column("value") == [self.model.get(key) for key in keys]

    @rule(data=st.data(), reverse=st.booleans())
    def look_at_a_range(self, data: st.DataObject, reverse: bool) -> None:
        low, high = self.key(data), self.key(data)
        expected = list(self.model.irange(low, high, inclusive=(True, False), reverse=reverse))
        assert [key for key, _ in self.db.range(low, high, reverse=reverse)] == expected
        assert self.db.count(low, high) == len(expected)

    @rule(target=snapshots)
    def snapshot(self) -> tuple[ogive.Snapshot, list[Any]]:
        return self.db.snapshot(), list(self.model.items())

    @rule(taken=snapshots)
    def look_at_a_snapshot(self, taken: tuple[ogive.Snapshot, list[Any]]) -> None:
        snapshot, expected = taken
        try:
            assert list(snapshot.range()) == expected
        except ogive.Closed:
            assert snapshot._db is not self.db

    @rule()
    def flush(self) -> None:
        self.db.flush()

    @rule()
    def compact(self) -> None:
        self.db.compact()

    @rule()
    def reopen(self) -> None:
        self.db.close()
        self.open()

    @invariant()
    def has_the_same_records(self) -> None:
        if hasattr(self, "db"):
            assert list(self.db.items()) == list(self.model.items())

    def teardown(self) -> None:
        if hasattr(self, "db"):
            self.db.close()
            self.folder.cleanup()


StoreMachine.TestCase.settings = settings(
    max_examples=40, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestStore = StoreMachine.TestCase
