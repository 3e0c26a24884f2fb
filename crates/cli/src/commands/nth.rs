//! `ogive nth`: prints the record at a position.

use super::query::TableOptions;
use crate::args::Outcome;
use crate::failure::Result;
use crate::key;
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
pub(crate) struct Arguments {
    #[command(flatten)]
    table: TableOptions,

    /// Position, counted from 0
    #[arg(value_name = "I")]
    index: u64,

    /// Show every read
    #[arg(long)]
    explain: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let mut open = arguments.table.open()?;
    let key_type = open.table.key_type();
    let record = open.table.traced(&mut open.receipt).nth(arguments.index)?;
    let mut object = json!({ "index": arguments.index, "found": record.is_some() });
    if let Some((key, value)) = &record {
        object["key"] = key::to_json(key_type, key);
        object["value"] = open.value_to_json(value);
        let line = format!("{}\t{}", key::shown(key_type, key), open.shown_value(value));
        open.answer(output, object, line, arguments.explain)?;
        return Ok(Outcome::Done);
    }
    open.absent(output, object, arguments.explain)?;
    let records = grouped(open.table.len());
    note(format_args!("no record at position {}; the table has {records} records", arguments.index));
    Ok(Outcome::Negative)
}
