"""Backups: :func:`restore` and :func:`backups`; :meth:`Db.backup` makes them."""

from __future__ import annotations

import datetime
import json
import re
from typing import Any

from . import _internal
from ._errors import InvalidArgument
from ._paths import PathLike, path_text


def backups(path: PathLike) -> dict[str, Any]:
    """The backups of a folder or URL: ``backups``, oldest first, ``archived``, the moments that :func:`restore` leads to,
    and ``damaged``."""
    return dict(json.loads(_internal.list_backups(path_text(path))))


_POSITION = re.compile("[0-9a-f]{16}-[0-9]+")


def _time_of_text(text: str) -> datetime.datetime:
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise InvalidArgument(
            f'"{text}" is no moment; give a time, such as "2026-11-30 12:00:00" (UTC), a position, such as '
            '"0123456789abcdef-42", or "newest"'
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=datetime.timezone.utc)


def restore(
    path: PathLike, target: PathLike, *, backup: int | None = None, until: datetime.datetime | str | None = None
) -> dict[str, Any]:
    """Restores a store from its backups to a new folder or URL: the newest one, one by its number, or the store as of a
    moment that is archived.

    :param until: a time with its zone, or as text in UTC, for the last run of the archive that ended then or before; a
        position; or ``"newest"``, for all that was archived
    :raises InvalidArgument: for a backup that is not there, and a moment that is not archived; the message has the last
        one that is

    >>> import ogive, tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> db = ogive.open(os.path.join(folder, "store"), key=str, value=str)
    >>> made = db.backup(os.path.join(folder, "backups"), archive=True)
    >>> db["apple"] = "red"
    >>> moment = db.archive(os.path.join(folder, "backups"))["moment"]
    >>> del db["apple"]
    >>> db.close()
    >>> restored = ogive.restore(
    ...     os.path.join(folder, "backups"), os.path.join(folder, "before"), until=moment["position"]
    ... )
    >>> ogive.open(os.path.join(folder, "before"))["apple"]
    'red'
    """
    until_ms, moment = None, None
    if isinstance(until, str) and until != "newest" and not _POSITION.fullmatch(until):
        until = _time_of_text(until)
    if isinstance(until, datetime.datetime):
        if until.tzinfo is None:
            raise ValueError("the time has no zone; give one, such as datetime.timezone.utc")
        until_ms = int(until.timestamp() * 1000)
    elif until is not None:
        moment = until
    text = _internal.restore_backup(path_text(path), path_text(target), backup, until_ms, moment)
    return dict(json.loads(text))
