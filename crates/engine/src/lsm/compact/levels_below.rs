//! The levels below a compaction's output, and whether they may contain a given key.

use crate::lsm::state::version::{KeyspaceLevels, LEVELS, TableFileMeta};
use std::sync::Arc;

/// The key ranges of tables with older entries than a compaction's inputs.
///
/// Queries come with ascending keys, so it advances along with them: a query takes one or two comparisons per level.
#[derive(Debug, Default)]
pub(crate) struct LevelsBelow {
    runs: Vec<SortedTables>,
}

/// Disjoint tables in order, and the first that does not end before the last queried key.
#[derive(Debug)]
struct SortedTables {
    tables: Vec<Arc<TableFileMeta>>,
    at: usize,
}

impl LevelsBelow {
    /// `runs` are lists of tables, each disjoint and in key order: a level, or one table of level 0.
    pub(crate) fn new(runs: impl IntoIterator<Item = Vec<Arc<TableFileMeta>>>) -> Self {
        let filled = runs.into_iter().filter(|tables| !tables.is_empty());
        Self { runs: filled.map(|tables| SortedTables { tables, at: 0 }).collect() }
    }

    /// The levels below `level`.
    pub(crate) fn level(levels: &KeyspaceLevels, level: usize) -> Self {
        Self::new((level + 1..LEVELS).map(|deeper| levels.level(deeper).to_vec()))
    }

    /// The levels below the memtables: all tables of the keyspace.
    pub(crate) fn memtable(levels: &KeyspaceLevels) -> Self {
        let newest = levels.level(0).iter().map(|table| vec![Arc::clone(table)]);
        Self::new(newest.chain((1..LEVELS).map(|level| levels.level(level).to_vec())))
    }

    /// Whether no older entry can have this key, and no older range tombstone can cover it. Keys must not decrease
    /// between calls.
    #[inline]
    pub(crate) fn is_free(&mut self, key: &[u8]) -> bool {
        self.runs.iter_mut().all(|run| {
            while run.tables.get(run.at).is_some_and(|table| table.ends_before(key)) {
                run.at += 1;
            }
            run.tables.get(run.at).is_none_or(|table| table.smallest.as_slice() > key)
        })
    }

    /// Whether no older entry can have a key from `start` up to `end`, exclusively; an empty `end` means no end.
    pub(crate) fn is_range_free(&self, start: &[u8], end: &[u8]) -> bool {
        self.runs.iter().all(|run| {
            let at = run.tables.partition_point(|table| table.ends_before(start));
            run.tables.get(at).is_none_or(|table| !end.is_empty() && table.smallest.as_slice() >= end)
        })
    }
}
