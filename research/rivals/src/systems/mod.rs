//! One file for each system: its settings, and how it does what
//! [`StoreSessions`](ogive_research::stores::StoreSessions) do.

#[cfg(feature = "bf-tree")]
mod bf_tree;
#[cfg(feature = "fjall")]
pub(crate) mod fjall;
#[cfg(feature = "leveldb")]
mod leveldb;
#[cfg(feature = "lmdb")]
pub(crate) mod lmdb;
#[cfg(feature = "redb")]
pub(crate) mod redb;
mod registry;
#[cfg(feature = "rocksdb")]
pub(crate) mod rocksdb;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;
#[cfg(feature = "tidesdb")]
mod tidesdb;

pub(crate) use registry::others;
