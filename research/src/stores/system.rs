//! A kind of store: its name, its settings, and how it is opened.

use std::path::Path;

use super::store::{StoreResult, StoreSessions};

/// How a store is opened. A store states in its description which of these it cannot follow.
#[derive(Debug, Clone, Copy)]
pub struct StoreSettings {
    /// Most memory for caches and memtables together, in bytes.
    pub memory_bytes: u64,
    /// Size of one memtable, in bytes.
    pub memtable_bytes: u64,
    /// Whether a commit is on the device when it returns. If not, the store's log is written, but not synced.
    pub synced: bool,
    /// Whether to read past the system's page cache, of a store that can.
    pub direct: bool,
    /// Whether to compress blocks with LZ4, of a store that can.
    pub lz4: bool,
}

impl StoreSettings {
    /// The compression as settings print it, of a store that can compress.
    pub fn compression_name(&self) -> &'static str {
        if self.lz4 { "LZ4" } else { "no compression" }
    }
}

/// A kind of store, as a constant. [The module](super) has an example.
#[derive(Debug)]
pub struct StoreSystem {
    /// Its name on the command line and in records: lowercase letters, digits and hyphens.
    pub name: &'static str,
    /// Its version and how it is set, in one line.
    pub settings: fn(&StoreSettings) -> String,
    /// Whether it reads past the page cache if it is opened with [`StoreSettings::direct`].
    pub reads_directly: bool,
    /// Opens the store in a folder, or makes one in an empty folder.
    pub open: fn(&Path, &StoreSettings) -> StoreResult<Box<dyn StoreSessions>>,
}
