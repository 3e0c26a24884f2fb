//! The store: log, memtables, levels of tables, value files.
#![expect(dead_code, reason = "the store that uses them follows")]

mod cursor;
mod entry;
mod options;
mod version;

pub use options::{DbOptions, Durability, Learning};
