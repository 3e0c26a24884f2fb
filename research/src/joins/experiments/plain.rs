//! Sort-merge compared with sequential reading of both inputs and writing the bytes of the output.

use std::sync::Arc;

use anyhow::Result;
use ogive::io::{Storage, Timer};
use ogive::join::{JoinMethod, JoinOptions};

use super::figures::{INNER, outer, write_relations};
use super::place::{Device, Place};
use super::relations::{inner, open_table};
use crate::experiments::device::read_plainly;
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::{Record, Spread};
use crate::workload::KeyForm;

pub(crate) const MERGE: Experiment = Experiment {
    name: "join/merge",
    about: "sort-merge at ratio 1 against sequential reading and writing, direct with sync, and cached",
    run,
};

/// Default number of rows of each relation, as in the guarantee.
const ROWS: u64 = 10_000_000;
/// Minimum number of rounds; figures are medians.
const ROUNDS: u64 = 3;
/// Bytes per request of the plain copy.
const PIECE_BYTES: usize = 1 << 20;
const COPY: &str = "copied";

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let Some(device) = Device::of(context)? else { return Ok(()) };
    each_set(context, MERGE.name, &["lognormal"], output, |spec, output| {
        let records = inner(context, spec, KeyForm::Bytes8, ROWS)?;
        write_relations(&device.storage(), &records, KeyForm::Bytes8, &[1], context.seed)?;
        for place in [device.direct(), device.cached()] {
            let rounds = context.seeds.max(ROUNDS);
            let progress = Progress::new(rounds as usize)?;
            let (_, left) = open_table(&place.inputs, &outer(1), &place.profile)?;
            let (_, right) = open_table(&place.inputs, INNER, &place.profile)?;
            let options = JoinOptions::default().method(JoinMethod::Merge);
            let (mut plain_us, mut merge_us, mut cpu_us) = (Vec::new(), Vec::new(), Vec::new());
            let mut output_bytes = 0;
            for round in 0..=rounds {
                progress.on(format!("{spec}, {}", place.name));
                let outcome = place.join(&left, &right, &options)?;
                output_bytes = outcome.report.rows * (8 + 2 * records.value_bytes() as u64);
                let copied_us = plain(&place, output_bytes)?;
                // The first round fills the caches.
                if round > 0 {
                    merge_us.push(outcome.total_us());
                    cpu_us.push(outcome.elapsed.process_s * 1e6);
                    plain_us.push(copied_us);
                    progress.step();
                }
            }
            let ratio = Spread::of(&merge_us).median / Spread::of(&plain_us).median;
            let record = Record::new(MERGE.name).keys(records.name()).profile(&place.name);
            output.report(
                record
                    .figure("output_bytes", output_bytes)
                    .spread("plain_us", &plain_us)
                    .spread("merge_us", &merge_us)
                    .spread("merge_cpu_us", &cpu_us)
                    .figure("merge_over_plain", ratio),
            )?;
        }
        Ok(())
    })
}

/// Reads both files entirely, then writes and syncs the bytes of the output: microseconds.
fn plain(place: &Place, output_bytes: u64) -> Result<f64> {
    let mut buffer = vec![0; PIECE_BYTES];
    let results = place.results();
    let timer = Timer::start();
    for name in [outer(1).as_str(), INNER] {
        read_plainly(&*place.inputs.open(name)?, &mut buffer)?;
    }
    write(&results, &buffer, output_bytes)?;
    let elapsed_us = timer.elapsed_us();
    results.remove(COPY)?;
    Ok(elapsed_us)
}

fn write(results: &Arc<dyn Storage>, buffer: &[u8], bytes: u64) -> Result<()> {
    let mut file = results.create(COPY)?;
    let mut left = bytes;
    while left > 0 {
        let length = left.min(buffer.len() as u64) as usize;
        file.append(&buffer[..length])?;
        left -= length as u64;
    }
    file.sync()?;
    Ok(results.sync_directory()?)
}
