//! `ogive scan`: prints records in the order of their keys.

use super::query::{RangeOptions, TableOptions};
use crate::args::Outcome;
use crate::failure::Result;
use crate::key;
use crate::output::Output;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  ogive scan words.ogive                    print everything
  ogive scan words.ogive app apq            print the keys from 'app' up to, but without, 'apq'
  ogive scan times.ogive --reverse --limit 10
                                            print the ten last records
  ogive scan ids.ogive 1000 --json          print one JSON object a line
  ogive scan ids.ogive --limit 500 --explain
                                            show what was read, too

Each line is a key, a tab, and its value. What would not fit on a line, or is no text, is escaped.";

/// Print records in order: key, tab, value
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

    /// Begin with the last record
    #[arg(long)]
    reverse: bool,

    /// Show what was read, behind the records
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
