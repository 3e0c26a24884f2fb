//! The options for writing a table and for opening one.

use super::key::KeyType;
use crate::block::compress::Compression;
use crate::io::{FastPaths, Profile, available_threads};
use crate::tune::{Caching, DesignRequest, Objective, Options, Sample};

/// How a table is to be written. `WriteOptions::default()` gives byte-string keys, a tuned index for NVMe, no compression.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Type of the keys; with a fixed width, every key must have it.
    pub key_type: KeyType,
    /// Width of all values in bytes, where they have one. With keys of fixed width, records then lie densely: a record of 16 bytes takes 16
    /// bytes.
    pub value_width: Option<u32>,
    /// Size of a data block in bytes, a power of two from 512 to 1 MiB; `None` lets the tuner choose, from `sample` or from the
    /// first records.
    pub block_bytes: Option<u32>,
    /// The index that the table gets.
    pub design: DesignRequest,
    /// The storage that the table will be read from.
    pub profile: Profile,
    /// What the index is to minimise.
    pub objective: Objective,
    /// Expected hits of a cache.
    pub caching: Caching,
    /// Most bytes that the root may take.
    pub resident_budget_bytes: Option<u64>,
    /// How the search goes about it.
    pub search: Options,
    /// Keys that will be looked up, when they are not equally likely; only numeric keys count.
    pub looked_up: Vec<Vec<u8>>,
    /// How data blocks are compressed.
    pub compression: Compression,
    /// Bits a key of a filter for absent keys; `None` for no filter.
    pub filter_bits_per_key: Option<u32>,
    /// Whether each value begins with a tag byte and an 8-byte suffix that orders records of one key, descending.
    pub tagged: bool,
    /// Whether an existing Ogive table of this name is replaced, atomically. Any other file is never replaced.
    pub replace: bool,
    /// About how many records will come, where that is known; it helps to choose the size of blocks.
    pub expected_records: Option<u64>,
    /// A sample of the keys to choose the size of blocks by, taken from all of them; better than the first records alone.
    pub sample: Option<Sample>,
    /// Anything that the caller wants to find again in the table, such as the statistics of a store.
    pub properties: Vec<(String, Vec<u8>)>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            key_type: KeyType::Bytes,
            value_width: None,
            block_bytes: None,
            design: DesignRequest::Tuned,
            profile: Profile::default(),
            objective: Objective::MeanLatency,
            caching: Caching::default(),
            resident_budget_bytes: None,
            search: Options { threads: available_threads(), ..Options::default() },
            looked_up: Vec::new(),
            compression: Compression::None,
            filter_bits_per_key: None,
            tagged: false,
            replace: false,
            expected_records: None,
            sample: None,
            properties: Vec::new(),
        }
    }
}

/// How a table is opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Most memory that the table may take: root, locations, counts and cached blocks together.
    pub budget_bytes: u64,
    /// The storage that it is read from: decides when two reads are merged into one.
    pub profile: Profile,
    /// For tests and for measuring: which fast paths it takes, of cache, filter, prefetch and batches. Answers are the same.
    pub fast_paths: FastPaths,
}

impl Default for OpenOptions {
    /// 64 MiB: the root of a billion records, and some thousand blocks.
    fn default() -> Self {
        Self { budget_bytes: 64 << 20, profile: Profile::default(), fast_paths: FastPaths::ALL }
    }
}
