//! The options of a store.

use super::entry::ValueKind;
use super::tables::learner::Learner;
use super::tables::learning::Learning;
use crate::block::compress::Compression;
use crate::durability::Durability;
use crate::error::{Error, Result, Setting};
use crate::io::{FastPaths, LocalStorage, Place, Profile, Storage, available_threads};
use crate::table::{BLOCK_BYTES, SharedOptions};
use std::path::Path;
use std::sync::Arc;

/// Options of a store. The defaults suit most uses.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DbOptions {
    /// Creates the store if there is none.
    pub create: bool,
    /// The memory limit of the store in bytes, for memtables, cached blocks, indexes, filters and models together. At
    /// most half of it is for the resident parts of open tables, about ten bytes per block; if that is not enough,
    /// [`Cause::Memory`](crate::Cause::Memory) states the memory needed.
    pub memory_bytes: u64,
    /// Size at which a memtable is flushed, in bytes; at most a quarter of the memory limit. All memtables together use
    /// at most half of it.
    pub memtable_bytes: u64,
    /// Default durability of writes.
    pub durability: Durability,
    /// With [`Durability::Grouped`], a power loss loses at most this many bytes of log.
    pub group_bytes: u64,
    /// Values of at least this many bytes are stored in the value log: 0 separates all of them (WiscKey), `u64::MAX`
    /// none below 1 MiB (a plain LSM tree).
    pub separation_threshold: u64,
    /// Compression of table blocks and of value chunks.
    pub compression: Compression,
    /// Whether blocks of new tables may be coded, as in [`TableWriteOptions`](crate::TableWriteOptions::coding).
    pub coding: bool,
    /// Whether to raise the format of a store that an older release wrote to the newest. That release cannot open the
    /// store then. It is the last step of an opening: one that fails before leaves the format as it was.
    pub upgrade: bool,
    /// Bits per key of the Bloom filters; `None` for no filters.
    pub filter_bits_per_key: Option<u32>,
    /// Size of tables below level 0, in bytes.
    pub table_bytes: u64,
    /// Maximum size of the first level below level 0, in bytes.
    pub level_bytes: u64,
    /// Size ratio of adjacent levels.
    pub level_factor: u32,
    /// Size of data blocks, in bytes.
    pub block_bytes: u32,
    /// Maximum share of dead bytes in the value log, between 0 and 1. Above it, live values are moved out of the value
    /// files with the largest share of dead bytes, and the files are removed.
    pub dead_share: f64,
    /// The way in which tables are searched: by their exact separators, or by the models of a learning policy.
    pub learning: Learning,
    /// Number of threads for flushes, compaction and learning. With 0, this work runs inside the calls that make it
    /// due.
    pub threads: usize,
    /// The profile of the storage, which determines the read-ahead. The default stands for that of an object store, if
    /// it [states one](Storage::profile).
    pub profile: Profile,
    /// Approximate maximum number of open files of a store in a folder, at least 8; the least recently read ones are
    /// closed. With `None`, the stores and tables of the process share half of its limit (`ulimit -n`). A storage given
    /// by the caller has [its own limit](crate::io::LocalStorage::with_open_files).
    pub open_files: Option<usize>,
    /// On an object store: how long a group of synced writes gathers before it is put, in milliseconds; with 0, each
    /// group is put at once. Several groups are put at the same time.
    pub object_gather_ms: u32,
    /// On an object store: how long files that the newest version does not need stay for readers of older ones, in
    /// seconds.
    pub object_grace_s: u64,
    /// The fast paths in use, for tests and measurements; answers do not depend on them. The store has no write-behind.
    #[doc(hidden)]
    pub fast_paths: FastPaths,
}

impl Default for DbOptions {
    fn default() -> Self {
        Self {
            create: true,
            memory_bytes: 256 << 20,
            memtable_bytes: 64 << 20,
            durability: Durability::Synced,
            group_bytes: 1 << 20,
            separation_threshold: 1 << 10,
            compression: Compression::default(),
            coding: true,
            upgrade: false,
            filter_bits_per_key: Some(10),
            table_bytes: 64 << 20,
            level_bytes: 256 << 20,
            level_factor: 10,
            block_bytes: 4096,
            dead_share: 0.2,
            learning: Learning::CODED,
            threads: available_threads().clamp(1, 4),
            profile: Profile::default(),
            open_files: None,
            object_gather_ms: 50,
            object_grace_s: 300,
            fast_paths: FastPaths::ALL,
        }
    }
}

