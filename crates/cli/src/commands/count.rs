//! `ogive count`: counts the records in a range.

use super::query::{TableRangeOptions, TracedTable};
use super::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  ogive count words.ogive                       count all records
  ogive count words.ogive --prefix a            count the keys that begin with 'a'
  ogive count ids.ogive --from 1000 --explain   count the keys from 1000 on, and show every read

Reads only the two ends of the range.";

/// Count the records in a range without reading them
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TableCount {
    #[command(flatten)]
    table: TracedTable,

    #[command(flatten)]
    range: TableRangeOptions,
}

/// Runs the command.
pub(crate) fn run(arguments: &TableCount, output: &mut Output) -> Result<Outcome> {
    let table = arguments.table.table();
    let open = table.open_any(arguments.table.explain())?;
    #[cfg(feature = "parquet")]
    {
        let explain = arguments.table.explain();
        if open.is_beside() {
            return crate::beside::count(table, open, &arguments.range.range(), explain, output);
        }
    }
    verbs::count(&table.plain(open)?, &arguments.range.range(), output)
}
