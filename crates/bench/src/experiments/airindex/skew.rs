//! Figure 19: the first and the hundredth look-up when some keys are asked for more often than the index was tuned for.

use std::sync::Arc;

use anyhow::Result;
use ogive::io::{MemoryStorage, Profile};
use ogive::tune::DesignRequest;

use super::super::{Context, Experiment, Output};
use super::keys::Keys;
use super::lookups::{Bench, check, positions};
use super::settings::{KEY_SETS, Progress, designs, profiles};
use super::tables::{Recipe, write_table};
use crate::output::Record;
use crate::workload::Workload;

pub(in crate::experiments) const SKEW: Experiment = Experiment {
    name: "airindex/skew",
    about: "the first and the hundredth look-up under Zipf's law (AirIndex, Figure 19)",
    run,
};

const PROFILES: [&str; 2] = ["nfs", "ssd"];
const DESIGNS: [&str; 4] = ["tuned", "btree", "pgm:64", "coded"];
const SKEWS: [f64; 4] = [0.0, 0.5, 1.0, 2.0];
/// Look-ups of one run, from a table that was just opened.
const RUN: usize = 100;
/// Runs that a figure is the mean of.
const RUNS: usize = 100;
const BUDGET_BYTES: u64 = 64 << 20;

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let profiles = profiles(context, &PROFILES)?;
    let designs = designs(context, &DESIGNS)?;
    for spec in context.specs(&KEY_SETS[..1]) {
        let set = context.open(&spec, context.seed)?;
        let keys = Keys::load(&set)?;
        let progress = Progress::new(profiles.len() * designs.len())?;
        for profile in &profiles {
            for design in &designs {
                progress.on(format!("{design} on {}", profile.name()));
                table(context, set.name(), &keys, profile, design, output)?;
                progress.step();
            }
        }
    }
    Ok(())
}

fn table(
    context: &Context,
    name: &str,
    keys: &Keys,
    profile: &Profile,
    design: &DesignRequest,
    output: &mut Output<'_>,
) -> Result<()> {
    let storage = Arc::new(MemoryStorage::new());
    let recipe = Recipe::new(context, design, profile);
    write_table(storage.clone(), keys, &recipe)?;
    let bench = Bench::new(storage, std::slice::from_ref(profile));
    for skew in SKEWS {
        let (mut first_us, mut hundredth_us, mut mean_us) = (0.0, 0.0, 0.0);
        for round in 0..RUNS {
            let seed = context.seed.wrapping_add(round as u64);
            let asked = positions(keys, &Workload::Zipf { skew }, RUN, seed)?;
            bench.lap_us();
            let opened = bench.open(BUDGET_BYTES)?;
            let mut last_us = 0.0;
            for (index, &position) in asked.iter().enumerate() {
                check(&opened, &keys.at(position as usize), context.payload_bytes)?;
                last_us = bench.lap_us().iter().sum();
                mean_us += last_us;
                first_us += if index == 0 { last_us } else { 0.0 };
            }
            hundredth_us += last_us;
        }
        let record = Record::new(SKEW.name)
            .keys(name)
            .profile(profile.name())
            .design(&design.to_string())
            .figure("skew", skew)
            .figure("first_modelled_us", first_us / RUNS as f64)
            .figure("hundredth_modelled_us", hundredth_us / RUNS as f64)
            .figure("mean_modelled_us", mean_us / (RUNS * RUN) as f64);
        output.report(record)?;
    }
    Ok(())
}
