"""Ogive beside other stores of key-value pairs for Python: load, get, get many, scan; all in one run.

    python bench/peers.py                        5 million records of 16-byte keys and 64-byte values
    python bench/peers.py --records 500_000 --systems ogive,lmdb --json

A round loads each system anew, one after the other, in random order of the keys; every system gets the same keys. Times
are microseconds an operation, the least of all rounds. A system that is not installed is left out, and named.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

BATCH = 1_000


def batches(records: Iterable[tuple[bytes, bytes]]) -> Iterator[list[tuple[bytes, bytes]]]:
    """Records, a thousand at a time."""
    batch = []
    for record in records:
        batch.append(record)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


class System:
    """A store. Subclasses say how."""

    module = ""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def load(self, records: Iterable[tuple[bytes, bytes]]) -> None:
        """Writes everything, in batches of a thousand, without a sync for each, and syncs at the end."""
        raise NotImplementedError

    def get(self, key: bytes) -> bytes | None:
        """One value."""
        raise NotImplementedError

    def multi_get(self, keys: list[bytes]) -> Any:
        """Many values; one by one where the system has no such call."""
        return [self.get(key) for key in keys]

    def scan(self) -> int:
        """Reads all records in order; their number."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes the store."""


class Ogive(System):
    module = "ogive"

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        import ogive

        self.db = ogive.open(folder + "/db", key=bytes, value=bytes, durability="buffered")
        self.get = self.db.get  # type: ignore[method-assign]

    def load(self, records: Iterable[tuple[bytes, bytes]]) -> None:
        for batch in batches(records):
            self.db.update(batch)
        self.db.persist()

    def multi_get(self, keys: list[bytes]) -> Any:
        return self.db.multi_get(keys)

    def scan(self) -> int:
        return sum(1 for _ in self.db.items())

    def close(self) -> None:
        self.db.close()


class RocksDict(System):
    module = "rocksdict"

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        from rocksdict import Options, Rdict

        self.db = Rdict(folder + "/db", Options(raw_mode=True))
        self.get = self.db.get  # type: ignore[method-assign]

    def load(self, records: Iterable[tuple[bytes, bytes]]) -> None:
        from rocksdict import WriteBatch

        for batch in batches(records):
            writes = WriteBatch(raw_mode=True)
            for key, value in batch:
                writes.put(key, value)
            self.db.write(writes)
        self.db.flush_wal(True)

    def multi_get(self, keys: list[bytes]) -> Any:
        return self.db.get(keys)

    def scan(self) -> int:
        return sum(1 for _ in self.db.items())

    def close(self) -> None:
        self.db.close()


class Plyvel(System):
    module = "plyvel"

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        import plyvel

        self.db = plyvel.DB(folder + "/db", create_if_missing=True, bloom_filter_bits=10)
        self.get = self.db.get  # type: ignore[method-assign]

    def load(self, records: Iterable[tuple[bytes, bytes]]) -> None:
        for batch in batches(records):
            with self.db.write_batch() as writes:
                for key, value in batch:
                    writes.put(key, value)
        self.db.put(b"", b"", sync=True)
        self.db.delete(b"", sync=True)

    def scan(self) -> int:
        return sum(1 for _ in self.db)

    def close(self) -> None:
        self.db.close()


class Lmdb(System):
    module = "lmdb"

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        import lmdb

        self.db = lmdb.open(folder + "/db", map_size=1 << 36, sync=False)
        self.reader: Any = None

    def load(self, records: Iterable[tuple[bytes, bytes]]) -> None:
        for batch in batches(records):
            with self.db.begin(write=True) as transaction:
                transaction.cursor().putmulti(batch)
        self.db.sync(True)
        self.reader = self.db.begin(buffers=False)
        self.get = self.reader.get  # type: ignore[method-assign]

    def multi_get(self, keys: list[bytes]) -> Any:
        return self.reader.cursor().getmulti(keys)

    def scan(self) -> int:
        return sum(1 for _ in self.reader.cursor())

    def close(self) -> None:
        self.reader.abort()
        self.db.close()


class Sqlite(System):
    module = "sqlite3"

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        import sqlite3

        self.db = sqlite3.connect(folder + "/db", isolation_level=None)
        self.db.execute("pragma journal_mode = wal")
        self.db.execute("pragma synchronous = normal")
        self.db.execute("create table records (key blob primary key, value blob) without rowid")

    def load(self, records: Iterable[tuple[bytes, bytes]]) -> None:
        for batch in batches(records):
            self.db.execute("begin")
            self.db.executemany("insert or replace into records values (?, ?)", batch)
            self.db.execute("commit")
        self.db.execute("pragma wal_checkpoint(truncate)")

    def get(self, key: bytes) -> bytes | None:
        row = self.db.execute("select value from records where key = ?", (key,)).fetchone()
        return None if row is None else row[0]

    def scan(self) -> int:
        return sum(1 for _ in self.db.execute("select key, value from records order by key"))

    def close(self) -> None:
        self.db.close()


