"""`multi_get` of a million keys, and `db[key]`, beside the same calls in Rust, on the same files.

    python bench/beside_rust.py                  5 million records of 8-byte keys and 64-byte values
    python bench/beside_rust.py --records 500_000 --keys 100_000

Times are nanoseconds a key, the least of five rounds. Rust is the example `multi_get` of the engine, which cargo builds.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import ogive

ROUNDS = 5
VALUE_BYTES = 64


def measure(work: Callable[[], Any], keys: int) -> float:
    """Nanoseconds a key, of the fastest round."""
    fastest = float("inf")
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        fastest = min(fastest, time.perf_counter() - started)
    return fastest / keys * 1e9


def make(folder: str, records: int, asked: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """The table, the store, and the keys that are asked for: nine of ten are there."""
    drawn = np.random.default_rng(1)
    keys = np.unique(drawn.integers(0, 2**63, records, dtype=np.uint64))
    values = pa.array([drawn.bytes(VALUE_BYTES) for _ in range(len(keys))], pa.binary())
    table = ogive.build(pa.table({"key": keys, "value": values}), key="key", to=folder + "/table.ogive")
    with ogive.open(folder + "/store", key="u64", value=bytes) as db:
        db.update((key, row["value"]) for key, row in table.items())
    absent = drawn.integers(0, 2**63, asked // 10, dtype=np.uint64)
    wanted = np.concatenate([drawn.choice(keys, asked - len(absent)), absent])
    drawn.shuffle(wanted)
    wanted.astype("<u8").tofile(folder + "/keys")
    return wanted


def in_python(folder: str, keys: np.ndarray[Any, np.dtype[np.uint64]]) -> dict[str, float]:
    """The times in Python."""
    times = {}
    table = ogive.Table(folder + "/table.ogive")
    times["table.multi_get"] = measure(lambda: table.multi_get(keys), len(keys))
    listed = keys.tolist()
    times["table.get"] = measure(lambda: [table.get(key) for key in listed] and None, len(keys))
    with ogive.open(folder + "/store", read_only=True) as db:
        times["db.multi_get"] = measure(lambda: db.multi_get(keys), len(keys))
        times["db.get"] = measure(lambda: [db.get(key) for key in listed] and None, len(keys))
    return times


def in_rust(folder: str) -> dict[str, float]:
    """The times in Rust."""
    command = ["cargo", "run", "--quiet", "--release", "-p", "ogive", "--example", "multi_get", "--", folder]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=os.path.dirname(__file__)).stdout
    return {name: float(time) for name, time in re.findall(r"^(\S+): (\S+) ns", printed, re.MULTILINE)}


def main() -> None:
    """Runs the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=5_000_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        keys = make(folder, arguments.records, arguments.keys)
        rust, python = in_rust(folder), in_python(folder, keys)
    print("| call | Rust, ns a key | Python | ratio |")
    print("|---|---:|---:|---:|")
    for name, time_in_python in python.items():
        print(f"| `{name}` | {rust[name]:.0f} | {time_in_python:.0f} | {time_in_python / rust[name]:.2f} |")


if __name__ == "__main__":
    main()
