//! The store: log, memtables, levels of tables, value files.
#![expect(dead_code, reason = "the store that uses them follows")]

mod batch;
mod commit;
mod compact;
mod core;
mod counters;
mod cursor;
mod db;
mod entry;
mod generation;
mod keyspace;
mod level;
mod lookups;
mod maintain;
mod memtable;
mod merge;
#[cfg(test)]
mod merge_tests;
#[cfg(test)]
mod model;
mod options;
mod range;
mod recover;
mod removals;
mod snapshot;
mod table_file;
mod values;
mod version;
mod view;
mod visible;
#[cfg(test)]
mod visible_tests;
mod wal;
mod work;

pub use batch::Batch;
pub use counters::Activity;
pub use db::Db;
pub use keyspace::{Keyspace, Mismatch};
pub use options::{DbOptions, Durability, Learning};
pub use range::{Pair, Range};
pub use snapshot::Snapshot;
