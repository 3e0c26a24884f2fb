"""What the tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import ogive


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A path below which nothing is."""
    return str(tmp_path / "it")


@pytest.fixture
def db(folder: str) -> Iterator[ogive.Db]:
    """A new store."""
    with ogive.open(folder) as store:
        yield store
