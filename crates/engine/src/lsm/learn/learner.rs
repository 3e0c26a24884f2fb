//! The learner: policies that choose the tables to learn, the learning queue, and the memory budget of models.

use super::analyzer::{Analyzer, Verdict};
use super::times::{Times, Totals};
use crate::io::Timer;
use crate::io::sync::Mutex;
use crate::lsm::counters::ActivityCounter;
use crate::lsm::entry::KeyspaceId;
use crate::lsm::level::LevelTables;
use crate::lsm::options::{DbOptions, Learning};
use crate::lsm::table_file::TableFile;
use serde::Serialize;
use std::sync::{Arc, Weak};

/// Of the memory of a store, models take at most one part in so many: they serve look-ups that the cache serves, too.
const MEMORY_PARTS: u64 = 8;

/// Tables and levels that wait, models that are there, and what was learned from those that are gone.
#[derive(Debug)]
pub(crate) struct Learner {
    policy: Learning,
    by_level: bool,
    budget_bytes: u64,
    state: Mutex<State>,
    pub(crate) learned: ActivityCounter,
    pub(crate) learned_records: ActivityCounter,
    pub(crate) learning_us: ActivityCounter,
    /// Level models that were given up because the level changed meanwhile.
    pub(crate) given_up: ActivityCounter,
    /// Tables that were judged not to be worth a model.
    pub(crate) skipped: ActivityCounter,
    /// Models that were dropped to stay within the memory.
    pub(crate) dropped: ActivityCounter,
}

#[derive(Debug, Default)]
struct State {
    analyzer: Analyzer,
    tables: Vec<(usize, Weak<TableFile>)>,
    levels: Vec<WaitingLevel>,
    /// Tables with models.
    modelled: Vec<(usize, Weak<TableFile>)>,
    running: usize,
    /// Look-ups of tables that are gone: without a model, and by one.
    past: [Totals; 2],
}

#[derive(Debug)]
struct WaitingLevel {
    keyspace: KeyspaceId,
    number: usize,
    level: Weak<LevelTables>,
    since: Timer,
}

/// Something to be learned.
#[derive(Debug)]
pub(crate) enum LearnTask {
    /// A table of a level.
    Table(usize, Arc<TableFile>),
    /// A whole level of a keyspace.
    Level(KeyspaceId, usize, Weak<LevelTables>),
}

/// What was learned, and what look-ups made of it; since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LearningStats {
    /// Tables and levels that have a model now.
    pub models: u64,
    /// Bytes of these models.
    pub model_bytes: u64,
    /// Lines of these models.
    pub segments: u64,
    /// Tables and levels that wait to be learned.
    pub waiting: u64,
    /// Models that were learned.
    pub learned: u64,
    /// Records that they were learned from.
    pub learned_records: u64,
    /// Microseconds that learning took, while tables were written, too.
    pub learning_us: u64,
    /// Models of levels that were given up because the level changed meanwhile.
    pub given_up: u64,
    /// Tables that were judged not to be worth a model.
    pub skipped: u64,
    /// Models that were dropped to stay within the memory.
    pub dropped: u64,
    /// Internal look-ups, those of one table each, on the path without a model: about, from a sample.
    pub baseline_lookups: u64,
    /// Microseconds that these took.
    pub baseline_us: u64,
    /// Internal look-ups by a model.
    pub model_lookups: u64,
    /// Microseconds that these took.
    pub model_us: u64,
}

impl Learner {
    pub(crate) fn new(options: &DbOptions) -> Self {
        Self {
            policy: if options.fast_paths.models { options.learning } else { Learning::Coded },
            by_level: options.level_models,
            budget_bytes: options.memory_bytes / MEMORY_PARTS,
            state: Mutex::new(State::default()),
            learned: ActivityCounter::default(),
            learned_records: ActivityCounter::default(),
            learning_us: ActivityCounter::default(),
            given_up: ActivityCounter::default(),
            skipped: ActivityCounter::default(),
            dropped: ActivityCounter::default(),
        }
    }

    /// Whether tables are learned as they come.
    fn is_eager(&self) -> bool {
        matches!(self.policy, Learning::Always | Learning::CostBenefit)
    }

