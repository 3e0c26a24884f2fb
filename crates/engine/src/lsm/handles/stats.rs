//! Statistics of a store: sizes of its parts, amplification, and activity.

use super::db::Db;
use crate::lsm::core::scrub::ScrubStats;
use crate::lsm::core::store::Core;
use crate::lsm::state::counters::Activity;
use crate::lsm::state::memtable::Memtable;
use crate::lsm::state::tables::learner::LearningStats;
use crate::lsm::state::tables::table_file::TableFile;
use crate::lsm::state::version::{KeyspaceLevels, KeyspaceOptions, LEVELS, TableFileMeta};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Statistics of a store: the sizes of its parts, and its activity since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DbStats {
    /// The keyspaces, in order of creation.
    pub keyspaces: Vec<KeyspaceStats>,
    /// The format of the store: [`STORE_FORMAT`](crate::lsm::STORE_FORMAT), or an older one until it is
    /// [upgraded](crate::lsm::DbOptions::upgrade).
    pub format: u32,
    /// Size of all tables in bytes.
    pub table_bytes: u64,
    /// Number of value files.
    pub value_files: u64,
    /// Size of all value files in bytes, including those being written.
    pub value_file_bytes: u64,
    /// Bytes of values that no table entry points to any more.
    pub dead_value_bytes: u64,
    /// The memory limit of the store in bytes, as given.
    pub memory_bytes: u64,
    /// The least memory now, in bytes: with it the store as it is can be opened, and all its records can be flushed and
    /// compacted. New records may need more.
    pub least_memory_bytes: u64,
    /// Memory of all memtables in bytes.
    pub memtable_bytes: u64,
    /// Memory of cached blocks in bytes.
    pub cache_bytes: u64,
    /// Memory of resident table indexes and filters in bytes.
    pub resident_bytes: u64,
    /// Size of tables and value files relative to their estimated size after a full compaction: that of the deepest
    /// levels and the referenced values. `None` for an empty store.
    pub space_amplification: Option<f64>,
    /// Bytes written to logs, tables and value files per byte of keys and values written since the store was opened.
    /// `None` if nothing was written.
    pub write_amplification: Option<f64>,
    /// Statistics of models and their use.
    #[doc(hidden)]
    pub learning: LearningStats,
    /// Share of table lookups that used a model since the store was opened, between 0 and 1. `None` if there was no
    /// lookup.
    pub model_share: Option<f64>,
    /// Number of transactions that this handle, or a clone of it, has begun and that have not ended.
    pub open_transactions: u64,
    /// The age of the oldest of them in seconds: compactions keep what it may read. `None` if there is none.
    pub oldest_transaction_s: Option<f64>,
    /// Progress and findings of scrubbing, since the store was opened.
    pub scrub: ScrubStats,
    /// Activity counters since the store was opened.
    pub activity: Activity,
}

/// Statistics of a keyspace.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct KeyspaceStats {
    /// The name of the keyspace.
    pub name: String,
    /// The levels, starting with level 0.
    pub levels: Vec<LevelStats>,
    /// Entries that are not in tables yet, but in memtables and logs; tombstones included, range tombstones not.
    pub memtable_records: u64,
    /// Tombstones of single keys among them.
    pub memtable_tombstones: u64,
    /// Memory of these entries in bytes.
    pub memtable_bytes: u64,
    /// Bytes of values in value files that entries of the tables point to, including entries that newer ones hide.
    pub value_bytes: u64,
    /// Number of records that readers see. An estimate assumes that each tombstone removes a record and that no other
    /// entry overwrites one; it knows no range tombstones.
    pub rows: u64,
    /// Whether `rows` is exact: no entry can hide another one, and none [may expire](Self::may_expire).
    pub is_exact: bool,
    /// Whether records of it may expire: it has a rule by which they do, entries in tables that do, or entries that are
    /// not in tables yet, in a store where some do.
    pub may_expire: bool,
    /// What it has other than the options of the store say.
    pub options: KeyspaceOptions,
}

/// Statistics of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LevelStats {
    /// Number of tables.
    pub tables: u64,
    /// Size of the tables in bytes.
    pub bytes: u64,
    /// Number of entries.
    pub records: u64,
    /// Number of tombstones of single keys.
    pub tombstones: u64,
    /// Approximate number of lookups that found an entry in one of the current tables; one in 32 is sampled.
    pub positive_lookups: u64,
    /// Approximate number of lookups in these tables that found no entry.
    pub negative_lookups: u64,
    /// Approximate number of these lookups that used a model.
    pub model_lookups: u64,
    /// Number of tables with a model.
    pub models: u64,
}

impl LevelStats {
    fn add(&mut self, table: &TableFileMeta, file: Option<&Arc<TableFile>>) {
        self.tables += 1;
        self.bytes += table.bytes;
        self.records += table.records;
        self.tombstones += table.tombstones;
        if let Some(file) = file {
            let lookups = file.lookups();
            self.models += u64::from(file.model().is_some());
            self.positive_lookups += lookups.count(true);
            self.negative_lookups += lookups.count(false);
            self.model_lookups += lookups.paths()[1].count;
        }
    }
}

impl KeyspaceStats {
    fn new(name: &str, tables: &KeyspaceLevels, files: &BTreeMap<u64, Arc<TableFile>>) -> Self {
        let mut stats = Self { name: name.to_owned(), levels: vec![LevelStats::default(); LEVELS], ..Self::default() };
        for (level, table) in tables.iter() {
            if let Some(counted) = stats.levels.get_mut(level) {
                counted.add(table, files.get(&table.number));
            }
            stats.value_bytes += table.values.iter().map(|(_, bytes)| bytes).sum::<u64>();
        }
        stats
    }

