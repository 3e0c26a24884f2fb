//! Figure 17: time of lookups and memory of models by error bound, and memory of models by key set.

use crate::bourbon::Bourbon;
use anyhow::Result;

use super::setting::{lookups, records, requests};
use super::store::Order;
use super::subjects::{BASELINE, FILE, FILE_IN_BLOCK, Subject};
use super::turns::{Stores, record, rounds};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::workload::{Population, Requests};

pub(crate) const FIG17: Experiment = Experiment {
    name: "bourbon/fig17",
    about: "lookups and memory of models by error bound, and by key set (Bourbon, Figure 17)",
    run,
};

/// Error bounds in records; the best in the paper is 8.
const ERRORS: [u64; 6] = [2, 4, 8, 16, 32, 64];

/// The paper's synthetic sets, and others.
const SETS: [&str; 6] = ["linear", "seg1", "seg10", "normal", "lognormal", "uniform"];

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let progress = Progress::new(context.specs(&SETS).len() * ERRORS.len())?;
    each_set(context, FIG17.name, &SETS, output, |spec, output| {
        let records = records(context, spec)?;
        let population = Population::whole((0..records.len() as u64).collect());
        for error in ERRORS {
            progress.on(format!("error {error} on {spec}"));
            let with_error = |subject: Subject| Subject {
                policy: subject.policy.map(|policy| Bourbon { error, ..policy }),
                ..subject
            };
            let subjects = [BASELINE, with_error(FILE), with_error(FILE_IN_BLOCK)];
            let mut stores = Stores::load(context, &records, &population, Order::Random, &subjects, |options| options)?;
            let requests = requests(context, Requests::Uniform);
            let asked = |round| stores.stores[0].asked(&requests, lookups(context), true, context.seed + round);
            let asked = (0..rounds(context)).map(asked).collect::<Result<Vec<_>>>()?;
            stores.stores.iter().try_for_each(|store| store.warm(&asked[0]))?;
            let all = stores.in_turn(context, |store, round| store.get_ns(&asked[round as usize]))?;
            for (subject, store, values, speedup) in stores.compared(&all).filter(|(subject, ..)| **subject != BASELINE)
            {
                let models = store.db.learning_stats();
                output.report(
                    record(FIG17.name, &records, subject)
                        .figure("error_records", error)
                        .spread("processor_ns_per_get", values)
                        .figure("speedup", speedup)
                        .figure("segments", models.segments)
                        .figure("model_bytes", models.model_bytes)
                        .figure("model_bytes_of_raw", models.model_bytes as f64 / records.raw_bytes() as f64),
                )?;
            }
            progress.step();
        }
        Ok(())
    })
}
