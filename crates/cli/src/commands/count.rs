//! `ogive count`: counts the records of a range.

use super::query::{RangeOptions, TableOptions};
use crate::args::Outcome;
use crate::failure::Result;
use crate::output::Output;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  ogive count words.ogive                how many records there are
  ogive count words.ogive a b            how many begin with 'a'
  ogive count ids.ogive 1000 --explain   how many are 1000 or more, and what was read to know it

Counting reads the ends of the range, not what lies between them.";

/// Count the records of a range without reading them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    table: TableOptions,

    #[command(flatten)]
    range: RangeOptions,

    /// Show what was read
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