    fn add(&mut self, memtable: &Memtable) {
        self.memtable_records += memtable.len() as u64;
        self.memtable_tombstones += memtable.point_tombstones() as u64;
        self.memtable_bytes += memtable.memory_bytes();
        self.is_exact &= memtable.is_empty();
    }

    /// Counts the rows from the counts of tables and memtables.
    fn count_rows(&mut self, tables: &KeyspaceLevels) {
        let sum = |count: fn(&TableFileMeta) -> u64| tables.iter().map(|(_, table)| count(table)).sum::<u64>();
        let (records, tombstones, shadowed) =
            (sum(|table| table.records), sum(|table| table.tombstones), sum(|table| table.shadowed));
        let is_plain = shadowed == 0 && !tables.iter().any(|(_, table)| table.has_range_tombstones);
        self.is_exact &= is_plain && are_disjoint(tables);
        let (records, tombstones) = (records + self.memtable_records, tombstones + self.memtable_tombstones);
        let hidden = if self.is_exact { 0 } else { tombstones.saturating_add(shadowed) };
        self.rows = records.saturating_sub(tombstones).saturating_sub(hidden);
    }

    /// Size of the tables in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.levels.iter().map(|level| level.bytes).sum()
    }
}

impl Db {
    /// Returns statistics of the store, without reading any file.
    #[must_use]
    pub fn stats(&self) -> DbStats {
        self.core().stats()
    }
}

impl Core {
    /// Statistics of models and their use.
    pub(super) fn learning_stats(&self) -> LearningStats {
        let mut stats = self.background.learner.as_ref().map(|learner| learner.stats()).unwrap_or_default();
        let shared = self.contents.lock();
        let (mut lookups, mut sizes) = (shared.past_lookups, Vec::new());
        for table in shared.tables.values() {
            lookups.add(&table.lookups());
            sizes.extend(table.model());
        }
        for tree in shared.trees.values() {
            let levels = Arc::clone(&tree.view.get().levels);
            sizes.extend(levels.numbered().filter_map(|(_, level)| Some(level.guide()?.model())));
        }
        stats.models = sizes.len() as u64;
        stats.model_bytes = sizes.iter().map(|size| size.bytes).sum();
        stats.segments = sizes.iter().map(|size| size.segments).sum();
        let [baseline, by_model] = lookups.paths();
        (stats.baseline_lookups, stats.baseline_us) = (baseline.count, baseline.nanoseconds / 1000);
        (stats.model_lookups, stats.model_us) = (by_model.count, by_model.nanoseconds / 1000);
        stats
    }

    fn stats(&self) -> DbStats {
        let (activity, learning) = (self.telemetry.counters.activity(), self.learning_stats());
        let scrub = self.background.scrubbed.lock().clone();
        let shared = self.contents.lock();
        let cache_bytes = self.files.cache.held_bytes();
        let mut stats = DbStats { cache_bytes, activity, learning, scrub, ..DbStats::default() };
        stats.format = shared.state.format;
        (stats.open_transactions, stats.oldest_transaction_s) =
            self.contents.open_transactions.ages(self.contents.time.passed_ms());
        (stats.memory_bytes, stats.least_memory_bytes) = (self.options.memory_bytes, self.least_memory_bytes(&shared));
        let mut last_level_bytes = 0;
        for (&id, keyspace) in &shared.state.keyspaces {
            let mut counted = KeyspaceStats::new(&keyspace.name, &keyspace.levels, &shared.tables);
            counted.is_exact = true;
            counted.options = keyspace.options.clone();
            let sealed = shared.sealed.iter().filter_map(|memtable_set| memtable_set.memtables().get(&id));
            shared.active.get(&id).into_iter().chain(sealed).for_each(|memtable| counted.add(memtable));
            counted.count_rows(&keyspace.levels);
            counted.may_expire = keyspace.options.expiry.is_some()
                || self.contents.time.is_used() && counted.memtable_records > 0
                || keyspace.levels.iter().any(|(_, table)| table.expiring.is_some());
            counted.is_exact &= !counted.may_expire;
            let deepest = counted.levels.iter().rev().find(|level| level.bytes > 0);
            last_level_bytes += deepest.map_or(0, |level| level.bytes);
            stats.table_bytes += counted.bytes();
            stats.keyspaces.push(counted);
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
        stats.resident_bytes = shared.tables.values().map(|file| file.resident_bytes()).sum();
        let by_model = stats.learning.model_lookups;
        stats.model_share = ratio(by_model, by_model + stats.learning.baseline_lookups);
        let live_value_bytes = stats.value_file_bytes - stats.dead_value_bytes;
        stats.space_amplification =
            ratio(stats.table_bytes + stats.value_file_bytes, last_level_bytes + live_value_bytes);
        let written = activity.log_bytes
            + activity.value_bytes
            + activity.flushed_bytes
            + activity.compaction_written_bytes
            + activity.moved_value_bytes;
        stats.write_amplification = ratio(written, activity.user_bytes);
        stats
    }
}

/// Whether no key can be in two tables.
fn are_disjoint(tables: &KeyspaceLevels) -> bool {
    let mut bounds: Vec<(&[u8], &[u8])> =
        tables.iter().map(|(_, table)| (&table.smallest[..], &table.largest[..])).collect();
    bounds.sort_unstable();
    bounds.is_sorted_by(|one, next| one.1 < next.0)
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
