"""Indexes beside Parquet files: :func:`index_parquet`, :class:`ParquetIndex`."""

from __future__ import annotations

import html
import json
import os
import warnings
from dataclasses import dataclass
from typing import Any

from . import _internal
from ._async import Awaitable
from ._errors import InvalidArgument
from ._ordered import Closing
from ._paths import PathLike, absolute, identity, name_text, names_text, path_text
from ._progress import Progress
from ._rows import Rows, RowStream
from ._sizes import size_bytes


@dataclass(frozen=True)
class Request:
    """A request of a look-up: a range of a file."""

    #: Its round, from 1: requests of one round are under way at the same time.
    round: int
    #: The path or URL of the file.
    path: str
    #: Offset in the file, in bytes.
    offset: int
    #: Length in bytes.
    size_bytes: int
    #: What it brings: parts of the index, or pages of columns.
    parts: list[str]


class ParquetExplanation:
    """The requests of a look-up, from nothing open; see :meth:`ParquetIndex.explain`."""

    def __init__(self, facts: dict[str, Any]) -> None:
        #: The path or URL of the index.
        self.path: str = facts["path"]
        #: The key, as text.
        self.key: str = facts["key"]
        #: Number of rows of the key.
        self.rows: int = facts["rows"]
        #: The requests, in order.
        self.requests: list[Request] = [Request(**request) for request in facts["requests"]]
        self._modelled_us: dict[str, float] = facts["modelled_us"]

    @property
    def size_bytes(self) -> int:
        """Bytes of all requests together."""
        return sum(request.size_bytes for request in self.requests)

    @property
    def rounds(self) -> int:
        """Number of rounds: requests that waited for others."""
        return max((request.round for request in self.requests), default=0)

    def modelled_us(self, profile: str) -> float:
        """Modelled time on a named storage, in microseconds: rounds one after the other, each side by side."""
        return self._modelled_us[profile]

    def __repr__(self) -> str:
        lines = [f"{self.key} in {self.path}: {self.rows} rows"]
        for request in self.requests:
            name = request.path.rsplit("/", 1)[-1]
            lines.append(
                f"  round {request.round}: {request.size_bytes:,} B at {request.offset:,} of {name}: "
                + ", ".join(request.parts)
            )
        times = ", ".join(f"{self.modelled_us(name):,.0f} us on {name}" for name in ("nvme", "s3"))
        lines.append(
            f"  {len(self.requests)} requests in {self.rounds} rounds, {self.size_bytes:,} B; modelled {times}"
        )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{request.round}</td><td>{html.escape(request.path)}</td><td>{request.offset:,}</td>"
            f"<td>{request.size_bytes:,}</td><td>{html.escape(', '.join(request.parts))}</td></tr>"
            for request in self.requests
        )
        times = ", ".join(f"{time:,.0f} &micro;s on {html.escape(name)}" for name, time in self._modelled_us.items())
        return (
            f"<table><caption>{html.escape(self.key)}: {self.rows} rows; modelled {times}</caption><thead><tr>"
            f"<th>round</th><th>file</th><th>offset</th><th>bytes</th><th>what</th></tr></thead><tbody>{rows}</tbody>"
            f"</table>"
        )


@dataclass(frozen=True)
class Verification:
    """What :meth:`ParquetIndex.verify` found. It is true if nothing is wrong."""

    #: Number of files that were read.
    files: int
    #: Number of rows that were compared.
    rows: int
    #: What is wrong, at most 100 of it.
    findings: list[str]

    def __bool__(self) -> bool:
        return not self.findings


