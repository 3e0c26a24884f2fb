//! The state of a store, as all its rooms see it: entries, memtables, versions, views and options.

pub(super) mod compaction_job;
pub(super) mod core;
pub(super) mod counters;
pub(crate) mod cursor;
pub(crate) mod entry;
pub(crate) mod file_numbers;
pub(super) mod keyspace_tree;
pub(super) mod learner;
pub(super) mod learning;
pub(super) mod level;
#[cfg(test)]
mod level_tests;
pub(super) mod live_snapshots;
pub(super) mod lookup_times;
pub(crate) mod memtable;
pub(super) mod memtable_set;
pub(super) mod obsolete_file;
pub(super) mod operations;
pub(super) mod options;
pub(crate) mod range_tombstones;
pub(super) mod room;
pub(super) mod skipped;
pub(crate) mod table_file;
pub(super) mod telemetry;
pub(super) mod value_files;
pub(crate) mod version;
pub(super) mod view;
pub(super) mod written_keyspace;
