//! The learner of a store: learning tables and levels, and the memory budget of models.

use super::guide::{BourbonGuide, GuideParts};
use super::key_fences::KeyFences;
use super::level::{LevelModel, LevelModelGuide};
use super::model::{ModelBuilder, PositionModel};
use super::policy::{Bourbon, LearningRule, ModelScope};
use super::shape::{LocatedModel, ModelShape, TableModel};
use super::tables::{KnownTable, KnownTables, LevelKey, TableToLearn};
use ogive::Result;
use ogive::io::Timer;
use ogive::lsm::LearningStats;
use ogive::lsm::extend::{Learner, LearningTask, LevelTables, ModelWriter, TableFile};
use ogive_model::Fence;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Models take at most 1/8 of the memory of a store: they serve lookups that the cache serves, too.
const MODEL_MEMORY_DIVISOR: u64 = 8;
/// Learning checks whether to go on after this many keys.
const KEYS_PER_CHECK: u64 = 1 << 12;

/// The learner of a store.
#[derive(Debug)]
pub(super) struct BourbonLearner(Arc<LearnerState>);

/// The state that a learner shares with its tasks.
#[derive(Debug)]
struct LearnerState {
    policy: Bourbon,
    budget_bytes: u64,
    known: Mutex<KnownTables>,
    counters: Arc<LearnerCounters>,
}

#[derive(Debug, Default)]
struct LearnerCounters {
    learned: AtomicU64,
    learned_records: AtomicU64,
    learning_ns: AtomicU64,
    given_up: AtomicU64,
    skipped: AtomicU64,
    dropped: AtomicU64,
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl BourbonLearner {
    pub(super) fn new(policy: Bourbon, memory_bytes: u64) -> Self {
        let budget_bytes = memory_bytes / MODEL_MEMORY_DIVISOR;
        Self(Arc::new(LearnerState { policy, budget_bytes, known: Mutex::default(), counters: Arc::default() }))
    }
}

/// A table of a level, or a level, to be learned.
#[derive(Debug)]
struct BourbonTask {
    learner: Arc<LearnerState>,
    subject: TaskSubject,
}

#[derive(Debug)]
enum TaskSubject {
    Table(TableToLearn),
    // Weak: a level that has changed is not learned.
    Level(LevelKey, Weak<LevelTables>),
}

impl LearningTask for BourbonTask {
    fn run(&self, go_on: &dyn Fn() -> bool) -> Result<()> {
        match &self.subject {
            TaskSubject::Table(next) => self.learner.learn_table(next, go_on),
            TaskSubject::Level(key, level) => match level.upgrade() {
                Some(level) => self.learner.learn_level(*key, &level, go_on),
                None => Ok(()),
            },
        }
    }
}

impl LearnerState {
    fn known(&self) -> MutexGuard<'_, KnownTables> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn_table(&self, next: &TableToLearn, go_on: &dyn Fn() -> bool) -> Result<()> {
        let TableToLearn { level, table, shape } = next;
        let timer = Timer::start();
        let Some(model) = self.model_of(table, *shape, go_on)? else { return Ok(()) };
        let Some(parts) = self.known().tables.get(&table.number()).and_then(|known| known.parts.upgrade()) else {
            return Ok(());
        };
        // Loaded here rather than by the first lookup by position.
        if !model.is_separators() {
            parts.starts(table)?;
        }
        let model_bytes = model.memory_bytes();
        let mut known = self.known();
        table.set_guide(Some(Arc::new(BourbonGuide::new(parts, Some(model), table))));
        let time_us = timer.elapsed_us();
        self.count_learned(table.records(), time_us);
        known.analyzer.note_learned(*level, *shape, table.records(), time_us);
        if let Some(known) = known.tables.get_mut(&table.number()) {
            known.level = known.level.or(Some(*level));
            known.set_model(table, Some((*shape, model_bytes)));
        }
        self.keep_to_budget(&mut known);
        Ok(())
    }

