//! The options of a store.

use super::entry::ValueKind;
use super::option_groups::{DbExpiryOptions, DbLevelOptions, DbObjectOptions, DbValueOptions, DbWriteOptions};
use super::tables::learner::Learner;
use super::tables::learning::Learning;
use super::version::{KeyspaceOptions, check_block_bytes};
use crate::block::compress::Compression;
use crate::durability::Durability;
use crate::error::{Error, Result, Setting};
use crate::io::{Clock, FastPaths, LocalStorage, Place, Profile, Storage, available_threads};
use crate::table::SharedOptions;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Options of a store. The defaults suit most uses; what a program sets most often is one short line. The rest is in
/// groups:
///
/// ```
/// use ogive::{DbOptions, Durability};
///
/// let options = DbOptions::default()
///     .memory_bytes(1 << 30)
///     .durability(Durability::Grouped)
///     .levels(|levels| levels.block_bytes(16 << 10).filter_bits_per_key(16))
///     .values(|values| values.separation_bytes(4 << 10));
/// assert_eq!(options.levels.level_factor, 10);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DbOptions {
    /// Creates the store if there is none.
    pub create: bool,
    /// Whether to raise the format of a store that an older release wrote to the newest. That release cannot open the
    /// store then. It is the last step of an opening: one that fails before leaves the format as it was.
    pub upgrade: bool,
    /// How long an opening for writing waits for the lock of the store while another handle or process holds it; by
    /// default not at all. After that time it fails with [`Cause::Locked`](crate::Cause::Locked), which names the
    /// process of the holder. Who waits looks some times a second, so the order of several is open. A store on an
    /// object store has no lock: who opens it for writing takes it over, and a time to wait is
    /// [`Cause::Unsupported`](crate::Cause::Unsupported).
    pub wait_for_lock: Duration,
    /// The upper limit, in bytes, of all memory that the store keeps and works with: memtables, cached blocks, indexes,
    /// filters and models together. At most half of it is for the resident parts of open tables, about ten bytes per
    /// block; if that is not enough, [`Cause::Memory`](crate::Cause::Memory) states the memory needed.
    pub memory_bytes: u64,
    /// Default durability of writes.
    pub durability: Durability,
    /// Compression of table blocks and of value chunks.
    pub compression: Compression,
    /// Number of threads for flushes, compaction and learning. With 0, this work runs inside the calls that make it
    /// due.
    pub threads: usize,
    /// Bytes per second at which the files of a store that is open for writing are read in the background, over and
    /// over, to find damage while other copies are good; 0, the default, for none. [`DbStats::scrub`] has the progress
    /// and the findings, which are also events and metrics. It needs
    /// [threads](Self::threads), and takes one of its own, about a megabyte of the memory, and on an object store a
    /// request for 256 KiB. [`verify_store`](crate::verify_store) reads all files at once, and compares them with each
    /// other.
    ///
    /// [`DbStats::scrub`]: crate::lsm::DbStats::scrub
    pub scrub_bytes_per_s: u64,
    /// The profile of the storage, which determines the read-ahead. The default stands for that of an object store, if
    /// it [states one](Storage::profile).
    pub profile: Profile,
    /// Approximate maximum number of open files of a store in a folder, at least 8; the least recently read ones are
    /// closed. With `None`, the stores and tables of the process share half of its limit (`ulimit -n`). A storage given
    /// by the caller has [its own limit](crate::io::LocalStorage::with_open_files).
    pub open_files: Option<usize>,
    /// The way in which tables are searched: by their exact separators, or by the models of a learning policy.
    #[doc(hidden)]
    pub learning: Learning,
    /// Memtables and groups of writes.
    pub writes: DbWriteOptions,
    /// The sizes of levels, and the form of their tables.
    pub levels: DbLevelOptions,
    /// The separation of long values.
    pub values: DbValueOptions,
    /// Records that expire.
    pub expiry: DbExpiryOptions,
    /// The store on an object store.
    pub objects: DbObjectOptions,
    /// The clocks by which records expire, for tests.
    #[doc(hidden)]
    pub clock: Clock,
    /// The fast paths in use, for tests and measurements; answers do not depend on them. The store has no write-behind.
    #[doc(hidden)]
    pub fast_paths: FastPaths,
}

impl Default for DbOptions {
    fn default() -> Self {
        Self {
            create: true,
            upgrade: false,
            wait_for_lock: Duration::ZERO,
            memory_bytes: 256 << 20,
            durability: Durability::Synced,
            compression: Compression::default(),
            threads: available_threads().clamp(1, 4),
            scrub_bytes_per_s: 0,
            profile: Profile::default(),
            open_files: None,
            learning: Learning::CODED,
            writes: DbWriteOptions::default(),
            levels: DbLevelOptions::default(),
            values: DbValueOptions::default(),
            expiry: DbExpiryOptions::default(),
            objects: DbObjectOptions::default(),
            clock: Clock::default(),
            fast_paths: FastPaths::ALL,
        }
    }
}

