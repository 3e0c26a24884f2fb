//! `ogive scan`: prints records in key order.

use super::query::{RangeOptions, TableOptions};
use crate::args::Outcome;
use crate::failure::Result;
use crate::key;
use crate::output::Output;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  ogive scan words.ogive                    print all records
  ogive scan words.ogive app apq            print the keys from 'app' up to but not including 'apq'
  ogive scan times.ogive --reverse --limit 10
                                            print the last ten records
  ogive scan ids.ogive 1000 --json          print one JSON object per line
  ogive scan ids.ogive --limit 500 --explain
                                            also show every read

Each line is a key, a tab and a value. Control characters and bytes that are not UTF-8 are escaped.";

/// Print records in key order: key, tab, value
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    table: TableOptions,

    #[command(flatten)]
    range: RangeOptions,

    /// Print at most N records
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Print the records in reverse order
    #[arg(long)]
    reverse: bool,

    /// Show every read, after the records
    #[arg(long)]
    explain: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let mut open = arguments.table.open()?;
    let key_type = open.table.key_type();
    let Some(bounds) = arguments.range.bounds(key_type)? else { return Ok(Outcome::Done) };
    let mut range = open.table.range(bounds).traced();
    for _ in 0..arguments.limit.unwrap_or(u64::MAX) {
        let record = if arguments.reverse { range.next_back() } else { range.next() };
        let Some(record) = record else { break };
        let (key, value) = record?;
        if output.is_json() {
            output.json(&json!({ "key": key::to_json(key_type, &key), "value": open.value_to_json(&value) }))?;
        } else {
            output.line(format_args!("{}\t{}", key::shown(key_type, &key), open.shown_value(&value)))?;
        }
    }
    if arguments.explain {
        open.receipt.reads.extend(range.trace().into_iter().flat_map(|receipt| &receipt.reads));
        open.explain(output)?;
    }
    Ok(Outcome::Done)
}
