//! The store: a crash-safe ordered map from byte strings to byte strings. It is a log-structured merge tree with long
//! values separated from their keys (WiscKey).
//!
//! A write goes to the log and to a memtable; memtables are flushed to tables of level 0; compactions merge tables
//! downwards. The manifest records the files of the store. A reader takes the immutable view of a keyspace.
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
//! | file | contents |
//! |---|---|
//! | `db`, `keyspace`, `batch`, `snapshot`, `range` | the public interface |
//! | `core`, `view`, `memtable_set` | state shared by threads, and the views that readers hold |
//! | `commit`, `commit_stream`, `wal`, `memtable`, `entry` | the write path |
//! | `background`, `compact`, `version` | flushes, compaction, value collection; choosing jobs; the manifest |
//! | `table_file`, `level`, `merge`, `visible`, `range_tombstones`, `cursor` | the read path: from tables to records |
//! | `recover`, `folder`, `maintain`, `counters` | opening, store folders, keyspaces and closing, activity counters |
//! | `room` | the memory of open tables: what an opening accepts, and what flushes and compactions need |
//! | `file_numbers`, `unreferenced` | reservation of file numbers; files that the manifest does not name |
//! | `pinned_types`, `stating` | the types of keyspaces: handles that use them, and changes that state them |
//! | `ingest`, `tombstone_cleanup` | ingestion, cleanup of tombstones that iterators skip |
//! | `checkpoint`, `live`, `closed_image` | checkpoints; images of stores that another process has open, and copies |
//! | `extend`, `learning` | learning policies, and the hidden seam by which `ogive-research` adds them |
//! | `objects`, `in_flight` | the folder of a store on an object store; groups that are put at once |
//! | `stats`, `table_stats`, `lookup_times` | statistics |

mod background;
mod batch;
mod batch_get;
pub(crate) mod checkpoint;
pub(crate) mod closed_image;
mod commit;
mod commit_stream;
pub(crate) mod compact;
mod core;
mod counters;
pub(crate) mod cursor;
mod db;
pub(crate) mod entry;
#[doc(hidden)]
pub mod extend;
pub(crate) mod file_numbers;
mod folder;
mod in_flight;
mod ingest;
mod keyspace;
#[cfg(test)]
mod keyspace_tests;
mod learning;
mod level;
#[cfg(test)]
mod level_tests;
pub(crate) mod live;
mod log_replay;
mod lookup_times;
mod maintain;
pub(crate) mod memtable;
mod memtable_set;
pub(crate) mod merge;
#[cfg(test)]
mod merge_tests;
pub(crate) mod objects;
mod obsolete_file;
mod options;
mod pinned_types;
mod range;
pub(crate) mod range_tombstones;
mod recover;
mod room;
#[cfg(test)]
mod schedule_tests;
mod snapshot;
mod stating;
mod stats;
pub(crate) mod table_file;
mod table_stats;
mod telemetry;
#[cfg(test)]
mod test_model;
#[cfg(test)]
mod thread_tests;
mod tombstone_cleanup;
pub(crate) mod unreferenced;
mod value_ahead;
mod value_files;
mod value_wave;
pub(crate) mod version;
mod view;
mod visible;
#[cfg(test)]
mod visible_tests;
pub(crate) mod wal;

pub use batch::Batch;
pub use closed_image::{checkpoint_store, checkpoint_store_in};
pub use counters::Activity;
pub use db::Db;
pub use folder::{has_store, is_store_file, is_store_object};
pub use ingest::IngestSummary;
pub use keyspace::{Keyspace, Swap};
pub use learning::{Learning, LearningStats};
pub use objects::StoreVersion;
pub use options::{DbOptions, INLINE_BYTES_MAX};
pub use pinned_types::PinnedTypes;
pub use range::{DbRange, LazyRecord};
pub(crate) use recover::LOCK_NAME;
pub use snapshot::DbSnapshot;
pub use stats::{DbStats, KeyspaceStats, LevelStats};
pub use table_stats::{TableKeyRange, TableStats};
pub use version::{STORE_FORMAT, set_newest_format};
