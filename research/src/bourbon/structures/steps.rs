//! Timed lookups: a clock between the steps of a lookup, for breakdowns (Bourbon, Figures 2 and 8).

use ogive::Result;
use ogive::block::Slice;
use ogive::io::Timer;
use ogive::lsm::Keyspace;
use ogive::lsm::extend::LookupStep;
use std::cell::Cell;

/// Number of readings from which the cost of one is measured.
const CLOCK_READINGS: usize = 1_000;

/// The time spent in each step of lookups, in nanoseconds. The steps are those of the paper (Section 2.1), summed over
/// all tables searched. Indexes and filters are resident, so there is no step to load them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LookupSteps {
    /// Finding the tables that may contain the key.
    pub find_files_ns: f64,
    /// Finding the block, by full keys, separators or a model.
    pub search_index_ns: f64,
    /// Querying the filter.
    pub search_filter_ns: f64,
    /// Loading the block into memory.
    pub load_block_ns: f64,
    /// Finding the record in the block.
    pub search_block_ns: f64,
    /// Reading the value, which may be in the value log.
    pub read_value_ns: f64,
    /// Everything else: the view and the memtables.
    pub other_ns: f64,
    /// Number of tables searched.
    pub tables: u64,
}

impl LookupSteps {
    /// The sum of all steps.
    #[must_use]
    pub fn total_ns(&self) -> f64 {
        let search = self.search_index_ns + self.search_filter_ns + self.search_block_ns;
        self.find_files_ns + search + self.load_block_ns + self.read_value_ns + self.other_ns
    }

    fn add(&mut self, step: LookupStep, step_ns: f64) {
        match step {
            LookupStep::FindTable => self.find_files_ns += step_ns,
            // The model of a level finds both the table and the position.
            LookupStep::SearchLevel => self.search_index_ns += step_ns,
            LookupStep::SearchIndex => {
                self.search_index_ns += step_ns;
                self.tables += 1;
            }
            LookupStep::SearchFilter => self.search_filter_ns += step_ns,
            LookupStep::LoadBlock => self.load_block_ns += step_ns,
            LookupStep::SearchBlock => self.search_block_ns += step_ns,
            LookupStep::ReadValue => self.read_value_ns += step_ns,
            _ => self.other_ns += step_ns,
        }
    }
}

/// Looks keys up and times the steps, less the cost of reading the clock.
#[derive(Debug)]
pub struct StepTimer {
    timer: Timer,
    /// Microseconds at the last reading of the timer.
    last_us: Cell<f64>,
    reading_ns: f64,
    steps: Cell<LookupSteps>,
}

impl StepTimer {
    /// Measures the cost of reading the clock.
    #[must_use]
    pub fn new() -> Self {
        let timer = Timer::start();
        let mut this = Self { timer, last_us: Cell::new(0.0), reading_ns: 0.0, steps: Cell::default() };
        // The minimum of many readings: longer ones were interrupted.
        this.reading_ns = (0..CLOCK_READINGS).map(|_| this.lap_ns()).fold(f64::INFINITY, f64::min);
        this
    }

    /// Nanoseconds since the last call.
    #[inline]
    fn lap_ns(&self) -> f64 {
        let now_us = self.timer.elapsed_us();
        let step_ns = 1e3 * (now_us - self.last_us.replace(now_us)) - self.reading_ns;
        step_ns.max(0.0)
    }

    /// As [`Keyspace::get`]; the time of each step is added to `steps`.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn get(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>, steps: &mut LookupSteps) -> Result<Option<Slice>> {
        self.steps.set(*steps);
        self.last_us.set(self.timer.elapsed_us());
        let found = keyspace.get_observed(key, &|step| {
            let mut steps = self.steps.get();
            steps.add(step, self.lap_ns());
            self.steps.set(steps);
        });
        *steps = self.steps.get();
        found
    }
}

impl Default for StepTimer {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::super::LearningRule;
    use super::*;
    use ogive::io::MemoryStorage;
    use ogive::lsm::{Db, DbOptions, Learning};
    use std::sync::Arc;

    #[test]
    fn timed_look_ups_find_what_others_find_and_fill_every_step() -> Result<()> {
        for rule in [Some(LearningRule::Never), Some(LearningRule::Offline), None] {
            let learning = rule.map_or(Learning::CODED, Learning::from);
            let options =
                DbOptions::default().threads(0).learning(learning).values(|values| values.separation_bytes(0));
            let db = Db::open(Arc::new(MemoryStorage::new()), &options)?;
            for round in 0..3_u32 {
                for key in (round..3_000).step_by(1 + round as usize) {
                    db.insert(key.to_be_bytes(), [key.to_le_bytes(), round.to_le_bytes()].concat())?;
                }
                db.flush()?;
            }
            if rule.is_some() {
                db.learn()?;
            }
            let mut steps = LookupSteps::default();
            let timer = StepTimer::new();
            for key in 0..3_010_u32 {
                let timed = timer.get(&db, key.to_be_bytes(), &mut steps)?;
                assert_eq!(timed, db.get(key.to_be_bytes())?, "{key}");
            }
            assert!(steps.tables >= 3_000 && steps.search_index_ns > 0.0 && steps.search_block_ns > 0.0, "{steps:?}");
            assert!(steps.total_ns() >= steps.read_value_ns && steps.read_value_ns > 0.0, "{steps:?}");
        }
        Ok(())
    }
}
