//! The tables and levels of a store as the learner knows them.

use super::analyzer::{Analyzer, Candidate, LearningVerdict, LevelLookups};
use super::guide::GuideParts;
use super::policy::{Bourbon, LearningRule, ModelScope};
use super::shape::{ModelShape, ShapeChoice};
use ogive::io::Timer;
use ogive::lsm::extend::{LevelTables, LookupTotals, TableFile, TableLookups};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// The number of a level, and its keyspace.
pub(super) type LevelKey = (u32, usize);

/// With [`ModelScope::ByChange`], a level whose versions lived for less than this many times as long as learning it
/// takes is learned only once it has rested for that long: learning takes at most a tenth of its life.
const LIVES_PER_LEARNING: f64 = 10.0;

/// The weight of the last version of a level in the mean lifetime of its versions: four of them decide.
const LAST_LIFE_WEIGHT: f64 = 0.25;

/// The tables and levels of a store, and the statistics of tables that are gone.
#[derive(Debug, Default)]
pub(super) struct KnownTables {
    pub(super) analyzer: Analyzer,
    /// By file number.
    pub(super) tables: BTreeMap<u64, KnownTable>,
    pub(super) levels: BTreeMap<LevelKey, KnownLevel>,
    /// The mean lifetime of the versions of a level, in microseconds.
    level_lives: BTreeMap<LevelKey, f64>,
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
    /// The shape of its model, if it has one, and its memory.
    shape: Option<ModelShape>,
    model_bytes: u64,
    /// Whether its level has a model, by which it is searched instead.
    is_in_level_model: bool,
    /// Its lookups until it was last given another model, and their totals then.
    earlier: LevelLookups,
    earlier_totals: TableLookups,
}

impl KnownTable {
    /// A table that was opened, with the shape and the memory of the model stored with it, if there is one.
    pub(super) fn opened(parts: &Arc<GuideParts>, model: Option<(ModelShape, u64)>) -> Self {
        Self {
            level: None,
            table: Weak::new(),
            parts: Arc::downgrade(parts),
            age: Timer::start(),
            waits: false,
            shape: model.map(|(shape, _)| shape),
            model_bytes: model.map_or(0, |(_, bytes)| bytes),
            is_in_level_model: false,
            earlier: LevelLookups::default(),
            earlier_totals: TableLookups::default(),
        }
    }

    /// Whether it has a model of its own.
    pub(super) fn has_model(&self) -> bool {
        self.shape.is_some()
    }

    /// Notes the shape and memory of its model from now on, or that it has none.
    pub(super) fn set_model(&mut self, table: &TableFile, model: Option<(ModelShape, u64)>) {
        self.end_lookups(table);
        (self.shape, self.model_bytes) = (model.map(|(shape, _)| shape), model.map_or(0, |(_, bytes)| bytes));
    }

    fn set_in_level_model(&mut self, table: &TableFile, is_in_level_model: bool) {
        if self.is_in_level_model != is_in_level_model {
            self.end_lookups(table);
            self.is_in_level_model = is_in_level_model;
        }
    }

    /// All its lookups, each kind by the shape of the model that it had then.
    pub(super) fn lookups(&self, table: &TableFile) -> LevelLookups {
        self.lookups_until(&table.lookups())
    }

    fn lookups_until(&self, totals: &TableLookups) -> LevelLookups {
        let shape = self.shape.filter(|_| !self.is_in_level_model);
        let mut lookups = self.earlier.clone();
        lookups.add(&since(totals, &self.earlier_totals), shape);
        lookups
    }

    /// Keeps the lookups so far apart from those to come, which are by another model.
    fn end_lookups(&mut self, table: &TableFile) {
        // Once: lookups go on meanwhile, and none may fall between two readings.
        let totals = table.lookups();
        self.earlier = self.lookups_until(&totals);
        self.earlier_totals = totals;
    }
}

/// The lookups from `before` to `now`.
fn since(now: &TableLookups, before: &TableLookups) -> TableLookups {
    let minus = |now: LookupTotals, before: LookupTotals| LookupTotals {
        count: now.count.saturating_sub(before.count),
        nanoseconds: now.nanoseconds.saturating_sub(before.nanoseconds),
    };
    let mut lookups = *now;
    for at in [0, 1] {
        lookups.baseline[at] = minus(now.baseline[at], before.baseline[at]);
        lookups.by_model[at] = minus(now.by_model[at], before.by_model[at]);
    }
    lookups
}

