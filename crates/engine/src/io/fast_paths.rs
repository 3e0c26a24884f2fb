//! Switches for the engine's fast paths.

/// Switches for the fast paths of tables, stores, indexes and joins. All are on by default.
///
/// For tests and benchmarks: **results are the same** with any setting, and files written with one setting can be read
/// with any other. Cache hits are not affected: the switches decide what is cached, and what happens on a miss.
///
/// ```
/// # use ogive::io::{FastPaths, MemoryStorage};
/// # use ogive::table::{TableOptions, Table, TableWriter, TableWriteOptions};
/// # let storage = std::sync::Arc::new(MemoryStorage::new());
/// # let mut writer = TableWriter::create((storage.clone(), "t"), TableWriteOptions::default())?;
/// # writer.append(b"apple", b"red")?;
/// # writer.finish()?;
/// let uncached = TableOptions::default().fast_paths(FastPaths { cache: false, ..FastPaths::ALL });
/// assert_eq!(Table::open((storage, "t"), &uncached)?.get(b"apple")?, Some(b"red".to_vec()));
/// # Ok::<(), ogive::Error>(())
/// ```
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FastPaths {
    /// Keep blocks, index pages and pages in memory. Otherwise each is read from storage whenever it is needed.
    pub cache: bool,
    /// Consult the filters of tables.
    pub filter: bool,
    /// Keep decoded separators of a table in memory: for lookups in stores, and for the indexes of joins. Otherwise
    /// lookups use the stored layers, and joins build separators from the data.
    pub separators: bool,
    /// Learn, load and use models of a store's tables and levels.
    pub models: bool,
    /// Prefetch in scans, joins and multi-key lookups. Otherwise each block is read separately, on demand.
    pub prefetch: bool,
    /// Keep several reads of a join or a long scan in flight. Otherwise a join or a scan reads one batch at a
    /// time.
    pub in_flight: bool,
    /// Read long runs of blocks past the page cache into large pages of memory, in joins.
    pub large_pages: bool,
    /// Process keys and writes in batches. Otherwise [`Table::multi_get`](crate::table::Table::multi_get), planned
    /// joins and similar operations look up one key at a time, concurrent writers write one by one, and sorted entries
    /// are inserted into an index one by one.
    pub batches: bool,
    /// Write a batch that meets no other write without the queue of writers, unless it is to be synced.
    pub unqueued_writes: bool,
    /// Leave the long values of small batches in the log and in memtables until a flush moves them to value files.
    /// Otherwise each is written to a value file before the log.
    pub deferred_values: bool,
    /// Write the output of a join in a thread of its own.
    pub write_behind: bool,
}

impl FastPaths {
    /// All fast paths: the default.
    pub const ALL: Self = Self {
        cache: true,
        filter: true,
        separators: true,
        models: true,
        prefetch: true,
        in_flight: true,
        large_pages: true,
        batches: true,
        unqueued_writes: true,
        deferred_values: true,
        write_behind: true,
    };

    /// No fast path.
    pub const NONE: Self = Self {
        cache: false,
        filter: false,
        separators: false,
        models: false,
        prefetch: false,
        in_flight: false,
        large_pages: false,
        batches: false,
        unqueued_writes: false,
        deferred_values: false,
        write_behind: false,
    };
}

impl Default for FastPaths {
    fn default() -> Self {
        Self::ALL
    }
}
