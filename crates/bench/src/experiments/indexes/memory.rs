//! Memory of an index while it is measured.

use ogive::page::PageOptions;

use crate::workload::Population;

/// Memory while an index is loaded or grown without a measurement.
pub(in crate::experiments) const LOAD_BUDGET_BYTES: u64 = 256 << 20;
/// Bytes of a key and its payload.
const ENTRY_BYTES: u64 = 16;
/// The pool holds 1/N of the data (1 %).
const POOL_SHARE: u64 = 100;

/// Pages of a size, and a pool with a budget.
pub(in crate::experiments) fn pages(page_bytes: usize, memory_bytes: u64) -> PageOptions {
    let mut options = PageOptions::default();
    options.page_bytes = page_bytes;
    options.memory_bytes = memory_bytes;
    options
}

/// The pool of throughput runs: 1 % of the data, as keys and payloads.
pub(in crate::experiments) fn pool_bytes(population: &Population) -> u64 {
    let entries = (population.loaded().len() + population.coming().len()) as u64;
    entries * ENTRY_BYTES / POOL_SHARE
}
