//! Joins of equally large tables with coded blocks, over those of the same tables with plain blocks.

use std::sync::Arc;

use anyhow::{Result, ensure};
use ogive::join::{self, JoinMethod, JoinOptions, JoinOutput, JoinReport};

use super::figures::{INNER, outer};
use super::place::{Device, Place};
use super::relations::{TableRows, inner, open_table, outer_places};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set};
use crate::output::{Record, Spread};
use crate::stopwatch::Stopwatch;
use crate::workload::{KeyForm, Records};

pub(crate) const CODED: Experiment = Experiment {
    name: "join/coded",
    about: "sort-merge at ratio 1 of coded tables, into a plain and a coded one, over all plain, direct",
    run,
};

/// Default number of rows of each relation.
const ROWS: u64 = 10_000_000;
/// Minimum number of rounds; figures are medians.
const ROUNDS: u64 = 3;
/// Memory of a join: files are larger.
const MEMORY_BYTES: u64 = 32 << 20;
const JOINED: &str = "joined";

/// Whether inputs and output are coded.
const CASES: [(&str, [bool; 2]); 3] =
    [("plain", [false, false]), ("coded_inputs", [true, false]), ("all_coded", [true, true])];

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
    each_set(context, CODED.name, &["lognormal"], output, |spec, output| {
        let records = inner(context, spec, KeyForm::Bytes8, ROWS)?;
        for coding in [false, true] {
            write(&device, &records, coding, context.seed)?;
        }
        let place = device.direct();
        let rounds = context.seeds.max(ROUNDS);
        let progress = Progress::new(rounds as usize)?;
        let mut outcomes = CASES.map(|_| Vec::new());
        for _ in 0..rounds {
            progress.on(spec);
            for ((_, coding), outcomes) in CASES.into_iter().zip(&mut outcomes) {
                outcomes.push(joined(&place, coding)?);
            }
            progress.step();
        }
        report(&records, &place, &outcomes, output)?;
        Ok(())
    })
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

fn joined(place: &Place, [coding, codes_output]: [bool; 2]) -> Result<CodedOutcome> {
    let (_, left) = open_table(&place.inputs, &name(&outer(1), coding), &place.profile)?;
    let (_, right) = open_table(&place.inputs, &name(INNER, coding), &place.profile)?;
    let options = JoinOptions::default().method(JoinMethod::Merge).memory_bytes(MEMORY_BYTES);
    let options = options.profile(place.profile.clone());
    let results = place.results();
    let target = JoinOutput::table(Arc::clone(&results), JOINED, JoinOutput::options().coding(codes_output));
    let stopwatch = Stopwatch::start();
    let report = join::join(&left, &right, target, &options)?;
    let elapsed = stopwatch.elapsed();
    let written = results.open(JOINED)?.len();
    results.remove(JOINED)?;
    let moved = (report.bytes_read + written) as f64;
    Ok(CodedOutcome { report, elapsed_us: elapsed.wall_s * 1e6, processor_us: elapsed.process_s * 1e6, moved })
}

fn report(records: &Records, place: &Place, outcomes: &[Vec<CodedOutcome>; 3], output: &mut Output<'_>) -> Result<()> {
    let [plain, ..] = outcomes;
    let rows = |outcomes: &[CodedOutcome]| outcomes.first().map(|outcome| outcome.report.rows);
    for ((name, _), outcomes) in CASES.into_iter().zip(outcomes) {
        ensure!(rows(plain) == rows(outcomes), "coded and plain tables were joined to different numbers of rows");
        let all = |outcomes: &[CodedOutcome], figure: fn(&CodedOutcome) -> f64| -> Vec<f64> {
            outcomes.iter().map(figure).collect()
        };
        let ratio = |figure: fn(&CodedOutcome) -> f64| {
            Spread::of(&all(outcomes, figure)).median / Spread::of(&all(plain, figure)).median
        };
        output.report(
            Record::new(CODED.name)
                .keys(records.name())
                .profile(&place.name)
                .figure("case", name)
                .spread("measured_us", &all(outcomes, |outcome| outcome.elapsed_us))
                .figure("cpu_us", Spread::of(&all(outcomes, |outcome| outcome.processor_us)).median)
                .figure("moved_bytes", Spread::of(&all(outcomes, |outcome| outcome.moved)).median)
                .figure("moved_over_plain", ratio(|outcome| outcome.moved))
                .figure("time_over_plain", ratio(|outcome| outcome.elapsed_us)),
        )?;
    }
    Ok(())
}
