"""Paths and URLs."""

from __future__ import annotations

import os

from ._errors import InvalidArgument, WrongType

PathLike = str | os.PathLike[str]


def path_text(path: PathLike) -> str:
    """A path or URL as text. ``~`` is the home folder."""
    text = os.fspath(path)
    if not isinstance(text, str):
        raise WrongType(f"{text!r} is not a path; give text, or a pathlib.Path")
    if "\0" in text:
        raise InvalidArgument(f"{text!r} is not a path: it has a null character")
    return text if "://" in text else os.path.expanduser(text)


def identity(path: str) -> str:
    """What a path or URL leads to, by whatever way."""
    return path.rstrip("/") if "://" in path else os.path.realpath(path)


def absolute(path: str) -> str:
    """A path that means the same in another process."""
    return path if "://" in path else os.path.abspath(path)
