"""Exceptions. Each is an :class:`OgiveError`, and the built-in exception that such a failure has elsewhere."""

from __future__ import annotations

import errno


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

    def __reduce__(self) -> tuple[type[OgiveError], tuple[str, str | None, int | None]]:
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
    """The operating system, or the object store, refused or failed: no space, a device failure."""


class NotFound(_FileError, FileNotFoundError):
    """There is no such file, folder or object."""

    _errno = errno.ENOENT


class AlreadyExists(_FileError, FileExistsError):
    """There is something of that name."""

    _errno = errno.EEXIST


class PermissionDenied(_FileError, PermissionError):
    """The operating system, or the object store, does not permit it."""

    _errno = errno.EACCES


class TimedOut(_FileError, TimeoutError):
    """The object store did not answer in time."""

    _errno = errno.ETIMEDOUT


class Damaged(_FileError):
    """A file is damaged, at the byte ``offset``."""


class WrongFile(_FileError):
    """The file is of another kind."""


class UnknownVersion(_FileError):
    """The file was written by a newer version of Ogive, or by a development version before 0.1."""


class Changed(_FileError):
    """The file has changed since its index was built, or since it was opened."""


class VersionGone(_FileError):
    """The writer has removed files of the version that a reader has open; refresh it."""


class Gone(_FileError):
    """The folder of the store, or the file of the index, was removed, renamed or replaced since it was opened."""


class Locked(_FileError, BlockingIOError):
    """Another process, or another handle of this one, has it open."""

    _errno = errno.EAGAIN


class Fenced(_FileError):
    """Another process has opened the store for writing since."""


class ReadOnly(_FileError):
    """The store was opened read-only, or stopped writing after a failure."""


class Unsupported(_FileError):
    """The storage cannot do this."""


class InvalidArgument(OgiveError, ValueError):
    """An argument makes no sense."""


class Closed(OgiveError, ValueError):
    """The handle was closed."""


class WrongType(OgiveError, TypeError, ValueError):
    """A key or a value is not of its type, or out of its range, or cannot be null."""


class MemoryShort(OgiveError, MemoryError):
    """The memory given is too little."""


class NoKeyspace(OgiveError, LookupError):
    """There is no keyspace of this name."""


class KeyspaceDropped(OgiveError, LookupError):
    """The keyspace was dropped."""


class ForkedError(OgiveError, RuntimeError):
    """The handle was opened before a fork, and this is the child. Open it again."""
