//! The cost-benefit analyzer: the cost of a model against the lookup time it saves (Bourbon, Section 4.4).

use super::policy::ExpectedLookups;
use super::shape::ModelShape;
use ogive::lsm::extend::{LookupTotals, TableLookups};

/// Number of levels of a store.
const LEVELS: usize = 7;

/// Number of shapes of models.
const SHAPES: usize = ModelShape::ALL.len();

/// While fewer tables of a level are gone, every table there is learned: there is nothing to judge by.
const BOOTSTRAP_TABLES: u64 = 10;

/// Tables of a level that try a shape before shapes are compared there: as few as tell anything, since each may be one
/// that the shape makes slower.
const TRIED_TABLES: u64 = 2;

/// The time to learn a record until it has been measured, in nanoseconds.
const RECORD_NS: f64 = 40.0;

/// The wait of a table before the first model was made, in microseconds: the paper's 50 ms.
const FIRST_WAIT_US: f64 = 50_000.0;

/// Lookups of one kind, negative and positive.
type Lookups = [LookupTotals; 2];

/// Lookups in tables of a level: all, and those by models.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LevelLookups {
    /// Negative and positive lookups.
    all: [u64; 2],
    /// Lookups by a model, by its shape.
    by_shape: [Lookups; SHAPES],
}

impl LevelLookups {
    /// Adds lookups in a table with a model of this shape.
    pub(super) fn add(&mut self, lookups: &TableLookups, shape: Option<ModelShape>) {
        for positive in [false, true] {
            self.all[usize::from(positive)] += lookups.count(positive);
        }
        if let Some(shape) = shape {
            add(&mut self.by_shape[shape as usize], lookups.by_model);
        }
    }

    /// Adds other lookups.
    pub(super) fn merge(&mut self, other: &Self) {
        for (all, more) in self.all.iter_mut().zip(other.all) {
            *all += more;
        }
        for (all, more) in self.by_shape.iter_mut().zip(other.by_shape) {
            add(all, more);
        }
    }

    /// Whether there were lookups, but none by a model of this shape.
    fn leave_unmeasured(&self, shape: ModelShape) -> bool {
        self.all != [0; 2] && self.by_shape[shape as usize].iter().all(|lookups| lookups.count == 0)
    }

    /// The mean time of a lookup by a model of this shape, in nanoseconds, for this proportion of negative and positive
    /// ones; `None` if it has not been measured.
    fn mean_ns(&self, shape: ModelShape) -> Option<f64> {
        let total: u64 = self.all.iter().sum();
        let mut sum_ns = 0.0;
        for (lookups, &count) in self.by_shape[shape as usize].iter().zip(&self.all) {
            if count > 0 {
                sum_ns += lookups.mean_ns()? * count as f64;
            }
        }
        (total > 0).then(|| sum_ns / total as f64)
    }
}

fn add(all: &mut Lookups, more: Lookups) {
    for (all, more) in all.iter_mut().zip(more) {
        all.add(more);
    }
}

/// Statistics of a level.
#[derive(Clone, Debug, Default, PartialEq)]
struct LevelStatistics {
    /// Tables that are gone, their size, and the sum of their lifetimes.
    gone: u64,
    gone_bytes: u64,
    gone_life_us: f64,
    gone_lookups: LevelLookups,
    /// Tables learned, by shape.
    tried: [u64; SHAPES],
}

impl LevelStatistics {
    /// Whether the next table must be learned because too little is known of models of this shape.
    fn needs_trial(&self, shape: ModelShape, lookups: &LevelLookups) -> bool {
        let tried = self.tried[shape as usize];
        tried < TRIED_TABLES || tried < BOOTSTRAP_TABLES && lookups.leave_unmeasured(shape)
    }

    /// The lookups of tables that are gone, and of the `current` ones.
    fn lookups(&self, current: &LevelLookups) -> LevelLookups {
        let mut lookups = self.gone_lookups.clone();
        lookups.merge(current);
        lookups
    }
}

/// A table to be judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'t> {
    pub(super) level: usize,
    pub(super) bytes: u64,
    pub(super) records: u64,
    /// Its lookups so far, and its age.
    pub(super) lookups: &'t TableLookups,
    pub(super) age_us: f64,
    /// The shape of its model.
    pub(super) shape: ModelShape,
}