    /// A model of a table; `None` if `go_on` returned `false`, or of keys that no regression tells apart.
    fn model_of(
        &self,
        table: &Arc<TableFile>,
        shape: ModelShape,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<TableModel>> {
        let (smallest, largest) = table.key_range();
        if shape == ModelShape::Separators {
            return Ok(Some(TableModel::Separators));
        }
        if shape == ModelShape::Regression {
            let mut builder = ModelBuilder::new(smallest, largest, self.policy.error);
            let is_whole = feed(table, &mut |key| builder.add(key), go_on)?;
            return Ok(builder.finish().filter(|_| is_whole).map(TableModel::Regression));
        }
        let _held = table.reserve(table.records() * size_of::<Fence>() as u64);
        let mut keys = KeyFences::new(smallest, largest);
        let is_whole = feed(table, &mut |key| keys.add(key), go_on)?;
        let model = if is_whole { LocatedModel::new(keys, shape, self.policy.error) } else { None };
        Ok(model.map(TableModel::Located))
    }

    /// Learns a level. If the level changes in the meantime, the work is lost, and counted as such.
    fn learn_level(&self, key: LevelKey, level: &Arc<LevelTables>, go_on: &dyn Fn() -> bool) -> Result<()> {
        let timer = Timer::start();
        let is_current = || self.known().is_current(key, level);
        let tables = level.tables();
        let (Some(first), Some(last)) = (tables.first(), tables.last()) else { return Ok(()) };
        let mut builder = ModelBuilder::new(first.key_range().0, last.key_range().1, self.policy.error);
        let lines_bytes = Cell::new(0);
        let fits = || lines_bytes.get() <= self.budget_bytes;
        let mut is_whole = true;
        for table in tables {
            let add = &mut |key: &[u8]| {
                builder.add(key);
                lines_bytes.set(builder.lines_bytes());
            };
            is_whole = is_whole && feed(table, add, &|| go_on() && is_current() && fits())?;
        }
        let counts = tables.iter().map(|table| table.records());
        let model = if is_whole { LevelModel::new(builder, counts) } else { None };
        let mut known = self.known();
        let is_given_up = model.is_none() && fits() || !known.is_current(key, level);
        if !is_given_up {
            let room_bytes = self.budget_bytes.saturating_sub(known.other_levels_bytes(key));
            match model.filter(|model| model.memory_bytes() <= room_bytes) {
                Some(model) => {
                    let model_bytes = model.memory_bytes();
                    let held = first.reserve(model_bytes);
                    level.set_guide(Arc::new(LevelModelGuide { model, _held: held }));
                    known.level_learned(key, level, model_bytes);
                    self.keep_to_budget(&mut known);
                }
                None => add(&self.counters.dropped, 1),
            }
        }
        drop(known);
        let time_us = timer.elapsed_us();
        if is_given_up {
            add(&self.counters.given_up, 1);
            add(&self.counters.learning_ns, (1e3 * time_us) as u64);
        } else {
            self.count_learned(tables.iter().map(|table| table.records()).sum(), time_us);
        }
        Ok(())
    }

    fn count_learned(&self, records: u64, time_us: f64) {
        add(&self.counters.learned, 1);
        add(&self.counters.learned_records, records);
        add(&self.counters.learning_ns, (1e3 * time_us) as u64);
    }

    /// Drops models until the rest fits the budget.
    fn keep_to_budget(&self, known: &mut KnownTables) {
        for table in known.over_budget(self.budget_bytes) {
            let parts = known.tables.get(&table.number()).and_then(|known| known.parts.upgrade());
            if let Some(parts) = parts {
                table.set_guide(Some(Arc::new(BourbonGuide::new(parts, None, &table))));
                add(&self.counters.dropped, 1);
            }
        }
    }
}

/// Gives the keys of a table to `add`; returns `false` if `go_on` returned `false`.
fn feed(table: &Arc<TableFile>, add: &mut dyn FnMut(&[u8]), go_on: &dyn Fn() -> bool) -> Result<bool> {
    let (mut count, mut is_whole) = (0_u64, true);
    table.visit_keys(&mut |key| {
        add(key);
        count += 1;
        is_whole = !count.is_multiple_of(KEYS_PER_CHECK) || go_on();
        is_whole
    })?;
    Ok(is_whole)
}

impl Learner for BourbonLearner {
    fn open_table(&self, table: &TableFile, stored: Option<&[u8]>) {
        let policy = &self.0.policy;
        let stored = stored.filter(|_| policy.rule == LearningRule::Inline);
        // Without a valid model of this table, the baseline is used.
        let model = stored.and_then(PositionModel::decode).filter(|model| model.records() == table.records());
        let parts = Arc::new(GuideParts::new(policy));
        let of_model = model.as_ref().map(|model| (ModelShape::Regression, model.memory_bytes()));
        let known = KnownTable::opened(&parts, of_model);
        let model = model.map(TableModel::Regression);
        table.set_guide(Some(Arc::new(BourbonGuide::new(parts, model, table))));
        self.0.known().tables.insert(table.number(), known);
    }

