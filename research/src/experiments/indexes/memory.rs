//! Memory of an index while it is measured.

use ogive::page::PageOptions;

use crate::workload::Population;

/// Memory while an index is loaded or grown without a measurement.
pub(crate) const LOAD_MEMORY_BYTES: u64 = 256 << 20;
/// Bytes of a key and its payload.
const ENTRY_BYTES: u64 = 16;
/// The pool holds 1/N of the data (1 %).
const POOL_SHARE: u64 = 100;

/// Pages of a size, and a pool of this memory.
pub(crate) fn pages(page_bytes: usize, memory_bytes: u64) -> PageOptions {
    let mut options = PageOptions::default();
    options.page_bytes = page_bytes;
    options.memory_bytes = memory_bytes;
    options
}

/// The memory of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunMemory {
    /// Nothing cached but the metanode, as in the papers on disk indexes.
    Nothing,
    /// A pool of 1 % of the data.
    Pool,
}

impl RunMemory {
    pub(crate) const ALL: [Self; 2] = [Self::Nothing, Self::Pool];

    /// The name in records.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::Pool => "1 %",
        }
    }

    /// Bytes of the pool for keys and payloads of a population.
    pub(crate) fn memory_bytes(self, population: &Population) -> u64 {
        let entries = (population.loaded().len() + population.coming().len()) as u64;
        match self {
            Self::Nothing => 0,
            Self::Pool => entries * ENTRY_BYTES / POOL_SHARE,
        }
    }
}
