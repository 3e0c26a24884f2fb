//! A run with observed tables, for Figures 3 to 5.

use anyhow::Result;

use super::setting::options;
use super::store::{Order, Store, StoreSetup};
use super::subjects::BASELINE;
use super::table_watch::{Life, TableWatch};
use crate::experiments::Context;
use crate::output::Record;
use crate::workload::{Population, Records, Requests, StoreMix, StoreOperation};

/// Operations per record: the paper runs 200 million on 256 million.
const OPERATIONS_PER_RECORD: f64 = 0.8;
/// Operations between two observations of the tables.
const LOOK_EVERY: usize = 100;

/// The observations.
pub(super) struct Watched {
    pub(super) operations: u64,
    pub(super) watch: TableWatch,
    pub(super) lives: Vec<Life>,
}

impl Watched {
    /// Loads a store without models, and runs a mix of lookups and writes on it.
    pub(super) fn run(
        context: &Context,
        records: &Records,
        order: Order,
        percent: u64,
        requests: &Requests,
    ) -> Result<Self> {
        let population = Population::whole((0..records.len() as u64).collect());
        let options = options(context, records, &BASELINE);
        let setup =
            StoreSetup { context, records, population: &population, order, options: &options, subject: &BASELINE };
        let mut store = Store::load(&setup)?;
        let count = context.lookups.unwrap_or((records.len() as f64 * OPERATIONS_PER_RECORD) as usize);
        let operations: Vec<StoreOperation> =
            StoreMix::Writes(percent).operations(&population, requests, 0, count, context.seed)?.collect();
        let mut watch = TableWatch::new(&store.tables());
        store.run(&operations, |store, done| {
            if (done + 1).is_multiple_of(LOOK_EVERY) {
                watch.look(done as u64 + 1, &store.tables());
            }
            Ok(())
        })?;
        let operations = operations.len() as u64;
        let lives = watch.lives(operations, context.seed);
        Ok(Self { operations, watch, lives })
    }

    /// The levels that had tables, from the top.
    pub(super) fn levels(&self) -> impl DoubleEndedIterator<Item = usize> {
        let levels: std::collections::BTreeSet<usize> = self.lives.iter().map(|life| life.level).collect();
        levels.into_iter()
    }

    /// A record on a level of a run over a set.
    pub(super) fn level_record(&self, experiment: &str, set: &str, percent: u64, level: usize) -> Record {
        Record::new(experiment)
            .keys(set)
            .figure("writes_percent", percent)
            .figure("operations", self.operations)
            .figure("level", level as u64)
    }

    pub(super) fn of_level(&self, level: usize) -> Vec<Life> {
        self.lives.iter().filter(|life| life.level == level).copied().collect()
    }
}

/// The verdict on a guideline of the paper, for the records of an experiment.
pub(super) fn guideline(experiment: &str, records: &Records, number: u64, says: &str, confirmed: bool) -> Record {
    Record::new(experiment)
        .keys(records.name())
        .figure("guideline", number)
        .figure("says", says)
        .figure("confirmed", confirmed)
}

/// The requested shares of writes, else those of the paper.
pub(super) fn percents(context: &Context) -> Vec<u64> {
    if context.write_percents.is_empty() { vec![1, 5, 10, 20, 50] } else { context.write_percents.clone() }
}
