//! `ogive nth`: prints the record at a position.

use super::ordered_map::OrderedMap;
use super::query::TracedTable;
use super::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::size::counted;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

const EXAMPLES: &str = "\
Examples:
  ogive nth words.ogive 0             print the first record
  ogive nth ids.ogive 500000          print the record after the first 500,000
  ogive nth words.ogive -1            print the last record
  ogive nth ids.ogive 7 --explain     also show every read

Exits with 1 if there is no such position.";

/// Print the record at a position, counted from 0, or from the end
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TableNth {
    #[command(flatten)]
    table: TracedTable,

    /// Position, counted from 0; -1 is the last record, -2 the one before
    #[arg(value_name = "POSITION", allow_negative_numbers = true)]
    position: i64,
}

/// The answer in JSON.
#[derive(Debug, Serialize)]
struct RecordAt {
    index: Value,
    found: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<Box<RawValue>>,
    /// The reads, if they were asked for.
    #[serde(flatten)]
    trace: Value,
}

/// Runs the command.
pub(crate) fn run(arguments: &TableNth, output: &mut Output) -> Result<Outcome> {
    let open = arguments.table.open()?;
    let position = arguments.position;
    let index = match u64::try_from(position) {
        Ok(index) => Some(index),
        Err(_) => open.table.len().checked_sub(position.unsigned_abs()),
    };
    let record = index.map_or(Ok(None), |index| open.traced(|mut table| table.nth(index)))?;
    let shown = record.as_ref().map(|(key, value)| verbs::record(&open, key, value));
    let line = record.as_ref().map(|(key, value)| format!("{}\t{}", open.shown_key(key), open.shown_value(value)));
    let index = index.map_or(json!(position), Value::from);
    let mut trace = json!({});
    if output.is_json() {
        open.add_trace(&mut trace);
        output.json(&RecordAt { index, found: shown.is_some(), record: shown, trace })?;
    } else {
        open.answer(output, trace, line)?;
    }
    if record.is_some() {
        return Ok(Outcome::Done);
    }
    output.flush()?;
    note(format_args!("no record at position {position}; the table has {}", counted(open.table.len(), "record")));
    Ok(Outcome::Negative)
}
