//! Folders of RocksDB: each column family becomes a keyspace of bytes.
//!
//! The folder is opened read-only, with its write-ahead log, and its lock is held meanwhile. Column families whose
//! order or whose values only their program knows are refused.

mod lock;
mod options;
mod source;

pub(crate) use source::open;
