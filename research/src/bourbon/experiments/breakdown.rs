//! Figures 2 and 8: time of a lookup by the steps of the paper.
//!
//! Steps are timed individually, less the time of reading the clock. Each figure is the mean over all lookups except
//! the slowest, which other work on the machine disturbs.

use crate::bourbon::{LookupSteps, StepTimer};
use anyhow::Result;

use super::setting::{SETS, lookups, records, requests};
use super::store::{Order, Store};
use super::subjects::{BASELINE, READ_ONLY, chosen};
use super::turns::{Stores, record};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::Record;
use crate::workload::{Asked, Population, Requests};

pub(crate) const FIG2: Experiment = Experiment {
    name: "bourbon/fig2",
    about: "steps of a lookup without models, in memory and with data on devices, by profiles (Bourbon, Figure 2)",
    run: fig2,
};

pub(crate) const FIG8: Experiment = Experiment {
    name: "bourbon/fig8",
    about: "steps of a lookup without models, by models, and by exact separators (Bourbon, Figure 8)",
    run: fig8,
};

/// The slowest 1/N of the lookups are left out.
const LEFT_OUT: usize = 50;

/// The mean steps of the lookups, without the slowest.
fn steps_of(store: &Store<'_>, asked: &Asked) -> Result<LookupSteps> {
    let timer = StepTimer::new();
    let mut all = Vec::with_capacity(asked.len());
    for key in asked.iter() {
        let mut steps = LookupSteps::default();
        timer.get(&store.db, key, &mut steps)?;
        all.push(steps);
    }
    all.sort_by(|one, other| one.total_ns().total_cmp(&other.total_ns()));
    all.truncate((all.len() - all.len() / LEFT_OUT).max(1));
    let count = all.len() as f64;
    let mean = |figure: fn(&LookupSteps) -> f64| all.iter().map(figure).sum::<f64>() / count;
    let mut steps = LookupSteps::default();
    steps.find_files_ns = mean(|steps| steps.find_files_ns);
    steps.search_index_ns = mean(|steps| steps.search_index_ns);
    steps.search_filter_ns = mean(|steps| steps.search_filter_ns);
    steps.load_block_ns = mean(|steps| steps.load_block_ns);
    steps.search_block_ns = mean(|steps| steps.search_block_ns);
    steps.read_value_ns = mean(|steps| steps.read_value_ns);
    steps.other_ns = mean(|steps| steps.other_ns);
    Ok(steps)
}

fn figures(row: Record, steps: &LookupSteps) -> Record {
    row.figure("find_files_ns", steps.find_files_ns)
        .figure("search_index_ns", steps.search_index_ns)
        .figure("search_filter_ns", steps.search_filter_ns)
        .figure("load_block_ns", steps.load_block_ns)
        .figure("search_block_ns", steps.search_block_ns)
        .figure("read_value_ns", steps.read_value_ns)
        .figure("other_ns", steps.other_ns)
}

/// Time of searching, which a model can reduce.
fn indexing_ns(steps: &LookupSteps) -> f64 {
    steps.find_files_ns + steps.search_index_ns + steps.search_filter_ns + steps.search_block_ns
}

fn fig8(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let subjects = chosen(context, &READ_ONLY)?;
    each_set(context, FIG8.name, &SETS, output, |spec, output| {
        let records = records(context, spec)?;
        let population = Population::whole((0..records.len() as u64).collect());
        let progress = Progress::new(subjects.len())?;
        let stores = Stores::load(context, &records, &population, Order::Random, &subjects, |options| options)?;
        let requests = requests(context, Requests::Uniform);
        let mut baseline = LookupSteps::default();
        for (subject, store) in subjects.iter().zip(&stores.stores) {
            progress.on(format!("{} on {spec}", subject.name));
            let asked = store.asked(&requests, lookups(context), true, context.seed)?;
            store.warm(&asked)?;
            let steps = steps_of(store, &asked)?;
            if *subject == BASELINE {
                baseline = steps;
            }
            let search = |steps: &LookupSteps| steps.search_index_ns + steps.search_block_ns;
            output.report(
                figures(record(FIG8.name, &records, subject), &steps)
                    .figure("total_ns", steps.total_ns())
                    .figure("search_speedup", search(&baseline) / search(&steps))
                    .figure("load_speedup", baseline.load_block_ns / steps.load_block_ns),
            )?;
            progress.step();
        }
        Ok(())
    })
}

fn fig2(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let devices = context.profiles_or(&["sata", "nvme", "optane"])?;
    each_set(context, FIG2.name, &SETS[..1], output, |spec, output| {
        let records = records(context, spec)?;
        let population = Population::whole((0..records.len() as u64).collect());
        let stores = Stores::load(context, &records, &population, Order::Random, &[BASELINE], |options| options)?;
        for store in &stores.stores {
            let asked = store.asked(&requests(context, Requests::Uniform), lookups(context), true, context.seed)?;
            store.warm(&asked)?;
            let steps = steps_of(store, &asked)?;
            let row = |device: &str, steps: &LookupSteps| {
                figures(record(FIG2.name, &records, &BASELINE).profile(device), steps)
                    .figure("total_ns", steps.total_ns())
                    .figure("indexing_share", indexing_ns(steps) / steps.total_ns())
            };
            output.report(row("memory", &steps))?;
            for device in &devices {
                // On a device, a block is read for each lookup, and the value in the value log.
                let mut on_device = steps;
                on_device.load_block_ns += 1e3 * device.time_us(BLOCK_BYTES);
                if !context.inline_values {
                    on_device.read_value_ns += 1e3 * device.time_us(VALUE_READ_BYTES);
                }
                output.report(row(device.name(), &on_device))?;
            }
        }
        Ok(())
    })
}

/// Reads of tables and of value files.
const BLOCK_BYTES: u64 = 4096;
const VALUE_READ_BYTES: u64 = 512;
