//! Figure 10: the mean time of the first x lookups while a cache fills, modelled; and measured with direct reads from
//! the device, unless modelled times suffice. The tuned design is also warmed when it is opened, as Appendix C.1
//! proposes.

use std::sync::Arc;

use anyhow::Result;
use ogive::TableOptions;
use ogive::io::{LocalStorage, MemoryStorage, Storage, Timer};
use tempfile::TempDir;

use super::cases::{LookupCase, each_table};
use super::keys::Keys;
use super::lookups::{Bench, check, positions};
use super::settings::{KEY_SETS, Progress, profiles};
use super::structures::{LoadedStructure, keys_at, rivals};
use super::tables::write_table;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::Record;
use crate::workload::Workload;

pub(crate) const WARM: Experiment = Experiment {
    name: "airindex/warm",
    about: "mean time of the first 1 to 1,000,000 lookups through a cache (AirIndex, Figure 10)",
    run,
};

const PROFILES: [&str; 2] = ["nfs", "ssd"];
const DESIGNS: [&str; 4] = ["tuned", "btree", "pgm:64", "coded"];
const LOOKUPS: usize = 1_000_000;
/// Bytes by which a table is warmed: nothing, and the tuned design also by its index and a tenth of the data of ten
/// million records, and by all.
const WARMED_BYTES: [u64; 3] = [0, 16 << 20, MEMORY_BYTES];
/// Memory of the table: enough to hold all of ten million records.
pub(super) const MEMORY_BYTES: u64 = 1 << 30;

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    each_table(context, WARM.name, (&PROFILES, &DESIGNS), output, curves)?;
    if context.structures.is_empty() { Ok(()) } else { curves_of_structures(context, output) }
}

/// The place of a table or structure: memory, or a folder on the device that is read directly.
struct TablePlace {
    storage: Arc<dyn Storage>,
    device: Option<(LocalStorage, TempDir)>,
}

impl TablePlace {
    fn new(context: &Context) -> Result<Self> {
        if context.modelled_only {
            return Ok(Self { storage: Arc::new(MemoryStorage::new()), device: None });
        }
        let folder = context.device_folder()?;
        let storage = LocalStorage::direct(folder.path());
        Ok(Self { storage: Arc::new(storage.clone()), device: Some((storage, folder)) })
    }

    /// Adds the mean time of lookups, which is the processor's in memory, and whether reads were direct.
    fn timed(&self, record: Record, mean_us: f64) -> Record {
        match &self.device {
            None => record.figure("mean_cpu_us", mean_us),
            Some((storage, _)) => record.figure("mean_measured_us", mean_us).figure("cold", !storage.refused_direct()),
        }
    }
}

fn asked(context: &Context, keys: &Keys) -> Result<Vec<u64>> {
    positions(keys, &Workload::Present, context.lookups.unwrap_or(LOOKUPS), context.seed)
}

/// The curves of structures, each loaded once for all profiles.
fn curves_of_structures(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let profiles = profiles(context, &PROFILES)?;
    each_set(context, WARM.name, &KEY_SETS[..1], output, |spec, output| {
        let set = context.open(spec, context.seed)?;
        let keys = Keys::load(&set)?;
        let subjects = rivals(context, &keys)?;
        let asked = keys_at(&keys, &asked(context, &keys)?);
        let progress = Progress::new(subjects.len())?;
        for subject in &subjects {
            progress.on(format!("{} of {}", subject.name, set.name()));
            let place = TablePlace::new(context)?;
            let loaded = LoadedStructure::load(Arc::clone(&place.storage), subject, &keys, &profiles)?;
            let points = loaded.curve(&asked)?;
            for (number, profile) in profiles.iter().enumerate() {
                for point in &points {
                    let record = Record::new(WARM.name).keys(set.name()).profile(profile.name()).design(&subject.name);
                    let record = record
                        .figure("warmed_bytes", 0_u64)
                        .figure("lookups", point.lookups as u64)
                        .figure("mean_modelled_us", point.mean_us.get(number).copied().unwrap_or(f64::NAN));
                    output.report(
                        place
                            .timed(record, point.mean_wall_us)
                            .figure("reads_per_get", point.requests)
                            .figure("bytes_per_get", point.bytes),
                    )?;
                }
            }
            progress.step();
        }
        Ok(())
    })
}

/// The curves of one table, cold and, with the tuned design, warmed.
fn curves(case: &LookupCase<'_>, output: &mut Output<'_>) -> Result<()> {
    let asked = asked(case.context, case.keys)?;
    let place = TablePlace::new(case.context)?;
    write_table(Arc::clone(&place.storage), case.keys, &case.recipe())?;
    let warmed = if case.is_tuned() { &WARMED_BYTES[..] } else { &WARMED_BYTES[..1] };
    warmed.iter().try_for_each(|&bytes| curve(case, &place, &asked, bytes, output))
}

/// Points at 1, 2, 5, 10, 20, 50, ... lookups. Warming counts as part of the first.
fn curve(
    case: &LookupCase<'_>,
    place: &TablePlace,
    asked: &[u64],
    warmed_bytes: u64,
    output: &mut Output<'_>,
) -> Result<()> {
    let bench = Bench::new(Arc::clone(&place.storage), std::slice::from_ref(case.profile));
    let timer = Timer::start();
    let options = TableOptions::default().memory_bytes(MEMORY_BYTES).profile(case.profile.clone());
    let table = bench.open_with(&options.warm_bytes(warmed_bytes))?;
    let mut modelled_us = 0.0;
    for (done, &position) in (1_usize..).zip(asked) {
        check(&table, &case.keys.at(position as usize), case.context.payload_bytes)?;
        if !is_point(done) && done != asked.len() {
            continue;
        }
        modelled_us += bench.lap_us().iter().sum::<f64>();
        let reads = bench.meter.snapshot().reads;
        let count = done as f64;
        let record = case
            .record(WARM.name)
            .figure("warmed_bytes", warmed_bytes)
            .figure("lookups", done as u64)
            .figure("mean_modelled_us", modelled_us / count);
        output.report(
            place
                .timed(record, timer.elapsed_us() / count)
                .figure("reads_per_get", reads.requests as f64 / count)
                .figure("bytes_per_get", reads.bytes as f64 / count),
        )?;
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
