//! Figure 4 and its table: unsorted relations under memory limits.

use std::sync::Arc;

use anyhow::Result;
use ogive::io::{MemoryStorage, Storage};
use ogive::join::JoinOptions;

use super::place::{Device, Place};
use super::relations::{SETS, inner, open_shuffled, outer_places, outer_rows, write_shuffled};
use super::rounds::{free_options, in_turn, methods};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::Record;
use crate::workload::{KeyForm, Records};

pub(crate) const FIG4: Experiment = Experiment {
    name: "join/fig4",
    about: "unsorted relations by memory limit and ratio of sizes (external-memory joins, Figure 4)",
    run: fig4,
};

pub(crate) const PARTITION: Experiment = Experiment {
    name: "join/partition",
    about: "unsorted relations of equal size: learned partitions, B-trees, sort, hash; --full: 20M rows under 300 MiB",
    run: partition,
};

const METHODS: [&str; 5] = ["auto", "partition", "partition:btree", "merge", "hash"];
/// Default number of rows of the larger relation.
const FIG4_ROWS: u64 = 500_000;
const PARTITION_ROWS: u64 = 1_000_000;
const FULL_ROWS: u64 = 20_000_000;
const FULL_MEMORY_BYTES: u64 = 300 << 20;
/// Memory limits relative to both relations: all, the paper's 2 GB of 6.4, and scarce.
const MEMORY_SHARES: [f64; 3] = [4.0, 0.3, 0.05];
const FIG4_RATIOS: [u64; 2] = [1, 1000];
const LEFT: &str = "left.bin";
const RIGHT: &str = "right.bin";

fn fig4(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let ratios = if context.ratios.is_empty() { FIG4_RATIOS.to_vec() } else { context.ratios.clone() };
    let device = Device::of(context)?;
    each_set(context, FIG4.name, &SETS, output, |spec, output| {
        let records = inner(context, spec, KeyForm::Bytes8, FIG4_ROWS)?;
        for &ratio in &ratios {
            let places = places(context, device.as_ref(), &records, ratio, &["ssd", "hdd"])?;
            let shares = MEMORY_SHARES.map(|share| (records.raw_bytes() as f64 * 2.0 * share) as u64);
            let limits = limits(context, &shares);
            compare(FIG4.name, context, &records, ratio, &places, &limits, output)?;
        }
        Ok(())
    })
}

fn partition(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let (rows, limit_bytes) = if context.full { (FULL_ROWS, Some(FULL_MEMORY_BYTES)) } else { (PARTITION_ROWS, None) };
    let device = Device::of(context)?;
    each_set(context, PARTITION.name, &["lognormal"], output, |spec, output| {
        let records = inner(context, spec, KeyForm::Bytes8, rows)?;
        let places = places(context, device.as_ref(), &records, 1, &["nvme"])?;
        let limits = limits(context, &[limit_bytes.unwrap_or(records.raw_bytes() / 2)]);
        compare(PARTITION.name, context, &records, 1, &places, &limits, output)?;
        Ok(())
    })
}

/// The requested memory limits, else those of `default`, or the least that a join takes if they are smaller.
fn limits(context: &Context, default: &[u64]) -> Vec<u64> {
    match context.memory_limits.as_slice() {
        [] => default.iter().map(|&limit_bytes| limit_bytes.max(JoinOptions::MEMORY_BYTES_MIN)).collect(),
        asked => asked.to_vec(),
    }
}

/// Writes both relations, shuffled, to the storage of the join.
fn places(
    context: &Context,
    device: Option<&Device>,
    records: &Records,
    ratio: u64,
    default: &[&str],
) -> Result<Vec<Place>> {
    let outer: Vec<u64> = outer_places(records, ratio, context.seed).collect();
    let all: Vec<u64> = (0..records.len() as u64).collect();
    let write = |storage: &Arc<dyn Storage>| -> Result<()> {
        write_shuffled(storage, LEFT, records, &outer, context.seed)?;
        write_shuffled(storage, RIGHT, records, &all, context.seed + 1)
    };
    let memory: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    write(&memory)?;
    let profiles = context.profiles_or(default)?;
    let mut places: Vec<Place> = profiles.into_iter().map(|profile| Place::modelled(&memory, profile)).collect();
    if let Some(device) = device {
        write(&device.storage())?;
        places.push(device.direct());
    }
    Ok(places)
}

fn compare(
    name: &str,
    context: &Context,
    records: &Records,
    ratio: u64,
    places: &[Place],
    limits: &[u64],
    output: &mut Output<'_>,
) -> Result<()> {
    let methods = methods(context, &METHODS)?;
    let progress = Progress::new(places.len() * limits.len())?;
    for place in places {
        for &memory_bytes in limits {
            progress.on(format!("{}, ratio {ratio}, {memory_bytes} bytes, {}", records.name(), place.name));
            let left = open_shuffled(&place.inputs, LEFT, records)?;
            let right = open_shuffled(&place.inputs, RIGHT, records)?;
            let options = JoinOptions::default().memory_bytes(memory_bytes);
            let options = |method| free_options(&options, method);
            let outcomes =
                in_turn(place, &left, &right, &options, &methods, context.seeds, outer_rows(records, ratio))?;
            for (method, outcome) in methods.iter().zip(outcomes) {
                let record = Record::new(name).keys(records.name()).profile(&place.name).figure("ratio", ratio);
                let record = record.figure("memory_bytes", memory_bytes).figure("method", method.to_string());
                output.report(match outcome {
                    Ok(outcome) => {
                        let record = record.figure("executed", outcome.report.method.as_str());
                        outcome.figures(record).figure("preparation_us", outcome.preparation_us.unwrap_or(f64::NAN))
                    }
                    Err(reason) => record.figure("refused", reason),
                })?;
            }
            progress.step();
        }
    }
    Ok(())
}
