//! The trait that every system under test implements.

use std::ops::Range;
use std::path::Path;

use anyhow::Result;

/// How a store is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// Most memory for caches and memtables together, in bytes.
    pub(crate) budget_bytes: u64,
    /// Size of one memtable, in bytes.
    pub(crate) memtable_bytes: u64,
    /// Whether a commit is on the device when it returns. If not, the system's log is written, but not synced.
    pub(crate) synced: bool,
    /// Whether to read past the system's page cache, where that can be had.
    pub(crate) direct: bool,
    /// Whether to compress blocks with LZ4, where that can be had.
    pub(crate) lz4: bool,
}

impl Settings {
    /// The compression as settings print it, of a system that can compress.
    pub(crate) fn compression_name(&self) -> &'static str {
        if self.lz4 { "LZ4" } else { "no compression" }
    }
}

/// A kind of store.
#[derive(Debug)]
pub(crate) struct System {
    pub(crate) name: &'static str,
    /// Its version, and how it is set.
    pub(crate) settings: fn(&Settings) -> String,
    /// Whether it reads past the page cache if asked to.
    pub(crate) reads_directly: bool,
    /// Opens a store in a folder, or makes one there.
    pub(crate) open: fn(&Path, &Settings) -> Result<Box<dyn Store>>,
}

/// An open store.
pub(crate) trait Store: Sync {
    /// A handle to write with, for one thread.
    fn writer(&self) -> Result<Box<dyn Writer + '_>>;
    /// A handle to read with, for one thread. One that is not fresh may read from a snapshot that it took when it was
    /// made; a fresh one sees whatever was written before each call.
    fn reader(&self, fresh: bool) -> Result<Box<dyn Reader + '_>>;
    /// Brings the store into the form that is best for reading; returns when that is done.
    fn compact(&mut self) -> Result<()>;
    /// Writes out whatever is only in memory, and returns when nothing goes on in the background.
    fn wait_idle(&mut self) -> Result<()>;
}

/// Writes.
pub(crate) trait Writer {
    /// Puts in all records of a batch, or overwrites them, in one commit.
    fn write(&mut self, batch: &Batch) -> Result<()>;
}

/// Reads. What is found is copied out.
pub(crate) trait Reader {
    /// Replaces `out` by the value of a key; false if there is none.
    fn get(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<bool>;
    /// Replaces `out` by the first `entries` keys and values from a key on, one after the other; returns how many there
    /// were.
    fn scan(&mut self, from: &[u8], entries: usize, out: &mut Vec<u8>) -> Result<usize>;
}

/// Records to write.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    records: Vec<(Range<usize>, Range<usize>)>,
}

impl Batch {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
    }

    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.records.push((start..middle, middle..self.bytes.len()));
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Keys and values in the order in which they came.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.records.iter().map(|(key, value)| (&self.bytes[key.clone()], &self.bytes[value.clone()]))
    }
}
