//! Figure 10: the mean time of the first x lookups while a cache fills.

use std::sync::Arc;

use anyhow::Result;
use ogive::io::{MemoryStorage, Timer};

use super::super::{Context, Experiment, Output};
use super::cases::{LookupCase, each_table};
use super::lookups::{Bench, check, positions};
use super::tables::write_table;
use crate::workload::Workload;

pub(in crate::experiments) const WARM: Experiment = Experiment {
    name: "airindex/warm",
    about: "mean time of the first 1 to 1,000,000 lookups through a cache (AirIndex, Figure 10)",
    run,
};

const PROFILES: [&str; 2] = ["nfs", "ssd"];
const DESIGNS: [&str; 4] = ["tuned", "btree", "pgm:64", "coded"];
const LOOKUPS: usize = 1_000_000;
/// Memory of the table: enough to hold all of ten million records.
const BUDGET_BYTES: u64 = 1 << 30;

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    each_table(context, &PROFILES, &DESIGNS, |case| curve(case, output))
}

/// The curve of one table: points at 1, 2, 5, 10, 20, 50, ... lookups.
fn curve(case: &LookupCase<'_>, output: &mut Output<'_>) -> Result<()> {
    let asked = positions(case.keys, &Workload::Present, case.context.lookups.unwrap_or(LOOKUPS), case.context.seed)?;
    let storage = Arc::new(MemoryStorage::new());
    write_table(storage.clone(), case.keys, &case.recipe())?;
    let bench = Bench::new(storage, std::slice::from_ref(case.profile));
    let timer = Timer::start();
    let table = bench.open(BUDGET_BYTES)?;
    let mut modelled_us = 0.0;
    for (done, &position) in (1_usize..).zip(&asked) {
        check(&table, &case.keys.at(position as usize), case.context.payload_bytes)?;
        if !is_point(done) && done != asked.len() {
            continue;
        }
        modelled_us += bench.lap_us().iter().sum::<f64>();
        let reads = bench.meter.snapshot().reads;
        let count = done as f64;
        let record = case
            .record(WARM.name)
            .figure("lookups", done as u64)
            .figure("mean_modelled_us", modelled_us / count)
            .figure("mean_cpu_us", timer.elapsed_us() / count)
            .figure("reads_per_get", reads.requests as f64 / count)
            .figure("bytes_per_get", reads.bytes as f64 / count);
        output.report(record)?;
    }
    Ok(())
}

/// 1, 2 and 5 times the powers of ten.
pub(super) fn is_point(count: usize) -> bool {
    let mut leading = count;
    while leading >= 10 && leading.is_multiple_of(10) {
        leading /= 10;
    }
    matches!(leading, 1 | 2 | 5)
}
