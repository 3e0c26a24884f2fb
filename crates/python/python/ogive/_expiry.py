"""The times at which records expire, as programs state them."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import cast

from ._errors import InvalidArgument


def milliseconds(seconds: float) -> int:
    """Whole milliseconds, none of which is negative."""
    return min(max(round(seconds * 1000), 0), 2**53)


def expires_ms(ttl: float | timedelta | None, expires: float | datetime | None) -> int:
    """The time in milliseconds since the start of 1970, as :meth:`Keyspace.insert_with` takes it."""
    if (ttl is None) == (expires is None):
        raise InvalidArgument("give ttl= or expires=, and not both")
    if ttl is not None:
        since = time.time() + (ttl.total_seconds() if isinstance(ttl, timedelta) else ttl)
    elif isinstance(expires, datetime):
        if expires.tzinfo is None:
            raise InvalidArgument("expires= has no time zone; use one such as datetime.timezone.utc")
        since = expires.timestamp()
    else:
        since = float(cast("float", expires))
    return milliseconds(since)
