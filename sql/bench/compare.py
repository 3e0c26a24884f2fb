"""Compares the answers that `ogive-sql-bench random` wrote with those of DuckDB to the same queries of the same rows.

    python compare.py FOLDER [SHOWN]

Prints the first differences (20, unless stated) and exits with 1 if there are any. Numbers are compared as in
src/answer.rs: exactly, unless one side is a float. Needs the package duckdb.
"""

import datetime
import json
import math
import pathlib
import sys
from decimal import Decimal

import duckdb

FLOAT_SHARE = 1e-9


def text(value: object) -> str | None:
    """A value as Arrow writes it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return format(value, "f")
    return value.isoformat() if isinstance(value, datetime.datetime) else str(value)


def is_same(ours: str | None, theirs: str | None, ours_type: str, is_float: bool) -> bool:
    if ours is None or theirs is None or ours_type == "text":
        return ours == theirs
    if ours_type.startswith("exact") and not is_float:
        return Decimal(ours) == Decimal(theirs)
    unit = 10.0 ** -int(ours_type.split()[1]) if ours_type.startswith("exact") else 0.0
    return math.isclose(float(ours), float(theirs), rel_tol=FLOAT_SHARE, abs_tol=unit)


def difference(line: dict, connection: duckdb.DuckDBPyConnection) -> str | None:
    try:
        answer = connection.execute(line["sql"])
        floats = [str(column[1]) in ("DOUBLE", "FLOAT") for column in answer.description]
        theirs = [[text(value) for value in row] for row in answer.fetchall()]
    except duckdb.Error as error:
        return f"DuckDB does not run it: {error}"
    ours = line["rows"]
    for at, (our_row, their_row) in enumerate(zip(ours, theirs)):
        if len(our_row) != len(their_row) or not all(map(is_same, our_row, their_row, line["types"], floats)):
            return f"row {at} is {our_row} instead of {their_row}"
    return None if len(ours) == len(theirs) else f"{len(ours)} rows instead of {len(theirs)}"


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    shown = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    queries = rows = different = 0
    for path in sorted(folder.glob("seed-*/queries.jsonl")):
        connection = duckdb.connect()
        for table in path.parent.glob("*.parquet"):
            connection.execute(f"create table {table.stem} as select * from '{table}'")
        for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            queries += 1
            rows += len(line["rows"])
            found = difference(line, connection)
            if found is not None:
                different += 1
                if different <= shown:
                    print(f"{path.parent.name}: {line['sql']}\n  {found}")
    print(f"{queries} queries with {rows} rows: {different} differ from DuckDB {duckdb.__version__}")
    return 1 if different or not queries else 0


sys.exit(main())
