"""Paths and URLs."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ._errors import InvalidArgument, WrongType

PathLike = str | os.PathLike[str]


def path_text(path: PathLike) -> str:
    """A path or URL as text. ``~`` is the home folder."""
    text = os.fspath(path)
    if not isinstance(text, str):
        raise WrongType(f"{text!r} is not a path; give text, or a pathlib.Path")
    utf8(os.fsencode, text, "a path")
    if "\0" in text:
        raise InvalidArgument(f"{text!r} is not a path: it has a null character")
    return text if "://" in text else os.path.expanduser(text)


def utf8(encode: Callable[[str], bytes], text: str, what: str) -> str:
    """Text, unless it has surrogates, which files and the store cannot have."""
    try:
        encode(text)
    except UnicodeEncodeError:
        raise InvalidArgument(f"{text!r} is not {what}: it has a lone surrogate, which is no character") from None
    return text


def name_text(name: Any, what: str) -> Any:
    """The name of a keyspace or column; what is no text, the native module refuses."""
    return utf8(str.encode, name, what) if isinstance(name, str) else name


def names_text(names: list[Any] | None) -> list[Any] | None:
    """The names of columns, if any are given."""
    return None if names is None else [name_text(name, "the name of a column") for name in names]


def identity(path: str) -> str:
    """What a path or URL leads to, by whatever way."""
    return path.rstrip("/") if "://" in path else os.path.realpath(path)


def absolute(path: str) -> str:
    """A path that means the same in another process."""
    return path if "://" in path else os.path.abspath(path)
