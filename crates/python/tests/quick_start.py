import ogive
db = ogive.open("fruit.db")                      # or "s3://bucket/fruit"
db["apple"] = b"red"; db["apple"]; "pear" in db; del db["apple"]; db.get("pear", b"?")
with db.batch() as b: ...                        # all or nothing; nothing on an exception
for key, value in db.range("a", "m", reverse=True): ...
snapshot = db.snapshot(); colours = db.keyspace("colours", key=int, value="json")
t = ogive.build(frame, key="user_id", to="users.ogive", profile="s3")   # pandas, polars, pyarrow, NumPy, CSV or Parquet path, iterator
t.get(42); t.multi_get(np_array)                 # -> Arrow table, rows in the order of the keys, nulls where absent
t.scan(10, 20).to_polars(); t.rank(7); t.count(1, 9); t.explain(42)     # the reads of a look-up, as an object with a picture
p = ogive.index_parquet("s3://bucket/events/", key="user_id", to="events.idx"); p.get(42, columns=["ts"])
j = ogive.join("a.ogive", "b.parquet", on="id", how="left", memory="300MiB")   # lazy; streams Arrow batches; .plan shows the choice
ix = ogive.Index("ids.idx", key="u64", value="u64")                            # updated in place, transactions as context managers
ogive.profile("/mnt/data"); ogive.tune(keys, profile=...)                        # designs compared, as a table with a plot
