//! Readers of tables: lookups, ranges and scans.

pub(crate) mod context;
pub(super) mod cursor;
pub(crate) mod deferred;
pub(super) mod files;
pub(super) mod filter;
pub(crate) mod lookup;
pub(super) mod memory;
pub(super) mod operations;
pub(super) mod range;
pub(super) mod read_trace;
pub(super) mod reader;
pub(super) mod rows_ahead;
pub(super) mod scan;
pub(super) mod search;
pub(super) mod separators;
#[cfg(test)]
mod version_tests;
pub(super) mod warm;