setters! {
    DbOptions {
        create: bool,
        memory_bytes: u64,
        memtable_bytes: u64,
        durability: Durability,
        group_bytes: u64,
        separation_threshold: u64,
        compression: Compression,
        coding: bool,
        upgrade: bool,
        table_bytes: u64,
        level_bytes: u64,
        level_factor: u32,
        block_bytes: u32,
        dead_share: f64,
        learning: Learning,
        threads: usize,
        profile: Profile,
        object_gather_ms: u32,
        object_grace_s: u64,
        #[doc(hidden)]
        fast_paths: FastPaths,
    } optional {
        filter_bits_per_key: u32,
        open_files: usize,
    }
}

/// Most bytes of a value in a table of a store, and so of a table that a keyspace takes in. Longer values always go to
/// the value log, since values in tables and groups are held in memory as a whole.
pub const INLINE_BYTES_MAX: u64 = 1 << 20;

/// The opening read of a table may always have this size, in bytes, to report how much memory the table needs.
const OPENING_BYTES_MIN: u64 = 64 << 20;

/// The option that sets the memory of a store, for error messages.
pub(in crate::lsm) const MEMORY_OPTION: Setting = Setting::StoreMemory;

/// The least memory with which a store works, in bytes.
const MEMORY_BYTES_MIN: u64 = 1 << 20;

/// Open tables may use 1/2 of the memory; memtables may use the other half.
const TABLES_MEMORY_DIVISOR: u64 = 2;

/// Separators are resident while they take at most this many bytes on average; most take one to three.
const SEPARATOR_BYTES_MAX: u64 = 16;
/// The size of an index root that is always allowed unless memory is small, and the maximum, in bytes.
const ROOT_BYTES_DEFAULT: u64 = 64 << 10;
const ROOT_BYTES_MAX: u64 = 8 << 20;
/// An index root takes at most 1/64 of the memory, but may always take the minimum.
const ROOT_MEMORY_DIVISOR: u64 = 64;
const ROOT_BYTES_MIN: u64 = 16 << 10;

/// The memory stated for scans of whole stores, in bytes. They hold one table at a time, and no memtable of this size.
const SCAN_MEMORY_BYTES: u64 = 1 << 40;

/// A flush or a part of a compaction takes 1/16 of the memory.
const JOB_MEMORY_DIVISOR: u64 = 16;
/// Bounds of a job's memory, in bytes: less makes separators longer, and more has no use.
const JOB_BYTES_RANGE: std::ops::RangeInclusive<u64> = 1 << 20..=24 << 20;

impl DbOptions {
    /// The storage of a store. That of a path on the local file system has the limit of open files that the options
    /// set.
    ///
    /// # Errors
    /// As [`Place::folder`].
    pub fn storage(&self, place: impl Into<Place>) -> Result<Arc<dyn Storage>> {
        let place = place.into();
        let limit = self.open_files.filter(|_| place.path().is_some());
        let located = place.folder()?;
        let Some((folder, limit)) = located.folder().zip(limit) else { return Ok(located) };
        Ok(Arc::new(LocalStorage::new(folder).with_open_files(limit)))
    }

    /// Size at which a memtable is flushed, in bytes.
    pub(in crate::lsm) fn memtable_limit_bytes(&self) -> u64 {
        self.memtable_bytes.min(self.memory_bytes / 4).max(1)
    }

    /// Values of at least this many bytes are stored in the value log.
    pub(crate) fn separated_from_bytes(&self) -> u64 {
        self.separation_threshold.min(INLINE_BYTES_MAX + 1)
    }

    /// Maximum number of sealed memtable sets, within the half of the memory for memtables.
    pub(in crate::lsm) fn sealed_max(&self) -> usize {
        (self.memory_bytes / 2 / self.memtable_limit_bytes()).saturating_sub(1).clamp(1, 4) as usize
    }

    /// Maximum memory of the resident parts of all open tables: separators and block offsets.
    pub(crate) fn tables_limit_bytes(&self) -> u64 {
        self.memory_bytes / TABLES_MEMORY_DIVISOR
    }

    /// The least memory limit with which open tables may use `reserved_bytes`.
    pub(in crate::lsm) fn memory_for_tables(&self, reserved_bytes: u64) -> u64 {
        reserved_bytes.saturating_mul(TABLES_MEMORY_DIVISOR).max(MEMORY_BYTES_MIN)
    }

