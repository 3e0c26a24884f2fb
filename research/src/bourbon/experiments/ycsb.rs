//! Figure 14: the YCSB workloads.

use anyhow::Result;

use super::setting::{lookups, options, records, requests};
use super::store::{Order, Store, StoreSetup, Work};
use super::subjects::{BASELINE, POLICIES, Subject, chosen};
use super::turns::record;
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::Spread;
use crate::workload::{Population, Records, Requests, StoreMix, StoreOperation};

pub(crate) const FIG14: Experiment = Experiment {
    name: "bourbon/fig14",
    about: "throughput of the YCSB workloads A to F by policy (Bourbon, Figure 14)",
    run,
};

/// The share of the records that is inserted later: at most one operation in twenty is an insert.
pub(super) fn growing(records: &Records, operations: usize, seed: u64) -> Population {
    let all = records.len() as u64;
    let later = (operations as u64 / 10).min(all / 2);
    Population::split((0..all).collect(), all - later, all, seed)
}

/// The operations of a workload on such a population.
pub(super) fn drawn(
    context: &Context,
    mix: StoreMix,
    population: &Population,
    count: usize,
    seed: u64,
) -> Result<(Requests, Vec<StoreOperation>)> {
    let requests = requests(context, mix.requests());
    let operations = mix.operations(population, &requests, 0, count, seed)?.collect();
    Ok((requests, operations))
}

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let subjects = chosen(context, &POLICIES)?;
    each_set(context, FIG14.name, &["uniform", "lognormal"], output, |spec, output| {
        let records = records(context, spec)?;
        let population = growing(&records, lookups(context), context.seed);
        let progress = Progress::new(StoreMix::YCSB.len() * subjects.len() * context.seeds as usize)?;
        for mix in StoreMix::YCSB {
            let mut works: Vec<Vec<Work>> = subjects.iter().map(|_| Vec::new()).collect();
            let mut asked = String::new();
            for seed in context.seeds() {
                let (requests, operations) = drawn(context, mix, &population, lookups(context), seed)?;
                asked = requests.to_string();
                for (subject, works) in subjects.iter().zip(&mut works) {
                    progress.on(format!("{mix} on {spec}, {}", subject.name));
                    works.push(once(context, &records, &population, subject, &operations)?);
                    progress.step();
                }
            }
            report(&records, mix, &asked, &subjects, &works, output)?;
        }
        Ok(())
    })
}

fn once(
    context: &Context,
    records: &Records,
    population: &Population,
    subject: &Subject,
    operations: &[StoreOperation],
) -> Result<Work> {
    let options = options(context, records, subject);
    let setup = StoreSetup { context, records, population, order: Order::Random, options: &options, subject };
    let mut store = Store::load(&setup)?;
    store.warm(&store.asked(&Requests::Uniform, operations.len() / 10, true, context.seed)?)?;
    store.run(operations, |_, _| Ok(()))
}

fn report(
    records: &Records,
    mix: StoreMix,
    requests: &str,
    subjects: &[Subject],
    works: &[Vec<Work>],
    output: &mut Output<'_>,
) -> Result<()> {
    let per_s = |works: &Vec<Work>| works.iter().map(|work| 1e6 / work.foreground_us()).collect::<Vec<f64>>();
    let baseline = subjects.iter().position(|subject| *subject == BASELINE);
    let baseline = baseline.map_or(f64::NAN, |index| Spread::of(&per_s(&works[index])).median);
    for (subject, works) in subjects.iter().zip(works) {
        let rates = per_s(works);
        output.report(
            record(FIG14.name, records, subject)
                .figure("workload", mix.name())
                .figure("requests", requests)
                .spread("operations_per_s", &rates)
                .figure("speedup", Spread::of(&rates).median / baseline)
                .figure("total_us_per_operation", {
                    let totals: Vec<f64> =
                        works.iter().map(|work| 1e6 * work.total_s() / work.operations.max(1) as f64).collect();
                    Spread::of(&totals).median
                }),
        )?;
    }
    Ok(())
}
