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
//! | room | contents |
//! |---|---|
//! | `state` | what all rooms share: entries, memtables, versions and the manifest, tables, views, options |
//! | `objects` | the folder of a store on an object store |
//! | `core` | an open store: its state under one lock, its changes, its failures; the write-ahead log |
//! | `write` | group commit, validation of transactions, types that are stated with writes, ingestion |
//! | `read` | from memtables and tables to visible entries and their values |
//! | `compact` | flushes, the choice of compactions, their runs, collection of dead values |
//! | `indexes` | secondary indexes that the store keeps: their upkeep by writes, how they are made |
//! | `open` | recovery, replay of logs, store folders, operations on a store as a whole |
//! | `changes` | what followers read, and what is kept for them |
//! | `images` | images of stores that another process has open; checkpoints |
//! | `handles` | the public interface: stores, keyspaces, batches, transactions, ranges, snapshots, statistics |
//! | `extend` | the hidden seam by which `ogive-research` adds learning policies |
//!
//! A room imports only rooms above it in this table. Methods of the core are in the files of the room that they belong
//! to, and any room may call them.

pub(crate) mod changes;
pub(crate) mod compact;
pub(crate) mod core;
#[doc(hidden)]
pub mod extend;
mod handles;
pub(crate) mod images;
pub(crate) mod indexes;
pub(crate) mod objects;
pub(crate) mod open;
pub(crate) mod read;
pub(crate) mod state;
pub(crate) mod write;

pub use changes::follow::{Change, ChangeBatch, IngestedTables};
pub use changes::subscribe::SubscriberStats;
pub use core::scrub::{ScrubFinding, ScrubStats};
pub use handles::batch::Batch;
pub use handles::changes::DbChanges;
pub use handles::db::Db;
pub use handles::futures::async_db::AsyncDb;
pub use handles::futures::async_range::AsyncRange;
pub use handles::keyspace::{Keyspace, Swap};
pub use handles::keyspace_index::{KeyspaceIndex, KeyspaceIndexRange};
pub use handles::lookups::in_transaction::DbTransactionIndexRange;
pub use handles::pinned_types::PinnedTypes;
pub(crate) use handles::range::seek::MoveEnds;
pub use handles::range::{DbRange, LazyRecord};
pub use handles::snapshot::DbSnapshot;
pub use handles::stats::{DbStats, KeyspaceStats, LevelStats};
pub use handles::transaction::{DbTransaction, Isolation};
pub use handles::transaction_range::DbTransactionRange;
pub use images::closed_image::checkpoint_store;
pub use objects::StoreVersion;
pub use state::changes::position::ChangePosition;
pub use state::counters::Activity;
pub use state::expiry::rule::ExpiryRule;
pub use state::option_groups::{DbExpiryOptions, DbLevelOptions, DbObjectOptions, DbValueOptions, DbWriteOptions};
pub use state::options::DbOptions;
pub use state::version::KeyspaceOptions;
pub(crate) use state::version::LOCK_NAME;
pub use write::ingest::IngestSummary;

// Seams for the other crates of this repository: hidden, and free to change with any version.
#[doc(hidden)]
pub use {
    handles::futures::calls::{AsyncCall, AsyncCaller, CallAttempt, RunningCall},
    handles::table_stats::{TableKeyRange, TableStats},
    open::few_keys::{ManifestSummary, NamedKeys},
    open::folder::{has_store, is_store_file, is_store_object},
    state::options::INLINE_BYTES_MAX,
    state::tables::learner::LearningStats,
    state::tables::learning::Learning,
    state::version::{
        ALTERED_FORMAT, EXPIRING_FORMAT, INDEXED_FORMAT, OPTIONS_FORMAT, STORE_FORMAT, set_newest_format,
    },
};
