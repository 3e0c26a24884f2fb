"""Exceptions. Each is an :class:`OgiveError`, and the built-in exception that such a failure has elsewhere.

There is one for each kind of error of the engine, and below it some that are another built-in exception too, or that
programs act on.
"""

from __future__ import annotations

import errno
from typing import Any


class OgiveError(Exception):
    """The base of all exceptions of this package.

    ``file`` is the path or URL of the file that the error is about, and ``offset`` the byte in it, where they are known.
    The message says what to do; ``hint`` is that part of it.
    """

    def __init__(self, message: str, file: str | None = None, offset: int | None = None) -> None:
        super().__init__(message)
        self.file = file
        self.offset = offset

    def __str__(self) -> str:
        return str(self.args[0])

    @property
    def hint(self) -> str | None:
        """What to do, if the message says it."""
        _, found, hint = str(self).partition("; ")
        return hint if found else None

    def __reduce__(self) -> tuple[type[OgiveError], tuple[Any, ...]]:
        return type(self), (str(self.args[0]), self.file, self.offset)


class _FileError(OgiveError, OSError):
    """Failures of files, as :class:`OSError`."""

    def __init__(self, message: str, file: str | None = None, offset: int | None = None) -> None:
        OSError.__init__(self, message)
        self.file = file
        self.offset = offset
        self.filename = file
        self.errno = self._errno

    _errno: int | None = None


class StorageError(_FileError):
    """The operating system, a device or the object store refused or failed."""


class AlreadyExists(StorageError, FileExistsError):
    """There is something of that name."""

    _errno = errno.EEXIST


class PermissionDenied(StorageError, PermissionError):
    """The operating system, or the object store, does not permit it."""

    _errno = errno.EACCES


class TimedOut(StorageError, TimeoutError):
    """The object store did not answer in time."""

    _errno = errno.ETIMEDOUT


class ReadOnly(StorageError):
    """The store was opened read-only, or stopped writing after a failure."""


class NotFound(_FileError, FileNotFoundError):
    """There is no such file, folder, object or keyspace, or it is there no more."""

    _errno = errno.ENOENT


class Gone(NotFound):
    """The folder of the store, or the file of the index, was removed, renamed or replaced since it was opened."""


class NoKeyspace(NotFound, KeyError):
    """There is no keyspace of this name, or it was dropped."""


class Damaged(_FileError):
    """A file is damaged, at the byte ``offset``."""


class WrongVersion(_FileError):
    """The file has a format that this version of Ogive does not read, or has changed since its index was built."""


class Locked(_FileError, BlockingIOError):
    """Another process, or another handle of this one, has it open."""

    _errno = errno.EAGAIN


class Busy(_FileError):
    """Another reader or writer is in the way, or has changed what was open: refresh it, or open it again."""


class Conflict(Busy):
    """A transaction was not committed: others have written what it has read since it began; or a key does not have the
    value that is expected. Nothing has changed.

    ``keyspace`` is the name of the keyspace, and ``key`` the key, if the conflict is about one. Begin again;
    :meth:`ogive.Db.transact` does.
    """

    def __init__(
        self,
        message: str,
        file: str | None = None,
        offset: int | None = None,
        keyspace: str | None = None,
        key: Any = None,
    ) -> None:
        super().__init__(message, file, offset)
        self.keyspace = keyspace
        self.key = key

    def __reduce__(self) -> tuple[type[OgiveError], tuple[Any, ...]]:
        return type(self), (str(self.args[0]), self.file, self.offset, self.keyspace, self.key)


class MemoryShort(OgiveError, MemoryError):
    """The memory given is too little."""


class WrongType(OgiveError, TypeError, ValueError):
    """A key or a value is not of its type, or out of its range, or cannot be null."""


class WrongFile(WrongType, _FileError):
    """The file is of another kind."""


class InvalidArgument(OgiveError, ValueError):
    """An argument or a record makes no sense."""


class NotUnique(InvalidArgument):
    """A unique index refuses a row: another one has its values. Nothing has changed.

    ``keyspace`` and ``index`` are the names of both, ``key`` is the key of the row that is refused, and ``other_key`` that
    of the other row.
    """

    def __init__(
        self,
        message: str,
        file: str | None = None,
        offset: int | None = None,
        keyspace: str | None = None,
        index: str | None = None,
        keys: tuple[Any, Any] = (None, None),
    ) -> None:
        super().__init__(message, file, offset)
        self.keyspace = keyspace
        self.index = index
        self.key, self.other_key = keys

    def __reduce__(self) -> tuple[type[OgiveError], tuple[Any, ...]]:
        of = (self.keyspace, self.index, (self.key, self.other_key))
        return type(self), (str(self.args[0]), self.file, self.offset, *of)


class Closed(InvalidArgument):
    """The handle was closed."""


class Unsupported(_FileError):
    """The storage, the file or this package cannot do this."""


class Bug(OgiveError, RuntimeError):
    """An internal check has failed. Please report it."""


class ForkedError(OgiveError, RuntimeError):
    """The handle was opened before a fork, and this is the child. Open it again."""
