"""Ogive: storage engines whose indexes are learned.

* :func:`open`: a store, which is an ordered, typed, crash-safe mapping on disk or in an object store;
* :func:`build`: a table, which is sorted records in one file, with an index tuned to them and to their storage;
* :func:`index_parquet`: an index beside Parquet files, which stay as they are.

Keys and values are ``int``, ``float``, ``str``, ``bytes``, ``bool``, UUIDs, dates and times, decimals, and tuples of these.
Many records come and go as Arrow data: pandas, polars, pyarrow, DuckDB and DataFusion take them as they are.
"""

from ._errors import (
    AlreadyExists,
    Changed,
    Closed,
    Damaged,
    Fenced,
    ForkedError,
    InvalidArgument,
    KeyspaceDropped,
    Locked,
    MemoryShort,
    NotFound,
    OgiveError,
    PermissionDenied,
    ReadOnly,
    StorageError,
    TimedOut,
    UnknownVersion,
    Unsupported,
    VersionGone,
    WrongFile,
    WrongType,
)
from ._explain import Explanation, Read
from ._internal import __version__
from ._parquet import ParquetExplanation, ParquetIndex, Request, Verification, index_parquet
from ._rows import Rows, RowStream
from ._store import Batch, Db, Keyspace, Snapshot, open
from ._table import Table, build

__all__ = [
    "AlreadyExists",
    "Batch",
    "Changed",
    "Closed",
    "Damaged",
    "Db",
    "Explanation",
    "Fenced",
    "ForkedError",
    "InvalidArgument",
    "Keyspace",
    "KeyspaceDropped",
    "Locked",
    "MemoryShort",
    "NotFound",
    "OgiveError",
    "ParquetExplanation",
    "ParquetIndex",
    "PermissionDenied",
    "Read",
    "ReadOnly",
    "Request",
    "RowStream",
    "Rows",
    "Snapshot",
    "StorageError",
    "Table",
    "TimedOut",
    "UnknownVersion",
    "Unsupported",
    "Verification",
    "VersionGone",
    "WrongFile",
    "WrongType",
    "__version__",
    "build",
    "index_parquet",
    "open",
]