class DiskCache(System):
    module = "diskcache"

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        import diskcache

        self.db = diskcache.Cache(folder + "/db", eviction_policy="none", size_limit=1 << 40)
        self.get = self.db.get  # type: ignore[method-assign]

    def load(self, records: Iterable[tuple[bytes, bytes]]) -> None:
        for batch in batches(records):
            with self.db.transact():
                for key, value in batch:
                    self.db.set(key, value)

    def scan(self) -> int:
        return sum(1 for key in self.db.iterkeys() if self.db.get(key) is not None)

    def close(self) -> None:
        self.db.close()


class Shelve(System):
    module = "shelve"

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        import shelve

        self.db = shelve.open(folder + "/db")

    def load(self, records: Iterable[tuple[bytes, bytes]]) -> None:
        for key, value in records:
            self.db[key.decode("latin-1")] = value
        self.db.sync()

    def get(self, key: bytes) -> bytes | None:
        return self.db.get(key.decode("latin-1"))

    def scan(self) -> int:
        return sum(1 for _ in self.db.items())

    def close(self) -> None:
        self.db.close()


SYSTEMS: dict[str, type[System]] = {
    "ogive": Ogive,
    "rocksdict": RocksDict,
    "plyvel": Plyvel,
    "lmdb": Lmdb,
    "sqlite3": Sqlite,
    "diskcache": DiskCache,
    "shelve": Shelve,
}


def timed(work: Callable[[], Any], operations: int) -> float:
    """Microseconds an operation."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) / operations * 1e6


def measure(system: type[System], records: list[tuple[bytes, bytes]], gets: int, folder: str) -> dict[str, float]:
    """The times of one system in one round."""
    store = system(folder)
    # So many that a slow system ends in this life.
    some = records if system.module not in ("diskcache", "shelve") else records[: max(1, len(records) // 20)]
    times = {"load": timed(lambda: store.load(some), len(some))}
    asked = [key for key, _ in random.Random(2).choices(some, k=gets)]
    get = store.get

    def one_by_one() -> None:
        for key in asked:
            if get(key) is None:
                raise AssertionError("a key is missing")

    one_by_one()
    times["get"] = timed(one_by_one, gets)
    parts = [asked[first : first + BATCH] for first in range(0, gets, BATCH)]
    times["multi_get"] = timed(lambda: [store.multi_get(part) for part in parts], gets)
    found = 0

    def scan() -> None:
        nonlocal found
        found = store.scan()

    times["scan"] = timed(scan, len(some))
    if found != len(some):
        raise AssertionError(f"{system.module} has {found} of {len(some)} records")
    store.close()
    size = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)
    times["bytes_a_record"] = size / len(some)
    return times


def main() -> None:
    """Runs the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=5_000_000)
    parser.add_argument("--gets", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--folder", help="where the stores are made [default: the folder for temporary files]")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    chosen = [SYSTEMS[name] for name in arguments.systems.split(",")]
    there = []
    for system in chosen:
        try:
            importlib.import_module(system.module)
            there.append(system)
        except ImportError:
            print(f"{system.module} is not installed and left out", file=sys.stderr)
    drawn = random.Random(1)
    records = [(drawn.randbytes(16), drawn.randbytes(64)) for _ in range(arguments.records)]
    best: dict[str, dict[str, float]] = {}
    for _ in range(arguments.rounds):
        for system in there:
            folder = tempfile.mkdtemp(dir=arguments.folder)
            try:
                times = measure(system, records, arguments.gets, folder)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            known = best.setdefault(system.module, times)
            best[system.module] = {name: min(value, known[name]) for name, value in times.items()}
            print(f"{system.module}: {times}", file=sys.stderr)
    if arguments.json:
        print(json.dumps({"records": arguments.records, "gets": arguments.gets, "us": best}))
        return
    columns = ["load", "get", "multi_get", "scan", "bytes_a_record"]
    print("| system | " + " | ".join(columns) + " |")
    print("|---|" + "---:|" * len(columns))
    for name, times in best.items():
        print(f"| {name} | " + " | ".join(f"{times[column]:.2f}" for column in columns) + " |")


if __name__ == "__main__":
    main()
