"""Options of stores: :class:`OpenOptions`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal, TypedDict

from ._errors import InvalidArgument
from ._sizes import size_bytes


class OpenOptions(TypedDict, total=False):
    """Further arguments of :func:`ogive.open`. Sizes are in bytes, or as ``"64MiB"``; times are in seconds, or a
    :class:`~datetime.timedelta`. They hold while the store is open, and are not recorded; those of a keyspace, which are,
    are set by :meth:`Keyspace.set_options`.

    >>> import ogive, tempfile
    >>> with ogive.open(tempfile.mkdtemp(), key=str, value=str, compression="zstd", scrub_bytes_per_s="1MiB") as db:
    ...     db["apple"] = "red"
    ...     db.stats()["scrub"]["findings"]
    []
    """

    upgrade: bool
    """Whether to raise the format of a store of an older release to the newest, which that release cannot open."""

    compression: Literal["none", "lz4", "zstd"]
    """Of tables, and of values in value files."""

    threads: int
    """Threads for flushes and compactions; with 0, the calls that make these due do them."""

    open_files: int
    """The most files of a store in a folder that are open at a time, at least 8; by default, half of the limit of the
    process for all stores and tables together."""

    scrub_bytes_per_s: int | str
    """At which rate the files are read in the background, over and over, to find damage while other copies are good; 0,
    the default, for never. ``db.stats()["scrub"]`` has the progress and the findings."""

    memtable_bytes: int | str
    """The size at which what is in memory is flushed to tables; at most a quarter of the memory."""

    group_bytes: int | str
    """With ``durability="grouped"``, the most bytes of log that a power loss loses."""

    transaction_bytes: int | str
    """Memory of what a transaction has read, and of what it has written, each; by default a sixteenth of the memory."""

    kept_changes_bytes: int | str
    """The most bytes of changes that are kept for subscribers beyond what the store needs itself."""

    kept_changes_age: float | timedelta
    """How long they are kept at most; by default without a limit."""

    block_bytes: int | str
    """The size of data blocks, a power of two."""

    filter_bits_per_key: int
    """Bits of the filters that exclude absent keys, up to 32; 0 for no filters."""

    separation_bytes: int | str
    """Values of at least this many bytes are stored in value files."""

    expiry_grace: float | timedelta
    """How long compactions keep records that have expired; by default an hour."""

    gather_ms: int
    """On an object store: how long writes gather before they are put, in milliseconds."""

    grace_s: int
    """On an object store: how many seconds files stay for those who read an older version."""


def stated(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are given, with numbers of bytes and seconds; ``None`` stands for the default."""
    found = {name: value for name, value in options.items() if value is not None}
    for name, value in found.items():
        if name not in OpenOptions.__annotations__:
            raise TypeError(f"ogive.open has no argument {name!r}; there are also {', '.join(OpenOptions.__annotations__)}")
        if "bytes" in name:
            found[name] = size_bytes(value)
        elif name in ("kept_changes_age", "expiry_grace"):
            found[name] = value.total_seconds() if isinstance(value, timedelta) else float(value)
            if not found[name] >= 0:
                raise InvalidArgument(f"{name}= is a time in seconds, not {value}")
    return found
