//! Joins of equally large tables with coded blocks, over those of the same tables with plain blocks.

use std::sync::Arc;

use anyhow::{Result, ensure};
use ogive::join::{self, JoinMethod, JoinOptions, JoinOutput, JoinReport};

use super::super::progress::Progress;
use super::super::{Context, Experiment, Output};
use super::figures::{INNER, outer};
use super::place::{Device, Place};
use super::relations::{TableRows, inner, open_table, outer_places};
use crate::output::{Record, Spread};
use crate::stopwatch::Stopwatch;
use crate::workload::{KeyForm, Records};

pub(in crate::experiments) const CODED: Experiment = Experiment {
    name: "join/coded",
    about: "sort-merge at ratio 1 of coded tables into a coded one, over the same with plain blocks, direct",
    run,
};

/// Default number of rows of each relation.
const ROWS: u64 = 10_000_000;
/// Minimum number of rounds; figures are medians.
const ROUNDS: u64 = 3;
/// Memory of a join: files are larger.
const MEMORY_BYTES: u64 = 32 << 20;
const JOINED: &str = "joined";

/// One join.
struct CodedOutcome {
    report: JoinReport,
    elapsed_us: f64,
    processor_us: f64,
    /// Bytes read and written.
    moved: f64,
}

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let Some(device) = Device::of(context)? else { return Ok(()) };
    for spec in context.specs(&["lognormal"]) {
        let records = inner(context, &spec, KeyForm::Bytes8, ROWS)?;
        for coding in [false, true] {
            write(&device, &records, coding, context.seed)?;
        }
        let place = device.direct();
        let rounds = context.seeds.max(ROUNDS);
        let progress = Progress::new(rounds as usize)?;
        let mut outcomes = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            progress.on(spec.clone());
            for (coding, outcomes) in [false, true].into_iter().zip(&mut outcomes) {
                outcomes.push(joined(&place, coding)?);
            }
            progress.step();
        }
        report(&records, &place, &outcomes, output)?;
    }
    Ok(())
}

fn name(relation: &str, coding: bool) -> String {
    format!("{relation}-{}", if coding { "coded" } else { "plain" })
}

/// Writes both relations.
fn write(device: &Device, records: &Records, coding: bool, seed: u64) -> Result<()> {
    let rows = TableRows { records, form: KeyForm::Bytes8, coding };
    rows.write(&device.storage(), &name(INNER, coding), 0..records.len() as u64)?;
    rows.write(&device.storage(), &name(&outer(1), coding), outer_places(records, 1, seed))?;
    Ok(())
}

fn joined(place: &Place, coding: bool) -> Result<CodedOutcome> {
    let (_, left) = open_table(&place.inputs, &name(&outer(1), coding), &place.profile)?;
    let (_, right) = open_table(&place.inputs, &name(INNER, coding), &place.profile)?;
    let options = JoinOptions::default().method(JoinMethod::Merge).memory_bytes(MEMORY_BYTES);
    let options = options.profile(place.profile.clone());
    let results = place.results();
    let target = JoinOutput::table(Arc::clone(&results), JOINED, JoinOutput::options().coding(coding));
    let stopwatch = Stopwatch::start();
    let report = join::join(&left, &right, target, &options)?;
    let elapsed = stopwatch.elapsed();
    let written = results.open(JOINED)?.len();
    results.remove(JOINED)?;
    let moved = (report.bytes_read + written) as f64;
    Ok(CodedOutcome { report, elapsed_us: elapsed.wall_s * 1e6, processor_us: elapsed.process_s * 1e6, moved })
}

fn report(
    records: &Records,
    place: &Place,
    [plain, coded]: &[Vec<CodedOutcome>; 2],
    output: &mut Output<'_>,
) -> Result<()> {
    let rows = |outcomes: &[CodedOutcome]| outcomes.first().map(|outcome| outcome.report.rows);
    ensure!(rows(plain) == rows(coded), "coded and plain tables were joined to different numbers of rows");
    let median = |outcomes: &[CodedOutcome], figure: fn(&CodedOutcome) -> f64| {
        Spread::of(&outcomes.iter().map(figure).collect::<Vec<_>>()).median
    };
    let ratio = |figure: fn(&CodedOutcome) -> f64| median(coded, figure) / median(plain, figure);
    let mut record = Record::new(CODED.name).keys(records.name()).profile(&place.name);
    for (form, outcomes) in [("plain", plain), ("coded", coded)] {
        let all = |figure: fn(&CodedOutcome) -> f64| outcomes.iter().map(figure).collect::<Vec<_>>();
        record = record
            .spread(&format!("{form}_us"), &all(|outcome| outcome.elapsed_us))
            .figure(&format!("{form}_cpu_us"), median(outcomes, |outcome| outcome.processor_us))
            .figure(&format!("{form}_moved_bytes"), median(outcomes, |outcome| outcome.moved));
    }
    record = record
        .figure("moved_over_plain", ratio(|outcome| outcome.moved))
        .figure("time_over_plain", ratio(|outcome| outcome.elapsed_us));
    output.report(record)?;
    Ok(())
}
