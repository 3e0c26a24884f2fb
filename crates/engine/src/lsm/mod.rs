//! The store: log, memtables, levels of tables, value files.
#![expect(dead_code, reason = "the store that uses them follows")]

mod compact;
mod cursor;
mod entry;
mod level;
mod lookups;
#[cfg(test)]
mod model;
mod options;
mod table_file;
mod visible;
#[cfg(test)]
mod visible_tests;
mod wal;

pub use options::{DbOptions, Durability, Learning};
