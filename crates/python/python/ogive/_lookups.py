"""Lookups through indexes, as programs state them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._errors import InvalidArgument
from ._paths import name_text

if TYPE_CHECKING:
    from . import _internal

#: What a name is of, in errors.
INDEX = "the name of an index"


def lookup(
    index: str, values: tuple[Any, ...], prefix: bool, start: Any, stop: Any
) -> tuple[str, _internal._StatedValues, _internal._StatedRange]:
    """The arguments of :meth:`Keyspace.find` as the native module takes them."""
    if values and (start is not None or stop is not None):
        raise InvalidArgument("give values, or start and stop")
    bounds = [None if it is None else list(it) if isinstance(it, tuple) else [it] for it in (start, stop)]
    return name_text(index, INDEX), (list(values), bool(prefix)), (bounds[0], bounds[1])
