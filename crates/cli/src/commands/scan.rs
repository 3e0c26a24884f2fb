//! `ogive scan`: prints records in key order.

use super::ordered_map::Window;
use super::query::{TableArguments, TableRangeOptions};
use super::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  ogive scan words.ogive                    print all records
  ogive scan words.ogive --from app --to apq
                                            print the keys from 'app' up to but not including 'apq'
  ogive scan words.ogive --prefix app       print the keys that begin with 'app'
  ogive scan times.ogive --reverse --limit 10
                                            print the last ten records
  ogive scan ids.ogive --from 1000 --json   print one JSON object per line
  ogive scan ids.ogive --limit 500 --explain
                                            also show every read

Each line is a key, a tab and a value. Control characters and bytes that are not UTF-8 are escaped.";

/// Print records in key order: key, tab, value
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TableScan {
    #[command(flatten)]
    table: TableArguments,

    #[command(flatten)]
    range: TableRangeOptions,

    #[command(flatten)]
    window: Window,

    /// Show every read, after the records
    #[arg(long)]
    explain: bool,

    #[cfg(feature = "parquet")]
    #[command(flatten)]
    rows: crate::beside::rows::RowFormat,
}

/// Runs the command.
pub(crate) fn run(arguments: &TableScan, output: &mut Output) -> Result<Outcome> {
    let open = arguments.table.open_any(arguments.explain)?;
    #[cfg(feature = "parquet")]
    {
        if open.is_beside() {
            let (range, window, explain) = (arguments.range.range(), arguments.window, arguments.explain);
            return crate::beside::scan(&arguments.table, open, &range, window, &arguments.rows, explain, output);
        }
        arguments.rows.refuse()?;
    }
    let open = arguments.table.plain(open)?;
    verbs::scan(&open, &arguments.range.range(), arguments.window, output)
}
