"""Profiles of storages, and designs compared."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy
import ogive
import pyarrow
import pyarrow.parquet
import pytest


def test_known_profiles() -> None:
    s3 = ogive.Profile("s3")
    assert s3.parallel > 1 and s3.time_us("1MiB") > s3.time_us(512) > 0 and os.fspath(s3) == "s3"
    assert s3 == pickle.loads(pickle.dumps(s3)) and "s3" in repr(s3) and "<table>" in s3._repr_html_()
    with pytest.raises(ogive.OgiveError):
        ogive.Profile("tape")


def test_a_measured_profile_is_saved_and_taken_by_builds(tmp_path: Path) -> None:
    measured = ogive.profile(tmp_path, seconds=0.2, file_size="20MiB")
    assert os.listdir(tmp_path) == []
    assert measured.name == str(tmp_path.resolve()) and measured.points[0][0] == 512
    measured.save(tmp_path / "p.json")
    again = ogive.Profile(tmp_path / "p.json")
    assert again.parallel == measured.parallel and again.time_us(4096) == measured.time_us(4096)
    for profile in (measured, tmp_path / "p.json"):
        table = ogive.build({1: 2}, to=tmp_path / "t.ogive", profile=profile)
        assert table.report()["tuned_for"] == measured.name
    file = os.fspath(measured)
    assert os.path.exists(file)
    del measured, profile
    assert not os.path.exists(file)


def test_designs_are_compared(tmp_path: Path) -> None:
    keys = numpy.random.default_rng(1).integers(0, 1 << 40, 20_000)
    bands = "layers=1,builder=gband,lambda=8192"
    found = ogive.tune(keys, profile="s3", value_size=16, designs=[bands])
    names = [design.name for design in found]
    assert {"tuned", "coded", "btree", bands, "none"} <= set(names) and found.best.predicted_us > 0
    assert [design.predicted_us for design in found] == sorted(design.predicted_us for design in found)
    assert found["btree"].layers and found["btree"].index_bytes > 0 and found.profile == "s3"
    assert "btree" in repr(found) and "<svg" in found._repr_html_() and len(found.to_pylist()) == len(found)
    with pytest.raises(ogive.InvalidArgument):
        ogive.tune([], profile="s3")
    with pytest.raises(ogive.InvalidArgument):
        ogive.tune(keys, designs=["magic"])


def test_designs_for_texts_tables_and_files(tmp_path: Path) -> None:
    texts = ogive.tune([f"key {number}" for number in range(3000)])
    assert texts.left_out or len(texts) >= 7
    table = pyarrow.table({"id": list(range(3000)), "v": ["v"] * 3000})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    built = ogive.build(table, key="id", to=tmp_path / "t.ogive")
    blocks = {
        ogive.tune(data, key=key)["coded"].blocks
        for data, key in ((table, "id"), (tmp_path / "t.parquet", "id"), (built, None), (tmp_path / "t.ogive", None))
    }
    assert len(blocks) == 1
