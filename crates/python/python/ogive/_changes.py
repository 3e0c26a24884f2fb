"""Changes of a store, as :meth:`ogive.Db.changes` returns them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

    from . import _internal


@dataclass(frozen=True)
class Change:
    """A change of a keyspace.

    ``kind`` is ``"put"``; ``"remove"``; ``"remove_range"``, from ``key`` up to but not including ``value``, or without an
    end if that is ``None``; ``"ingest"``, whose records ``value`` iterates; or ``"drop"``, of the whole keyspace.
    """

    kind: str
    keyspace: str
    key: Any
    value: Any
    expires: datetime | None = None
    """When a record that was put expires, in UTC. Expiry itself is no change."""


@dataclass(frozen=True)
class ChangeBatch:
    """Changes that took place at once, and the position behind them; see :meth:`Db.changes`."""

    position: str
    changes: list[Change]


class Changes:
    """What :meth:`Db.changes` returns."""

    def __init__(self, changes: _internal.ChangeIterator) -> None:
        self._changes = changes

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ChangeBatch:
        position, changes = next(self._changes)
        shown = [
            Change(kind, keyspace, key, value, _time(expires)) for kind, keyspace, key, value, expires in changes
        ]
        return ChangeBatch(position, shown)


def _time(seconds: float | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc)
    except (OverflowError, ValueError):
        # Later than any time of Python.
        return datetime.max.replace(tzinfo=timezone.utc)
