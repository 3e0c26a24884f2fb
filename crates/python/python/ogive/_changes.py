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

    ``kind`` is ``"put"``; ``"remove"``; ``"remove_range"``, of the keys from ``start`` up to but not including ``end``, or
    without an end if that is ``None``; ``"ingest"``, whose records ``value`` iterates; or ``"drop"``, of the whole
    keyspace.
    """

    kind: str
    keyspace: str
    key: Any
    value: Any
    expires: datetime | None = None
    """When a record that was put expires, in UTC. Expiry itself is no change."""
    start: Any = None
    end: Any = None


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
        return ChangeBatch(position, [_change(*change) for change in changes])


def _change(kind: str, keyspace: str, first: Any, second: Any, expires: float | None) -> Change:
    if kind == "remove_range":
        return Change(kind, keyspace, None, None, start=first, end=second)
    return Change(kind, keyspace, first, second, _time(expires))


def _time(seconds: float | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc)
    except (OverflowError, ValueError):
        # Later than any time of Python.
        return datetime.max.replace(tzinfo=timezone.utc)
