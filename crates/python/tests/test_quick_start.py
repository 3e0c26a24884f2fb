"""The quick start, line by line, with inputs made before it: files here, and a bucket on a server of S3's protocol."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ogive

SERVER = os.environ.get("OGIVE_MOTO_SERVER")
LINES = (Path(__file__).parent / "quick_start.py").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The address of a server with an empty bucket. One for all tests: a process keeps its connections to a bucket."""
    if SERVER is None:
        pytest.skip("needs moto_server; set OGIVE_MOTO_SERVER to its path")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([SERVER, "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    changed = pytest.MonkeyPatch()
    for name, value in {
        "AWS_ENDPOINT": address,
        "AWS_ENDPOINT_URL": address,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }.items():
        changed.setenv(name, value)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                put(f"{address}/bucket", b"")
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        yield address
    finally:
        changed.undo()
        server.terminate()
        server.wait()


def put(url: str, content: bytes) -> None:
    headers = {"Content-Type": "application/octet-stream"}
    request = urllib.request.Request(url, data=content, method="PUT", headers=headers)
    with urllib.request.urlopen(request, timeout=30):
        pass


def parquet(columns: dict[str, Any]) -> bytes:
    written = io.BytesIO()
    pq.write_table(pa.table(columns), written)
    return written.getvalue()


def test_each_line_of_the_quick_start_runs(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    put(f"{bucket}/bucket/events/1.parquet", parquet({"user_id": [42, 1, 42], "ts": [3, 2, 1], "x": [0, 0, 0]}))
    ogive.build(pl.DataFrame({"id": [1, 2, 3], "a": ["x", "y", "z"]}), key="id", to="a.ogive")
    Path("b.parquet").write_bytes(parquet({"id": [2, 3, 3, 4], "b": [1.0, 2.0, 3.0, 4.0]}))
    data = tmp_path / "data"
    data.mkdir()
    names: dict[str, Any] = {
        "frame": pl.DataFrame({"user_id": [42, 7, 15], "name": ["Grace", "Ada", "Alan"]}),
        "np_array": np.array([7, 8, 42]),
        "keys": np.unique(np.random.default_rng(1).integers(0, 1 << 40, 50_000)),
    }
    for line in LINES:
        # The folder and the profile that the example leaves open.
        line = line.replace("/mnt/data", str(data)).replace("profile=...", 'profile="ssd"')
        exec(compile(line, "quick_start.py", "exec"), names)
    assert names["t"].multi_get(names["np_array"]).column("name") == ["Ada", None, "Grace"]
    assert names["t"].scan(10, 20).to_polars()["name"].to_list() == ["Alan"]
    assert sorted(names["p"].get(42, columns=["ts"]).column("ts")) == [1, 3]
    joined = pl.DataFrame(names["j"]).sort("id", "b")
    assert joined["id"].to_list() == [1, 2, 3, 3] and joined["b"].to_list() == [None, 1.0, 2.0, 3.0]
    names["ix"].close()
    names["db"].close()


def test_a_store_in_a_bucket_has_a_writer_and_readers(bucket: str, tmp_path: Path) -> None:
    with ogive.open("s3://bucket/fruit", key=str, value=int) as db:
        db.update({"apple": 1, "fig": 2})
        reader = ogive.open("s3://bucket/fruit", read_only=True)
        assert list(reader.items()) == [("apple", 1), ("fig", 2)]
        db["pear"] = 3
        assert reader.refresh() and reader["pear"] == 3 and not reader.refresh()
        reader.close()
    table = ogive.build({1: "a", 2: "b"}, to="s3://bucket/t.ogive")
    assert table[2] == "b" and ogive.Table("s3://bucket/t.ogive").explain(1).reads[0].purpose == "open"
    with pytest.raises(FileNotFoundError):
        ogive.Table("s3://bucket/nothing.ogive")