    /// Notes a table that has come to a level. Tables of level 0 are learned, the level is not.
    pub(crate) fn note_table(&self, level: usize, table: &Arc<TableFile>) {
        let mut state = self.state.lock();
        if table.model_bytes() > 0 {
            state.modelled.retain(|(_, modelled)| !std::ptr::eq(modelled.as_ptr(), Arc::as_ptr(table)));
            state.modelled.push((level, Arc::downgrade(table)));
            self.keep_to_budget(&mut state);
        } else if self.is_eager() && (!self.by_level || level == 0) {
            state.tables.push((level, Arc::downgrade(table)));
        }
    }

    /// Notes that a table is no longer part of the store.
    pub(crate) fn note_gone(&self, level: usize, table: &TableFile) {
        let mut state = self.state.lock();
        add_paths(&mut state.past, &table.times);
        state.analyzer.note_dead(level, table.meta.bytes, table.born.elapsed_us(), &table.times);
        state.tables.retain(|(_, waiting)| !std::ptr::eq(waiting.as_ptr(), table));
        state.modelled.retain(|(_, modelled)| !std::ptr::eq(modelled.as_ptr(), table));
    }

    /// Notes that a level consists of other tables than before.
    pub(crate) fn note_level(&self, keyspace: KeyspaceId, number: usize, level: &Arc<LevelTables>) {
        if !self.by_level || !self.is_eager() {
            return;
        }
        let mut state = self.state.lock();
        state.levels.retain(|waiting| (waiting.keyspace, waiting.number) != (keyspace, number));
        let since = Timer::start();
        state.levels.push(WaitingLevel { keyspace, number, level: Arc::downgrade(level), since });
    }

    /// What is to be learned next, if anything; one at a time.
    pub(crate) fn next(&self) -> Option<LearnTask> {
        let mut state = self.state.lock();
        if state.running > 0 {
            return None;
        }
        let task = state.next_level().or_else(|| self.next_table(&mut state))?;
        state.running += 1;
        Some(task)
    }

    /// The table that gains most; those that are not worth a model leave the queue.
    fn next_table(&self, state: &mut State) -> Option<LearnTask> {
        let wait_us = state.analyzer.wait_us();
        state.tables.retain(|(_, table)| table.strong_count() > 0);
        let mut best: Option<(f64, usize, Arc<TableFile>)> = None;
        let mut rejected: Vec<*const TableFile> = Vec::new();
        for (level, table) in &state.tables {
            let Some(table) = table.upgrade().filter(|table| table.born.elapsed_us() >= wait_us) else { continue };
            let gain = match self.policy {
                Learning::CostBenefit => state.judge(*level, &table),
                _ => Verdict::Learn { gain_ns: table.meta.records as f64 },
            };
            match gain {
                Verdict::Learn { gain_ns } if best.as_ref().is_none_or(|(most, ..)| gain_ns > *most) => {
                    best = Some((gain_ns, *level, table));
                }
                Verdict::Learn { .. } => {}
                Verdict::Skip => rejected.push(Arc::as_ptr(&table)),
            }
        }
        self.skipped.add(rejected.len() as u64);
        state.tables.retain(|(_, table)| !rejected.contains(&table.as_ptr()));
        let (_, level, table) = best?;
        state.tables.retain(|(_, waiting)| !std::ptr::eq(waiting.as_ptr(), Arc::as_ptr(&table)));
        Some(LearnTask::Table(level, table))
    }

    /// Whether a model of a level is within the memory of models.
    pub(crate) fn has_room(&self, model_bytes: u64) -> bool {
        model_bytes <= self.budget_bytes
    }

    /// Notes the end of a task.
    pub(crate) fn end(&self) {
        self.state.lock().running -= 1;
    }

    /// Notes that a table was learned.
    pub(crate) fn note_learned(&self, level: usize, table: &Arc<TableFile>, time_us: f64) {
        self.learned.add(1);
        self.learned_records.add(table.meta.records);
        self.learning_us.add(time_us as u64);
        let mut state = self.state.lock();
        state.analyzer.note_learned(table.meta.records, time_us);
        state.modelled.push((level, Arc::downgrade(table)));
        self.keep_to_budget(&mut state);
    }

    /// Notes that a level was learned, or given up because it changed.
    pub(crate) fn note_level_learned(&self, records: u64, time_us: f64, is_given_up: bool) {
        self.learning_us.add(time_us as u64);
        if is_given_up {
            self.given_up.add(1);
        } else {
            self.learned.add(1);
            self.learned_records.add(records);
        }
    }

