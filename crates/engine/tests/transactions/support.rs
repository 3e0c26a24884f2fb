//! Test support: small stores in memory.

use ogive::io::MemoryStorage;
use ogive::{Cause, Db, DbOptions, Error, Result};
use std::sync::Arc;

/// A small store in which everything happens soon, on the threads of its callers.
pub(crate) fn small() -> DbOptions {
    DbOptions::default()
        .threads(0)
        .memory_bytes(8 << 20)
        .writes(|writes| writes.memtable_bytes(4 << 10))
        .levels(|levels| levels.table_bytes(4 << 10).level_bytes(8 << 10).level_factor(2).block_bytes(512))
        .objects(|objects| objects.gather_ms(0))
        .values(|values| values.separation_bytes(100))
}

/// A store in memory.
pub(crate) fn store() -> Db {
    Db::open(Arc::new(MemoryStorage::new()), &small()).unwrap()
}

/// The value of a key as a number; 0 if it is absent.
pub(crate) fn number(value: Option<impl AsRef<[u8]>>) -> i64 {
    value.map_or(0, |value| std::str::from_utf8(value.as_ref()).unwrap().parse().unwrap())
}

/// Whether a commit ended in a conflict, and not in another error.
#[track_caller]
pub(crate) fn is_conflict(outcome: Result<()>) -> bool {
    match outcome {
        Ok(()) => false,
        Err(Error { cause: Cause::Conflict, .. }) => true,
        Err(error) => panic!("{error}"),
    }
}