/// The analyzer's decision on a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LearningVerdict {
    /// A model would save this many nanoseconds more than it costs.
    Learn {
        /// Its benefit less its cost.
        gain_ns: f64,
    },
    /// A model would cost more than it saves.
    Skip,
}

/// Statistics of tables that are gone, by level; from them, the benefit of a model of another.
#[derive(Clone, Debug, Default)]
pub(super) struct Analyzer {
    levels: [LevelStatistics; LEVELS],
    /// Records learned so far, and the time that took.
    learned_records: u64,
    learned_ns: f64,
    learned_tables: u64,
}

impl Analyzer {
    /// The age at which a table is learned, in microseconds: the time that learning a table takes. Waiting this long
    /// never costs more than twice the best choice in hindsight (Section 4.4.1).
    pub(super) fn wait_us(&self) -> f64 {
        match self.learned_tables {
            0 => FIRST_WAIT_US,
            tables => self.learned_ns / 1e3 / tables as f64,
        }
    }

    /// Notes that a table was learned.
    pub(super) fn note_learned(&mut self, level: usize, shape: ModelShape, records: u64, time_us: f64) {
        if let Some(level) = self.levels.get_mut(level) {
            level.tried[shape as usize] += 1;
        }
        // Separators are not learned, and tell nothing about the time that learning takes.
        if shape != ModelShape::Separators {
            self.learned_records += records;
            self.learned_ns += time_us * 1e3;
            self.learned_tables += 1;
        }
    }

    /// Notes that a table is gone after `life_us`. Tables that were gone before they could be learned do not count.
    pub(super) fn note_dead(&mut self, level: usize, bytes: u64, life_us: f64, lookups: &LevelLookups) {
        let wait_us = self.wait_us();
        let Some(level) = self.levels.get_mut(level).filter(|_| life_us >= wait_us) else { return };
        level.gone += 1;
        level.gone_bytes += bytes;
        level.gone_life_us += life_us;
        level.gone_lookups.merge(lookups);
    }

    /// The time to learn this many records, in nanoseconds: `C_model`.
    pub(super) fn cost_ns(&self, records: u64) -> f64 {
        let per_record = match self.learned_records {
            0 => RECORD_NS,
            learned => self.learned_ns / learned as f64,
        };
        per_record * records as f64
    }

    /// The shape of the next model of a table of a level, of those that suit its number of records: each in turn at
    /// first, and then that of the shortest lookups. `current` are the lookups of the current tables of the level.
    pub(super) fn shape(&self, level: usize, records: u64, current: &LevelLookups) -> ModelShape {
        let Some(level) = self.levels.get(level) else { return ModelShape::Regression };
        let shapes = || ModelShape::ALL.into_iter().filter(|shape| shape.suits(records));
        let tried = |shape: &ModelShape| level.tried[*shape as usize];
        let untried = shapes().filter(|shape| tried(shape) < TRIED_TABLES).min_by_key(tried);
        if let Some(untried) = untried {
            return untried;
        }
        let lookups = level.lookups(current);
        let measured = shapes().filter_map(|shape| Some((shape, lookups.mean_ns(shape)?)));
        let best = measured.min_by(|(_, one_ns), (_, other_ns)| one_ns.total_cmp(other_ns));
        best.map_or(ModelShape::Regression, |(shape, _)| shape)
    }

