//! Inputs of joins as row streams: scans, stored and sorted inputs, records of callers. They know only the vocabulary
//! (`rows`).

pub(super) mod block_run;
pub(super) mod converted;
pub(super) mod prefetch;
pub(super) mod read_shape;
pub(super) mod records;
pub(super) mod scan;
#[cfg(test)]
mod scan_tests;
pub(super) mod sorted;
pub(super) mod source;
pub(super) mod stored;
