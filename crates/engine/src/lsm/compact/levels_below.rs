//! The levels below a compaction's output, and whether they may contain a given key.

use super::super::version::{KeyspaceLevels, LEVELS, TableMeta};
use std::sync::Arc;

/// The key ranges of tables that hold older entries than a compaction's inputs.
///
/// It is asked with rising keys, so it moves along with them: a question costs a comparison or two for each level.
#[derive(Debug, Default)]
pub(crate) struct LevelsBelow {
    runs: Vec<SortedTables>,
}

/// Disjoint tables in order, and the first that does not end before the last key that was asked for.
#[derive(Debug)]
struct SortedTables {
    tables: Vec<Arc<TableMeta>>,
    at: usize,
}

impl LevelsBelow {
    /// `runs` are lists of tables, each disjoint and in key order: a level, or one table of the first level.
    pub(crate) fn new(runs: impl IntoIterator<Item = Vec<Arc<TableMeta>>>) -> Self {
        let filled = runs.into_iter().filter(|tables| !tables.is_empty());
        Self { runs: filled.map(|tables| SortedTables { tables, at: 0 }).collect() }
    }

    /// What lies below level `level` of a keyspace.
    pub(crate) fn level(levels: &KeyspaceLevels, level: usize) -> Self {
        Self::new((level + 1..LEVELS).map(|deeper| levels.level(deeper).to_vec()))
    }

    /// What lies below the memtables of a keyspace: all its tables.
    pub(crate) fn memtable(levels: &KeyspaceLevels) -> Self {
        let newest = levels.level(0).iter().map(|table| vec![Arc::clone(table)]);
        Self::new(newest.chain((1..LEVELS).map(|level| levels.level(level).to_vec())))
    }

    /// Whether no older entry can have this key, nor a range tombstone cover it; keys must not fall from question to question.
    #[inline]
    pub(crate) fn is_free(&mut self, key: &[u8]) -> bool {
        self.runs.iter_mut().all(|run| {
            while run.tables.get(run.at).is_some_and(|table| table.ends_before(key)) {
                run.at += 1;
            }
            run.tables.get(run.at).is_none_or(|table| table.smallest.as_slice() > key)
        })
    }

    /// Whether no older entry can have a key from `start` up to, and without, `end`; an empty one is none.
    pub(crate) fn is_range_free(&self, start: &[u8], end: &[u8]) -> bool {
        self.runs.iter().all(|run| {
            let at = run.tables.partition_point(|table| table.ends_before(start));
            run.tables.get(at).is_none_or(|table| !end.is_empty() && table.smallest.as_slice() >= end)
        })
    }
}
