//! The vocabulary of a store: what its rooms share. It imports none of them.
//!
//! * records: `entry`, `cursor`, `range_tombstones`, `operations` of batches
//! * what holds them: `memtable`, `memtable_set`, `table_file`, `level`, `value_files`
//! * durable state: `version`, `file_numbers`, `log_header`, `obsolete_file`
//! * keyspaces: `keyspace_tree`, `view`, `written_keyspace`, `live_snapshots`
//! * `transactions`: what they have read, what is newer, and which are open
//! * `indexes` of keyspaces
//! * `expiry`: the time of a store, by which records expire
//! * `changes`: positions in the history, and what is kept of it
//! * work: `compaction_job`, `skipped` entries, `learner`, `learning`, `lookup_times`, `counters`
//! * `options`

pub(super) mod changes;
pub(super) mod compaction_job;
pub(super) mod counters;
pub(crate) mod cursor;
pub(super) mod delivered;
pub(crate) mod entry;
pub(crate) mod expiry;
#[doc(hidden)]
pub(crate) mod file_numbers;
pub(crate) mod indexes;
pub(super) mod keyspace_tree;
pub(super) mod live_snapshots;
pub(super) mod log_header;
pub(crate) mod memtable;
pub(super) mod memtable_set;
pub(super) mod obsolete_file;
pub(super) mod operations;
pub(super) mod option_groups;
pub(super) mod options;
pub(crate) mod range_tombstones;
pub(super) mod skipped;
pub(crate) mod tables;
#[cfg(test)]
pub(super) mod test_model;
pub(super) mod transactions;
pub(crate) mod value_forms;
pub(crate) mod version;
pub(super) mod view;
pub(super) mod written_keyspace;
