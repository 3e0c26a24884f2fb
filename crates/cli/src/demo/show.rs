//! Output of the demonstration, as text and JSON.

use super::files::{Files, Order};
use super::next::print_next;
use super::tables::{Data, DemoTable, profiles};
use crate::commands::tune::design_table;
use crate::failure::Result;
use crate::output::Output;
use crate::reading::reads;
use crate::report::layers_in_words;
use crate::values::dates::date;
use crate::values::key;
use crate::values::size::{grouped, human_us};
use crate::values::table_text::plain_table;
use ogive::table::{ReadTrace, Record, TableReport};
use ogive_terminal::shell_word;
use serde_json::{Value, json};
use std::ops::Bound;

/// Records shown by a scan.
const SHOWN: usize = 5;
const DAY_NS: u64 = 86_400_000_000_000;

/// The whole demonstration as text.
pub(crate) fn print(files: &Files, all: &[Data], output: &mut Output) -> Result<()> {
    for data in all {
        print_designs(data, output)?;
    }
    print_averages(all, output)?;
    for data in all {
        if let Some(made) = data.tables.first() {
            print_two_look_ups(data.order, made, files, output)?;
            print_records(data.order, made, output)?;
        }
    }
    print_tables(all, output)?;
    print_next(all, files, output)
}

fn print_designs(data: &Data, output: &mut Output) -> Result<()> {
    let what = match data.order {
        Order::Path => "Paths, with size and date as values",
        Order::Time => "Modification times in nanoseconds, with the size as value: records of 16 bytes",
    };
    output.line(format_args!("\n{what}; modelled cold lookups:\n"))?;
    let tuned: Vec<_> =
        data.tables.iter().map(|made| (format!("tuned for {}", made.profile.name()), &made.report)).collect();
    let tuned = tuned.iter().map(|(name, report)| (name.as_str(), *report));
    let fixed = data.fixed.iter().map(|row| (row.name.as_str(), &row.report));
    output.line(design_table(&profiles()?, tuned.chain(fixed), TableReport::modelled_us))?;
    for made in &data.tables {
        output.line(format_args!("  layers of {}, root first: {}", made.name, layers_in_words(&made.report)))?;
    }
    Ok(())
}

/// Says how the lookups were measured.
pub(super) fn print_how<'a>(mut tables: impl Iterator<Item = &'a DemoTable>, output: &mut Output) -> Result<()> {
    let cold = tables.all(|made| made.present.cold);
    let how =
        if cold { "bypassing the page cache" } else { "through the page cache, without support for direct reads" };
    output.line(format_args!("\nCold lookups on this machine, {how}; all answers were right:\n"))
}

fn print_averages(all: &[Data], output: &mut Output) -> Result<()> {
    let tables = || all.iter().flat_map(|data| &data.tables);
    print_how(tables(), output)?;
    let rows = tables().flat_map(|made| {
        [("present", made.present), ("absent", made.absent)].map(|(what, sums)| {
            vec![
                made.name.clone(),
                format!("{} {what}", grouped(sums.keys)),
                format!("{:.3}", sums.requests_each()),
                grouped(sums.bytes_each().round() as u64),
                human_us(sums.median_us),
            ]
        })
    });
    output.line(plain_table(&["table", "keys", "reads/lookup", "bytes/lookup", "measured median"], rows))
}

/// Lookups of a present and an absent key, with their reads.
fn print_two_look_ups(order: Order, made: &DemoTable, files: &Files, output: &mut Output) -> Result<()> {
    let Some(file) = files.at(order, files.len() / 2) else { return Ok(()) };
    let keys = [Some(Files::key(order, file)), files.absent_key(order, file)];
    for key in keys.into_iter().flatten() {
        let shown = key::shown(made.table.key_type(), &key);
        let (value, trace) = made.get(&key)?;
        output.line(format_args!("\n$ ogive get {} {} --explain", made.name, shell_word(&shown)))?;
        match value {
            Some(value) => output.line(shown_value(order, &value))?,
            None => output.line(format_args!("{shown}: not found"))?,
        }
        reads::lines(&trace.reads).into_iter().try_for_each(|line| output.line(line))?;
    }
    Ok(())
}

/// A short scan, and a count, which reads no records.
fn print_records(order: Order, made: &DemoTable, output: &mut Output) -> Result<()> {
    let flags = if order == Order::Time { " --reverse" } else { "" };
    output.line(format_args!("\n$ ogive scan {}{flags} --limit {SHOWN}", made.name))?;
    for (key, value) in ends(order, made)? {
        let shown = key::shown(made.table.key_type(), &key);
        output.line(format_args!("{shown}\t{}", shown_value(order, &value)))?;
    }
    let newest = made.table.last()?.filter(|_| order == Order::Time).and_then(|(key, _)| key.try_into().ok());
    let Some(newest) = newest.map(u64::from_be_bytes) else { return Ok(()) };
    let day_before = newest.saturating_sub(DAY_NS);
    let mut trace = ReadTrace { reads: vec![made.table.opening()] };
    let from = (Bound::Included(day_before.to_be_bytes().to_vec()), Bound::Unbounded);
    let count = made.table.traced(&mut trace).count(from)?;
    output.line(format_args!("\n$ ogive count {} --from {day_before} --explain", made.name))?;
    output.line(count)?;
    reads::lines(&trace.reads).into_iter().try_for_each(|line| output.line(line))?;
    output.line(format_args!("  (files modified since {}, a day before the newest)", date(day_before)))
}

/// The first records by path, the last by time.
fn ends(order: Order, made: &DemoTable) -> Result<Vec<Record>> {
    let range = made.table.iter();
    let records: ogive::Result<Vec<_>> = match order {
        Order::Path => range.take(SHOWN).collect(),
        Order::Time => range.rev().take(SHOWN).collect(),
    };
    Ok(records?)
}

fn shown_value(order: Order, value: &[u8]) -> String {
    match (order, value.try_into()) {
        (Order::Time, Ok(size)) => u64::from_be_bytes(size).to_string(),
        _ => ogive_text::escaped(value).into_owned(),
    }
}

fn print_tables(all: &[Data], output: &mut Output) -> Result<()> {
    output.line("\nThe tables:\n")?;
    for made in all.iter().flat_map(|data| &data.tables) {
        output.line(format_args!("  {}", made.path.display()))?;
    }
    Ok(())
}

/// The whole demonstration as an object.
pub(crate) fn to_json(files: &Files, all: &[Data]) -> Result<Value> {
    let mut tables = Vec::new();
    for data in all {
        for made in &data.tables {
            let key_type = made.table.key_type();
            let scanned = ends(data.order, made)?;
            let mut table = made.to_json();
            table["scanned"] = scanned.iter().map(|(key, _)| key::to_json(key_type, key)).collect();
            let fixed = data.fixed.iter().map(|row| {
                json!({
                    "design": row.name,
                    "modelled_us": row.report.modelled_us(&made.profile),
                    "index_bytes": row.report.index_bytes,
                })
            });
            table["fixed"] = fixed.collect();
            tables.push(table);
        }
    }
    Ok(json!({ "files": files.len(), "tables": tables }))
}
