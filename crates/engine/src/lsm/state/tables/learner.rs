//! The traits of learning policies: a learner for each open store, and guides of tables and levels.

use super::level::LevelTables;
use super::table_file::TableFile;
use crate::error::Result;
use crate::table::read::lookup::LookupStart;
use serde::Serialize;
use std::fmt::Debug;
use std::sync::Arc;

/// A way to search the tables of a store, by name.
pub trait LearningPolicy: Debug + Send + Sync {
    /// The name of the policy: lowercase letters, digits and hyphens.
    fn name(&self) -> &'static str;

    /// Begins learning for a store with a memory limit of `memory_bytes`.
    fn start(&self, memory_bytes: u64) -> Arc<dyn Learner>;
}

/// The part of a policy that belongs to one open store. All methods are called by any thread, some with locks of the
/// store held: they must not call methods of the store, and only [`Self::learn_all`] and tasks may take long.
pub trait Learner: Debug + Send + Sync {
    /// Called for each table that is opened, before it is searched. `stored` is the model that was stored with the
    /// table when it was written, if any; it may be of another policy.
    fn open_table(&self, table: &TableFile, stored: Option<&[u8]>);

    /// Called when a table has come to a level, from a flush, a compaction, another level, or with the opening; also
    /// for each table that stays when a reader refreshes.
    fn table_added(&self, _level: usize, _table: &Arc<TableFile>) {}

    /// Called when a table has left the store. Tables of a dropped keyspace leave without notice: hold weak references.
    fn table_removed(&self, _level: usize, _table: &Arc<TableFile>) {}

    /// Called when levels of a keyspace consist of other tables than before, or it was dropped; `levels` are all its
    /// non-empty levels from 1 on, by number.
    fn levels_changed(&self, _keyspace: u32, _levels: &[(usize, Arc<LevelTables>)]) {}

    /// The next task that is due, if any. Each is followed by [`Self::task_ended`].
    fn next_task(&self) -> Option<Box<dyn LearningTask>> {
        None
    }

    /// Called when a task has ended, in whatever way.
    fn task_ended(&self) {}

    /// Microseconds until a task may become due by the passing of time; `None` if none will.
    fn wait_us(&self) -> Option<f64> {
        None
    }

    /// Learns all current tables or levels, as requested by [`Db::learn`](crate::lsm::Db::learn), until `go_on` returns
    /// `false`.
    ///
    /// # Errors
    /// Errors of the storage, and damage.
    fn learn_all(&self, _go_on: &dyn Fn() -> bool) -> Result<()> {
        Ok(())
    }

    /// Whether models are fitted while tables are written.
    fn fits_while_writing(&self) -> bool {
        false
    }

    /// Learns a table that is being written. Its keys are between `first` and `last`, the ends of all inputs of the
    /// flush or compaction.
    fn model_writer(&self, _first: &[u8], _last: &[u8]) -> Option<Box<dyn ModelWriter>> {
        None
    }

    /// Statistics; the store adds those of models and of lookups.
    fn stats(&self) -> LearningStats {
        LearningStats::default()
    }
}

/// Background work of a learner.
pub trait LearningTask: Debug + Send + Sync {
    /// Runs the task until `go_on` returns `false`.
    ///
    /// # Errors
    /// Errors of the storage, and damage.
    fn run(&self, go_on: &dyn Fn() -> bool) -> Result<()>;
}

/// Fits a model to a table while it is written.
pub trait ModelWriter: Debug + Send {
    /// Adds the key of the next entry.
    fn add(&mut self, key: &[u8]);

    /// The model as it is stored in the table, if there is one.
    fn finish(self: Box<Self>) -> Option<Vec<u8>>;
}

/// The first and the last position of a table that may hold a key, both included.
pub type PositionWindow = (u64, u64);

/// Predicts the place of keys in a table.
pub trait TableGuide: Debug + Send + Sync {
    /// The start of the lookup of a key. The guide of the level may have predicted a window of positions.
    ///
    /// # Errors
    /// Errors of the storage, and damage, if the guide has yet to read something.
    fn start(&self, table: &TableFile, key: &[u8], window: Option<PositionWindow>) -> Result<GuidedStart>;

    /// The size of the model, if there is one.
    fn model(&self) -> Option<ModelSize> {
        None
    }

    /// Memory of the guide in bytes, apart from the model.
    fn resident_bytes(&self) -> u64 {
        0
    }
}

/// The start of a lookup that a [`TableGuide`] predicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GuidedStart {
    /// The block to search; `None` to search the index of the table.
    pub start: Option<LookupStart>,
    /// Whether a model predicted it, for statistics.
    pub by_model: bool,
}

/// Predicts the places of keys in a level.
pub trait LevelGuide: Debug + Send + Sync {
    /// Up to two tables of the level that may hold a key, by index, with a window in each. If neither covers the key,
    /// it is looked for without the guide.
    fn locate(&self, key: &[u8]) -> [Option<(usize, PositionWindow)>; 2];

    /// The size of the model.
    fn model(&self) -> ModelSize;
}

/// The size of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelSize {
    /// Memory in bytes.
    pub bytes: u64,
    /// Number of segments.
    pub segments: u64,
}

/// Statistics of models and their use since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LearningStats {
    /// Number of tables and levels that have a model now.
    pub models: u64,
    /// Size of these models in bytes.
    pub model_bytes: u64,
    /// Number of segments of these models.
    pub segments: u64,
    /// Number of tables and levels that wait to be learned.
    pub waiting: u64,
    /// Number of models learned.
    pub learned: u64,
    /// Number of records that they were learned from.
    pub learned_records: u64,
    /// Microseconds spent on learning, including that while tables were written.
    pub learning_us: u64,
    /// Number of models of levels that were given up because the level changed meanwhile.
    pub given_up: u64,
    /// Number of tables judged not to be worth a model.
    pub skipped: u64,
    /// Number of models dropped to stay within the memory.
    pub dropped: u64,
    /// Approximate number of table lookups without a model; one in 32 is sampled.
    pub baseline_lookups: u64,
    /// Microseconds spent on these.
    pub baseline_us: u64,
    /// Approximate number of table lookups by a model.
    pub model_lookups: u64,
    /// Microseconds spent on these.
    pub model_us: u64,
}
