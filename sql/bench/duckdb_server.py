"""DuckDB for `ogive-sql-bench measure`: runs the queries of each line of the standard input, and prints what they took.

    python duckdb_server.py FOLDER THREADS TABLE:KEY...

Tables are the Parquet files of the folder, and tables of the file bench.duckdb there, which is written at the first start:
in the order of the key, with an index where keys are distinct. A table without a key is left in its order. A line is an
object with engine ("native" or "parquet"), memory (bytes or null), queries, and whether answers are wanted.
"""

import json
import pathlib
import sys
import time

import duckdb

ANSWER_END = "\x1d"
ROW_END = "\x1e"


def connect(folder: pathlib.Path, threads: str, tables: list[list[str]], native: bool) -> duckdb.DuckDBPyConnection:
    path = folder / "bench.duckdb"
    is_new = not path.exists()
    connection = duckdb.connect(str(path) if native else ":memory:")
    connection.execute(f"set threads = {threads}")
    # It would be printed among the answers.
    connection.execute("set enable_progress_bar = false")
    connection.execute(f"set temp_directory = '{folder / 'duckdb-scratch'}'")
    for name, key in tables:
        source = f"select * from '{folder / name}.parquet'"
        if not native:
            connection.execute(f"create view {name} as {source}")
        elif is_new:
            connection.execute(f"create table {name} as {source}" + (f" order by {key}" if key else ""))
            if key == "id":
                connection.execute(f"create unique index {name}_{key} on {name} ({key})")
    if native and is_new:
        connection.execute("checkpoint")
    if not native:
        connection.execute("set parquet_metadata_cache = true")
    return connection


def peak_rss_bytes() -> int:
    for line in pathlib.Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    return 0


def answer(connection: duckdb.DuckDBPyConnection, request: dict) -> str:
    memory = request["memory"]
    connection.execute("reset memory_limit" if memory is None else f"set memory_limit = '{memory >> 20}MiB'")
    try:
        pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        pass
    seconds = 0.0
    answers = []
    for query in request["queries"]:
        started = time.perf_counter()
        rows = connection.execute(query).fetchall()
        seconds += time.perf_counter() - started
        if request["answers"]:
            answers.append("".join("|".join(map(str, row)) + ROW_END for row in rows))
    return f"ok\t{seconds}\t{peak_rss_bytes()}\t{ANSWER_END.join(answers)}"


def main() -> None:
    folder, threads = pathlib.Path(sys.argv[1]), sys.argv[2]
    tables = [table.split(":") for table in sys.argv[3:]]
    connections = {
        "native": connect(folder, threads, tables, native=True),
        "parquet": connect(folder, threads, tables, native=False),
    }
    print(duckdb.__version__, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            print(answer(connections[request["engine"]], request), flush=True)
        except duckdb.Error as error:
            print("error\t" + " ".join(str(error).split()), flush=True)


main()
