//! The planner's choice compared with every method, all executed, for each set, ratio, device and memory.

use std::sync::Arc;

use anyhow::Result;
use ogive::io::{MemoryStorage, Storage};
use ogive::join::{JoinMethod, JoinOptions, JoinSource};

use super::figures::{INNER, outer, write_relations};
use super::place::{Device, PROFILES, Place};
use super::relations::{inner, open_shuffled, open_table, outer_places, outer_rows, ratios, write_shuffled};
use super::rounds::{free_options, in_turn, methods};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::Record;
use crate::workload::{KeyForm, Records};

pub(crate) const AUTO: Experiment = Experiment {
    name: "join/auto",
    about: "the planner's choice against the best method, by set, ratio, device and memory; sorted and unsorted",
    run,
};

/// Default number of rows of the inner relation.
const ROWS: u64 = 200_000;
const SETS: [&str; 3] = ["lognormal", "uniform", "step"];
/// Memory limits relative to the inner relation: ample and scarce.
const MEMORY_SHARES: [f64; 2] = [4.0, 0.4];
/// Methods for sorted relations. Those for unsorted ones would only be slower, as both sort first.
const SORTED: [&str; 9] = [
    "merge",
    "hash",
    "inlj",
    "inlj:btree",
    "inlj:btree-iter",
    "inlj:pgm:128",
    "inlj:pgm-sampled",
    "inlj:radix-spline",
    "inlj:rmi",
];
const UNSORTED: [&str; 4] = ["partition", "partition:btree", "merge", "hash"];
/// Runs per method, of which the fastest counts, since processor times vary.
const ROUNDS: u64 = 3;
/// Ratios of unsorted relations.
const UNSORTED_RATIOS: [u64; 2] = [1, 100];

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let device = Device::of(context)?;
    let profiles = context.profiles_or(&PROFILES)?;
    let ratios = ratios(context);
    each_set(context, AUTO.name, &SETS, output, |spec, output| {
        let records = inner(context, spec, KeyForm::Bytes8, ROWS)?;
        let memory: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        write_all(&memory, &records, &ratios, context.seed)?;
        let mut places: Vec<Place> = profiles.iter().map(|profile| Place::emulated(&memory, profile.clone())).collect();
        if let Some(device) = &device {
            write_all(&device.storage(), &records, &ratios, context.seed)?;
            places.push(device.direct());
        }
        let limits = limits(context, &records);
        let progress = Progress::new(places.len() * ratios.len() * limits.len())?;
        for place in &places {
            for &ratio in &ratios {
                for &memory_bytes in &limits {
                    progress.on(format!("{spec}, ratio {ratio}, {memory_bytes} bytes, {}", place.name));
                    let options = JoinOptions::default().memory_bytes(memory_bytes);
                    let (_, left) = open_table(&place.inputs, &outer(ratio), &place.profile)?;
                    let (_, right) = open_table(&place.inputs, INNER, &place.profile)?;
                    let cell = JoinCell { context, place, left, right, options };
                    output.report(cell.compared(&records, ratio, "sorted", &SORTED)?)?;
                    if UNSORTED_RATIOS.contains(&ratio) {
                        let left = open_shuffled(&place.inputs, &shuffled(ratio), &records)?;
                        let right = open_shuffled(&place.inputs, SHUFFLED, &records)?;
                        let cell = JoinCell { left, right, ..cell };
                        output.report(cell.compared(&records, ratio, "unsorted", &UNSORTED)?)?;
                    }
                    progress.step();
                }
            }
        }
        Ok(())
    })
}

const SHUFFLED: &str = "inner.bin";

fn shuffled(ratio: u64) -> String {
    format!("outer-{ratio}.bin")
}

fn limits(context: &Context, records: &Records) -> Vec<u64> {
    if context.memory_limits.is_empty() {
        let of_share =
            |share: f64| ((records.raw_bytes() as f64 * share) as u64).max(ogive::join::JoinOptions::MEMORY_BYTES_MIN);
        let mut limits = MEMORY_SHARES.map(of_share).to_vec();
        // Of few rows, both may be the least.
        limits.dedup();
        limits
    } else {
        context.memory_limits.clone()
    }
}

fn write_all(storage: &Arc<dyn Storage>, records: &Records, ratios: &[u64], seed: u64) -> Result<()> {
    write_relations(storage, records, KeyForm::Bytes8, ratios, seed)?;
    let all: Vec<u64> = (0..records.len() as u64).collect();
    write_shuffled(storage, SHUFFLED, records, &all, seed + 1)?;
    for &ratio in ratios.iter().filter(|ratio| UNSORTED_RATIOS.contains(ratio)) {
        let places: Vec<u64> = outer_places(records, ratio, seed).collect();
        write_shuffled(storage, &shuffled(ratio), records, &places, seed)?;
    }
    Ok(())
}

/// Two relations on a storage, with a memory limit.
struct JoinCell<'a> {
    context: &'a Context,
    place: &'a Place,
    left: JoinSource,
    right: JoinSource,
    options: JoinOptions,
}

impl JoinCell<'_> {
    fn compared(&self, records: &Records, ratio: u64, order: &str, all: &[&str]) -> Result<Record> {
        let mut methods = methods(self.context, all)?;
        methods.insert(0, JoinMethod::Auto);
        let rounds = self.context.seeds.max(ROUNDS);
        let options = |method| free_options(&self.options, method);
        let mut outcomes =
            in_turn(self.place, &self.left, &self.right, &options, &methods, rounds, outer_rows(records, ratio))?
                .into_iter()
                .zip(&methods);
        let record = Record::new(AUTO.name)
            .keys(records.name())
            .profile(&self.place.name)
            .figure("order", order)
            .figure("ratio", ratio)
            .figure("memory_bytes", self.options.memory_bytes);
        let auto = match outcomes.next() {
            Some((Ok(auto), _)) => auto,
            Some((Err(reason), _)) => return Ok(record.figure("refused", reason)),
            None => return Ok(record),
        };
        let mut others: Vec<(String, f64)> =
            outcomes.filter_map(|(outcome, method)| Some((method.to_string(), outcome.ok()?.total_us()))).collect();
        // The chosen method ran twice: the better run counts.
        let mut auto_us = auto.total_us();
        for (_, us) in others.iter_mut().filter(|(name, _)| *name == auto.report.method) {
            auto_us = auto_us.min(*us);
            *us = auto_us;
        }
        let Some((best_name, best_us)) = others.iter().min_by(|(_, a), (_, b)| a.total_cmp(b)).cloned() else {
            return Ok(record);
        };
        let (best_name, best_us) =
            if auto_us <= best_us { (auto.report.method.clone(), auto_us) } else { (best_name, best_us) };
        let mut record = record
            .figure("chosen", auto.report.method.as_str())
            .figure("best", best_name.as_str())
            .figure("auto_us", auto_us)
            .figure("best_us", best_us)
            .figure("over_best", auto_us / best_us)
            .figure("over_best_us", auto_us - best_us)
            .figure("predicted_us", auto.report.predicted_us);
        for (name, us) in &others {
            record = record.figure(name, *us);
        }
        Ok(record)
    }
}
