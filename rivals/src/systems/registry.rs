//! The systems that were compiled in.

use anyhow::{Context, Result};

use crate::store::System;

/// All of them.
pub(crate) fn systems() -> Vec<&'static System> {
    vec![
        &super::ogive::OGIVE,
        &super::ogive::SEPARATED,
        &super::ogive::PLAIN,
        &super::ogive::CODED,
        &super::ogive::PLR,
        #[cfg(feature = "rocksdb")]
        &super::rocksdb::ROCKSDB,
        #[cfg(feature = "rocksdb")]
        &super::rocksdb::ROCKSDB_MMAP,
        #[cfg(feature = "leveldb")]
        &super::leveldb::LEVELDB,
        #[cfg(feature = "lmdb")]
        &super::lmdb::LMDB,
        #[cfg(feature = "redb")]
        &super::redb::REDB,
        #[cfg(feature = "fjall")]
        &super::fjall::FJALL,
        #[cfg(feature = "sqlite")]
        &super::sqlite::SQLITE,
    ]
}

/// The one of a name.
pub(crate) fn named(name: &str) -> Result<&'static System> {
    let names = || systems().iter().map(|system| system.name).collect::<Vec<_>>().join(", ");
    systems()
        .into_iter()
        .find(|system| system.name == name)
        .with_context(|| format!("no system {name:?} was compiled in; there are {}", names()))
}
