//! Figure 3, and one omitted in the paper: methods on sorted tables by ratio of sizes and device.

use std::sync::Arc;

use anyhow::Result;
use ogive::io::{MemoryStorage, Storage};
use ogive::join::JoinOptions;

use super::place::{Device, PROFILES, Place};
use super::relations::{SETS, TableRows, inner, open_table, outer_places, outer_rows, ratios};
use super::rounds::{in_turn, methods, paper_options};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::Record;
use crate::workload::{KeyForm, Records};

pub(crate) const FIG3: Experiment = Experiment {
    name: "join/fig3",
    about: "methods on sorted tables by ratio of sizes and device (external-memory joins, Figure 3)",
    run: |context, output| run(FIG3.name, KeyForm::Bytes8, context, output),
};

pub(crate) const STRINGS: Experiment = Experiment {
    name: "join/strings",
    about: "the same with strings of 16 bytes as keys (external-memory joins, Section 6.2)",
    run: |context, output| run(STRINGS.name, KeyForm::Hex, context, output),
};

/// Default number of rows of the inner relation.
const ROWS: u64 = 1_000_000;
const METHODS: [&str; 8] =
    ["auto", "merge", "hash", "inlj", "inlj:btree", "inlj:btree-iter", "inlj:pgm:128", "inlj:pgm-sampled"];

fn run(name: &str, form: KeyForm, context: &Context, output: &mut Output<'_>) -> Result<()> {
    let device = Device::of(context)?;
    let profiles = context.profiles_or(&PROFILES)?;
    let ratios = ratios(context);
    each_set(context, name, &SETS, output, |spec, output| {
        let records = inner(context, spec, form, ROWS)?;
        let memory: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        write_relations(&memory, &records, form, &ratios, context.seed)?;
        if let Some(device) = &device {
            write_relations(&device.storage(), &records, form, &ratios, context.seed)?;
        }
        let mut places: Vec<Place> = profiles.iter().map(|profile| Place::modelled(&memory, profile.clone())).collect();
        places.extend(device.iter().flat_map(|device| [device.direct(), device.cached()]));
        let progress = Progress::new(places.len() * ratios.len())?;
        for place in &places {
            for &ratio in &ratios {
                progress.on(format!("{spec}, ratio {ratio}, {}", place.name));
                compare(name, context, &records, place, ratio, output)?;
                progress.step();
            }
        }
        Ok(())
    })
}

/// The inner relation, and an outer one per ratio.
pub(super) fn write_relations(
    storage: &Arc<dyn Storage>,
    records: &Records,
    form: KeyForm,
    ratios: &[u64],
    seed: u64,
) -> Result<()> {
    let rows = TableRows { records, form, coding: false };
    rows.write(storage, INNER, 0..records.len() as u64)?;
    for &ratio in ratios {
        rows.write(storage, &outer(ratio), outer_places(records, ratio, seed))?;
    }
    Ok(())
}

/// Name of the inner relation.
pub(super) const INNER: &str = "inner";

/// Name of an outer relation.
pub(super) fn outer(ratio: u64) -> String {
    format!("outer-{ratio}")
}

fn compare(
    name: &str,
    context: &Context,
    records: &Records,
    place: &Place,
    ratio: u64,
    output: &mut Output<'_>,
) -> Result<()> {
    let (_, left) = open_table(&place.inputs, &outer(ratio), &place.profile)?;
    let (_, right) = open_table(&place.inputs, INNER, &place.profile)?;
    let methods = methods(context, &METHODS)?;
    let options = |method| paper_options(&JoinOptions::default(), method);
    let outcomes = in_turn(place, &left, &right, &options, &methods, context.seeds, outer_rows(records, ratio))?;
    for (method, outcome) in methods.iter().zip(outcomes) {
        let record = Record::new(name).keys(records.name()).profile(&place.name).figure("ratio", ratio);
        let record = record.figure("method", method.to_string());
        output.report(match outcome {
            Ok(outcome) => outcome.figures(record.figure("executed", outcome.report.method.as_str())),
            Err(reason) => record.figure("refused", reason),
        })?;
    }
    Ok(())
}
