//! Figure 11: lookups by request distribution.

use anyhow::Result;

use super::setting::{SETS, lookups, records};
use super::store::Order;
use super::subjects::{READ_ONLY, chosen};
use super::turns::{Stores, record};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::workload::{Population, Requests};

pub(crate) const FIG11: Experiment = Experiment {
    name: "bourbon/fig11",
    about: "lookups by request distribution, after random loads (Bourbon, Figure 11)",
    run,
};

/// Those of YCSB, in the paper's order.
pub(super) const DISTRIBUTIONS: [&str; 6] =
    ["sequential", "zipf:0.99", "hotspot:0.2,0.8", "exponential", "uniform", "latest"];

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let distributions = if context.requests.is_empty() {
        DISTRIBUTIONS.iter().map(|text| Ok(text.parse()?)).collect::<Result<Vec<Requests>>>()?
    } else {
        context.requests.clone()
    };
    let subjects = chosen(context, &READ_ONLY)?;
    each_set(context, FIG11.name, &SETS, output, |spec, output| {
        let records = records(context, spec)?;
        let population = Population::whole((0..records.len() as u64).collect());
        let mut stores = Stores::load(context, &records, &population, Order::Random, &subjects, |options| options)?;
        let progress = Progress::new(distributions.len())?;
        for requests in &distributions {
            progress.on(format!("{requests} on {spec}"));
            let asked = |round| stores.stores[0].asked(requests, lookups(context), true, context.seed + round);
            let asked = (0..super::turns::rounds(context)).map(asked).collect::<Result<Vec<_>>>()?;
            stores.stores.iter().try_for_each(|store| store.warm(&asked[0]))?;
            let all = stores.in_turn(context, |store, round| store.get_ns(&asked[round as usize]))?;
            for (subject, _, values, speedup) in stores.compared(&all) {
                let row = record(FIG11.name, &records, subject).figure("requests", requests.to_string());
                output.report(row.spread("processor_ns_per_get", values).figure("speedup", speedup))?;
            }
            progress.step();
        }
        Ok(())
    })
}