class ParquetIndex(Awaitable, _internal.ParquetIndex, Closing):
    """An index beside Parquet files, which stay as they are: from a key to its rows in one round of reads.

    Files that are sorted by the key need one round of reads for a look-up, others two. ``memory`` is the upper limit of
    all that the index keeps and works with, caches included. See :func:`index_parquet`.

    >>> import ogive, pyarrow, pyarrow.parquet, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> events = pyarrow.table({"user_id": [1, 2, 2, 5], "ts": [10, 20, 30, 40]})
    >>> pyarrow.parquet.write_table(events, folder + "/events.parquet")
    >>> index = ogive.index_parquet(folder + "/events.parquet", key="user_id", to=folder + "/events.idx")
    >>> index.get(2, columns=["ts"]).to_pylist()
    [{'ts': 20}, {'ts': 30}]
    >>> len(index), index.rank(5), index.count(1, 5), index.is_sorted
    (4, 3, 3, True)
    """

    _memory: int | None
    _profile: str | None

    def __new__(
        cls, path: PathLike, *, memory: int | str | None = None, profile: PathLike | None = None
    ) -> ParquetIndex:
        limit = size_bytes(memory)
        name = None if profile is None else path_text(profile)
        self = super().__new__(cls, absolute(path_text(path)), limit, name)
        self._memory = limit
        self._profile = name
        return self

    def __bool__(self) -> bool:
        return True

    #: Without it, Python would ask for the keys 0, 1, 2 and so on.
    __iter__ = None

    def get(self, key: Any, columns: list[str] | None = None) -> Rows:
        """The rows of a key: none if it is absent. ``columns`` chooses the columns, and no others are read."""
        return Rows(self._get(key, names_text(columns)))

    def __getitem__(self, key: Any) -> Rows:
        rows = self.get(key)
        if not len(rows):
            raise KeyError(key)
        return rows

    def __contains__(self, key: Any) -> bool:
        return len(self.get(key, list(self.key))) > 0

    def multi_get(self, keys: Any, columns: list[str] | None = None) -> Rows:
        """The rows of many keys, in the order of the keys. An absent key has no rows.

        ``keys`` is a list, an array of NumPy, or Arrow data. Pages that several keys need are read once. Choose the
        columns of the key, too, to tell whose rows they are.
        """
        return Rows(self._multi_get(keys, names_text(columns)))

    def scan(
        self,
        start: Any = None,
        stop: Any = None,
        columns: list[str] | None = None,
        *,
        limit: int | None = None,
    ) -> RowStream:
        """The rows whose keys are at least ``start`` and below ``stop``, in order of the keys, read as they are used.

        ``limit`` ends the stream after this number of rows. Those of files that are not sorted by the key are then read
        at once; without it, few rows are read at first, and more as they are used.

        Rows whose key is null are among all rows, and in a range that begins or ends with ``(None,)``; in no other.
        :meth:`count` and :meth:`rank` count so, too.
        """
        if limit is not None and limit < 0:
            raise InvalidArgument(f"limit is {limit}; give a number of rows, or None for all")
        return RowStream(self._scan(start, stop, names_text(columns), limit))

    def explain(self, key: Any, columns: list[str] | None = None) -> ParquetExplanation:
        """The requests of a look-up with nothing open: of which bytes of which files, for what, and in which round."""
        return ParquetExplanation(json.loads(self._explain(key, names_text(columns))))

    def verify(self, *, accept: bool = False, progress: bool | None = None) -> Verification:
        """Compares every row of the data with the index.

        With ``accept``, files may have other times than those that were indexed, as after a copy: if nothing else is
        wrong, the index takes their times.
        """
        with Progress.start(f"verifying {self.path}", progress) as shown:
            return Verification(**json.loads(self._verify(shown, accept)))

    def __reduce__(self) -> tuple[Any, tuple[str, int | None, str | None]]:
        return _reopened, (absolute(self.path), self._memory, self._profile)

    def __repr__(self) -> str:
        return f"<ogive.ParquetIndex {self.path!r}>"


def _reopened(path: str, memory: int | None, profile: str | None) -> ParquetIndex:
    return ParquetIndex(path, memory=memory, profile=profile)


def index_parquet(
    data: PathLike,
    *,
    to: PathLike,
    key: str | list[str] | None = None,
    update: bool = False,
    files: list[str] | None = None,
    nanoseconds: list[str] | None = None,
    partitions: dict[str, Any] | None = None,
    ignore_table_log: bool = False,
    memory: int | str | None = None,
    profile: PathLike | None = None,
    progress: bool | None = None,
) -> ParquetIndex:
    """Builds an index beside Parquet files, and opens it. The files stay as they are.

    ``data`` is a file, or a folder with files at any depth, or the URL of one, as ``"s3://bucket/events/"``. ``key`` is
    the column of the key, or a list of them; rows whose key is null are found by ``get(None)``, and files that lack a
    column have nulls in it. ``files`` names the files of the folder to index, if not all. With
    ``update`` an index that is there is brought up to date with the files that are there now; its key stays. Ctrl-C
    stops the work and leaves what there was.

    ``nanoseconds`` names columns of the type INT96 that are read in nanoseconds, as ``--type COL=timestamp(ns)`` of the
    command; others are in microseconds. ``partitions`` gives types of columns that folders state, as
    ``{"month": str}``: ``int``, ``datetime.date`` or ``str``. Files of a Delta Lake or Iceberg table are refused if its log says that rows of theirs were
    deleted or columns renamed; with ``ignore_table_log`` that is a warning.

    >>> import ogive, pyarrow, pyarrow.parquet, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> pyarrow.parquet.write_table(pyarrow.table({"id": ["b", "a"], "n": [2, 1]}), folder + "/a.parquet")
    >>> index = ogive.index_parquet(folder, key="id", to=folder + ".idx")
    >>> index.scan().to_pylist()
    [{'id': 'a', 'n': 1}, {'id': 'b', 'n': 2}]
    >>> pyarrow.parquet.write_table(pyarrow.table({"id": ["c"], "n": [3]}), folder + "/b.parquet")
    >>> len(ogive.index_parquet(folder, to=folder + ".idx", update=True))
    3
    """
    target = path_text(to)
    source = path_text(data)
    if identity(source) == identity(target):
        raise InvalidArgument(f"{source} cannot be both the data and the index")
    names = [key] if isinstance(key, str) else list(key or [])
    if update and names:
        raise InvalidArgument("an update keeps the key of the index; leave out key=")
    if not update and not names:
        raise InvalidArgument("say which column is the key, or which: key='user_id', key=['country', 'user_id']")
    build = {
        "data": source,
        "key": names_text(names),
        "path": target,
        "update": update,
        "files": None if files is None else [path_text(file) for file in files],
        "nanoseconds": names_text(nanoseconds or []),
        "ignore_table_log": ignore_table_log,
        "memory": size_bytes(memory),
        "profile": None if profile is None else path_text(profile),
    }
    with Progress.start(f"indexing {source}", progress) as shown:
        report = json.loads(_internal.index_parquet(build, [(name_text(name, "the name of a column"), of) for name, of in (partitions or {}).items()], shown))
    for warning in report["warnings"]:
        warnings.warn(warning, stacklevel=2)
    return ParquetIndex(target, profile=profile)
