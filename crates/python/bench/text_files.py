"""Joins and builds of CSV files by the command `ogive`, beside DuckDB and beside `sort` and `join`; all in one run.

    python bench/text_files.py --ogive target/release/ogive            2 million and 200,000 rows
    python bench/text_files.py --ogive ogive --rows 20_000 --rounds 1

The files are made first, from a fixed seed: orders of customers, and events, with names, dates, decimals, floats, texts
with commas in quotes, and fields without anything. Rounds take the programs in turn. Times are processor seconds, those
of the user and of the system together, the median of all rounds; the page cache holds the files. The rows of a join
come in the order of the keys, as those of `sort` and `join`. A program that is not installed is left out.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import importlib.util
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SEED = 7
CUSTOMERS_DIVISOR = 10
NAMES = ["Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Frances", "Ken", "Radia", "Niklaus"]
TOWNS = ["Ulm", "Graz, Austria", "Lyon", 'Den "Haag"', "Porto", "Bergen", "Turku", "Gent"]
NOTES = ["", "", "leave at the door", "call first, then ring", "gift", "fragile, keep upright"]
DAYS = [(datetime.date(2020, 1, 1) + datetime.timedelta(day)).isoformat() for day in range(2000)]
# Rows of the one key that a hash join and a merge are compared on, on either side.
HOT_ROWS = 20_000

DUCKDB = """
import duckdb, sys
statement, threads = sys.argv[1], int(sys.argv[2])
duckdb.connect(config={"threads": threads}).execute(statement)
"""


def write(path: Path, header: str, rows: Iterable[list[Any]]) -> None:
    """A CSV file."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header.split())
        writer.writerows(rows)


def make(folder: Path, count: int) -> None:
    """The files: orders and events have `count` rows."""
    chance = random.Random(SEED)
    customers = max(count // CUSTOMERS_DIVISOR, 1)
    ids = list(range(1, customers + 1))
    chance.shuffle(ids)
    write(folder / "customers.csv", "customer name town since credit rating", (
        [number, f"{chance.choice(NAMES)} {number}", chance.choice(TOWNS), chance.choice(DAYS),
         f"{chance.random() * 10_000:.2f}", f"{chance.random():.4f}" if number % 9 else ""]
        for number in ids
    ))
    write(folder / "orders.csv", "customer order day price discount weight note", (
        [chance.randint(1, customers), 10_000_000 + number, chance.choice(DAYS), f"{chance.random() * 500:.2f}",
         repr(chance.random()), round(chance.random() * 30, 3), chance.choice(NOTES)]
        for number in range(count)
    ))
    numbers = list(range(1, count + 1))
    chance.shuffle(numbers)
    write(folder / "events.csv", "event at user kind amount score town note", (
        [number, f"{chance.choice(DAYS)} {number % 24:02}:{number % 60:02}:{number % 59:02}", number % 99_991,
         chance.choice(["view", "buy", "return"]), f"{chance.random() * 500:.2f}", repr(chance.random()),
         chance.choice(TOWNS), chance.choice(NOTES)]
        for number in numbers
    ))
    for name in ("left", "right"):
        write(folder / f"{name}.csv", f"key {name}", (
            [7 if row % 2 else 10 + row, f"{name} {row}"] for row in range(2 * HOT_ROWS)
        ))


def processor_seconds(command: list[str] | str, folder: Path) -> float:
    """Runs a command to its end."""
    # The C locale compares bytes, as `join` expects.
    environment = {**os.environ, "LC_ALL": "C"}
    process = subprocess.Popen(command, cwd=folder, shell=isinstance(command, str), env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command} failed with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def seconds_to_first_row(command: list[str], folder: Path) -> float:
    """The elapsed time until the first row on standard output."""
    started = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.readline()
        seconds = time.perf_counter() - started
        process.kill()
    return seconds


def programs(ogive: str, threads: int) -> dict[str, dict[str, list[str] | str]]:
    """The commands, by what they do and by program."""
    has_duckdb = importlib.util.find_spec("duckdb") is not None
    duckdb = lambda statement: [sys.executable, "-c", DUCKDB, statement, str(threads)]  # noqa: E731
    joined = "select * from 'orders.csv' join 'customers.csv' using (customer) order by customer"
    join = [ogive, "join", "orders.csv", "customers.csv", "--on", "customer", "--force", "-o"]
    sort = "(sed 1d orders.csv | sort -t, -k1,1 > o) && (sed 1d customers.csv | sort -t, -k1,1 > c)"
    found: dict[str, dict[str, list[str] | str]] = {
        "join to CSV": {
            "ogive": [*join, "ogive.csv", "--threads", str(threads)],
            "duckdb": duckdb(f"copy ({joined}) to 'duckdb.csv' (header)"),
            "sort and join": f"{sort} && join -t, o c > joined",
        },
        "join to CSV, any order": {
            "ogive": [*join, "ogive.csv", "--any-order", "--threads", str(threads)],
            "duckdb": duckdb(f"copy ({joined.removesuffix(' order by customer')}) to 'duckdb.csv' (header)"),
        },
        "build of a table": {
            "ogive": [ogive, "build", "events.csv", "--force", "-o", "events.ogive"],
            "duckdb": duckdb("copy (select * from 'events.csv' order by event) to 'events.parquet'"),
        },
    }
    for commands in found.values():
        if not has_duckdb:
            del commands["duckdb"]
        if shutil.which("join") is None:
            commands.pop("sort and join", None)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ogive", default="ogive", help="the command")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    ogive = shutil.which(arguments.ogive)
    if ogive is None:
        raise SystemExit(f"{arguments.ogive} is not there")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, arguments.rows)
        for what, commands in programs(str(Path(ogive).resolve()), arguments.threads).items():
            seconds: dict[str, list[float]] = {program: [] for program in commands}
            for _ in range(arguments.rounds):
                for program, command in commands.items():
                    seconds[program].append(processor_seconds(command, folder))
            shown = ", ".join(f"{program} {statistics.median(times):.2f}" for program, times in seconds.items())
            print(f"{what}: {shown}", flush=True)
        first = []
        for method in ("merge", "hash"):
            command = [str(Path(ogive).resolve()), "join", "left.csv", "right.csv", "--on", "key", "--method", method,
                       "-o", "-"]
            times = [seconds_to_first_row(command, folder) for _ in range(arguments.rounds)]
            first.append(f"{method} {statistics.median(times):.2f}")
        print(f"seconds to the first row of {HOT_ROWS}² pairs: {', '.join(first)}")


if __name__ == "__main__":
    main()
