#!/usr/bin/env python3
"""Makes the file that the benchmark `scans` reads, and measures DuckDB and polars on it.

    pip install pyarrow duckdb polars
    python3 scans.py make DATA 5000000
    python3 scans.py measure DATA
"""

import pathlib
import sys
import time


def make(folder: pathlib.Path, rows: int) -> None:
    import numpy
    import pyarrow
    import pyarrow.parquet

    folder.mkdir(exist_ok=True)
    random = numpy.random.default_rng(1)
    ids = random.permutation(rows).astype(numpy.uint64)
    times = 1_700_000_000_000_000 + numpy.cumsum(random.integers(0, 1000, rows))
    cities = numpy.array(["Oslo", "Rome", "Lima", "Kyiv", "Bern", "Doha"])
    table = pyarrow.table(
        {
            "id": ids,
            "level": random.random(rows),
            "at": pyarrow.array(times, pyarrow.timestamp("us")),
            "name": pyarrow.array(numpy.char.add("user-", (ids * 7919 % rows).astype(str))),
            "city": pyarrow.array(cities[random.integers(0, 6, rows)], pyarrow.string(), mask=random.random(rows) < 0.1),
            "amount": random.integers(0, 1_000_000, rows),
        }
    )
    pyarrow.parquet.write_table(table, folder / "shuffled.parquet", compression="zstd")


def measure(folder: pathlib.Path) -> None:
    import duckdb
    import polars

    path = folder / "shuffled.parquet"
    keys = [at * 7919 % 5_000_000 for at in range(1000)]
    listed = ",".join(map(str, keys))
    duck = duckdb.connect()
    file = polars.scan_parquet(path)
    key = polars.col("id")
    inside = (key >= 1_000_000) & (key < 1_200_000)
    work = {
        "a range": (
            lambda: duck.execute(f"from '{path}' where id >= 1000000 and id < 1200000 order by id").to_arrow_table(),
            lambda: file.filter(inside).sort("id").collect(),
        ),
        "ten rows": (
            lambda: duck.execute(f"from '{path}' where id >= 1000000 order by id limit 10").to_arrow_table(),
            lambda: file.filter(inside).sort("id").head(10).collect(),
        ),
        "all rows": (
            lambda: duck.execute(f"from '{path}' order by id").to_arrow_table(),
            lambda: file.sort("id").collect(),
        ),
        "keys, looked up together": (
            lambda: duck.execute(f"from '{path}' where id in ({listed})").to_arrow_table(),
            lambda: file.filter(key.is_in(keys)).collect(),
        ),
    }
    for what, (of_duckdb, of_polars) in work.items():
        for name, run in (("DuckDB " + duckdb.__version__, of_duckdb), ("polars " + polars.__version__, of_polars)):
            best = min(timed(run) for _ in range(3))
            print(f"{what:28} {name:14} {best:8.3f} s")


def timed(run) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[2])
    make(folder, int(sys.argv[3])) if sys.argv[1] == "make" else measure(folder)
