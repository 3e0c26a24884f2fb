"""Sizes: numbers of bytes, or text such as ``"300MiB"``."""

from __future__ import annotations

import re

from ._errors import InvalidArgument

_UNITS = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", 1):
    _UNITS[_letter] = _UNITS[_letter + "ib"] = 1024**_power
    _UNITS[_letter + "b"] = 1000**_power


def size_bytes(size: int | str | None) -> int | None:
    """The number of bytes of a size.

    >>> size_bytes("64 KiB"), size_bytes("2MB"), size_bytes(512)
    (65536, 2000000, 512)
    """
    if size is None:
        return None
    if isinstance(size, str):
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", size.lower())
        if match is None or match[2] not in _UNITS:
            raise InvalidArgument(f"{size!r} is not a size; give bytes, or text such as '64KiB' or '2GB'")
        size = int(float(match[1]) * _UNITS[match[2]])
    if size < 0 or size >= 1 << 63:
        raise InvalidArgument(f"a size of {size} bytes is out of range")
    return size
