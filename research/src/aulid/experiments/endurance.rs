//! Long runs of lookups, inserts and removals, over which height, blocks and file must not drift.

use std::sync::Arc;

use anyhow::{Result, ensure};
use ogive::index::IndexKind;
use ogive::io::MemoryStorage;

use crate::experiments::indexes::{
    GENERATED, IndexStore, IndexSubject, LOAD_MEMORY_BYTES, distinct, growing, pages, payload, present, subjects,
};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set, or_report};
use crate::output::Record;
use crate::random::Random;
use crate::workload::{COMMIT_OPERATIONS, Population};

pub(crate) const ENDURANCE: Experiment = Experiment {
    name: "aulid/endurance",
    about: "height, blocks and file over rounds of lookups, inserts and removals, and after replacing half of the keys",
    run,
};

const STRUCTURES: [IndexKind; 3] = [IndexKind::OGIVE, crate::AULID, IndexKind::BTREE];
const ROUNDS: usize = 10;
const OPERATIONS: usize = 2_000_000;
const PROBES: usize = 20_000;

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let subjects = subjects(context, &STRUCTURES)?;
    each_set(context, ENDURANCE.name, &GENERATED, output, |spec, output| {
        let set = growing(context, spec)?;
        let population = Population::halves(distinct(&set)?, context.seed);
        let progress = Progress::new(subjects.len())?;
        for subject in &subjects {
            progress.on(format!("{} of {}", subject.name, set.name()));
            let record = Record::new(ENDURANCE.name).keys(set.name()).figure("structure", subject.name.as_str());
            or_report(output, record.clone(), |output| Wear::new(context, subject, &population, record)?.run(output))?;
            progress.step();
        }
        Ok(())
    })
}

/// An index that contains the first `present` keys.
struct Wear {
    store: IndexStore,
    record: Record,
    keys: Vec<u64>,
    present: usize,
    /// Operations of a round.
    operations: usize,
    random: Random,
    seed: u64,
}

impl Wear {
    fn new(context: &Context, subject: &IndexSubject, population: &Population, record: Record) -> Result<Self> {
        let mut options = subject.options.clone();
        options.pages = pages(options.pages.page_bytes, LOAD_MEMORY_BYTES);
        let loaded = population.loaded();
        let (store, _) =
            IndexStore::load(Arc::new(MemoryStorage::new()), &options, &[], loaded.iter().copied().map(Ok))?;
        Ok(Self {
            store,
            record,
            keys: [loaded, population.coming()].concat(),
            present: loaded.len(),
            operations: context.lookups.unwrap_or(OPERATIONS) / ROUNDS,
            random: Random::new(context.seed, "wear"),
            seed: context.seed,
        })
    }

    fn run(mut self, output: &mut Output<'_>) -> Result<()> {
        output.report(self.probed("loaded", 0)?)?;
        for round in 1..=ROUNDS {
            self.work(self.operations, 30, 30)?;
            output.report(self.probed("mixed", round)?)?;
        }
        let half = self.present / 2;
        self.work(half, 0, 100)?;
        output.report(self.probed("half removed", ROUNDS)?)?;
        self.work(half, 100, 0)?;
        output.report(self.probed("as many put in", ROUNDS)?)?;
        Ok(())
    }

    /// Runs operations with the given percentages of inserts and removals; the rest are lookups.
    fn work(&mut self, operations: usize, inserts: u64, removals: u64) -> Result<()> {
        let mut left = operations;
        while left > 0 {
            let mut transaction = self.store.index.write()?;
            for _ in 0..left.min(COMMIT_OPERATIONS) {
                let die = self.random.below(100);
                if die < inserts && self.present < self.keys.len() {
                    let place = self.present + self.random.below((self.keys.len() - self.present) as u64) as usize;
                    let key = self.keys[place];
                    ensure!(transaction.insert(key, payload(key))?, "key {key} was there although it was removed");
                    self.keys.swap(self.present, place);
                    self.present += 1;
                } else if die < inserts + removals && self.present > 0 {
                    let place = self.random.below(self.present as u64) as usize;
                    let key = self.keys[place];
                    ensure!(transaction.remove(key)?, "key {key} was not there to be removed");
                    self.present -= 1;
                    self.keys.swap(self.present, place);
                } else if self.present > 0 {
                    let key = self.keys[self.random.below(self.present as u64) as usize];
                    ensure!(transaction.get(key)? == Some(payload(key)), "key {key} is missing");
                }
            }
            transaction.commit()?;
            left -= left.min(COMMIT_OPERATIONS);
        }
        Ok(())
    }

    /// Figures of the index now, with nothing resident.
    fn probed(&mut self, stage: &str, round: usize) -> Result<Record> {
        let file_bytes = self.store.file_bytes()?;
        let statistics = self.store.index.statistics()?;
        ensure!(
            statistics.entries == self.present as u64,
            "{} entries instead of {}",
            statistics.entries,
            self.present
        );
        ensure!(self.present > 0, "no key is left to look up; take a set of some thousands");
        let asked = present(&self.keys[..self.present], PROBES, self.seed);
        let explained: usize =
            asked.iter().map(|&key| Ok(self.store.index.explain(key)?.len())).sum::<Result<usize>>()?;
        let record = self
            .record
            .clone()
            .figure("stage", stage)
            .figure("round", round as u64)
            .figure("entries", statistics.entries)
            .figure("height", u64::from(statistics.height))
            .figure("mean_height", statistics.mean_height)
            .figure("nodes_per_get", explained as f64 / PROBES as f64)
            .figure("leaves", statistics.leaves)
            .figure("inner_pages", statistics.inner_pages)
            .figure("file_bytes", file_bytes)
            .figure("file_bytes_per_entry", file_bytes as f64 / statistics.entries.max(1) as f64);
        Ok(statistics.details.iter().fold(record, |record, (name, count)| {
            record.figure(&format!("{}_count", name.replace([' ', '-'], "_")), *count)
        }))
    }
}