    fn table_added(&self, level: usize, table: &Arc<TableFile>) {
        let policy = &self.0.policy;
        let mut known = self.0.known();
        // Tables that never became part of the store, and those of dropped keyspaces.
        known.tables.retain(|_, known| known.parts.strong_count() > 0);
        // A table that stays in its level, when a reader refreshes, was judged before.
        if let Some(known) = known.tables.get_mut(&table.number()).filter(|known| known.level != Some(level)) {
            (known.level, known.table) = (Some(level), Arc::downgrade(table));
            // Tables of level 0 are learned; the level is not.
            let is_own = policy.scope != ModelScope::Levels || level == 0;
            known.waits = !known.has_model() && policy.rule.is_eager() && is_own;
        }
        self.0.keep_to_budget(&mut known);
    }

    fn table_removed(&self, level: usize, table: &Arc<TableFile>) {
        let mut known = self.0.known();
        if let Some(gone) = known.tables.remove(&table.number()) {
            let life_us = gone.age.elapsed_us();
            known.analyzer.note_dead(level, table.bytes(), life_us, &gone.lookups(table));
        }
    }

    fn levels_changed(&self, keyspace: u32, levels: &[(usize, Arc<LevelTables>)]) {
        let policy = &self.0.policy;
        let mut known = self.0.known();
        known.retain_levels(keyspace, |level| levels.iter().any(|(number, _)| *number == level));
        for (number, level) in levels {
            let key = (keyspace, *number);
            if !known.is_current(key, level) {
                known.level_changed(key, level, policy);
            }
        }
    }

    fn next_task(&self) -> Option<Box<dyn LearningTask>> {
        let mut known = self.0.known();
        if known.running > 0 {
            return None;
        }
        let policy = &self.0.policy;
        let subject = match known.next_level(policy.scope) {
            Some((key, level)) => TaskSubject::Level(key, Arc::downgrade(&level)),
            None => {
                let (next, skipped) = known.next_table(policy);
                add(&self.0.counters.skipped, skipped);
                TaskSubject::Table(next?)
            }
        };
        known.running += 1;
        Some(Box::new(BourbonTask { learner: Arc::clone(&self.0), subject }))
    }

    fn task_ended(&self) {
        self.0.known().running -= 1;
    }

    fn wait_us(&self) -> Option<f64> {
        let known = self.0.known();
        // The end of a running task wakes the threads that wait.
        if known.running > 0 { None } else { known.wait_us(self.0.policy.scope) }
    }

    fn learn_all(&self, go_on: &dyn Fn() -> bool) -> Result<()> {
        let known = self.0.known();
        let policy = &self.0.policy;
        let by_level = policy.scope != ModelScope::Tables;
        let tables = known.tables.values().filter(|known| !by_level || known.level == Some(0));
        let tables: Vec<_> = tables.filter_map(|known| Some((known.level?, known.table.upgrade()?))).collect();
        let levels = known.levels.iter().filter(|_| by_level);
        let levels: Vec<_> = levels.filter_map(|(&key, known)| Some((key, known.level.upgrade()?))).collect();
        drop(known);
        for (level, table) in tables.into_iter().take_while(|_| go_on()) {
            let shape = self.0.known().next_shape(level, table.records(), policy.shape);
            self.0.learn_table(&TableToLearn { level, table, shape }, go_on)?;
        }
        levels.iter().take_while(|_| go_on()).try_for_each(|(key, level)| self.0.learn_level(*key, level, go_on))
    }

    fn fits_while_writing(&self) -> bool {
        self.0.policy.rule == LearningRule::Inline
    }

    fn model_writer(&self, first: &[u8], last: &[u8]) -> Option<Box<dyn ModelWriter>> {
        let builder = ModelBuilder::new(first, last, self.0.policy.error);
        Some(Box::new(InlineWriter { builder, counters: Arc::clone(&self.0.counters) }))
    }

    fn stats(&self) -> LearningStats {
        let counters = &self.0.counters;
        let mut stats = LearningStats::default();
        stats.waiting = self.0.known().waiting();
        stats.learned = get(&counters.learned);
        stats.learned_records = get(&counters.learned_records);
        stats.learning_us = get(&counters.learning_ns) / 1000;
        stats.given_up = get(&counters.given_up);
        stats.skipped = get(&counters.skipped);
        stats.dropped = get(&counters.dropped);
        stats
    }
}

/// Fits a model while a table is written.
#[derive(Debug)]
struct InlineWriter {
    builder: ModelBuilder,
    counters: Arc<LearnerCounters>,
}

impl ModelWriter for InlineWriter {
    fn add(&mut self, key: &[u8]) {
        self.builder.add(key);
    }

    fn finish(self: Box<Self>) -> Option<Vec<u8>> {
        let timer = Timer::start();
        let fitting_us = self.builder.fitting_us();
        let stored = self.builder.finish().map(|model| model.encode());
        add(&self.counters.learning_ns, (1e3 * (fitting_us + timer.elapsed_us())) as u64);
        stored
    }
}
