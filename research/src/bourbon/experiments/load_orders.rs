//! Figure 10: lookups after sequential and random loads, and the cost of internal lookups.

use anyhow::Result;

use super::setting::{SETS, lookups, records, requests};
use super::store::Order;
use super::subjects::{READ_ONLY, chosen};
use super::turns::{Stores, record, rounds};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::workload::{Population, Requests};

pub(crate) const FIG10: Experiment = Experiment {
    name: "bourbon/fig10",
    about: "lookups after sequential and random loads, with their internal lookups (Bourbon, Figure 10)",
    run,
};

const ORDERS: [Order; 2] = [Order::Sequential, Order::Random];

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let subjects = chosen(context, &READ_ONLY)?;
    each_set(context, FIG10.name, &SETS, output, |spec, output| {
        let records = records(context, spec)?;
        let population = Population::whole((0..records.len() as u64).collect());
        let requests = requests(context, Requests::Uniform);
        let progress = Progress::new(ORDERS.len())?;
        for order in ORDERS {
            progress.on(format!("{} load of {spec}", order.name()));
            let mut stores = Stores::load(context, &records, &population, order, &subjects, |options| options)?;
            let asked = |round| stores.stores[0].asked(&requests, lookups(context), true, context.seed + round);
            let asked = (0..rounds(context)).map(asked).collect::<Result<Vec<_>>>()?;
            stores.stores.iter().try_for_each(|store| store.warm(&asked[0]))?;
            let before: Vec<(u64, u64)> = stores.stores.iter().map(|store| store.internal_lookups()).collect();
            let all = stores.in_turn(context, |store, round| store.get_ns(&asked[round as usize]))?;
            let gets = rounds(context) as f64 * lookups(context) as f64;
            for ((subject, store, values, speedup), before) in stores.compared(&all).zip(before) {
                let after = store.internal_lookups();
                output.report(
                    record(FIG10.name, &records, subject)
                        .figure("load", order.name())
                        .spread("processor_ns_per_get", values)
                        .figure("speedup", speedup)
                        .figure("positive_per_get", (after.0 - before.0) as f64 / gets)
                        .figure("negative_per_get", (after.1 - before.1) as f64 / gets),
                )?;
            }
            progress.step();
        }
        Ok(())
    })
}
