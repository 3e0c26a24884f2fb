#!/usr/bin/env python3
"""Makes the files that the benchmark `lookups` reads, and counts the reads of others for the same rows.

    pip install pyarrow duckdb fsspec datafusion
    python3 lookups.py make DATA 10000000
    python3 lookups.py measure DATA

DataFusion reads from a server in this program, which counts requests, and rounds: requests that are under way at the
same time. Its file with Bloom filters is `NAME-bloom.parquet`.

Reads of pyarrow and DuckDB are counted in a file system of fsspec. Reads of one lookup count as a round each, since
neither says which of them are under way at the same time; so their times are given twice: one read after the other, and
all of them at once, which is the least that is possible.
"""

import http.server
import pathlib
import random
import sys
import threading
import time

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
        options = {"compression": "zstd", "row_group_size": 1_000_000, "write_page_index": True}
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet", **options)
        pyarrow.parquet.write_table(
            table, folder / f"{name}-bloom.parquet", bloom_filter_options={"id": {"ndv": 1_000_000}}, **options
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


class CountingServer:
    """Serves the files of a folder. Each request takes so long that those under way together can be told."""

    WAIT_S = 0.03

    def __init__(self, folder: pathlib.Path) -> None:
        self.rounds: list = []
        self.running = 0
        lock = threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments) -> None:
                pass

            def do_HEAD(self) -> None:
                self.answer(False)

            def do_GET(self) -> None:
                self.answer(True)

            def answer(self, has_body: bool) -> None:
                path = folder / self.path.rsplit("/", 1)[1]
                length = path.stat().st_size
                first, last = 0, length - 1
                ranged = self.headers.get("Range")
                if ranged:
                    start, end = ranged.removeprefix("bytes=").split("-")
                    first = int(start) if start else max(length - int(end), 0)
                    last = min(int(end), length - 1) if start and end else length - 1
                size = last + 1 - first
                with lock:
                    if outer.running == 0:
                        outer.rounds.append([])
                    outer.running += 1
                    outer.rounds[-1].append(size if has_body else 0)
                with path.open("rb") as file:
                    file.seek(first)
                    body = file.read(size) if has_body else b""
                time.sleep(outer.WAIT_S)
                # Those of a round end together before the next request comes.
                with lock:
                    outer.running -= 1
                self.send_response(206 if ranged else 200)
                self.send_header("Content-Length", str(size))
                self.send_header("Last-Modified", self.date_time_string(path.stat().st_mtime))
                self.send_header("ETag", f'"{length}"')
                self.send_header("Accept-Ranges", "bytes")
                if ranged:
                    self.send_header("Content-Range", f"bytes {first}-{last}/{length}")
                self.end_headers()
                self.wfile.write(body)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def show(self, what: str, lookups: int) -> None:
        requests = sum(map(len, self.rounds))
        size = sum(map(sum, self.rounds))
        modelled = sum(LATENCY_MS + max(sizes) / BYTES_PER_MS for sizes in self.rounds)
        print(
            f"{what:32} {requests / lookups:6.2f} requests {len(self.rounds) / lookups:5.2f} rounds "
            f"{size / lookups:12.0f} bytes {modelled / lookups:8.1f} ms"
        )
        self.rounds.clear()


def measure_datafusion(folder: pathlib.Path, name: str, keys: list) -> None:
    import datafusion
    import datafusion.object_store

    server = CountingServer(folder)
    # The second query reads with what the first one has kept, such as the footer.
    queries = {"from nothing": [], "again": []}
    for key in keys:
        config = datafusion.SessionConfig()
        for option in ("pushdown_filters", "reorder_filters", "enable_page_index", "bloom_filter_on_read"):
            config = config.set(f"datafusion.execution.parquet.{option}", "true")
        session = datafusion.SessionContext(config)
        store = datafusion.object_store.AmazonS3(
            "bucket", region="us-east-1", access_key_id="a", secret_access_key="b", endpoint=server.url, allow_http=True
        )
        session.register_object_store("s3://", store, "bucket")
        session.register_parquet("events", f"s3://bucket/{name}.parquet")
        for rounds, wanted in zip(queries.values(), (key, (key + 4_567_891) % max(keys)), strict=True):
            batches = session.sql(f"SELECT * FROM events WHERE id = {wanted}").collect()
            assert sum(batch.num_rows for batch in batches) == 1
            rounds.extend(server.rounds)
            server.rounds.clear()
    for what, rounds in queries.items():
        server.rounds = rounds
        server.show(f"DataFusion, {name}, {what}", len(keys))


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
            try:
                assert len(connection.execute(query).fetchall()) == 1
            except duckdb.Error as error:
                print(f"duckdb, {name}: {error}")
                reads.clear()
                break
        if reads:
            show(f"duckdb, {name}", reads)
        for file in (name, f"{name}-bloom"):
            measure_datafusion(folder, file, keys)


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
