//! Figures 17 and 18: time by layer and operation, from the first lookup to a warm cache.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use ogive::io::{MemoryStorage, Purpose, Timer};
use ogive::table::ReadTrace;

use super::cases::{LookupCase, each_table};
use super::lookups::{Bench, positions};
use super::tables::write_table;
use super::warm::is_point;
use crate::experiments::{Context, Experiment, Output};
use crate::output::{Record, Spread};
use crate::workload::Workload;

pub(crate) const BREAKDOWN: Experiment = Experiment {
    name: "airindex/breakdown",
    about: "time by layer, and of reads and the processor, over warmness (AirIndex, Figures 17 and 18)",
    run,
};

const PROFILES: [&str; 2] = ["nfs", "ssd"];
const DESIGNS: [&str; 2] = ["tuned", "btree"];
const LOOKUPS: usize = 100_000;
const MEMORY_BYTES: u64 = 1 << 30;

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    each_table(context, BREAKDOWN.name, (&PROFILES, &DESIGNS), output, table)
}

/// Sums since the last record.
#[derive(Default)]
struct Sums {
    lookups: usize,
    /// Modelled time of reads, by purpose.
    reads_us: BTreeMap<Purpose, f64>,
    /// Time of opening, in memory.
    open_cpu_us: f64,
    /// Time of each lookup over memory, whose median is robust against other work on the machine.
    get_cpu_us: Vec<f64>,
}

fn table(case: &LookupCase<'_>, output: &mut Output<'_>) -> Result<()> {
    let asked = positions(case.keys, &Workload::Present, case.context.lookups.unwrap_or(LOOKUPS), case.context.seed)?;
    let storage = Arc::new(MemoryStorage::new());
    let written = write_table(storage.clone(), case.keys, &case.recipe())?;
    let bench = Bench::new(storage, &[]);
    let mut sums = Sums::default();
    let timer = Timer::start();
    let table = bench.open(MEMORY_BYTES)?;
    sums.open_cpu_us = timer.elapsed_us();
    sums.reads_us.insert(Purpose::Open, case.profile.time_us(written.report.opening_bytes()));
    for (done, &position) in (1_usize..).zip(&asked) {
        let key = case.keys.at(position as usize);
        let mut trace = ReadTrace::new();
        let timer = Timer::start();
        table.traced(&mut trace).get(&key)?;
        sums.get_cpu_us.push(timer.elapsed_us());
        for read in trace.reads {
            *sums.reads_us.entry(read.purpose).or_default() += case.profile.time_us(read.bytes);
        }
        sums.lookups += 1;
        if is_point(done) || done == asked.len() {
            let layers = written.report.layers.len().saturating_sub(1);
            output.report(sums.fill(case.record(BREAKDOWN.name).figure("up_to_lookup", done as u64), layers))?;
            sums = Sums::default();
        }
    }
    Ok(())
}

impl Sums {
    /// Means over the lookups since the last record.
    fn fill(&self, record: Record, layers_below_root: usize) -> Record {
        let count = self.lookups.max(1) as f64;
        let of = |purpose: Purpose| self.reads_us.get(&purpose).copied().unwrap_or(0.0) / count;
        let mut record = record.figure("open_modelled_us", of(Purpose::Open));
        for layer in (1..=layers_below_root).rev() {
            record = record.figure(&format!("layer_{layer}_modelled_us"), of(Purpose::Layer(layer as u8)));
        }
        let reads_us = self.reads_us.values().fold(0.0, |sum, us| sum + us) / count;
        let get_cpu_us = Spread::of(&self.get_cpu_us).median;
        let cpu_us = self.open_cpu_us / count + get_cpu_us;
        record
            .figure("data_modelled_us", of(Purpose::Data))
            .figure("reads_modelled_us", reads_us)
            .figure("open_cpu_us", self.open_cpu_us / count)
            .figure("get_cpu_us", get_cpu_us)
            .figure("cpu_share_percent", 100.0 * cpu_us / (reads_us + cpu_us))
    }
}
