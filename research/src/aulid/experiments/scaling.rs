//! Figures 11 and 12: large sets, compared with the B+-tree: lookups and scans over all keys, writes over three
//! quarters.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use ogive::index::IndexKind;
use ogive::io::{LocalStorage, Profile};

use crate::experiments::indexes::{
    IndexSubject, IndexWorkload, RunMemory, WorkloadOutcome, distinct, run_plan, subjects,
};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set, or_report};
use crate::keys::{AS_COVID, AS_GENOME, AS_OSM800, AS_PLANET};
use crate::output::Record;
use crate::workload::{Mix, Population};

pub(crate) const SCALING: Experiment = Experiment {
    name: "aulid/scaling",
    about: "load, memory, file and throughput of large sets over the B+-tree's; use -n 200M (AULID, Figures 11 and 12)",
    run,
};

const PROFILES: [&str; 1] = ["nvme"];
/// As hard as the paper's COVID800, PLANET800, GENOME800 and OSM800.
const KEY_SETS: [&str; 4] = [AS_COVID, AS_PLANET, AS_GENOME, AS_OSM800];
const STRUCTURES: [IndexKind; 3] = [IndexKind::BTREE, crate::AULID, IndexKind::OGIVE];
const MIXES: [Mix; 6] =
    [Mix::LookupOnly, Mix::ScanOnly, Mix::WriteOnly, Mix::ReadHeavy, Mix::Balanced, Mix::WriteHeavy];
const OPERATIONS: usize = 800_000;
/// Quarters of the keys that are loaded for workloads that write.
const LOADED_IN_FOUR: u64 = 3;

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let subjects = subjects(context, &STRUCTURES)?;
    let profiles = context.profiles_or(&PROFILES)?;
    let mixes = if context.workloads.is_empty() { &MIXES[..] } else { &context.workloads };
    let device = context.device.clone().unwrap_or_else(std::env::temp_dir);
    each_set(context, SCALING.name, &KEY_SETS, output, |spec, output| {
        let set = context.open(spec, context.seed)?;
        for &mix in mixes {
            let keys = distinct(&set)?;
            let population = match mix.insert_percent() {
                0 => Population::whole(keys),
                _ => Population::split(keys, LOADED_IN_FOUR, 4, context.seed),
            };
            let progress = Progress::new(subjects.len() * RunMemory::ALL.len())?;
            for memory in RunMemory::ALL {
                let mut all = Vec::new();
                for subject in &subjects {
                    progress.on(format!("{} of {}, {mix}", subject.name, set.name()));
                    let plan = IndexWorkload::uniform(context, subject, &population, mix, &profiles, OPERATIONS);
                    let record = record(set.name(), mix, subject, memory);
                    let measured =
                        or_report(output, record.clone(), |_| measure(context, &device, &plan.with_memory(memory)))?;
                    all.extend(measured.map(|measured| (record, subject, measured)));
                    progress.step();
                }
                report(&all, &profiles, output)?;
            }
        }
        Ok(())
    })
}

/// The run, whether its reads were direct, and the peak memory in excess of the keys.
type Measured = (WorkloadOutcome, bool, Option<u64>);

fn record(set: &str, mix: Mix, subject: &IndexSubject, memory: RunMemory) -> Record {
    let record = Record::new(SCALING.name).keys(set).figure("workload", mix.name());
    record.figure("structure", subject.name.as_str()).figure("memory", memory.name())
}

/// Runs on the device, with direct reads unless only modelled times are requested.
fn measure(context: &Context, device: &Path, plan: &IndexWorkload<'_>) -> Result<Measured> {
    let folder =
        tempfile::tempdir_in(device).with_context(|| format!("no folder can be made under {}", device.display()))?;
    let memory = context.memory.map(|gauge| (gauge, (gauge.start)()));
    let storage = match context.modelled_only {
        true => LocalStorage::new(folder.path()),
        false => LocalStorage::direct(folder.path()),
    };
    let outcome = run_plan(Arc::new(storage.clone()), plan)?;
    let peak_bytes = memory.map(|(gauge, before)| (gauge.peak_bytes)().saturating_sub(before));
    Ok((outcome, !context.modelled_only && !storage.refused_direct(), peak_bytes))
}

fn report(all: &[(Record, &IndexSubject, Measured)], profiles: &[Profile], output: &mut Output<'_>) -> Result<()> {
    let is_btree = |subject: &IndexSubject| subject.options.kind == IndexKind::BTREE;
    let btree = all.iter().find(|(_, subject, _)| is_btree(subject)).map(|(.., (run, ..))| run);
    for (record, _, (run, direct, peak_bytes)) in all {
        for (place, profile) in profiles.iter().enumerate() {
            let mut row = record
                .clone()
                .profile(profile.name())
                .figure("operations", run.operations as u64)
                .figure("load_s", run.load_s)
                .figure("file_bytes", run.file_bytes)
                .figure("blocks_read_per_operation", run.blocks_per_operation())
                .figure("modelled_ops_per_s", run.modelled_ops_per_s(place))
                .figure("measured_ops_per_s", run.measured_ops_per_s())
                .figure("direct", *direct);
            if let Some(peak_bytes) = peak_bytes {
                row = row.figure("peak_memory_bytes", *peak_bytes);
            }
            if let Some(btree) = btree {
                row = row
                    .figure("modelled_ratio_to_btree", run.modelled_ops_per_s(place) / btree.modelled_ops_per_s(place))
                    .figure("measured_ratio_to_btree", run.measured_ops_per_s() / btree.measured_ops_per_s())
                    .figure("load_ratio_to_btree", run.load_s / btree.load_s)
                    .figure("file_ratio_to_btree", run.file_bytes as f64 / btree.file_bytes as f64);
            }
            output.report(row)?;
        }
    }
    Ok(())
}
