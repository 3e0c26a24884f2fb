"""Answers of DuckDB to the 22 queries of TPC-H, from the Parquet files that `ogive-sql-bench tpch` writes.

    python answers.py FOLDER OUT

Each answer is a file `q01.csv`: a line of names, a line of DuckDB's types, and a line for each row, with columns between
`|` and nulls as `\\N`. Needs the package duckdb.
"""

import pathlib
import sys
from decimal import Decimal

import duckdb

TABLES = ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"]
QUERIES = pathlib.Path(__file__).parent / "queries"


def text(value: object) -> str:
    if value is None:
        return "\\N"
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def main() -> None:
    folder, out = map(pathlib.Path, sys.argv[1:3])
    out.mkdir(parents=True, exist_ok=True)
    connection = duckdb.connect()
    for table in TABLES:
        connection.execute(f"create view {table} as select * from '{folder / table}.parquet'")
    for path in sorted(QUERIES.glob("q*.sql")):
        answer = connection.execute(path.read_text(encoding="utf-8"))
        names = [column[0] for column in answer.description]
        types = [str(column[1]) for column in answer.description]
        lines = ["|".join(names), "|".join(types)]
        lines += ["|".join(map(text, row)) for row in answer.fetchall()]
        (out / path.with_suffix(".csv").name).write_text("\n".join(lines) + "\n", encoding="utf-8")


main()
