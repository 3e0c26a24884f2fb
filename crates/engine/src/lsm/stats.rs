//! Statistics of a store: sizes of its parts, amplification, and activity.

use super::core::Core;
use super::counters::Activity;
use super::db::Db;
use super::learn::LearningStats;
use super::table_file::TableFile;
use super::version::{LEVELS, TableMeta};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a store consists of at one moment, and what it has done since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DbStats {
    /// The keyspaces, in the order in which they were made.
    pub keyspaces: Vec<KeyspaceStats>,
    /// Bytes of all tables.
    pub table_bytes: u64,
    /// Files of values.
    pub value_files: u64,
    /// Their bytes, with those that grow.
    pub value_file_bytes: u64,
    /// Bytes of values that no entry of a table points at any more.
    pub dead_value_bytes: u64,
    /// Bytes of what is not yet in tables, in memory.
    pub memtable_bytes: u64,
    /// Bytes of the cache's blocks in memory.
    pub cache_bytes: u64,
    /// Bytes of tables' indexes and filters in memory.
    pub resident_bytes: u64,
    /// Bytes of tables and values for each byte that would be left if all were compacted, as far as that can be told without reading them:
    /// what the deepest levels hold, and the values that are pointed at. Nothing where there is nothing.
    pub space_amplification: Option<f64>,
    /// Bytes written to logs, tables and value files for each byte of keys and values, since the store was opened. Nothing where nothing
    /// was written.
    pub write_amplification: Option<f64>,
    /// What was learned, and what look-ups made of it.
    pub learning: LearningStats,
    /// Part of the look-ups in tables that went by a model, since the store was opened: between 0 and 1. Nothing where there was none.
    pub model_share: Option<f64>,
    /// What was done since the store was opened.
    pub activity: Activity,
}

/// What a keyspace consists of.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct KeyspaceStats {
    /// Its name.
    pub name: String,
    /// Its levels, level 0 first.
    pub levels: Vec<LevelStats>,
}

/// What a level consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LevelStats {
    /// Tables.
    pub tables: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Entries in them.
    pub records: u64,
    /// Entries that are removals.
    pub removals: u64,
    /// Look-ups that found an entry in one of the tables that are there now, about: one in 32 is counted.
    pub positive_lookups: u64,
    /// Look-ups that were made in one of these tables and found no entry, about.
    pub negative_lookups: u64,
    /// Those of both that went by a model, about.
    pub model_lookups: u64,
    /// Tables that have a model.
    pub models: u64,
}

impl LevelStats {
    fn add(&mut self, table: &TableMeta, file: Option<&Arc<TableFile>>) {
        self.tables += 1;
        self.bytes += table.bytes;
        self.records += table.records;
        self.removals += table.removals;
        if let Some(file) = file {
            self.models += u64::from(file.model_bytes() > 0);
            self.positive_lookups += file.times.count(true);
            self.negative_lookups += file.times.count(false);
            self.model_lookups += file.times.totals(true, true).count + file.times.totals(true, false).count;
        }
    }
}

impl KeyspaceStats {
    /// Bytes of its tables.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.levels.iter().map(|level| level.bytes).sum()
    }
}

impl Db {
    /// What the store consists of, and what it has done since it was opened. Nothing is read for it.
    #[must_use]
    pub fn stats(&self) -> DbStats {
        self.core().stats()
    }
}

impl Core {
    fn stats(&self) -> DbStats {
        let (activity, learning) = (self.counters.activity(), self.learning_stats());
        let shared = self.shared.lock();
        let mut stats = DbStats { cache_bytes: self.cache.held_bytes(), activity, learning, ..DbStats::default() };
        let mut settled_bytes = 0;
        for keyspace in shared.state.keyspaces.values() {
            let mut levels = vec![LevelStats::default(); LEVELS];
            for (level, table) in keyspace.levels.iter() {
                if let Some(counted) = levels.get_mut(level) {
                    counted.add(table, shared.tables.get(&table.number));
                }
            }
            settled_bytes += levels.iter().rev().find(|level| level.bytes > 0).map_or(0, |level| level.bytes);
            stats.table_bytes += levels.iter().map(|level| level.bytes).sum::<u64>();
            stats.keyspaces.push(KeyspaceStats { name: keyspace.name.clone(), levels });
        }
        let complete: BTreeMap<u64, u64> =
            shared.state.value_files.iter().map(|(&number, file)| (number, file.live_bytes)).collect();
        for (number, handle) in &shared.values.0 {
            let bytes = handle.file.len_bytes();
            stats.value_files += 1;
            stats.value_file_bytes += bytes;
            stats.dead_value_bytes += complete.get(number).map_or(0, |&live| bytes.saturating_sub(live));
        }
        stats.memtable_bytes = shared.active.values().map(|memtable| memtable.memory_bytes()).sum::<u64>()
            + shared.sealed.iter().map(|memtable_set| memtable_set.memory_bytes()).sum::<u64>();
        stats.resident_bytes = shared.tables.values().map(|file| file.table.resident_bytes()).sum();
        let by_model = stats.learning.model_lookups;
        stats.model_share = ratio(by_model, by_model + stats.learning.baseline_lookups);
        let live_value_bytes = stats.value_file_bytes - stats.dead_value_bytes;
        stats.space_amplification = ratio(stats.table_bytes + stats.value_file_bytes, settled_bytes + live_value_bytes);
        let written = activity.log_bytes
            + activity.value_bytes
            + activity.flushed_bytes
            + activity.compaction_written_bytes
            + activity.moved_value_bytes;
        stats.write_amplification = ratio(written, activity.user_bytes);
        stats
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
