//! Figures 5 and 6: number of threads and length of the search window.

use std::sync::Arc;

use anyhow::Result;
use ogive::io::{MemoryStorage, Storage};
use ogive::join::{JoinMethod, JoinOptions};

use super::figures::{INNER, outer, write_relations};
use super::place::{Device, Place};
use super::relations::{inner, open_table, outer_rows, ratios};
use super::rounds::{in_turn, methods, paper_options};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::Record;
use crate::workload::KeyForm;

pub(crate) const FIG5: Experiment = Experiment {
    name: "join/fig5",
    about: "methods on sorted tables by number of threads (external-memory joins, Figure 5)",
    run: |context, output| {
        let methods = methods(context, &METHODS)?;
        let cases = THREADS.iter().flat_map(|&threads| methods.iter().map(move |&method| (threads, method, None)));
        run(FIG5.name, &cases.collect::<Vec<_>>(), context, output)
    },
};

pub(crate) const FIG6: Experiment = Experiment {
    name: "join/fig6",
    about: "probes of a PGM-index by search window and number of threads (external-memory joins, Figure 6)",
    run: |context, output| {
        let method = |window: u64| crate::joins::PGM.with_number(error_keys(window));
        let of = |threads| WINDOWS.iter().map(move |&window| (threads, method(window), Some(window)));
        run(FIG6.name, &[1, 4, 8].into_iter().flat_map(of).collect::<Vec<_>>(), context, output)
    },
};

/// Default number of rows of the inner relation.
const ROWS: u64 = 1_000_000;
const THREADS: [usize; 5] = [1, 2, 4, 6, 8];
const METHODS: [&str; 5] = ["merge", "hash", "inlj", "inlj:btree", "inlj:pgm-sampled"];
/// Keys in a window (the paper's 256, 1024 and 4096, and those between).
pub(super) const WINDOWS: [u64; 5] = [256, 512, 1024, 2048, 4096];
/// The error for a window of this number of keys: the error on both sides, the position of the key, and the next one.
pub(super) fn error_keys(window: u64) -> u64 {
    (window / 2).saturating_sub(1).max(1)
}

/// Profile if no device may be measured.
const PROFILES: [&str; 2] = ["ssd", "hdd"];

/// Joins with a number of threads, by a method, with an optional window.
type ThreadCase = (usize, JoinMethod, Option<u64>);

fn run(name: &str, cases: &[ThreadCase], context: &Context, output: &mut Output<'_>) -> Result<()> {
    let device = Device::of(context)?;
    let ratios = ratios(context);
    let cores = std::thread::available_parallelism().ok().map(|cores| cores.get() as u64);
    each_set(context, name, &["lognormal"], output, |spec, output| {
        let records = inner(context, spec, KeyForm::Bytes8, ROWS)?;
        let memory: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        write_relations(&memory, &records, KeyForm::Bytes8, &ratios, context.seed)?;
        let profiles = context.profiles_or(&PROFILES)?;
        let mut places: Vec<Place> = profiles.into_iter().map(|profile| Place::modelled(&memory, profile)).collect();
        if let Some(device) = &device {
            write_relations(&device.storage(), &records, KeyForm::Bytes8, &ratios, context.seed)?;
            places.push(device.direct());
        }
        let progress = Progress::new(places.len() * ratios.len() * cases.len())?;
        for place in &places {
            for &ratio in &ratios {
                let (_, left) = open_table(&place.inputs, &outer(ratio), &place.profile)?;
                let (_, right) = open_table(&place.inputs, INNER, &place.profile)?;
                for &(threads, method, window) in cases {
                    progress.on(format!("{spec}, ratio {ratio}, {threads} threads, {method}, {}", place.name));
                    let options = JoinOptions::default().threads(threads);
                    let options = |method| paper_options(&options, method);
                    let outcome =
                        in_turn(place, &left, &right, &options, &[method], context.seeds, outer_rows(&records, ratio))?
                            .pop();
                    let mut record = Record::new(name).keys(records.name()).profile(&place.name);
                    record = record.figure("ratio", ratio).figure("method", method.to_string());
                    record = record.figure("threads", threads as u64);
                    if let Some(cores) = cores {
                        record = record.figure("cores", cores);
                    }
                    if let Some(window) = window {
                        record = record.figure("window_keys", window);
                    }
                    output.report(match outcome {
                        Some(Ok(outcome)) => outcome.figures(record),
                        Some(Err(reason)) => record.figure("refused", reason),
                        None => record,
                    })?;
                    progress.step();
                }
            }
        }
        Ok(())
    })
}