/// A level of a keyspace, as it is now.
#[derive(Debug)]
pub(super) struct KnownLevel {
    pub(super) level: Weak<LevelTables>,
    /// The time since it last changed.
    age: Timer,
    records: u64,
    pub(super) waits: bool,
    /// Memory of its model, if it has one.
    model_bytes: u64,
}

/// A table to be learned.
#[derive(Debug)]
pub(super) struct TableToLearn {
    pub(super) level: usize,
    pub(super) table: Arc<TableFile>,
    pub(super) shape: ModelShape,
}

impl KnownTables {
    /// Whether a level still consists of these tables.
    pub(super) fn is_current(&self, key: LevelKey, level: &Arc<LevelTables>) -> bool {
        self.levels.get(&key).is_some_and(|known| std::ptr::eq(known.level.as_ptr(), Arc::as_ptr(level)))
    }

    /// Notes the tables of which a level consists from now on.
    pub(super) fn level_changed(&mut self, key: LevelKey, level: &Arc<LevelTables>, policy: &Bourbon) {
        let records = level.tables().iter().map(|table| table.records()).sum();
        let waits = policy.scope != ModelScope::Tables && policy.rule.is_eager();
        let now = KnownLevel { level: Arc::downgrade(level), age: Timer::start(), records, waits, model_bytes: 0 };
        let Some(before) = self.levels.insert(key, now) else { return };
        let life_us = before.age.elapsed_us();
        let mean_us = self.level_lives.entry(key).or_insert(life_us);
        *mean_us += LAST_LIFE_WEIGHT * (life_us - *mean_us);
        let is_by_change = waits && policy.scope == ModelScope::ByChange;
        // The tables that the model of the level served.
        for table in level.tables() {
            if let Some(known) = self.tables.get_mut(&table.number()) {
                known.set_in_level_model(table, false);
                known.waits |= is_by_change && !known.has_model();
            }
        }
    }

    /// Forgets the levels of a keyspace that are not among these.
    pub(super) fn retain_levels(&mut self, keyspace: u32, is_there: impl Fn(usize) -> bool) {
        self.levels.retain(|key, _| key.0 != keyspace || is_there(key.1));
        if !self.levels.keys().any(|key| key.0 == keyspace) {
            // It was dropped, or is empty.
            self.level_lives.retain(|key, _| key.0 != keyspace);
        }
    }

    /// The tables of a level that has a model of this size now do not wait for their own.
    pub(super) fn level_learned(&mut self, key: LevelKey, level: &LevelTables, model_bytes: u64) {
        for table in level.tables() {
            if let Some(known) = self.tables.get_mut(&table.number()) {
                known.set_in_level_model(table, true);
                known.waits = false;
            }
        }
        if let Some(known) = self.levels.get_mut(&key) {
            known.model_bytes = model_bytes;
        }
    }

    /// Memory of the models of all levels but this one.
    pub(super) fn other_levels_bytes(&self, key: LevelKey) -> u64 {
        self.live_levels().filter(|(other, _)| **other != key).map(|(_, known)| known.model_bytes).sum()
    }

    /// The levels that the store still has.
    fn live_levels(&self) -> impl Iterator<Item = (&LevelKey, &KnownLevel)> {
        self.levels.iter().filter(|(_, known)| known.level.strong_count() > 0)
    }

    /// The age at which a level is learned, in microseconds.
    fn level_wait_us(&self, key: LevelKey, level: &KnownLevel, scope: ModelScope) -> f64 {
        if scope != ModelScope::ByChange {
            return self.analyzer.wait_us();
        }
        let learning_us = self.analyzer.cost_ns(level.records) / 1e3;
        let rests = self.level_lives.get(&key).is_none_or(|&life_us| life_us >= LIVES_PER_LEARNING * learning_us);
        if rests { learning_us } else { LIVES_PER_LEARNING * learning_us }
    }

    /// The next level to learn, if one is due.
    pub(super) fn next_level(&mut self, scope: ModelScope) -> Option<(LevelKey, Arc<LevelTables>)> {
        let waiting = self.levels.iter().filter(|(_, known)| known.waits);
        let mut due = waiting.filter(|&(&key, known)| known.age.elapsed_us() >= self.level_wait_us(key, known, scope));
        let (&key, _) = due.next()?;
        let known = self.levels.get_mut(&key)?;
        known.waits = false;
        Some((key, known.level.upgrade()?))
    }

