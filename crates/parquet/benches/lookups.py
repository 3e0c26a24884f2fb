#!/usr/bin/env python3
"""Makes the files that the benchmark `lookups` reads, and counts the reads of pyarrow and DuckDB for the same rows.

    pip install pyarrow duckdb fsspec
    python3 lookups.py make DATA 10000000
    python3 lookups.py measure DATA

Reads are counted in a file system of fsspec. Reads of one lookup count as a round each, since neither says which of them
are under way at the same time; so the times of the others are given twice: one read after the other, and all of them at
once, which is the least that is possible.
"""

import pathlib
import random
import sys

LOOKUPS = 20
# The profile `s3` of Ogive: 40 ms, and 90 MB/s a request.
LATENCY_MS = 40.0
BYTES_PER_MS = 90_000.0


def make(folder: pathlib.Path, rows: int) -> None:
    import numpy
    import pyarrow
    import pyarrow.parquet

    folder.mkdir(exist_ok=True)
    order = {"sorted": numpy.arange(rows), "shuffled": numpy.random.default_rng(1).permutation(rows)}
    for name, ids in order.items():
        table = pyarrow.table(
            {
                "id": pyarrow.array(ids, pyarrow.uint64()),
                "amount": pyarrow.array((ids * 7919) % 1_000_003, pyarrow.int64()),
                "level": pyarrow.array(numpy.array(["low", "middle", "high"])[ids % 3]),
                "score": pyarrow.array(numpy.sqrt(ids.astype("float64"))),
            }
        )
        pyarrow.parquet.write_table(
            table, folder / f"{name}.parquet", compression="zstd", row_group_size=1_000_000, write_page_index=True
        )


def counting_filesystem(reads: list):
    import fsspec
    from fsspec.implementations.local import LocalFileSystem

    class Counting(LocalFileSystem):
        protocol = "counting"
        cachable = False

        def _open(self, path, mode="rb", block_size=None, **options):
            file = super()._open(path, mode, block_size, **options)
            inner = file.f

            class Proxy:
                def __getattr__(self, name):
                    return getattr(inner, name)

                def read(self, size=-1):
                    bytes_read = inner.read(size)
                    reads.append(len(bytes_read))
                    return bytes_read

            file.f = Proxy()
            return file

    fsspec.register_implementation("counting", Counting, clobber=True)
    return Counting()


def show(what: str, reads: list) -> None:
    reads = [size for size in reads if size > 0]
    one_by_one = sum(LATENCY_MS + size / BYTES_PER_MS for size in reads) / LOOKUPS
    at_once = LATENCY_MS + max(reads) / BYTES_PER_MS
    print(
        f"{what:32} {len(reads) / LOOKUPS:6.2f} reads {sum(reads) / LOOKUPS:12.0f} bytes "
        f"{one_by_one:8.1f} ms one by one, over {at_once:.1f} ms"
    )


def measure(folder: pathlib.Path) -> None:
    import duckdb
    import pyarrow.dataset
    import pyarrow.fs

    for name in ("sorted", "shuffled"):
        path = str((folder / f"{name}.parquet").absolute())
        rows = pyarrow.parquet.ParquetFile(path).metadata.num_rows
        keys = random.Random(1).sample(range(rows), LOOKUPS)
        reads: list = []
        files = counting_filesystem(reads)
        arrow_files = pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(files))
        for key in keys:
            dataset = pyarrow.dataset.dataset(path, filesystem=arrow_files, format="parquet")
            assert dataset.to_table(filter=pyarrow.dataset.field("id") == key).num_rows == 1
        show(f"pyarrow, {name}", reads)
        reads.clear()
        for key in keys:
            connection = duckdb.connect(config={"threads": 1})
            connection.register_filesystem(files)
            query = f"SELECT * FROM read_parquet('counting://{path}') WHERE id = {key}"
            assert len(connection.execute(query).fetchall()) == 1
        show(f"duckdb, {name}", reads)


def main() -> int:
    match sys.argv[1:]:
        case ["make", folder, rows]:
            make(pathlib.Path(folder), int(rows))
        case ["measure", folder]:
            measure(pathlib.Path(folder))
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    import pyarrow.parquet

    sys.exit(main())
