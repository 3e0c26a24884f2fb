//! Groups of the options of a store: its writes, the tables of its levels, its long values, its records that expire,
//! and its place among objects.

use std::time::Duration;

/// Options of a store about writes, as [`DbOptions::writes`](super::options::DbOptions::writes) changes them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DbWriteOptions {
    /// Size at which a memtable is flushed, in bytes; at most a quarter of the memory of the store. All memtables
    /// together use at most half of it.
    pub memtable_bytes: u64,
    /// With [`Durability::Grouped`](crate::Durability::Grouped), a power loss loses at most this many bytes of log.
    pub group_bytes: u64,
    /// Memory of what a [transaction](crate::lsm::DbTransaction) has read, and of what it has written, in bytes each;
    /// with `None`, a sixteenth of the memory of the store. Beyond it, keys that were read become ranges of keys, which
    /// conflict with more writes, and a further write of the transaction is an error.
    pub transaction_bytes: Option<u64>,
    /// The most bytes of logs, values and ingested tables that are kept for
    /// [subscribers](crate::Db::subscribe) beyond what the store needs itself. Beyond it, the oldest are removed, and
    /// the subscribers that need them get [`Cause::ChangesGone`](crate::Cause::ChangesGone).
    pub kept_changes_bytes: u64,
    /// How long they are kept at most, since they were flushed; with `None`, without a limit.
    pub kept_changes_age: Option<Duration>,
}

impl Default for DbWriteOptions {
    fn default() -> Self {
        Self {
            memtable_bytes: 64 << 20,
            group_bytes: 1 << 20,
            transaction_bytes: None,
            kept_changes_bytes: 4 << 30,
            kept_changes_age: None,
        }
    }
}

setters! {
    DbWriteOptions {
        memtable_bytes: u64,
        group_bytes: u64,
        kept_changes_bytes: u64,
    } optional {
        transaction_bytes: u64,
        kept_changes_age: Duration,
    }
}

/// Options of a store about its levels and their tables, as
/// [`DbOptions::levels`](super::options::DbOptions::levels) changes them. Tables that exist stay as they are until a
/// compaction writes them anew.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DbLevelOptions {
    /// Size of tables below level 0, in bytes.
    pub table_bytes: u64,
    /// Maximum size of the first level below level 0, in bytes.
    pub level_bytes: u64,
    /// Size ratio of adjacent levels.
    pub level_factor: u32,
    /// Size of data blocks, in bytes.
    pub block_bytes: u32,
    /// Whether blocks of new tables may be coded, as in [`TableWriteOptions`](crate::TableWriteOptions::coding).
    pub coding: bool,
    /// Bits per key of the Bloom filters; `None` for no filters.
    pub filter_bits_per_key: Option<u32>,
}

impl Default for DbLevelOptions {
    fn default() -> Self {
        Self {
            table_bytes: 64 << 20,
            level_bytes: 256 << 20,
            level_factor: 10,
            block_bytes: 4096,
            coding: true,
            filter_bits_per_key: Some(10),
        }
    }
}

setters! {
    DbLevelOptions {
        table_bytes: u64,
        level_bytes: u64,
        level_factor: u32,
        block_bytes: u32,
        coding: bool,
    } optional {
        filter_bits_per_key: u32,
    }
}

/// Options of a store about long values, which are stored in the value log and not in tables, as
/// [`DbOptions::values`](super::options::DbOptions::values) changes them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DbValueOptions {
    /// Values of at least this many bytes are stored in the value log: 0 separates all of them (WiscKey), `u64::MAX`
    /// none below 1 MiB (a plain LSM tree).
    pub separation_bytes: u64,
    /// Maximum share of dead bytes in the value log, between 0 and 1. Above it, live values are moved out of the value
    /// files with the largest share of dead bytes, and the files are removed.
    pub dead_share: f64,
}

impl Default for DbValueOptions {
    fn default() -> Self {
        Self { separation_bytes: 1 << 10, dead_share: 0.2 }
    }
}

setters! {
    DbValueOptions {
        separation_bytes: u64,
        dead_share: f64,
    } optional {}
}

/// Options of a store on an object store, as [`DbOptions::objects`](super::options::DbOptions::objects) changes them.
/// A store in a folder ignores them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DbObjectOptions {
    /// How long a group of synced writes gathers before it is put, in milliseconds; with 0, each group is put at once.
    /// Several groups are put at the same time.
    pub gather_ms: u32,
    /// How long files that the newest version does not need stay for readers of older ones, in seconds.
    pub grace_s: u64,
}

impl Default for DbObjectOptions {
    fn default() -> Self {
        Self { gather_ms: 50, grace_s: 300 }
    }
}

setters! {
    DbObjectOptions {
        gather_ms: u32,
        grace_s: u64,
    } optional {}
}

/// Options of a store about records that expire, as [`DbOptions::expiry`](super::options::DbOptions::expiry) changes
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DbExpiryOptions {
    /// How long compactions keep a record that has expired; by default an hour. The clocks of processes that read the
    /// store may be behind that of its writer by less than this.
    pub grace: Duration,
    /// How far the time of day may be ahead of the time that has passed since the store last recorded it; by default 24
    /// hours. A clock further ahead is taken for wrong: records expire no earlier than this allows, and writes of
    /// records that expire fail; so do they if it is as far behind the time of the store, which never goes back. How
    /// long a store was closed is known on Linux, until the machine is started again; a program whose store may be
    /// closed for more than a day over that sets a longer time. [`Duration::MAX`] trusts the clock.
    pub clock_ahead_max: Duration,
}

impl Default for DbExpiryOptions {
    fn default() -> Self {
        Self { grace: Duration::from_secs(3600), clock_ahead_max: Duration::from_secs(24 * 3600) }
    }
}

setters! {
    DbExpiryOptions {
        grace: Duration,
        clock_ahead_max: Duration,
    } optional {}
}
