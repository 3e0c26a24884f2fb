//! One file for each system: its settings, and how it does what
//! [`StoreSessions`](ogive_research::stores::StoreSessions) do.

#[cfg(feature = "fjall")]
mod fjall;
#[cfg(feature = "leveldb")]
mod leveldb;
#[cfg(feature = "lmdb")]
mod lmdb;
#[cfg(feature = "redb")]
mod redb;
mod registry;
#[cfg(feature = "rocksdb")]
mod rocksdb;
#[cfg(feature = "sqlite")]
mod sqlite;

pub(crate) use registry::others;
