//! The store: a crash-safe ordered map from byte strings to byte strings, log-structured, with long values apart from their keys and
//! with learned tables (after WiscKey and Bourbon).
//!
//! A write goes to the log and to a memtable; memtables are written out as tables of level 0; compactions merge tables downwards. What
//! belongs to the store is in its manifest. A reader takes the view of a keyspace, which nobody changes.
//!
//! ```text
//!             write                                     read
//!               |                                         |
//!   batch --> group --> value file (long values)          |      view of a keyspace, newest first
//!               |-----> log                               |
//!               '-----> memtable  <-----------------------+----- active memtable
//!                          | sealed, flushed              +----- sealed memtables
//!                       level 0   <-----------------------+----- tables that may overlap
//!                          | compacted                    |
//!                       levels 1 to 6  <------------------'----- one table of each level
//! ```
//!
//! | file | |
//! |---|---|
//! | `db`, `keyspace`, `batch`, `snapshot`, `range` | what callers see |
//! | `core`, `view`, `generation` | what threads share, and what readers hold |
//! | `commit`, `wal`, `memtable`, `entry` | writing |
//! | `work`, `compact`, `version` | background work: flushes, compactions, collection of values; what to do next, and what is there |
//! | `table_file`, `level`, `merge`, `visible`, `removals`, `cursor` | from tables to what a reader sees |
//! | `recover`, `folder`, `maintain`, `counters` | opening, where a store may be; keyspaces, closing; what was done |
//! | `numbers`, `unnamed` | numbers of files, reserved before they are used; files that nothing names |

mod batch;
pub(crate) mod checkpoint;
mod commit;
pub(crate) mod compact;
mod core;
mod counters;
pub(crate) mod cursor;
mod db;
pub(crate) mod entry;
mod folder;
mod generation;
mod ingest;
mod keyspace;
#[cfg(test)]
mod keyspace_tests;
mod learn;
mod level;
#[cfg(test)]
mod level_tests;
mod maintain;
pub(crate) mod memtable;
pub(crate) mod merge;
#[cfg(test)]
mod merge_tests;
#[cfg(test)]
mod model;
pub(crate) mod numbers;
mod obsolete;
mod options;
mod range;
mod recover;
pub(crate) mod removals;
#[cfg(test)]
mod schedule_tests;
mod skips;
mod snapshot;
mod stats;
mod steps;
pub(crate) mod table_file;
mod tables;
#[cfg(test)]
mod thread_tests;
pub(crate) mod unnamed;
mod values;
pub(crate) mod version;
mod view;
mod visible;
#[cfg(test)]
mod visible_tests;
pub(crate) mod wal;
mod work;

pub use batch::Batch;
pub use counters::Activity;
pub use db::Db;
pub use folder::is_store_file;
pub use ingest::Ingested;
pub use keyspace::{Keyspace, Mismatch};
pub use learn::LearningStats;
pub use options::{DbOptions, Durability, Learning, ModelReads};
pub use range::{Pair, Range};
pub(crate) use recover::LOCK_NAME;
pub use snapshot::Snapshot;
pub use stats::{KeyspaceStats, LevelStats, Stats};
pub use steps::LookupSteps;
pub use tables::TableStats;
