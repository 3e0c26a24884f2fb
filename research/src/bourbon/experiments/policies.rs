//! Table 1, Figure 13 and variants of the policies while data change, judged by the sum of all work.

use anyhow::Result;

use super::learned::Learned;
use super::setting::{options, records, requests};
use super::store::{Order, Store, StoreSetup, Work};
use super::subjects::{ALWAYS, ALWAYS_LEVEL, BASELINE, POLICIES, Subject, VARIANTS as VARIANT_SUBJECTS, chosen};
use super::turns::record;
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::{Record, Spread};
use crate::workload::{Population, Records, Requests, StoreMix, StoreOperation};

pub(crate) const FIG13: Experiment = Experiment {
    name: "bourbon/fig13",
    about: "foreground, learning, compaction and their sum by policy and share of writes (Bourbon, Figure 13)",
    run: |context, output| {
        let percents = if context.write_percents.is_empty() { WRITES.to_vec() } else { context.write_percents.clone() };
        run(FIG13.name, &POLICIES, &percents, 0, context, output)
    },
};

pub(crate) const TABLE1: Experiment = Experiment {
    name: "bourbon/table1",
    about: "file and level models: time of mixed and read-only work, share of model lookups (Bourbon, Table 1)",
    run: |context, output| {
        let percents = if context.write_percents.is_empty() { vec![50, 5, 0] } else { context.write_percents.clone() };
        // Level models fail because levels change while they are learned: learning has a thread of its own here.
        run(TABLE1.name, &[BASELINE, ALWAYS, ALWAYS_LEVEL], &percents, 1, context, output)
    },
};

pub(crate) const VARIANTS: Experiment = Experiment {
    name: "bourbon/variants",
    about: "shapes of models by cost, models of tables or levels by their rate of change, lookups expected like those \
        before (Bourbon, Sections 4.1, 4.5 and 4.4.2)",
    run: |context, output| {
        let percents = if context.write_percents.is_empty() { vec![1, 10, 50] } else { context.write_percents.clone() };
        let requests = match context.requests.as_slice() {
            [] => vec![Requests::Uniform, Requests::Zipf { skew: ZIPF_SKEW }],
            requests => requests.to_vec(),
        };
        requests.into_iter().try_for_each(|requests| {
            let context = Context { requests: vec![requests], ..context.clone() };
            run(VARIANTS.name, &VARIANT_SUBJECTS, &percents, 0, &context, output)
        })
    },
};

/// The skew of YCSB.
const ZIPF_SKEW: f64 = 0.99;
/// Writes per 100 operations (Section 5.4; from 50 on levels never rest).
const WRITES: [u64; 5] = [1, 5, 10, 20, 50];
/// Operations per record: the paper runs 50 million on 33.5 million.
const OPERATIONS_PER_RECORD: f64 = 1.5;

/// A run of a policy.
struct PolicyRun {
    work: Work,
    learned: Learned,
    stored_ratio: f64,
}

fn run(
    name: &str,
    subjects: &[Subject],
    percents: &[u64],
    threads: usize,
    context: &Context,
    output: &mut Output<'_>,
) -> Result<()> {
    let subjects = chosen(context, subjects)?;
    each_set(context, name, &["lognormal"], output, |spec, output| {
        let records = records(context, spec)?;
        let population = Population::whole((0..records.len() as u64).collect());
        let progress = Progress::new(percents.len() * subjects.len() * context.seeds as usize)?;
        for &percent in percents {
            let mut runs: Vec<Vec<PolicyRun>> = subjects.iter().map(|_| Vec::new()).collect();
            for seed in context.seeds() {
                let operations = operations(context, &records, &population, percent, seed)?;
                for (subject, runs) in subjects.iter().zip(&mut runs) {
                    progress.on(format!("{}, {percent} % writes to {spec}", subject.name));
                    runs.push(once(context, &records, &population, subject, threads, &operations)?);
                    progress.step();
                }
            }
            report(name, context, &records, percent, &subjects, &runs, output)?;
        }
        Ok(())
    })
}

fn operations(
    context: &Context,
    records: &Records,
    population: &Population,
    percent: u64,
    seed: u64,
) -> Result<Vec<StoreOperation>> {
    let count = context.lookups.unwrap_or((records.len() as f64 * OPERATIONS_PER_RECORD) as usize);
    let requests = requests(context, Requests::Uniform);
    Ok(StoreMix::Writes(percent).operations(population, &requests, 0, count, seed)?.collect())
}

fn once(
    context: &Context,
    records: &Records,
    population: &Population,
    subject: &Subject,
    threads: usize,
    operations: &[StoreOperation],
) -> Result<PolicyRun> {
    let options = options(context, records, subject).threads(threads);
    let setup = StoreSetup { context, records, population, order: Order::Random, options: &options, subject };
    let mut store = Store::load(&setup)?;
    store.warm(&store.asked(&Requests::Uniform, operations.len() / 10, true, context.seed)?)?;
    let before = store.db.learning_stats();
    let work = store.run(operations, |_, _| Ok(()))?;
    let learned = Learned::since(&store, &before);
    Ok(PolicyRun { work, learned, stored_ratio: store.stored_bytes()? as f64 / records.raw_bytes() as f64 })
}

fn report(
    name: &str,
    context: &Context,
    records: &Records,
    percent: u64,
    subjects: &[Subject],
    runs: &[Vec<PolicyRun>],
    output: &mut Output<'_>,
) -> Result<()> {
    let total_s = |runs: &Vec<PolicyRun>| Spread::of(&of(runs, |run| run.work.total_s())).median;
    let least_s = runs.iter().map(total_s).fold(f64::INFINITY, f64::min);
    let baseline = subjects.iter().position(|subject| *subject == BASELINE).map(|index| &runs[index]);
    for (subject, runs) in subjects.iter().zip(runs) {
        let mut row: Record = record(name, records, subject)
            .figure("writes_percent", percent)
            .figure("operations", runs.first().map_or(0, |run| run.work.operations))
            .spread("foreground_s", &of(runs, |run| run.work.foreground_s))
            .spread("learning_s", &of(runs, |run| run.work.learning_s))
            .spread("compaction_s", &of(runs, |run| run.work.compaction_s))
            .spread("total_s", &of(runs, |run| run.work.total_s()))
            .figure("total_ratio_to_best", total_s(runs) / least_s);
        if let Some(requests) = context.requests.first() {
            row = row.figure("requests", requests.to_string());
        }
        if let Some(baseline) = baseline {
            let foreground_s = |runs: &Vec<PolicyRun>| Spread::of(&of(runs, |run| run.work.foreground_s)).median;
            row = row
                .figure("foreground_speedup", foreground_s(baseline) / foreground_s(runs))
                .figure("total_ratio_to_never", total_s(runs) / total_s(baseline));
        }
        output.report(
            row.figure("model_path_share", Spread::of(&of(runs, |run| run.learned.model_share())).median)
                .figure("models_learned", runs.iter().map(|run| run.learned.learned).max().unwrap_or(0))
                .figure("models_given_up", runs.iter().map(|run| run.learned.given_up).max().unwrap_or(0))
                .figure("tables_skipped", runs.iter().map(|run| run.learned.skipped).max().unwrap_or(0))
                .figure("stored_ratio_to_raw", Spread::of(&of(runs, |run| run.stored_ratio)).median),
        )?;
    }
    Ok(())
}

fn of(runs: &[PolicyRun], figure: fn(&PolicyRun) -> f64) -> Vec<f64> {
    runs.iter().map(figure).collect()
}
