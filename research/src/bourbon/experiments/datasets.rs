//! Figures 9 and 15: read-only lookups on each key set, with all data in memory.

use anyhow::Result;

use super::setting::{lookups, records, requests};
use super::store::Order;
use super::subjects::{READ_ONLY, chosen};
use super::turns::{Stores, record, rounds};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::workload::{Population, Requests};

pub(crate) const FIG9: Experiment = Experiment {
    name: "bourbon/fig9",
    about: "lookups by key set without models, with file and level models, and by exact separators (Bourbon, Figure 9)",
    run: |context, output| {
        run(FIG9.name, &["linear", "seg1", "seg10", "normal", "lognormal", "uniform"], context, output)
    },
};

pub(crate) const FIG15: Experiment = Experiment {
    name: "bourbon/fig15",
    about: "lookups on key sets like those of SOSD (Bourbon, Figure 15)",
    run: |context, output| run(FIG15.name, &["lognormal", "normal", "dense", "sparse"], context, output),
};

fn run(name: &str, sets: &[&str], context: &Context, output: &mut Output<'_>) -> Result<()> {
    let subjects = chosen(context, &READ_ONLY)?;
    let progress = Progress::new(context.specs(sets).len())?;
    each_set(context, name, sets, output, |spec, output| {
        progress.on(spec);
        let records = records(context, spec)?;
        let population = Population::whole((0..records.len() as u64).collect());
        let mut stores = Stores::load(context, &records, &population, Order::Random, &subjects, |options| options)?;
        let requests = requests(context, Requests::Uniform);
        let asked = (0..rounds(context))
            .map(|round| stores.stores[0].asked(&requests, lookups(context), true, context.seed + round))
            .collect::<Result<Vec<_>>>()?;
        stores.stores.iter().try_for_each(|store| store.warm(&asked[0]))?;
        let all = stores.in_turn(context, |store, round| store.get_ns(&asked[round as usize]))?;
        for (subject, store, values, speedup) in stores.compared(&all) {
            let models = store.db.learning_stats();
            output.report(
                record(name, &records, subject)
                    .figure("requests", requests.to_string())
                    .spread("processor_ns_per_get", values)
                    .figure("speedup", speedup)
                    .figure("models", models.models)
                    .figure("segments", models.segments)
                    .figure("segments_per_thousand_keys", 1e3 * models.segments as f64 / records.len() as f64)
                    .figure("model_bytes", models.model_bytes),
            )?;
        }
        progress.step();
        Ok(())
    })
}
