//! The options for writing a table and for opening one.

use crate::block::BlockCache;
use crate::block::compress::Compression;
use crate::io::{FastPaths, Profile, available_threads};
use crate::table::block::key::KEY_BYTES_MAX;
use crate::table::report::lookup_sample::LookupSample;
use crate::telemetry::{self, Counter};
use crate::tune::{DesignCaching, DesignObjective, DesignRequest, DesignSearchOptions, TableSample};
use crate::types::{KeyColumn, KeyType, RecordType, ValueType};
use std::sync::Arc;

/// Default block size in bytes, if there is no basis for a choice.
pub(in crate::table) const DEFAULT_BLOCK_BYTES: u32 = 4096;

/// Options for writing a table. The default is byte-string keys, an index tuned for NVMe storage, and no compression.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TableWriteOptions {
    /// Type of the keys. Keys of a type with a fixed width must all have that width.
    pub key_type: KeyType,
    /// Type of the values. It is stated in the table; values are stored as they are given.
    pub value_type: ValueType,
    /// The columns that the keys come from, if they have names.
    pub key_columns: Vec<KeyColumn>,
    /// Width of every value in bytes, if all have the same. With fixed-width keys, records are then stored densely,
    /// without per-record overhead: a record of 16 bytes takes 16 bytes.
    pub value_width: Option<u32>,
    /// Size of a data block in bytes, a power of two from 512 to 1 MiB. `None` lets the tuner choose, from a
    /// [sample](TableTuningOptions::sample) or from the first records.
    pub block_bytes: Option<u32>,
    /// The index design.
    pub design: DesignRequest,
    /// Profile of the storage that the table will be read from.
    pub profile: Profile,
    /// What the design and the block size are chosen for.
    pub tuning: TableTuningOptions,
    /// Compression of the data blocks.
    pub compression: Compression,
    /// Whether blocks may be coded: keys, and values of one short width, as lines with bit-packed differences, where
    /// that saves space.
    pub coding: bool,
    /// Bits per key of the filter for absent keys; `None` for no filter.
    pub filter_bits_per_key: Option<u32>,
    /// Whether records are versioned: each value begins with a kind byte and an 8-byte inverted sequence number, and
    /// records of one key are ordered by sequence number, largest first.
    pub versioned: bool,
    /// Whether to replace an existing Ogive table of this name, atomically. A file of any other kind is never replaced.
    pub replace: bool,
    /// Named values to store in the table, such as the statistics of a store.
    pub properties: Vec<(String, Vec<u8>)>,
}

impl Default for TableWriteOptions {
    fn default() -> Self {
        Self {
            key_type: KeyType::Bytes,
            value_type: ValueType::default(),
            key_columns: Vec::new(),
            value_width: None,
            block_bytes: None,
            design: DesignRequest::Tuned,
            profile: Profile::default(),
            tuning: TableTuningOptions::default(),
            compression: Compression::None,
            coding: true,
            filter_bits_per_key: None,
            versioned: false,
            replace: false,
            properties: Vec::new(),
        }
    }
}

impl TableWriteOptions {
    /// Most bytes of a key.
    pub const KEY_BYTES_MAX: usize = KEY_BYTES_MAX;

    /// The types of keys and values together.
    #[must_use]
    pub fn record_type(self, record_type: RecordType) -> Self {
        let RecordType { keys, values, key_columns } = record_type;
        Self { key_type: keys, value_type: values, key_columns, ..self }
    }

    /// The types of keys and values together.
    pub(in crate::table) fn types(&self) -> RecordType {
        RecordType::new(self.key_type, self.value_type.clone()).key_columns(self.key_columns.clone())
    }
}

setters! {
    TableWriteOptions {
        key_type: KeyType,
        value_type: ValueType,
        key_columns: Vec<KeyColumn>,
        design: DesignRequest,
        profile: Profile,
        compression: Compression,
        coding: bool,
        versioned: bool,
        replace: bool,
        properties: Vec<(String, Vec<u8>)>,
    } optional {
        value_width: u32,
        block_bytes: u32,
        filter_bits_per_key: u32,
    } groups {
        tuning: TableTuningOptions,
    }
}

