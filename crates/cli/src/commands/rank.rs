//! `ogive rank`: counts the records below a key.

use super::ordered_map::OrderedMap;
use super::query::TracedTable;
use crate::failure::Result;
use crate::outcome::Outcome;
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
pub(crate) struct TableRank {
    #[command(flatten)]
    table: TracedTable,

    /// Key to find the rank of
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    key: OsString,
}

/// Runs the command.
pub(crate) fn run(arguments: &TableRank, output: &mut Output) -> Result<Outcome> {
    let table = arguments.table.table();
    let open = table.open_any(arguments.table.explain())?;
    #[cfg(feature = "parquet")]
    {
        let explain = arguments.table.explain();
        if open.is_beside() {
            return crate::beside::rank(table, open, &arguments.key, explain, output);
        }
    }
    let open = table.plain(open)?;
    let key = open.parse_key(&arguments.key)?;
    let rank = open.traced(|mut table| table.rank(&key))?;
    open.answer(output, json!({ "key": open.key_to_json(&key), "rank": rank }), Some(rank))?;
    Ok(Outcome::Done)
}