    /// The table to learn that gains most, if one is due; tables that are not worth a model stop waiting. Also returns
    /// their number.
    pub(super) fn next_table(&mut self, policy: &Bourbon) -> (Option<TableToLearn>, u64) {
        let wait_us = self.analyzer.wait_us();
        let mut best: Option<(f64, TableToLearn)> = None;
        let mut rejected = Vec::new();
        let mut lookups: BTreeMap<usize, LevelLookups> = BTreeMap::new();
        let due = self.tables.iter().filter(|(_, known)| known.waits && known.age.elapsed_us() >= wait_us);
        for (&number, known) in due {
            let (Some(level), Some(table)) = (known.level, known.table.upgrade()) else { continue };
            let current = lookups.entry(level).or_insert_with(|| self.lookups_of(level));
            let shape = self.shape_of(level, table.records(), current, policy.shape);
            let verdict = match policy.rule {
                LearningRule::CostBenefit => {
                    let lookups = &table.lookups();
                    let (bytes, records, age_us) = (table.bytes(), table.records(), known.age.elapsed_us());
                    let candidate = Candidate { level, bytes, records, lookups, age_us, shape };
                    self.analyzer.judge(&candidate, current, policy.expected)
                }
                _ => LearningVerdict::Learn { gain_ns: table.records() as f64 },
            };
            match verdict {
                LearningVerdict::Learn { gain_ns } if best.as_ref().is_none_or(|(most, _)| gain_ns > *most) => {
                    best = Some((gain_ns, TableToLearn { level, table, shape }));
                }
                LearningVerdict::Learn { .. } => {}
                LearningVerdict::Skip => rejected.push(number),
            }
        }
        let chosen = best.iter().map(|(_, next)| next.table.number());
        for number in rejected.iter().copied().chain(chosen) {
            if let Some(known) = self.tables.get_mut(&number) {
                known.waits = false;
            }
        }
        (best.map(|(_, next)| next), rejected.len() as u64)
    }

    /// The shape of the next model of a table of a level.
    pub(super) fn next_shape(&self, level: usize, records: u64, choice: ShapeChoice) -> ModelShape {
        self.shape_of(level, records, &self.lookups_of(level), choice)
    }

    fn shape_of(&self, level: usize, records: u64, current: &LevelLookups, choice: ShapeChoice) -> ModelShape {
        match choice {
            ShapeChoice::Fixed(shape) if shape.suits(records) => shape,
            ShapeChoice::Fixed(_) => ModelShape::Regression,
            ShapeChoice::ByCost => self.analyzer.shape(level, records, current),
        }
    }

    /// The lookups of the current tables of a level.
    fn lookups_of(&self, level: usize) -> LevelLookups {
        let mut lookups = LevelLookups::default();
        for known in self.tables.values().filter(|known| known.level == Some(level)) {
            if let Some(table) = known.table.upgrade() {
                lookups.merge(&known.lookups(&table));
            }
        }
        lookups
    }

    /// The tables whose models must be dropped so that the rest fits the budget: those with the fewest lookups for
    /// their size. They count as dropped from now on.
    pub(super) fn over_budget(&mut self, budget_bytes: u64) -> Vec<Arc<TableFile>> {
        let live = self.tables.values().filter(|known| known.parts.strong_count() > 0);
        let of_tables: u64 = live.map(|known| known.model_bytes).sum();
        let mut total = of_tables + self.live_levels().map(|(_, known)| known.model_bytes).sum::<u64>();
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
            total -= known.model_bytes;
            known.set_model(&table, None);
            dropped.push(table);
        }
        dropped
    }

    /// Microseconds until the next table or level is due.
    pub(super) fn wait_us(&self, scope: ModelScope) -> Option<f64> {
        let wait_us = self.analyzer.wait_us();
        let tables = self.tables.values().filter(|known| known.waits && known.table.strong_count() > 0);
        let tables = tables.map(|known| wait_us - known.age.elapsed_us());
        let levels = self.live_levels().filter(|(_, known)| known.waits);
        let levels = levels.map(|(&key, known)| self.level_wait_us(key, known, scope) - known.age.elapsed_us());
        tables.chain(levels).map(|left_us| left_us.max(0.0)).min_by(f64::total_cmp)
    }

    /// Number of tables and levels that wait.
    pub(super) fn waiting(&self) -> u64 {
        let tables = self.tables.values().filter(|known| known.waits).count();
        (tables + self.levels.values().filter(|known| known.waits).count()) as u64
    }
}
