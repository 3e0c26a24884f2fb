//! Test support: small stores with clocks that are moved by hand.

use ogive::io::{Clock, MemoryStorage, Storage};
use ogive::{Db, DbOptions};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub(crate) const MINUTE: u64 = 60_000;
pub(crate) const HOUR: u64 = 60 * MINUTE;
pub(crate) const DAY: u64 = 24 * HOUR;

/// The time at which tests begin.
pub(crate) const START: u64 = 20_000 * DAY;

/// A small store in which everything happens soon, on the threads of its callers.
pub(crate) fn small(clock: &Clock) -> DbOptions {
    DbOptions::default()
        .threads(0)
        .memory_bytes(8 << 20)
        .writes(|writes| writes.memtable_bytes(2 << 10))
        .levels(|levels| levels.table_bytes(2 << 10).level_bytes(4 << 10).level_factor(2).block_bytes(512))
        .objects(|objects| objects.gather_ms(0))
        .values(|values| values.separation_bytes(60))
        .clock(clock.clone())
}

pub(crate) fn at(unix_ms: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(unix_ms)
}

/// A clock, a store in memory, and its files.
pub(crate) fn store() -> (Clock, Db, Arc<MemoryStorage>) {
    let (clock, storage) = (Clock::moved_by_hand(START), Arc::new(MemoryStorage::new()));
    let db = Db::open(storage.clone(), &small(&clock)).unwrap();
    (clock, db, storage)
}

/// The version in the newest manifest.
pub(crate) fn format_of(storage: &MemoryStorage) -> u32 {
    let newest = storage.list().unwrap().into_iter().filter(|name| name.ends_with(".manifest")).max().unwrap();
    let bytes = storage.content(&newest).unwrap();
    u32::from_le_bytes(bytes[8..12].try_into().unwrap())
}
