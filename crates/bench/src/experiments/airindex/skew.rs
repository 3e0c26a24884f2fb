//! Figure 19: the first and the hundredth lookup under a skewed workload that the index was not tuned for.

use std::sync::Arc;

use anyhow::Result;
use ogive::io::MemoryStorage;

use super::super::{Context, Experiment, Output};
use super::cases::{LookupCase, each_table};
use super::lookups::{Bench, check, positions};
use super::tables::write_table;
use crate::workload::Workload;

pub(in crate::experiments) const SKEW: Experiment = Experiment {
    name: "airindex/skew",
    about: "first and hundredth lookup under Zipf's law (AirIndex, Figure 19)",
    run,
};

const PROFILES: [&str; 2] = ["nfs", "ssd"];
const DESIGNS: [&str; 4] = ["tuned", "btree", "pgm:64", "coded"];
const SKEWS: [f64; 4] = [0.0, 0.5, 1.0, 2.0];
/// Lookups per run, from a newly opened table.
const RUN: usize = 100;
/// Runs per figure, which is their mean.
const RUNS: usize = 100;
const BUDGET_BYTES: u64 = 64 << 20;

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    each_table(context, &PROFILES, &DESIGNS, |case| table(case, output))
}

fn table(case: &LookupCase<'_>, output: &mut Output<'_>) -> Result<()> {
    let storage = Arc::new(MemoryStorage::new());
    write_table(storage.clone(), case.keys, &case.recipe())?;
    let bench = Bench::new(storage, std::slice::from_ref(case.profile));
    for skew in SKEWS {
        let (mut first_us, mut hundredth_us, mut mean_us) = (0.0, 0.0, 0.0);
        for round in 0..RUNS {
            let seed = case.context.seed.wrapping_add(round as u64);
            let asked = positions(case.keys, &Workload::Zipf { skew }, RUN, seed)?;
            bench.lap_us();
            let opened = bench.open(BUDGET_BYTES)?;
            let mut last_us = 0.0;
            for (index, &position) in asked.iter().enumerate() {
                check(&opened, &case.keys.at(position as usize), case.context.payload_bytes)?;
                last_us = bench.lap_us().iter().sum();
                mean_us += last_us;
                first_us += if index == 0 { last_us } else { 0.0 };
            }
            hundredth_us += last_us;
        }
        let record = case
            .record(SKEW.name)
            .figure("skew", skew)
            .figure("first_modelled_us", first_us / RUNS as f64)
            .figure("hundredth_modelled_us", hundredth_us / RUNS as f64)
            .figure("mean_modelled_us", mean_us / (RUNS * RUN) as f64);
        output.report(record)?;
    }
    Ok(())
}
