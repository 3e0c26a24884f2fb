//! The assessment of a table: the gain that a new search for its index could bring, from the table as it is.

use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::urls;
use crate::values::size::{counted, grouped, human_us};
use crate::values::table_text::plain_table;
use crate::workload::WorkloadOptions;
use ogive::io::{FastPaths, Profile};
use ogive::table::{ReadTrace, Table, TableOptions, opening_bytes};
use ogive::tune::{DesignAssessment, DesignObjective, DesignProblem, LookupReplay, assess_for};
use serde_json::json;
use std::path::Path;

/// An ideal step index must be faster than the present index by more than this share for a search to be worth it: the
/// index is built anew with all data, for what may be a little less than the ideal.
const WORTH_FRACTION: f64 = 0.05;
/// Lookups that are made in the table, at most; each reads at least a block.
const LOOKUPS_MAX: usize = 1 << 14;
/// Memory for the root and for one lookup, if none is given.
const MEMORY_BYTES: u64 = 64 << 20;

/// Assesses the index of a table for a storage and lookups, and prints what a new search could gain. Reads the tail of
/// the table and, if keys are given, looks them up.
///
/// # Errors
/// [`Failure::Refused`] if there is no table at `path`; [`Failure::Usage`] for a quantile without keys; errors of the
/// engine.
pub(crate) fn run(
    path: &Path,
    profile: &Profile,
    workload: &WorkloadOptions,
    interrupt: &Interrupt,
    output: &mut Output,
) -> Result<()> {
    let lookups = workload.read_lookups()?;
    if lookups.is_none() && workload.objective != DesignObjective::MeanLatency {
        return Err(Failure::usage(
            "--assess of a quantile needs the keys that are looked up: a table states the mean size of its reads only",
            "give them with --lookups FILE, or use --objective mean",
        ));
    }
    let table = open(path, profile, workload)?;
    let open_bytes = |root_bytes: u64| opening_bytes(root_bytes);
    let problem = DesignProblem {
        objective: workload.objective,
        caching: workload.caching(),
        open_bytes: &open_bytes,
        ..DesignProblem::new(profile)
    };
    let report = table.explain();
    let mut looked_up = None;
    let current_us = match &lookups {
        None => {
            let cost = report.modelled_cost(profile);
            cost.reads_us.iter().sum::<f64>() + problem.opening_us(report.opening_bytes(), profile)
        }
        Some(lookups) => {
            let keys = lookups.some_keys(table.key_type(), LOOKUPS_MAX)?;
            looked_up = Some((keys.len() as u64, lookups.lines_of_file()));
            looked_up_us(&table, &keys, &problem, interrupt)?
        }
    };
    let assessment = assess_for(report.data_bytes, current_us, &problem);
    if output.is_json() {
        let mut object = json!({
            "table": path.display().to_string(),
            "profile": profile.name(),
            "tuned_for": report.tuned_for,
            "records": report.records,
            "current_us": assessment.current_us,
            "step_complexity_us": assessment.step_complexity_us,
            "least_us": assessment.least_us,
            "gain_max": assessment.gain_max(),
            "worth_tuning": assessment.worth_tuning(WORTH_FRACTION),
        });
        workload.add_to_json(&mut object);
        object["looked_up"] = json!(looked_up.map(|(looked_up, _)| looked_up));
        return output.json(&object);
    }
    output.line(format_args!(
        "{}: {}, tuned for {}; {} on {}",
        path.display(),
        counted(report.records, "record"),
        report.tuned_for,
        workload.describe(),
        profile.name()
    ))?;
    if let Some((looked_up, given)) = looked_up.filter(|(looked_up, given)| looked_up < given) {
        output.line(format_args!("by {} of the {} given keys", grouped(looked_up), grouped(given)))?;
    }
    output.line("")?;
    print(&assessment, output)
}

fn print(assessment: &DesignAssessment, output: &mut Output) -> Result<()> {
    let rows = [
        ("its index", assessment.current_us),
        ("an ideal step index", assessment.step_complexity_us),
        ("the least of any index", assessment.least_us),
    ];
    let rows = rows.map(|(name, time_us)| vec![name.to_owned(), human_us(time_us)]);
    output.line(plain_table(&["lookup through", "time"], rows))?;
    output.line("")?;
    let gain = format!("a new search could gain at most {:.1} %", assessment.gain_max() * 100.0);
    match assessment.worth_tuning(WORTH_FRACTION) {
        true => output.line(format_args!("{gain}; it is worth it: `ogive build` makes the table anew")),
        false if assessment.step_complexity_us > assessment.current_us => {
            output.line(format_args!("{gain}; an ideal step index would be slower than the table's own"))
        }
        false => output.line(format_args!("{gain}; an ideal step index would gain too little to be worth it")),
    }
}

fn open(path: &Path, profile: &Profile, workload: &WorkloadOptions) -> Result<Table> {
    let (storage, name) = urls::place(path, false)?;
    let memory_bytes = workload.reader_memory_bytes();
    let options = TableOptions::default()
        .memory_bytes(memory_bytes.unwrap_or(MEMORY_BYTES))
        .profile(profile.clone())
        // Each lookup is priced from an empty cache, if no memory is given.
        .fast_paths(FastPaths { cache: memory_bytes.is_some(), ..FastPaths::ALL });
    match Table::open((storage, &name), &options) {
        Err(ogive::Error { cause: ogive::Cause::NotATable, .. }) => Err(Failure::refused(
            format!("{} is not a table, and --assess is about the index that a table has", path.display()),
            "remove --assess to compare designs, or build a table first",
        )),
        table => table.map_err(|error| Failure::of_opening(path, error)),
    }
}

/// The objective's value for the reads that lookups make in the table. With a cache, they are made twice, and the
/// second time counts, as [`ogive::tune::replay`] does it for a design.
fn looked_up_us(table: &Table, keys: &[Vec<u8>], problem: &DesignProblem<'_>, interrupt: &Interrupt) -> Result<f64> {
    let rounds = if problem.caching.memory_bytes.is_some() { 2 } else { 1 };
    let mut progress = Progress::start("looking up keys", Some(rounds * keys.len() as u64), Unit::Items);
    let mut done = 0;
    let mut replay = LookupReplay::default();
    for round in 1..=rounds {
        for key in keys {
            interrupt.check()?;
            let mut trace = ReadTrace::new();
            table.traced(&mut trace).contains_key(key)?;
            done += 1;
            progress.reach(done);
            if round == rounds {
                replay.reads_bytes.push(trace.reads.iter().map(|read| read.bytes).collect());
            }
        }
    }
    Ok(replay.objective_us(table.explain().opening_bytes(), problem))
}