/// Options of a table about the choice of its index design and block size, as
/// [`TableWriteOptions::tuning`](fn@TableWriteOptions::tuning) changes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TableTuningOptions {
    /// The objective that the index design minimises.
    pub objective: DesignObjective,
    /// Expected hit rates of a cache, or its memory. Numeric keys only, but for openings.
    pub caching: DesignCaching,
    /// Limit for the size of the index root, which stays in memory, in bytes.
    pub resident_bytes: Option<u64>,
    /// Parameters of the design search.
    pub search: DesignSearchOptions,
    /// A sample of the keys that will be looked up, in their order, if they are not equally likely. Used for numeric
    /// keys only: with others, each lookup reads one block, whichever it is.
    pub looked_up: Vec<Vec<u8>>,
    /// Approximate number of records, if known; improves the choice of a block size.
    pub expected_records: Option<u64>,
    /// A sample of all keys, for the choice of a block size; more accurate than the first records alone.
    pub sample: Option<TableSample>,
}

impl Default for TableTuningOptions {
    fn default() -> Self {
        Self {
            objective: DesignObjective::MeanLatency,
            caching: DesignCaching::default(),
            resident_bytes: None,
            search: DesignSearchOptions { threads: available_threads(), ..DesignSearchOptions::default() },
            looked_up: Vec::new(),
            expected_records: None,
            sample: None,
        }
    }
}

setters! {
    TableTuningOptions {
        objective: DesignObjective,
        caching: DesignCaching,
        search: DesignSearchOptions,
        looked_up: Vec<Vec<u8>>,
    } optional {
        resident_bytes: u64,
        expected_records: u64,
        sample: TableSample,
    }
}

/// Options for opening a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TableOptions {
    /// The upper limit, in bytes, of all memory that the open table keeps and works with: root, block locations, counts
    /// and cached blocks together; without the blocks if they are in a shared cache.
    pub memory_bytes: u64,
    /// A cache of blocks that several open tables share; `None` for one of its own.
    pub cache: Option<TableCache>,
    /// A sample that takes in the keys that are looked up; `None` for none. Its memory is not part of the limit.
    pub lookup_sample: Option<LookupSample>,
    /// Bytes of the file that opening reads into the cache, as [`Table::warm`](crate::table::Table::warm) does; `None`
    /// for none.
    pub warm_bytes: Option<u64>,
    /// Profile of the storage that the table is read from; decides when two reads are merged into one.
    pub profile: Profile,
    /// The fast paths that are used (cache, filter, prefetch and batches), for tests and benchmarks. Results are the
    /// same with any setting.
    #[doc(hidden)]
    pub fast_paths: FastPaths,
}

impl Default for TableOptions {
    /// With 64 MiB of memory: enough for the root of a billion records and some thousand blocks.
    fn default() -> Self {
        Self {
            memory_bytes: 64 << 20,
            cache: None,
            lookup_sample: None,
            warm_bytes: None,
            profile: Profile::default(),
            fast_paths: FastPaths::ALL,
        }
    }
}

setters! {
    TableOptions {
        memory_bytes: u64,
        profile: Profile,
        #[doc(hidden)]
        fast_paths: FastPaths,
    } optional {
        cache: TableCache,
        lookup_sample: LookupSample,
        warm_bytes: u64,
    }
}

/// A cache of blocks that several open tables share: those of all tables take at most its memory. Clones are cheap, and
/// are the same cache.
///
/// ```
/// use ogive::table::TableCache;
/// use ogive::TableOptions;
///
/// let cache = TableCache::new(256 << 20);
/// let options = TableOptions::default().cache(cache);
/// ```
#[derive(Clone, Debug)]
pub struct TableCache(Arc<BlockCache>);

impl TableCache {
    /// A cache of at most `memory_bytes`, bookkeeping included.
    #[must_use]
    pub fn new(memory_bytes: u64) -> Self {
        Self::for_blocks_of(memory_bytes, DEFAULT_BLOCK_BYTES.into())
    }

    fn for_blocks_of(memory_bytes: u64, block_bytes: u64) -> Self {
        let mut cache = BlockCache::for_blocks_of(memory_bytes, block_bytes);
        let counter = |metric| Counter::register(metric, &[]);
        cache.count_in(counter(telemetry::TABLE_CACHE_HITS), counter(telemetry::TABLE_CACHE_MISSES));
        Self(Arc::new(cache))
    }
}

impl TableOptions {
    /// The shared cache, or one of a table's own, whose blocks are of this size.
    pub(in crate::table) fn blocks_cache(&self, own_bytes: u64, block_bytes: u64) -> Arc<BlockCache> {
        let shared = self.cache.clone().filter(|_| self.fast_paths.cache);
        shared.unwrap_or_else(|| TableCache::for_blocks_of(own_bytes, block_bytes)).0
    }
}