    /// Whether a model of a table pays. `current` are the lookups of the current tables of its level.
    pub(super) fn judge(
        &self,
        table: &Candidate<'_>,
        current: &LevelLookups,
        expected: ExpectedLookups,
    ) -> LearningVerdict {
        let cost_ns = match table.shape {
            ModelShape::Separators => 0.0,
            _ => self.cost_ns(table.records),
        };
        let Some(level) = self.levels.get(table.level).filter(|level| level.gone >= BOOTSTRAP_TABLES) else {
            return LearningVerdict::Learn { gain_ns: cost_ns };
        };
        let measured = level.lookups(current);
        if level.needs_trial(table.shape, &measured) {
            return LearningVerdict::Learn { gain_ns: cost_ns };
        }
        let mut gain_ns = -cost_ns;
        for positive in [false, true] {
            let at = usize::from(positive);
            let lookups = match expected {
                ExpectedLookups::LikeLevel => {
                    level.gone_lookups.all[at] as f64 * table.bytes as f64 / level.gone_bytes.max(1) as f64
                }
                // The age of a table says nothing about the rest of its life: that is as long as a whole one.
                ExpectedLookups::LikeBefore => {
                    let life_us = level.gone_life_us / level.gone as f64;
                    table.lookups.count(positive) as f64 * life_us / table.age_us.max(1.0)
                }
            };
            let by_model = measured.by_shape[table.shape as usize][at];
            if let (Some(baseline), Some(model)) = (table.lookups.baseline[at].mean_ns(), by_model.mean_ns()) {
                gain_ns += (baseline - model) * lookups;
            }
        }
        if gain_ns > 0.0 { LearningVerdict::Learn { gain_ns } } else { LearningVerdict::Skip }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGRESSION: ModelShape = ModelShape::Regression;

    fn totals(count: u64, mean_ns: u64) -> LookupTotals {
        LookupTotals { count, nanoseconds: count * mean_ns }
    }

    /// Lookups by a model of `model_ns` each, which found an entry.
    fn by_model(count: u64, model_ns: u64) -> TableLookups {
        let mut lookups = TableLookups::default();
        lookups.by_model[1] = totals(count, model_ns);
        lookups
    }

    fn in_level(count: u64, model_ns: u64, shape: ModelShape) -> LevelLookups {
        let mut lookups = LevelLookups::default();
        lookups.add(&by_model(count, model_ns), Some(shape));
        lookups
    }

    /// After tables of 1,000 bytes that lived for 1,000 seconds, and served this many lookups by models of 500 ns each.
    fn after(tables: u64, lookups: u64) -> Analyzer {
        let mut analyzer = Analyzer::default();
        for _ in 0..TRIED_TABLES {
            analyzer.note_learned(3, REGRESSION, 1_000, 40.0);
        }
        for _ in 0..tables {
            analyzer.note_dead(3, 1000, 1e9, &in_level(lookups, 500, REGRESSION));
        }
        analyzer
    }

    /// The verdict on a table with lookups on the baseline path of `mean_ns` each.
    fn judged(analyzer: &Analyzer, bytes: u64, mean_ns: u64) -> LearningVerdict {
        let mut lookups = TableLookups::default();
        lookups.baseline[1] = totals(320, mean_ns);
        let table = Candidate { level: 3, bytes, records: 1000, lookups: &lookups, age_us: 1e9, shape: REGRESSION };
        analyzer.judge(&table, &LevelLookups::default(), ExpectedLookups::LikeLevel)
    }

    #[test]
    fn until_tables_have_died_each_is_learned() {
        let early = after(BOOTSTRAP_TABLES - 1, 0);
        assert!(matches!(judged(&early, 1000, 500), LearningVerdict::Learn { .. }));
        assert_eq!(judged(&after(BOOTSTRAP_TABLES, 0), 1000, 5000), LearningVerdict::Skip);
    }

    #[test]
    fn a_model_is_worth_what_its_lookups_save() {
        // 40 ns a record: 1,000 records cost 40 us; 100 ns saved on each of 1,000 lookups are 100 us.
        assert_eq!(judged(&after(20, 1000), 1000, 600), LearningVerdict::Learn { gain_ns: 60_000.0 });
        assert_eq!(judged(&after(20, 300), 1000, 600), LearningVerdict::Skip);
        // A table of three times the size will see three times the lookups.
        assert!(matches!(judged(&after(20, 300), 3000, 600), LearningVerdict::Learn { .. }));
        assert_eq!(judged(&after(20, 1000), 1000, 400), LearningVerdict::Skip);
    }

    #[test]
    fn a_table_of_popular_keys_may_be_expected_to_serve_more() {
        let analyzer = after(20, 300);
        let mut lookups = TableLookups::default();
        lookups.baseline[1] = totals(500, 600);
        // Half as old as earlier tables became, it has served 500 lookups: 1,000 more are to come.
        let table =
            Candidate { level: 3, bytes: 1000, records: 1000, lookups: &lookups, age_us: 5e8, shape: REGRESSION };
        assert_eq!(analyzer.judge(&table, &LevelLookups::default(), ExpectedLookups::LikeLevel), LearningVerdict::Skip);
        let verdict = analyzer.judge(&table, &LevelLookups::default(), ExpectedLookups::LikeBefore);
        assert_eq!(verdict, LearningVerdict::Learn { gain_ns: 60_000.0 });
    }

    #[test]
    fn each_shape_is_tried_and_then_the_fastest_is_taken() {
        let mut analyzer = Analyzer::default();
        let mut tried = Vec::new();
        let mut current = LevelLookups::default();
        for _ in 0..TRIED_TABLES * SHAPES as u64 {
            let shape = analyzer.shape(2, 1_000, &current);
            analyzer.note_learned(2, shape, 100, 10.0);
            current.add(&by_model(10, if shape == ModelShape::Pgm { 300 } else { 400 }), Some(shape));
            tried.push(shape);
        }
        for shape in ModelShape::ALL {
            assert_eq!(tried.iter().filter(|other| **other == shape).count() as u64, TRIED_TABLES, "{shape:?}");
        }
        assert_eq!(analyzer.shape(2, 1_000, &current), ModelShape::Pgm);
        // Later lookups count, too, also of tables that are gone.
        analyzer.note_dead(2, 10, 1e9, &in_level(1_000, 100, ModelShape::Line));
        assert_eq!(analyzer.shape(2, 1_000, &current), ModelShape::Line);
        assert_eq!(analyzer.shape(LEVELS, 1_000, &current), REGRESSION);
        // A large table has the better of the shapes that suit it.
        analyzer.note_dead(2, 10, 1e9, &in_level(1_000, 200, ModelShape::Separators));
        assert_eq!(analyzer.shape(2, 1 << 30, &current), ModelShape::Separators);
    }

    #[test]
    fn large_tables_try_the_shapes_that_suit_them() {
        let mut analyzer = Analyzer::default();
        let mut tried = Vec::new();
        for _ in 0..2 * TRIED_TABLES {
            let shape = analyzer.shape(4, 1 << 30, &LevelLookups::default());
            analyzer.note_learned(4, shape, 1 << 30, 10.0);
            tried.push(shape);
        }
        assert_eq!(tried, [REGRESSION, ModelShape::Separators].repeat(TRIED_TABLES as usize));
    }

    #[test]
    fn a_shape_that_nothing_is_known_of_is_tried_although_tables_have_died() {
        let judged = |analyzer: &Analyzer, shape, current: &LevelLookups| {
            let lookups = TableLookups::default();
            let table = Candidate { level: 3, bytes: 1000, records: 1000, lookups: &lookups, age_us: 1e9, shape };
            matches!(analyzer.judge(&table, current, ExpectedLookups::LikeLevel), LearningVerdict::Learn { .. })
        };
        // Tables that died before any was learned, such as those that a compaction at the opening replaced.
        let mut analyzer = Analyzer::default();
        for _ in 0..2 * BOOTSTRAP_TABLES {
            analyzer.note_dead(3, 1000, 1e9, &LevelLookups::default());
        }
        for shape in ModelShape::ALL {
            assert!(judged(&analyzer, shape, &LevelLookups::default()), "{shape:?}");
        }
        // Tables with models are there, and none of them has been asked yet.
        let unasked = in_level(0, 0, REGRESSION);
        let asked_without = LevelLookups { all: [0, 1_000], ..LevelLookups::default() };
        for tried in 1..=BOOTSTRAP_TABLES {
            analyzer.note_learned(3, REGRESSION, 1_000, 40.0);
            assert_eq!(judged(&analyzer, REGRESSION, &asked_without), tried < BOOTSTRAP_TABLES, "{tried}");
            assert_eq!(judged(&analyzer, REGRESSION, &unasked), tried < TRIED_TABLES, "{tried}");
        }
    }

    #[test]
    fn tables_that_lived_too_shortly_tell_nothing() {
        let mut analyzer = Analyzer::default();
        analyzer.note_dead(1, 10, FIRST_WAIT_US / 2.0, &LevelLookups::default());
        assert_eq!(analyzer.levels[1], LevelStatistics::default());
        analyzer.note_dead(1, 10, FIRST_WAIT_US, &LevelLookups::default());
        assert_eq!(analyzer.levels[1].gone, 1);
        analyzer.note_dead(LEVELS, 10, FIRST_WAIT_US, &LevelLookups::default());
    }

    #[test]
    fn a_table_waits_as_long_as_learning_takes() {
        let mut analyzer = Analyzer::default();
        assert_eq!(analyzer.wait_us(), FIRST_WAIT_US);
        analyzer.note_learned(0, REGRESSION, 10, 100.0);
        analyzer.note_learned(0, REGRESSION, 10, 300.0);
        analyzer.note_learned(0, ModelShape::Separators, 10, 1.0);
        assert_eq!(analyzer.wait_us(), 200.0);
        assert_eq!(analyzer.cost_ns(5), 100_000.0);
    }
}
