//! The store: log, memtables, levels of tables, value files.
#![expect(dead_code, reason = "the store that uses them follows")]

mod cursor;
mod entry;
mod memtable;
mod merge;
#[cfg(test)]
mod merge_tests;
mod options;
mod removals;
mod wal;

pub use options::{DbOptions, Durability, Learning};
