"""Calls of all kinds, on a bucket that this process serves: one that kept the interpreter's lock would wait forever."""

from __future__ import annotations

import faulthandler
import gc
import io
import os

import pyarrow
import pyarrow.parquet
from s3_server import Server

faulthandler.dump_traceback_later(40, exit=True)
server = Server()
os.environ.update(server.environment)

import ogive

for records in ({1: "a", 2: "b"}, ((key, str(key)) for key in range(20_000)), [(1, "a"), (1, "b")]):
    ogive.build(records, to="s3://bucket/pairs.ogive", replace=True, memory="1MiB")
ogive.build(pyarrow.table({"k": [1, 2], "v": ["a", "b"]}), key="k", to="s3://bucket/frame.ogive")
with ogive.Table("s3://bucket/frame.ogive") as table:
    assert list(table) == [1, 2] and table.get(1) and len(table.scan().to_pylist()) == 2
    assert table.explain(1) and table.multi_get([1])
    assert ogive.join(table, "s3://bucket/pairs.ogive").column_names
    ogive.join(table, "s3://bucket/frame.ogive").write("s3://bucket/joined.ogive")

written = io.BytesIO()
pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2], "n": [3, 4]}), written)
server.objects["/bucket/data/a.parquet"] = written.getvalue()
index = ogive.index_parquet("s3://bucket/data/", key="id", to="s3://bucket/data.idx")
assert index.get(1).to_pylist() == [{"id": 1, "n": 3}] and len(index.multi_get([1, 2])) == 2 and 1 in index
assert index.count() == 2 and index.rank(2) == 1 and index.scan().to_pylist() and index.explain(1) and index.verify()
ogive.tune("s3://bucket/frame.ogive", progress=False)

db = ogive.open("s3://bucket/store", key=int, value=str)
reader = ogive.open("s3://bucket/store", read_only=True)
db[1] = "one"
assert reader.refresh() and reader[1] == "one"
names = db.keyspace("names")
names["a"] = 1
db.keyspace("declared", key=str, value={"n": int})["x"] = {"n": 1}
assert names.pop("a") == 1 and names.insert_if_absent("a", 2) and names.setdefault("a") == 2
del names["a"]
db.update({key: str(key) for key in range(100)})
with db.batch() as batch:
    batch[2] = "two"
reader.refresh()
assert reader.keyspace("names").get("a") is None and reader.keyspace("declared")["x"]
snapshot = reader.snapshot()
assert snapshot[2] == "two" and snapshot.of(reader.keyspace("declared"))["x"]
snapshot.close()
db.flush()
db.compact()
db.persist()
assert len(list(db.range(5, 9))) == 4 and db.count() == 100 and len(db.scan().to_pylist()) == 100 and db.stats()
assert db.multi_get([1, 2]) and db.first() and db.last() and db.popitem() and db.keyspaces
db.checkpoint("s3://bucket/copy")
assert db.drop_keyspace("names")
db.clear()
reader.close()
db.close()

for read_only in (False, True):
    db = ogive.open("s3://bucket/store", read_only=read_only)
    if not read_only:
        db[1] = "one"
    names = db.keyspace("declared")
    rows = iter(db.range())
    assert next(rows)
    # Collected, and so closed, with the lock.
    del db, names, rows
    gc.collect()
print("done")
