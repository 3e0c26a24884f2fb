//! Blocks per operation by resident bytes, after a bulk load and after growth by random inserts.

use std::sync::Arc;

use anyhow::Result;
use ogive::index::{IndexKind, IndexStatistics};
use ogive::io::MemoryStorage;

use crate::experiments::indexes::{
    GENERATED, IndexStore, IndexSubject, InsertWatch, LOAD_MEMORY_BYTES, Touches, distinct, growing, pages, subjects,
};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, Resident, each_set, or_report};
use crate::keys::KeySet;
use crate::output::Record;
use crate::random::Random;
use crate::workload::{Population, Workload};

pub(crate) const BLOCKS: Experiment = Experiment {
    name: "aulid/blocks",
    about: "blocks of lookups, scans and inserts, log and file by resident bytes (AULID, Figures 1c, 5, 6)",
    run,
};

/// Default number of lookups of each kind, scans, and inserts after a bulk load.
const LOOKUPS: usize = 100_000;
/// Lookups per scan.
const LOOKUPS_A_SCAN: usize = 5;
/// One in this many transactions of the growth is observed page by page.
const WATCHED_TRANSACTIONS: usize = 10;

/// Before or after an index has grown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The whole set is bulk-loaded.
    Bulk,
    /// A random half is bulk-loaded, the rest inserted in random order; generated sets are twice as large, so that they
    /// grow *from* their count.
    Grown,
}

/// The work on each structure in one phase.
struct Questions {
    set: String,
    phase: Phase,
    population: Population,
    present: Vec<u64>,
    absent: Vec<u64>,
    /// Keys to insert while blocks are counted.
    inserts: Vec<u64>,
    limits: Vec<Resident>,
}

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let subjects = subjects(context, &IndexKind::all())?;
    each_set(context, BLOCKS.name, &GENERATED, output, |spec, output| {
        for phase in [Phase::Bulk, Phase::Grown].into_iter().filter(|phase| phase.is_wanted(context)) {
            let questions = Questions::draw(context, spec, phase)?;
            let progress = Progress::new(subjects.len())?;
            for subject in &subjects {
                progress.on(format!("{} of {}, {}", subject.name, questions.set, phase.name()));
                let failed = questions.record(subject);
                or_report(output, failed, |output| questions.ask(subject, output))?;
                progress.step();
            }
        }
        Ok(())
    })
}

impl Phase {
    fn is_wanted(self, context: &Context) -> bool {
        context.phases.is_empty() || context.phases.iter().any(|name| name == self.name())
    }

    fn name(self) -> &'static str {
        match self {
            Self::Bulk => "bulk",
            Self::Grown => "grown",
        }
    }
}

/// Present keys, absent keys, and new keys to insert.
fn drawn(context: &Context, set: &KeySet, keys: &[u64]) -> Result<(Vec<u64>, Vec<u64>, Vec<u64>)> {
    let lookups = context.lookups.unwrap_or(LOOKUPS).max(1);
    let mut random = Random::new(context.seed, "present keys");
    let present = (0..lookups).map(|_| keys[random.below(keys.len() as u64) as usize]).collect();
    let absent = Workload::Absent.draw(set, lookups, context.seed)?;
    let mut new = Workload::Absent.draw(set, lookups, context.seed.wrapping_add(1))?;
    // In order, each once; then in a random order again.
    new.sort_unstable();
    new.dedup();
    let new = Population::halves(new, context.seed);
    Ok((present, absent, new.coming().to_vec()))
}

impl Questions {
    fn draw(context: &Context, spec: &str, phase: Phase) -> Result<Self> {
        let set = match phase {
            Phase::Bulk => context.open(spec, context.seed)?,
            Phase::Grown => growing(context, spec)?,
        };
        let keys = distinct(&set)?;
        let (present, absent, inserts) = drawn(context, &set, &keys)?;
        let population = match phase {
            Phase::Bulk => Population::whole(keys),
            Phase::Grown => Population::halves(keys, context.seed),
        };
        let limits = if context.resident.is_empty() { Resident::LADDER.to_vec() } else { context.resident.clone() };
        Ok(Self { set: set.name().into(), phase, population, present, absent, inserts, limits })
    }

    fn record(&self, subject: &IndexSubject) -> Record {
        let count = self.population.loaded().len() + self.population.coming().len();
        Record::new(BLOCKS.name)
            .keys(&self.set)
            .figure("phase", self.phase.name())
            .figure("structure", subject.name.as_str())
            .figure("keys_count", count as u64)
    }

    fn ask(&self, subject: &IndexSubject, output: &mut Output<'_>) -> Result<()> {
        let mut options = subject.options.clone();
        options.pages = pages(options.pages.page_bytes, LOAD_MEMORY_BYTES);
        let nothing_cached = pages(options.pages.page_bytes, 0);
        let keys = self.population.loaded().iter().copied().map(Ok);
        let (store, _) = IndexStore::load(Arc::new(MemoryStorage::new()), &options, &[], keys)?;
        let growth = match self.phase {
            Phase::Bulk => None,
            Phase::Grown => Some(store.watch_inserts(self.population.coming(), WATCHED_TRANSACTIONS)?),
        };
        let file_bytes = store.file_bytes()?;
        let statistics = store.index.statistics()?;
        let store = store.reopen(nothing_cached)?;
        let gets = store.watch_gets(&self.present, true)?;
        let absent = store.watch_gets(&self.absent, false)?;
        let scans = store.watch_scans(&self.present[..self.present.len().div_ceil(LOOKUPS_A_SCAN)])?;
        let inserts = match growth {
            Some(growth) => growth,
            None => store.reopen(options.pages)?.watch_inserts(&self.inserts, 1)?,
        };
        let answers = Answers { gets, absent, scans, inserts, file_bytes, statistics };
        for &limit in &self.limits {
            output.report(answers.fill(self.record(subject), limit, subject.options.pages.page_bytes as u64))?;
        }
        Ok(())
    }
}

/// Figures of a structure.
struct Answers {
    gets: Touches,
    absent: Touches,
    scans: Touches,
    inserts: InsertWatch,
    file_bytes: u64,
    statistics: IndexStatistics,
}

impl Answers {
    fn fill(&self, record: Record, limit: Resident, page_bytes: u64) -> Record {
        // Lookups of random keys visit every upper node, so their resident set serves the other reads, too.
        let resident = self.gets.resident(limit, page_bytes);
        let statistics = &self.statistics;
        record
            .figure("resident_bytes", limit)
            .figure("blocks_per_get", self.gets.per_operation(limit, &resident))
            .figure("blocks_per_absent_get", self.absent.per_operation(limit, &resident))
            .figure("blocks_per_scan100", self.scans.per_operation(limit, &resident))
            .figure("blocks_read_per_insert", self.inserts.blocks_read(limit, page_bytes))
            .figure("blocks_written_per_insert", self.inserts.blocks_written())
            .figure("log_bytes_per_insert", self.inserts.log_bytes())
            .figure("file_bytes", self.file_bytes)
            .figure("inner_bytes", statistics.inner_pages * page_bytes)
            .figure("leaves", statistics.leaves)
            .figure("height", u64::from(statistics.height))
            .figure(
                "inner_bytes_per_leaf",
                (statistics.inner_pages * page_bytes) as f64 / statistics.leaves.max(1) as f64,
            )
    }
}
