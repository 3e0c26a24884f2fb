//! Figures 1d and 13 to 15: time of inserts by search, insert, structure modification and statistics.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, ensure};
use ogive::index::IndexKind;
use ogive::io::MemoryStorage;
use ogive::page::{PagePhase, PagePhaseStatistics, PageWriteStatistics};

use crate::experiments::indexes::{
    GENERATED, IndexStore, IndexSubject, LOAD_MEMORY_BYTES, distinct, growing, pages, subjects,
};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set, or_report};
use crate::output::Record;
use crate::workload::{Mix, Population};

pub(crate) const INSERT: Experiment = Experiment {
    name: "aulid/insert",
    about: "inserts and appends by search, insert, structure modification, statistics (AULID, Figures 1d, 13 to 15)",
    run,
};

const MIXES: [Mix; 2] = [Mix::WriteOnly, Mix::Append];
const OPERATIONS: usize = 1_000_000;
const PHASES: [(PagePhase, &str); 4] = [
    (PagePhase::Search, "search"),
    (PagePhase::Insert, "insert"),
    (PagePhase::Structure, "structure"),
    (PagePhase::Statistics, "statistics"),
];

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let subjects = subjects(context, &IndexKind::all())?;
    let mixes = if context.workloads.is_empty() { &MIXES[..] } else { &context.workloads };
    each_set(context, INSERT.name, &GENERATED, output, |spec, output| {
        let set = growing(context, spec)?;
        for &mix in mixes {
            let population = mix.population(distinct(&set)?, context.seed);
            let progress = Progress::new(subjects.len())?;
            for subject in &subjects {
                progress.on(format!("{} of {}, {mix}", subject.name, set.name()));
                let record = Record::new(INSERT.name)
                    .keys(set.name())
                    .figure("workload", mix.name())
                    .figure("structure", subject.name.as_str());
                or_report(output, record.clone(), |output| {
                    let (inserts, statistics) = written(context, subject, &population)?;
                    output.report(filled(record, inserts, &statistics))?;
                    Ok(())
                })?;
                progress.step();
            }
        }
        Ok(())
    })
}

/// Loads the first keys, inserts the others, and sums the statistics of the transactions.
fn written(context: &Context, subject: &IndexSubject, population: &Population) -> Result<(usize, PageWriteStatistics)> {
    let mut options = subject.options.clone();
    options.pages = pages(options.pages.page_bytes, LOAD_MEMORY_BYTES);
    let keys = population.loaded().iter().copied().map(Ok);
    let (store, _) = IndexStore::load(Arc::new(MemoryStorage::new()), &options, &[], keys)?;
    let most = context.lookups.unwrap_or(OPERATIONS).min(population.coming().len());
    let mut total = PageWriteStatistics::default();
    store.insert_timed(&population.coming()[..most], |statistics| add(&mut total, statistics))?;
    ensure!(store.index.len()? == (population.loaded().len() + most) as u64, "entries are missing");
    Ok((most, total))
}

fn add(total: &mut PageWriteStatistics, statistics: &PageWriteStatistics) {
    for (phase, of) in &statistics.phases {
        let sum = total.phases.entry(*phase).or_default();
        sum.pages_read += of.pages_read;
        sum.pages_changed += of.pages_changed;
        sum.time_ns += of.time_ns;
    }
    for (name, count) in &statistics.structure_modifications {
        *total.structure_modifications.entry(name).or_default() += count;
    }
}

fn filled(record: Record, inserts: usize, statistics: &PageWriteStatistics) -> Record {
    let per_insert = |count: u64| count as f64 / inserts.max(1) as f64;
    let mut record = record.figure("inserts", inserts as u64);
    for (phase, name) in PHASES {
        let of: PagePhaseStatistics = statistics.phases.get(&phase).copied().unwrap_or_default();
        record = record
            .figure(&format!("{name}_pages_read_per_insert"), per_insert(of.pages_read))
            .figure(&format!("{name}_pages_changed_per_insert"), per_insert(of.pages_changed))
            .figure(&format!("{name}_cpu_ns_per_insert"), per_insert(of.time_ns));
    }
    let modifications: BTreeMap<_, _> = statistics.structure_modifications.iter().collect();
    record = record.figure("smo_count", modifications.values().copied().sum::<u64>());
    modifications.into_iter().fold(record, |record, (name, count)| {
        record.figure(&format!("smo_{}_count", name.replace([' ', '-'], "_")), *count)
    })
}
