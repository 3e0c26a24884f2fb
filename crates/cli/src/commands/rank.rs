//! `ogive rank`: counts the records below a key.

use super::query::TableOptions;
use crate::args::Outcome;
use crate::failure::Result;
use crate::key;
use crate::output::Output;
use serde_json::json;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  ogive rank words.ogive apple          count the records before 'apple'
  ogive rank ids.ogive 5000 --explain   also show every read

The rank of an absent key is the position at which it would be inserted.";

/// Count the records with smaller keys
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    table: TableOptions,

    /// Key to find the rank of
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    key: OsString,

    /// Show every read
    #[arg(long)]
    explain: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let mut open = arguments.table.open()?;
    let key_type = open.table.key_type();
    let key = key::from_argument(key_type, &arguments.key)?;
    let rank = open.table.traced(&mut open.receipt).rank(&key)?;
    let answer = json!({ "key": key::to_json(key_type, &key), "rank": rank });
    open.answer(output, answer, rank, arguments.explain)?;
    Ok(Outcome::Done)
}
