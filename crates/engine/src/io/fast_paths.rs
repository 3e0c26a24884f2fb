//! Switches for the engine's fast paths.

/// Which fast paths an open table, an open store, an index or a join takes; all of them, unless said.
///
/// For tests and for measuring what a path is worth: **answers are the same**, whichever are switched off, and files that are written
/// with one setting are read with any other. Hits of a cache never look at them: they decide what is held, and what is done on a miss.
///
/// ```
/// # use ogive::io::{FastPaths, MemoryStorage};
/// # use ogive::table::{OpenOptions, Table, TableWriter, WriteOptions};
/// # let storage = std::sync::Arc::new(MemoryStorage::new());
/// # let mut writer = TableWriter::create(storage.clone(), "t", WriteOptions::default())?;
/// # writer.append(b"apple", b"red")?;
/// # writer.finish()?;
/// let uncached = OpenOptions { fast_paths: FastPaths { cache: false, ..FastPaths::ALL }, ..OpenOptions::default() };
/// assert_eq!(Table::open(storage, "t", &uncached)?.get(b"apple")?, Some(b"red".to_vec()));
/// # Ok::<(), ogive::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FastPaths {
    /// Blocks, units of layers and pages are kept in memory. Without, each is read from the storage whenever it is needed.
    pub cache: bool,
    /// The filters of tables are asked.
    pub filter: bool,
    /// The separators of a table are held in memory, decoded: by stores for look-ups, by joins for their indexes. Without, look-ups go
    /// through the layers as they are stored, and joins make separators from the data.
    pub separators: bool,
    /// Models of a store's tables and levels are learned, loaded and used.
    pub models: bool,
    /// Scans, joins and many-key look-ups read ahead. Without, each block is read by itself, when it is needed.
    pub prefetch: bool,
    /// Keys, probes and writes that come together are dealt with together. Without, [`Table::multi_get`](crate::table::Table::multi_get)
    /// and its like look up one key after the other, a planned join probes, and waiting writers write one by one.
    pub batches: bool,
    /// The output of a join is written by a thread of its own.
    pub write_behind: bool,
}

impl FastPaths {
    /// Every fast path: the default.
    pub const ALL: Self = Self {
        cache: true,
        filter: true,
        separators: true,
        models: true,
        prefetch: true,
        batches: true,
        write_behind: true,
    };

    /// No fast path.
    pub const NONE: Self = Self {
        cache: false,
        filter: false,
        separators: false,
        models: false,
        prefetch: false,
        batches: false,
        write_behind: false,
    };
}

impl Default for FastPaths {
    fn default() -> Self {
        Self::ALL
    }
}
