//! The tables and levels of a store as the learner knows them.

use super::analyzer::{Analyzer, LearningVerdict};
use super::guide::GuideParts;
use ogive::io::Timer;
use ogive::lsm::extend::{LevelTables, LookupTotals, TableFile};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// The number of a level, and its keyspace.
pub(super) type LevelKey = (u32, usize);

/// The tables and levels of a store, and the statistics of tables that are gone.
#[derive(Debug, Default)]
pub(super) struct KnownTables {
    pub(super) analyzer: Analyzer,
    /// By file number.
    pub(super) tables: BTreeMap<u64, KnownTable>,
    pub(super) levels: BTreeMap<LevelKey, KnownLevel>,
    /// Number of running tasks.
    pub(super) running: usize,
}

/// An open table.
#[derive(Debug)]
pub(super) struct KnownTable {
    /// The level; `None` until the table is part of the store.
    pub(super) level: Option<usize>,
    pub(super) table: Weak<TableFile>,
    pub(super) parts: Weak<GuideParts>,
    /// The time since it was opened.
    pub(super) age: Timer,
    pub(super) waits: bool,
    /// Memory of its model; 0 if it has none.
    pub(super) model_bytes: u64,
}

/// A level of a keyspace, as it is now.
#[derive(Debug)]
pub(super) struct KnownLevel {
    pub(super) level: Weak<LevelTables>,
    /// The time since it last changed.
    pub(super) age: Timer,
    pub(super) waits: bool,
}

impl KnownTables {
    /// Whether a level still consists of these tables.
    pub(super) fn is_current(&self, key: LevelKey, level: &Arc<LevelTables>) -> bool {
        self.levels.get(&key).is_some_and(|known| std::ptr::eq(known.level.as_ptr(), Arc::as_ptr(level)))
    }

    /// The next level to learn, if one is due.
    pub(super) fn next_level(&mut self) -> Option<(LevelKey, Arc<LevelTables>)> {
        let wait_us = self.analyzer.wait_us();
        let due = |known: &&mut KnownLevel| known.waits && known.age.elapsed_us() >= wait_us;
        self.levels.iter_mut().find_map(|(&key, known)| {
            let known = Some(known).filter(due)?;
            known.waits = false;
            Some((key, known.level.upgrade()?))
        })
    }

    /// The table to learn that gains most, with its level, if one is due; tables that are not worth a model stop
    /// waiting. Also returns their number.
    pub(super) fn next_table(&mut self, is_judged: bool) -> (Option<(usize, Arc<TableFile>)>, u64) {
        let wait_us = self.analyzer.wait_us();
        let mut best: Option<(f64, usize, Arc<TableFile>)> = None;
        let mut rejected = Vec::new();
        let due = self.tables.iter().filter(|(_, known)| known.waits && known.age.elapsed_us() >= wait_us);
        for (&number, known) in due {
            let (Some(level), Some(table)) = (known.level, known.table.upgrade()) else { continue };
            let verdict = match is_judged {
                true => self.judge(level, &table),
                false => LearningVerdict::Learn { gain_ns: table.records() as f64 },
            };
            match verdict {
                LearningVerdict::Learn { gain_ns } if best.as_ref().is_none_or(|(most, ..)| gain_ns > *most) => {
                    best = Some((gain_ns, level, table));
                }
                LearningVerdict::Learn { .. } => {}
                LearningVerdict::Skip => rejected.push(number),
            }
        }
        let chosen = best.iter().map(|(.., table)| table.number());
        for number in rejected.iter().copied().chain(chosen) {
            if let Some(known) = self.tables.get_mut(&number) {
                known.waits = false;
            }
        }
        (best.map(|(_, level, table)| (level, table)), rejected.len() as u64)
    }

    fn judge(&self, level: usize, table: &TableFile) -> LearningVerdict {
        let mut by_model = [LookupTotals::default(); 2];
        let modelled = self.tables.values().filter(|known| known.level == Some(level) && known.model_bytes > 0);
        for other in modelled.filter_map(|known| known.table.upgrade()) {
            let lookups = other.lookups().by_model;
            by_model[0].add(lookups[0]);
            by_model[1].add(lookups[1]);
        }
        self.analyzer.judge(level, table.bytes(), table.records(), &table.lookups(), by_model)
    }

    /// The tables whose models must be dropped so that the rest fits the budget: those with the fewest lookups for
    /// their size. They count as dropped from now on.
    pub(super) fn over_budget(&mut self, budget_bytes: u64) -> Vec<Arc<TableFile>> {
        let mut total: u64 = self.tables.values().map(|known| known.model_bytes).sum();
        if total <= budget_bytes {
            return Vec::new();
        }
        let with_models = self.tables.values_mut().filter(|known| known.model_bytes > 0);
        let mut models: Vec<(f64, Arc<TableFile>, &mut KnownTable)> = with_models
            .filter_map(|known| {
                let table = known.table.upgrade()?;
                let lookups = table.lookups();
                let count = lookups.count(false) + lookups.count(true);
                Some((count as f64 / known.model_bytes as f64, table, known))
            })
            .collect();
        models.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut dropped = Vec::new();
        for (_, table, known) in models {
            if total <= budget_bytes {
                break;
            }
            total -= std::mem::take(&mut known.model_bytes);
            dropped.push(table);
        }
        dropped
    }

    /// Microseconds until the next table or level is due.
    pub(super) fn wait_us(&self) -> Option<f64> {
        let wait_us = self.analyzer.wait_us();
        let tables = self.tables.values().filter(|known| known.waits && known.table.strong_count() > 0);
        let levels = self.levels.values().filter(|known| known.waits && known.level.strong_count() > 0);
        let ages = tables.map(|known| known.age).chain(levels.map(|known| known.age));
        ages.map(|age| (wait_us - age.elapsed_us()).max(0.0)).min_by(f64::total_cmp)
    }

    /// Number of tables and levels that wait.
    pub(super) fn waiting(&self) -> u64 {
        let tables = self.tables.values().filter(|known| known.waits).count();
        (tables + self.levels.values().filter(|known| known.waits).count()) as u64
    }
}
