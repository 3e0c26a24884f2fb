//! `ogive nth`: prints the record at a position.

use super::ordered_map::OrderedMap;
use super::query::TracedTable;
use crate::args::Outcome;
use crate::failure::Result;
use crate::output::{Output, note};
use crate::size::grouped;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  ogive nth words.ogive 0             print the first record
  ogive nth ids.ogive 500000          print the record after the first 500,000
  ogive nth ids.ogive 7 --explain     also show every read

Exits with 1 if the position is past the last record.";

/// Print the record at a position, counted from 0
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TableNth {
    #[command(flatten)]
    table: TracedTable,

    /// Position, counted from 0
    #[arg(value_name = "POSITION")]
    index: u64,
}

/// Runs the command.
pub(crate) fn run(arguments: &TableNth, output: &mut Output) -> Result<Outcome> {
    let open = arguments.table.open()?;
    let index = arguments.index;
    let record = open.traced(|mut table| table.nth(index))?;
    let mut object = json!({ "index": index, "found": record.is_some() });
    if let Some((key, value)) = &record {
        object["key"] = open.key_to_json(key);
        object["value"] = open.value_to_json(value);
    }
    let line = record.as_ref().map(|(key, value)| format!("{}\t{}", open.shown_key(key), open.shown_value(value)));
    open.answer(output, object, line)?;
    if record.is_some() {
        return Ok(Outcome::Done);
    }
    output.flush()?;
    note(format_args!("no record at position {index}; the table has {} records", grouped(open.table.len())));
    Ok(Outcome::Negative)
}
