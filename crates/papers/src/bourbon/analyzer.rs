//! The cost-benefit analyzer: the cost of a model against the lookup time it saves (Bourbon, Section 4.4).

use ogive::lsm::extend::{LookupTotals, TableLookups};

/// Number of levels of a store.
const LEVELS: usize = 7;

/// While fewer tables of a level are gone, every table there is learned: there is nothing to judge by.
const BOOTSTRAP_TABLES: u64 = 10;

/// The time to learn a record until it has been measured, in nanoseconds.
const RECORD_NS: f64 = 40.0;

/// The wait of a table before the first model was made, in microseconds: the paper's 50 ms.
const FIRST_WAIT_US: f64 = 50_000.0;

/// Statistics of the tables of a level that are gone.
#[derive(Clone, Debug, Default, PartialEq)]
struct GoneTables {
    tables: u64,
    bytes: u64,
    /// Negative and positive lookups that they served.
    lookups: [u64; 2],
    /// Lookups by a model, negative and positive.
    model: [LookupTotals; 2],
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
#[derive(Clone, Debug)]
pub(super) struct Analyzer {
    dead: [GoneTables; LEVELS],
    /// Records learned so far, and the time that took.
    learned_records: u64,
    learned_ns: f64,
    learned_tables: u64,
}

impl Default for Analyzer {
    fn default() -> Self {
        Self { dead: Default::default(), learned_records: 0, learned_ns: 0.0, learned_tables: 0 }
    }
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
    pub(super) fn note_learned(&mut self, records: u64, time_us: f64) {
        self.learned_records += records;
        self.learned_ns += time_us * 1e3;
        self.learned_tables += 1;
    }

    /// Notes that a table is gone after `life_us`. Tables that were gone before they could be learned do not count.
    pub(super) fn note_dead(&mut self, level: usize, bytes: u64, life_us: f64, lookups: &TableLookups) {
        let wait_us = self.wait_us();
        let Some(dead) = self.dead.get_mut(level).filter(|_| life_us >= wait_us) else { return };
        dead.tables += 1;
        dead.bytes += bytes;
        for positive in [false, true] {
            dead.lookups[usize::from(positive)] += lookups.count(positive);
            dead.model[usize::from(positive)].add(lookups.by_model[usize::from(positive)]);
        }
    }

    /// The time to learn a table, in nanoseconds: `C_model`.
    pub(super) fn cost_ns(&self, records: u64) -> f64 {
        let per_record = match self.learned_records {
            0 => RECORD_NS,
            learned => self.learned_ns / learned as f64,
        };
        per_record * records as f64
    }

    /// Whether a model of a table pays. `table` are its own lookups so far; `model` those by models of the current
    /// tables of its level, negative and positive.
    pub(super) fn judge(
        &self,
        level: usize,
        bytes: u64,
        records: u64,
        table: &TableLookups,
        model: [LookupTotals; 2],
    ) -> LearningVerdict {
        let cost_ns = self.cost_ns(records);
        let Some(dead) = self.dead.get(level).filter(|dead| dead.tables >= BOOTSTRAP_TABLES) else {
            return LearningVerdict::Learn { gain_ns: cost_ns };
        };
        let scale = bytes as f64 * dead.tables as f64 / (dead.bytes.max(1) as f64);
        let mut gain_ns = -cost_ns;
        for positive in [false, true] {
            let mut by_model = dead.model[usize::from(positive)];
            by_model.add(model[usize::from(positive)]);
            let lookups = dead.lookups[usize::from(positive)] as f64 / dead.tables as f64 * scale;
            if let (Some(baseline), Some(model)) = (table.baseline[usize::from(positive)].mean_ns(), by_model.mean_ns())
            {
                gain_ns += (baseline - model) * lookups;
            }
        }
        if gain_ns > 0.0 { LearningVerdict::Learn { gain_ns } } else { LearningVerdict::Skip }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(count: u64, mean_ns: u64) -> LookupTotals {
        LookupTotals { count, nanoseconds: count * mean_ns }
    }

    fn after(tables: u64, lookups: u64) -> Analyzer {
        let mut analyzer = Analyzer::default();
        analyzer.note_learned(1_000, 40.0);
        let dead = GoneTables {
            tables,
            bytes: tables * 1000,
            lookups: [0, tables * lookups],
            model: [LookupTotals::default(), totals(tables * lookups, 500)],
        };
        analyzer.dead[3] = dead;
        analyzer
    }

    /// Lookups on the baseline path of `mean_ns` each.
    fn lookups(mean_ns: u64) -> TableLookups {
        let mut lookups = TableLookups::default();
        lookups.baseline[1] = totals(320, mean_ns);
        lookups
    }

    #[test]
    fn until_tables_have_died_each_is_learned() {
        let analyzer = after(BOOTSTRAP_TABLES - 1, 0);
        assert!(matches!(
            analyzer.judge(3, 1000, 1000, &lookups(500), Default::default()),
            LearningVerdict::Learn { .. }
        ));
        assert_eq!(
            after(BOOTSTRAP_TABLES, 0).judge(3, 1000, 1000, &lookups(5000), Default::default()),
            LearningVerdict::Skip
        );
    }

    #[test]
    fn a_model_is_worth_what_its_lookups_save() {
        // 40 ns a record: 1,000 records cost 40 us; 100 ns saved on each of 1,000 lookups are 100 us.
        let verdict = after(20, 1000).judge(3, 1000, 1000, &lookups(600), Default::default());
        assert_eq!(verdict, LearningVerdict::Learn { gain_ns: 60_000.0 });
        assert_eq!(after(20, 300).judge(3, 1000, 1000, &lookups(600), Default::default()), LearningVerdict::Skip);
        // A table of three times the size will see three times the lookups.
        assert!(matches!(
            after(20, 300).judge(3, 3000, 1000, &lookups(600), Default::default()),
            LearningVerdict::Learn { .. }
        ));
        assert_eq!(after(20, 1000).judge(3, 1000, 1000, &lookups(400), Default::default()), LearningVerdict::Skip);
    }

    #[test]
    fn tables_that_lived_too_shortly_tell_nothing() {
        let mut analyzer = Analyzer::default();
        analyzer.note_dead(1, 10, FIRST_WAIT_US / 2.0, &TableLookups::default());
        assert_eq!(analyzer.dead[1], GoneTables::default());
        analyzer.note_dead(1, 10, FIRST_WAIT_US, &TableLookups::default());
        assert_eq!(analyzer.dead[1].tables, 1);
        analyzer.note_dead(LEVELS, 10, FIRST_WAIT_US, &TableLookups::default());
    }

    #[test]
    fn a_table_waits_as_long_as_learning_takes() {
        let mut analyzer = Analyzer::default();
        assert_eq!(analyzer.wait_us(), FIRST_WAIT_US);
        analyzer.note_learned(10, 100.0);
        analyzer.note_learned(10, 300.0);
        assert_eq!(analyzer.wait_us(), 200.0);
        assert_eq!(analyzer.cost_ns(5), 100_000.0);
    }
}
