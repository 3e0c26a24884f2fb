//! Figure 19: the first and the hundredth lookup under a skewed workload that the index was not tuned for, and after
//! how many lookups which design has taken less time.

use std::sync::Arc;

use anyhow::Result;
use ogive::io::MemoryStorage;

use super::cases::{LookupCase, each_table};
use super::lookups::{Bench, check, positions};
use super::tables::write_table;
use crate::experiments::{Context, Experiment, Output};
use crate::workload::Workload;

pub(crate) const SKEW: Experiment = Experiment {
    name: "airindex/skew",
    about: "first and hundredth lookup under Zipf's law (AirIndex, Figure 19)",
    run,
};

const PROFILES: [&str; 2] = ["nfs", "ssd"];
const DESIGNS: [&str; 4] = ["tuned", "btree", "pgm:64", "coded"];
const SKEWS: [f64; 4] = [0.0, 0.5, 1.0, 2.0];
/// Default number of lookups per run, from a newly opened table.
const RUN: usize = 100;
/// The lookup whose time the figure shows.
const HUNDREDTH: usize = 100;
/// Numbers of lookups after which the designs are compared.
const POINTS: [usize; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
/// Runs per figure, which is their mean.
const RUNS: usize = 100;
const MEMORY_BYTES: u64 = 64 << 20;

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    each_table(context, SKEW.name, (&PROFILES, &DESIGNS), output, table)
}

fn table(case: &LookupCase<'_>, output: &mut Output<'_>) -> Result<()> {
    let storage = Arc::new(MemoryStorage::new());
    write_table(storage.clone(), case.keys, &case.recipe())?;
    let bench = Bench::new(storage, std::slice::from_ref(case.profile));
    let run = case.context.lookups.unwrap_or(RUN).max(HUNDREDTH);
    for skew in SKEWS {
        let (mut first_us, mut hundredth_us) = (0.0, 0.0);
        let mut sums_us = [0.0; POINTS.len()];
        for round in 0..RUNS {
            let seed = case.context.seed.wrapping_add(round as u64);
            let asked = positions(case.keys, &Workload::Zipf { skew }, run, seed)?;
            bench.lap_us();
            let opened = bench.open(MEMORY_BYTES)?;
            let mut so_far_us = 0.0;
            for (number, &position) in (1..).zip(&asked) {
                check(&opened, &case.keys.at(position as usize), case.context.payload_bytes)?;
                let lookup_us: f64 = bench.lap_us().iter().sum();
                so_far_us += lookup_us;
                first_us += if number == 1 { lookup_us } else { 0.0 };
                hundredth_us += if number == HUNDREDTH { lookup_us } else { 0.0 };
                for (point, sum_us) in POINTS.iter().zip(&mut sums_us) {
                    *sum_us += if number == *point { so_far_us } else { 0.0 };
                }
            }
        }
        let of_skew = || case.record(SKEW.name).figure("skew", skew);
        let ends = of_skew().figure("first_modelled_us", first_us / RUNS as f64);
        output.report(ends.figure("hundredth_modelled_us", hundredth_us / RUNS as f64))?;
        for (&point, &sum_us) in POINTS.iter().zip(&sums_us).filter(|(point, _)| **point <= run) {
            let record = of_skew().figure("lookups", point as u64);
            output.report(record.figure("mean_modelled_us", sum_us / (RUNS * point) as f64))?;
        }
    }
    Ok(())
}