    /// Drops models until the rest fits the budget, first those with the fewest look-ups for their size.
    fn keep_to_budget(&self, state: &mut State) {
        let mut models: Vec<(Arc<TableFile>, u64)> = state
            .modelled
            .iter()
            .filter_map(|(_, table)| table.upgrade())
            .map(|table| (table.model_bytes(), table))
            .map(|(bytes, table)| (table, bytes))
            .collect();
        let mut total: u64 = models.iter().map(|(_, bytes)| bytes).sum();
        if total <= self.budget_bytes {
            return;
        }
        let use_of = |(table, bytes): &(Arc<TableFile>, u64)| {
            let lookups = table.times.count(false) + table.times.count(true);
            lookups as f64 / (*bytes).max(1) as f64
        };
        models.sort_by(|one, other| use_of(one).total_cmp(&use_of(other)));
        for (table, bytes) in models {
            if total <= self.budget_bytes {
                break;
            }
            total -= bytes;
            table.set_model(None);
            self.dropped.add(1);
            state.modelled.retain(|(_, modelled)| !std::ptr::eq(modelled.as_ptr(), Arc::as_ptr(&table)));
        }
    }

    /// Whether something waits for its time; how long until the next, in microseconds.
    pub(crate) fn wait_us(&self) -> Option<f64> {
        let state = self.state.lock();
        if state.running > 0 {
            // Its end wakes whoever waits.
            return None;
        }
        let wait_us = state.analyzer.wait_us();
        let tables = state.tables.iter().filter_map(|(_, table)| table.upgrade()).map(|table| table.born);
        let levels = state.levels.iter().filter(|level| level.level.strong_count() > 0).map(|level| level.since);
        let left = tables.chain(levels).map(|since| (wait_us - since.elapsed_us()).max(0.0));
        left.min_by(f64::total_cmp)
    }

    /// What is there.
    pub(crate) fn stats<'t>(&self, tables: impl Iterator<Item = &'t Arc<TableFile>>) -> LearningStats {
        let state = self.state.lock();
        let mut paths = state.past;
        let mut stats = LearningStats {
            waiting: (state.tables.len() + state.levels.len()) as u64,
            learned: self.learned.get(),
            learned_records: self.learned_records.get(),
            learning_us: self.learning_us.get(),
            given_up: self.given_up.get(),
            skipped: self.skipped.get(),
            dropped: self.dropped.get(),
            ..LearningStats::default()
        };
        for table in tables {
            add_paths(&mut paths, &table.times);
            let bytes = table.model_bytes();
            stats.models += u64::from(bytes > 0);
            stats.model_bytes += bytes;
            stats.segments += table.model_segments();
        }
        (stats.baseline_lookups, stats.baseline_us) = (paths[0].count, paths[0].nanoseconds / 1000);
        (stats.model_lookups, stats.model_us) = (paths[1].count, paths[1].nanoseconds / 1000);
        stats
    }
}

/// Adds a table's look-ups to those without a model and those by one.
fn add_paths(paths: &mut [Totals; 2], times: &Times) {
    for is_positive in [false, true] {
        paths[0].add(times.totals(false, is_positive));
        paths[1].add(times.totals(true, is_positive));
    }
}

impl State {
    fn next_level(&mut self) -> Option<LearnTask> {
        self.levels.retain(|waiting| waiting.level.strong_count() > 0);
        let wait_us = self.analyzer.wait_us();
        let due = self.levels.iter().position(|waiting| waiting.since.elapsed_us() >= wait_us)?;
        let WaitingLevel { keyspace, number, level, .. } = self.levels.swap_remove(due);
        Some(LearnTask::Level(keyspace, number, level))
    }

    fn judge(&self, level: usize, table: &TableFile) -> Verdict {
        let mut by_model = [Totals::default(); 2];
        for other in self.modelled.iter().filter(|(other, _)| *other == level).filter_map(|(_, table)| table.upgrade())
        {
            by_model[0].add(other.times.totals(true, false));
            by_model[1].add(other.times.totals(true, true));
        }
        self.analyzer.judge(level, table.meta.bytes, table.meta.records, &table.times, by_model)
    }
}
