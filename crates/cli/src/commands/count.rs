//! `ogive count`: counts the records in a range.

use super::query::{RangeOptions, TableOptions};
use crate::args::Outcome;
use crate::failure::Result;
use crate::output::Output;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  ogive count words.ogive                count all records
  ogive count words.ogive a b            count the keys that begin with 'a'
  ogive count ids.ogive 1000 --explain   count the keys from 1000 on, and show every read

Reads only the two ends of the range.";

/// Count the records in a range without reading them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    table: TableOptions,

    #[command(flatten)]
    range: RangeOptions,

    /// Show every read
    #[arg(long)]
    explain: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let mut open = arguments.table.open()?;
    let count = match arguments.range.bounds(open.table.key_type())? {
        Some(bounds) => open.table.traced(&mut open.receipt).count(bounds)?,
        None => 0,
    };
    open.answer(output, json!({ "count": count }), count, arguments.explain)?;
    Ok(Outcome::Done)
}