setters! {
    DbOptions {
        create: bool,
        upgrade: bool,
        wait_for_lock: Duration,
        memory_bytes: u64,
        durability: Durability,
        compression: Compression,
        threads: usize,
        scrub_bytes_per_s: u64,
        profile: Profile,
        #[doc(hidden)]
        learning: Learning,
        #[doc(hidden)]
        clock: Clock,
        #[doc(hidden)]
        fast_paths: FastPaths,
    } optional {
        open_files: usize,
    } groups {
        writes: DbWriteOptions,
        levels: DbLevelOptions,
        values: DbValueOptions,
        expiry: DbExpiryOptions,
        objects: DbObjectOptions,
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

/// What a transaction has read takes at most 1/16 of the memory, unless the options say otherwise, and what it has
/// written as much.
const TRANSACTION_MEMORY_DIVISOR: u64 = 16;

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
        self.writes.memtable_bytes.min(self.memory_bytes / 4).max(1)
    }

    /// Values of at least this many bytes are stored in the value log.
    pub(crate) fn separated_from_bytes(&self) -> u64 {
        self.values.separation_bytes.min(INLINE_BYTES_MAX + 1)
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
        let blocks =
            self.levels.table_bytes.max(self.memtable_limit_bytes()) / u64::from(self.levels.block_bytes.max(1));
        let common = blocks.saturating_mul(SEPARATOR_BYTES_MAX).clamp(ROOT_BYTES_DEFAULT, ROOT_BYTES_MAX);
        common.min((self.memory_bytes / ROOT_MEMORY_DIVISOR).max(ROOT_BYTES_MIN))
    }

    /// Options with enough memory to open any table, for scans of a store that is not opened itself.
    pub(crate) fn for_verification() -> Self {
        Self { memory_bytes: SCAN_MEMORY_BYTES, ..Self::default() }
    }

    /// The options that hold for a keyspace with options of its own.
    pub(crate) fn of_keyspace(&self, own: &KeyspaceOptions) -> Cow<'_, Self> {
        if own.is_default() {
            return Cow::Borrowed(self);
        }
        let mut options = self.clone();
        options.compression = own.compression.unwrap_or(options.compression);
        if let Some(bits) = own.filter_bits_per_key {
            options.levels.filter_bits_per_key = Some(bits).filter(|&bits| bits > 0);
        }
        options.values.separation_bytes = own.separation_bytes.unwrap_or(options.values.separation_bytes);
        options.levels.block_bytes = own.block_bytes.unwrap_or(options.levels.block_bytes);
        Cow::Owned(options)
    }

    /// Approximate memory of a flush, or of a part of a compaction, in bytes.
    pub(crate) fn job_bytes(&self) -> u64 {
        (self.memory_bytes / JOB_MEMORY_DIVISOR).clamp(*JOB_BYTES_RANGE.start(), *JOB_BYTES_RANGE.end())
    }

    /// Memory of what a transaction has read, and of what it has written, in bytes each.
    pub(in crate::lsm) fn transaction_limit_bytes(&self) -> u64 {
        self.writes.transaction_bytes.unwrap_or(self.memory_bytes / TRANSACTION_MEMORY_DIVISOR)
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
            keeps_filter: true,
            fast_paths: self.fast_paths,
        }
    }

    /// Begins learning, if there is a policy.
    pub(in crate::lsm) fn start_learning(&self) -> Option<Arc<dyn Learner>> {
        if self.fast_paths.models { self.learning.start(self.memory_bytes) } else { None }
    }

    /// Refuses invalid options, for a store in the folder `path`.
    pub(in crate::lsm) fn check(&self, path: &Path) -> Result<()> {
        let refuse = |detail: String| Err(Error::input(detail));
        if self.memory_bytes < MEMORY_BYTES_MIN {
            return Err(Error::memory(path, MEMORY_BYTES_MIN, self.memory_bytes, MEMORY_OPTION));
        }
        if self.writes.memtable_bytes == 0
            || self.levels.table_bytes == 0
            || self.levels.level_bytes == 0
            || self.levels.level_factor < 2
        {
            return refuse(
                "sizes of memtables, tables and levels must be above 0, and the level factor at least 2".into(),
            );
        }
        if self.scrub_bytes_per_s > 0 && self.threads == 0 {
            return refuse("a store without background threads is not scrubbed: set threads, or no rate".into());
        }
        check_block_bytes(self.levels.block_bytes)?;
        if self.levels.filter_bits_per_key.is_some_and(|bits| !(1..=32).contains(&bits)) {
            return refuse("filters have 1 to 32 bits per key".into());
        }
        if !(self.values.dead_share > 0.0 && self.values.dead_share < 1.0) {
            return refuse(format!("the dead share is between 0 and 1, not {}", self.values.dead_share));
        }
        Ok(())
    }
}