    /// Maximum size of the root of a table's index; the rest goes to layers below it.
    pub(crate) fn root_limit_bytes(&self) -> u64 {
        let blocks = self.table_bytes.max(self.memtable_limit_bytes()) / u64::from(self.block_bytes.max(1));
        let common = blocks.saturating_mul(SEPARATOR_BYTES_MAX).clamp(ROOT_BYTES_DEFAULT, ROOT_BYTES_MAX);
        common.min((self.memory_bytes / ROOT_MEMORY_DIVISOR).max(ROOT_BYTES_MIN))
    }

    /// Options with enough memory to open any table, for scans of a store that is not opened itself.
    pub(crate) fn for_verification() -> Self {
        Self { memory_bytes: SCAN_MEMORY_BYTES, ..Self::default() }
    }

    /// Approximate memory of a flush, or of a part of a compaction, in bytes.
    pub(crate) fn job_bytes(&self) -> u64 {
        (self.memory_bytes / JOB_MEMORY_DIVISOR).clamp(*JOB_BYTES_RANGE.start(), *JOB_BYTES_RANGE.end())
    }

    /// Batches join a group up to this size, in bytes: one efficient write call, without long waits.
    pub(in crate::lsm) fn group_bytes_max(&self) -> usize {
        (self.memory_bytes / 32).clamp(32 << 10, 1 << 20) as usize
    }

    /// Maximum size of a group led by the first waiting batch, in bytes; 0 if batches are written one by one.
    pub(in crate::lsm) fn joined_bytes_max(&self) -> usize {
        if self.fast_paths.batches { self.group_bytes_max() } else { 0 }
    }

    /// Memory of the buffers of a log and a value file, in bytes.
    pub(in crate::lsm) fn buffer_bytes(&self) -> u64 {
        3 * self.group_bytes_max() as u64
    }

    /// The options for opening tables of the store.
    pub(crate) fn of_tables(&self) -> SharedOptions {
        SharedOptions {
            profile: self.profile.clone(),
            value_bytes: INLINE_BYTES_MAX,
            opening_bytes: self.memory_bytes.max(OPENING_BYTES_MIN),
            unversioned: (ValueKind::Value as u8, 0),
            fast_paths: self.fast_paths,
        }
    }

    /// Begins learning, if there is a policy.
    pub(in crate::lsm) fn start_learning(&self) -> Option<Arc<dyn Learner>> {
        if self.fast_paths.models { self.learning.start(self.memory_bytes) } else { None }
    }

    /// Values of at least this many bytes go to a value file before they are logged, if the batch is not small. On an
    /// object store, only those that no log may have do: a value file is written as a whole.
    pub(in crate::lsm) fn separated_at_once_from_bytes(&self, on_objects: bool) -> u64 {
        if on_objects { INLINE_BYTES_MAX + 1 } else { self.separated_from_bytes() }
    }

    /// Refuses invalid options, for a store in the folder `path`.
    pub(in crate::lsm) fn check(&self, path: &Path) -> Result<()> {
        let refuse = |detail: String| Err(Error::input(detail));
        if self.memory_bytes < MEMORY_BYTES_MIN {
            return Err(Error::memory(path, MEMORY_BYTES_MIN, self.memory_bytes, MEMORY_OPTION));
        }
        if self.memtable_bytes == 0 || self.table_bytes == 0 || self.level_bytes == 0 || self.level_factor < 2 {
            return refuse(
                "sizes of memtables, tables and levels must be above 0, and the level factor at least 2".into(),
            );
        }
        if !BLOCK_BYTES.contains(&self.block_bytes) || !self.block_bytes.is_power_of_two() {
            let (least, most) = (BLOCK_BYTES.start(), BLOCK_BYTES.end());
            return refuse(format!(
                "the block size is a power of two from {least} to {most} bytes, not {}",
                self.block_bytes
            ));
        }
        if self.filter_bits_per_key.is_some_and(|bits| !(1..=32).contains(&bits)) {
            return refuse("filters have 1 to 32 bits per key".into());
        }
        if !(self.dead_share > 0.0 && self.dead_share < 1.0) {
            return refuse(format!("the dead share is between 0 and 1, not {}", self.dead_share));
        }
        Ok(())
    }
}
