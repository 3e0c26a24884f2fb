//! Figure 12: range queries by length.

use anyhow::Result;

use super::setting::{SETS, lookups, records, requests};
use super::store::Order;
use super::subjects::{READ_ONLY, chosen};
use super::turns::{Stores, record, rounds};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::workload::{Population, Requests};

pub(crate) const FIG12: Experiment = Experiment {
    name: "bourbon/fig12",
    about: "throughput of range queries by length, over the baseline's (Bourbon, Figure 12)",
    run,
};

const LENGTHS: [usize; 6] = [1, 5, 10, 50, 100, 500];
/// Number of entries of a range that take as long as one more lookup.
const ENTRIES_OF_LOOKUP: usize = 10;

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let subjects = chosen(context, &READ_ONLY)?;
    each_set(context, FIG12.name, &SETS, output, |spec, output| {
        let records = records(context, spec)?;
        let population = Population::whole((0..records.len() as u64).collect());
        let mut stores = Stores::load(context, &records, &population, Order::Random, &subjects, |options| options)?;
        let requests = requests(context, Requests::Uniform);
        let progress = Progress::new(LENGTHS.len())?;
        for length in LENGTHS {
            progress.on(format!("{length} entries of {spec}"));
            let count = (lookups(context) / (2 + length / ENTRIES_OF_LOOKUP)).max(1);
            let asked = |round| stores.stores[0].asked(&requests, count, true, context.seed + round);
            let asked = (0..rounds(context)).map(asked).collect::<Result<Vec<_>>>()?;
            stores.stores.iter().try_for_each(|store| store.warm(&asked[0]))?;
            let all = stores.in_turn(context, |store, round| store.range_ns(&asked[round as usize], length))?;
            for (subject, _, values, speedup) in stores.compared(&all) {
                let row = record(FIG12.name, &records, subject).figure("range_entries", length as u64);
                output.report(row.spread("processor_ns_per_range", values).figure("normalized_throughput", speedup))?;
            }
            progress.step();
        }
        Ok(())
    })
}
