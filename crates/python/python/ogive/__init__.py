"""Ogive: storage engines whose indexes are learned.

* :func:`open`: a store, which is an ordered, typed, crash-safe mapping on disk or in an object store;
* :func:`build`: a table, which is sorted records in one file, with an index tuned to them and to their storage;
* :func:`index_parquet`: an index beside Parquet files, which stay as they are;
* :func:`join`: joins of all of these and of frames, larger than memory;
* :class:`Index`: an index in one file that is updated in place;
* :func:`profile` and :func:`tune`: what a storage costs, and which designs of an index suit it.

Keys and values are ``int``, ``float``, ``str``, ``bytes``, ``bool``, UUIDs, dates and times, decimals, and tuples of these.
Many records come and go as Arrow data: pandas, polars, pyarrow, DuckDB and DataFusion take them as they are.
"""

from ._errors import (
    AlreadyExists,
    Bug,
    Busy,
    Closed,
    Conflict,
    Damaged,
    ForkedError,
    Gone,
    InvalidArgument,
    Locked,
    MemoryShort,
    NoKeyspace,
    NotFound,
    NotUnique,
    OgiveError,
    PermissionDenied,
    ReadOnly,
    StorageError,
    TimedOut,
    Unsupported,
    WrongFile,
    WrongType,
    WrongVersion,
)
from ._backups import backups, restore
from ._changes import Change, ChangeBatch
from ._explain import Explanation, Read
from ._index import Index, IndexSnapshot, IndexTransaction, MutableIndex, UniqueIndex
from ._internal import __version__
from ._join import Alternative, Join, JoinPlan, join
from ._options import OpenOptions
from ._parquet import ParquetExplanation, ParquetIndex, Request, Verification, index_parquet
from ._rows import Rows, RowStream
from ._store import Batch, Db, Keyspace, MutableDb, MutableKeyspace, Snapshot, open
from ._table import Table, UniqueTable, build
from ._transaction import Transaction
from ._tune import Design, Designs, Profile, profile, tune

__all__ = [
    "AlreadyExists",
    "Alternative",
    "Batch",
    "Bug",
    "Busy",
    "Change",
    "ChangeBatch",
    "Closed",
    "Conflict",
    "Damaged",
    "Db",
    "Design",
    "Designs",
    "Explanation",
    "ForkedError",
    "Gone",
    "Index",
    "IndexSnapshot",
    "IndexTransaction",
    "InvalidArgument",
    "Join",
    "JoinPlan",
    "Keyspace",
    "Locked",
    "MemoryShort",
    "MutableDb",
    "MutableIndex",
    "MutableKeyspace",
    "NoKeyspace",
    "NotFound",
    "NotUnique",
    "OgiveError",
    "OpenOptions",
    "ParquetExplanation",
    "ParquetIndex",
    "PermissionDenied",
    "Profile",
    "Read",
    "ReadOnly",
    "Request",
    "RowStream",
    "Rows",
    "Snapshot",
    "StorageError",
    "Table",
    "TimedOut",
    "Transaction",
    "UniqueIndex",
    "UniqueTable",
    "Unsupported",
    "Verification",
    "WrongFile",
    "WrongType",
    "WrongVersion",
    "__version__",
    "backups",
    "build",
    "index_parquet",
    "join",
    "open",
    "profile",
    "restore",
    "tune",
]
