//! The demonstration as people, and as programs, are shown it.

use super::dates::date;
use super::files::{Files, Order};
use super::tables::Made;
use crate::commands::tune::design_table;
use crate::failure::Result;
use crate::key;
use crate::output::Output;
use crate::receipt;
use crate::report::layers_in_words;
use crate::size::grouped;
use crate::table_text::plain_table;
use ogive::table::Receipt;
use serde_json::{Value, json};
use std::ops::Bound;

/// Records shown by a scan.
const SHOWN: usize = 5;
const DAY_NS: u64 = 86_400_000_000_000;

/// A range of keys without bounds below.
type FromKey = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// The whole demonstration as text.
pub(crate) fn print(files: &Files, tables: &[Made], output: &mut Output) -> Result<()> {
    print_designs(tables, output)?;
    print_averages(tables, output)?;
    for order in [Order::Path, Order::Time] {
        if let Some(made) = tables.iter().find(|made| made.order == order) {
            print_two_look_ups(made, files, output)?;
            print_records(made, output)?;
        }
    }
    print_next(tables, files, output)
}

fn print_designs(tables: &[Made], output: &mut Output) -> Result<()> {
    output.line("\nThe designs that tuning found (a look-up from cold, modelled):\n")?;
    let names: Vec<String> = tables.iter().map(Made::name).collect();
    let rows = tables.iter().zip(&names);
    output.line(design_table(
        rows.map(|(made, name)| (name.as_str(), made.report.modelled_us(&made.profile), &made.report)),
    ))?;
    output.line("")?;
    for (made, name) in tables.iter().zip(&names) {
        output.line(format_args!("  {name}: {}", layers_in_words(&made.report)))?;
    }
    Ok(())
}

fn print_averages(tables: &[Made], output: &mut Output) -> Result<()> {
    output.line("\nLook-ups in open tables, counted (all answers were right):\n")?;
    let rows = tables.iter().flat_map(|made| {
        [("present", made.present), ("absent", made.absent)].map(|(what, sums)| {
            vec![
                made.name(),
                format!("{} {what}", grouped(sums.keys)),
                format!("{:.3}", sums.requests_each()),
                grouped(sums.bytes_each().round() as u64),
            ]
        })
    });
    output.line(plain_table(&["table", "keys", "reads each", "bytes each"], rows))
}

/// A key that is there and one that is not, with what was read for them.
fn print_two_look_ups(made: &Made, files: &Files, output: &mut Output) -> Result<()> {
    let Some(file) = files.at(made.order, files.len() / 2) else { return Ok(()) };
    let keys = [Some(Files::key(made.order, file)), files.absent_key(made.order, file)];
    for key in keys.into_iter().flatten() {
        let shown = key::shown(made.table.key_type(), &key);
        let mut receipt = Receipt { reads: vec![made.table.opening()] };
        let value = made.table.traced(&mut receipt).get(&key)?;
        output.line(format_args!("\n$ ogive get {} '{shown}' --explain", made.name()))?;
        match value {
            Some(value) => output.line(shown_value(made.order, &value))?,
            None => output.line(format_args!("{shown}: not found"))?,
        }
        receipt::lines(&receipt.reads).into_iter().try_for_each(|line| output.line(line))?;
    }
    Ok(())
}

/// Some records in order, and a count that reads none of them.
fn print_records(made: &Made, output: &mut Output) -> Result<()> {
    let newest = made.order == Order::Time;
    let flags = if newest { " --reverse" } else { "" };
    output.line(format_args!("\n$ ogive scan {}{flags} --limit {SHOWN}", made.name()))?;
    for (key, value) in ends(made, newest)? {
        let shown = key::shown(made.table.key_type(), &key);
        output.line(format_args!("{shown}\t{}", shown_value(made.order, &value)))?;
    }
    if let Some(last_day) = last_day(made)? {
        let mut receipt = Receipt::new();
        let from = (Bound::Included(last_day.to_be_bytes().to_vec()), Bound::Unbounded);
        let count = made.table.traced(&mut receipt).count(from as FromKey)?;
        output.line(format_args!("\n$ ogive count {} {last_day} --explain", made.name()))?;
        output.line(count)?;
        receipt::lines(&receipt.reads).into_iter().try_for_each(|line| output.line(line))?;
        output.line(format_args!("(so many files are younger than {}, a day before the newest)", date(last_day)))?;
    }
    Ok(())
}

/// The first records, or the last ones.
fn ends(made: &Made, last: bool) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let range = made.table.iter();
    let records: Result<Vec<_>, _> = if last { range.rev().take(SHOWN).collect() } else { range.take(SHOWN).collect() };
    Ok(records?)
}

/// A day before the newest file, in a table of times.
fn last_day(made: &Made) -> Result<Option<u64>> {
    let newest = made.table.last()?.filter(|_| made.order == Order::Time);
    Ok(newest.and_then(|(key, _)| Some(u64::from_be_bytes(key.try_into().ok()?).saturating_sub(DAY_NS))))
}

fn shown_value(order: Order, value: &[u8]) -> String {
    match (order, value.try_into()) {
        (Order::Time, Ok(size)) => u64::from_le_bytes(size).to_string(),
        _ => key::escaped(value).into_owned(),
    }
}

fn print_next(tables: &[Made], files: &Files, output: &mut Output) -> Result<()> {
    let of = |order| tables.iter().find(|made| made.order == order);
    let (Some(paths), Some(times)) = (of(Order::Path), of(Order::Time)) else { return Ok(()) };
    let (paths_file, times_file) = (paths.path.display(), times.path.display());
    output.line("\nThe tables:\n")?;
    for made in tables {
        output.line(format_args!("  {}", made.path.display()))?;
    }
    output.line("\nNext:\n")?;
    if let Some(file) = files.at(Order::Path, files.len() / 2) {
        output.line(format_args!("  ogive get {paths_file} '{}' --explain", key::escaped(&file.path)))?;
    }
    output.line(format_args!("  ogive scan {paths_file} /usr/bin/ /usr/bin0 --limit 10"))?;
    output.line(format_args!("  ogive scan {times_file} --reverse --limit 10"))?;
    output.line(format_args!("  ogive explain {times_file}"))?;
    output.line(format_args!("  ogive verify {paths_file}"))?;
    output.line("  ogive profile .                                   measure your own storage")?;
    output.line("  ogive build words.txt -o words.ogive              index a file of your own")
}

/// The whole demonstration as an object.
pub(crate) fn to_json(files: &Files, tables: &[Made]) -> Result<Value> {
    let tables: Result<Vec<Value>> = tables
        .iter()
        .map(|made| {
            let newest = made.order == Order::Time;
            let key_type = made.table.key_type();
            let scanned: Vec<Value> = ends(made, newest)?.iter().map(|(key, _)| key::to_json(key_type, key)).collect();
            Ok(json!({
                "path": made.path.display().to_string(),
                "profile": made.profile.name(),
                "modelled_us": made.report.modelled_us(&made.profile),
                "report": made.report,
                "present": made.present,
                "absent": made.absent,
                "scanned": scanned,
            }))
        })
        .collect();
    Ok(json!({ "files": files.len(), "tables": tables? }))
}
