"""Changes of a store, as :meth:`ogive.Db.changes` returns them."""

from __future__ import annotations

from dataclasses import dataclass
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
        return ChangeBatch(position, [Change(*change) for change in changes])
