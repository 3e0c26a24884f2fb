//! `ogive get`: looks up a key.

use super::query::TableArguments;
use super::verbs::{self, LookupKeys};
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  ogive get words.ogive apple              print the value of a key
  ogive get ids.ogive 1234 --explain       also show every read
  ogive get ids.ogive 1234 5678            print keys and values of several keys
  ogive get ids.ogive - <keys.txt          look up the keys of a file
  ogive get rows.ogive 1234 --all          print the values of all records with this key
  ogive get images.ogive cat --raw >cat    write a value of any length, unchanged

Prints 'not found' to standard error and exits with 1 if the key is absent.";

/// Look up a key
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TableGet {
    #[command(flatten)]
    table: TableArguments,

    #[command(flatten)]
    keys: LookupKeys,

    /// Print the values of all records with this key, not only the first
    #[arg(long)]
    all: bool,

    /// Write the value without a newline, or that of its column if it is a row of one: text and bytes unchanged, other
    /// types as text; required for values larger than --memory
    #[arg(long, conflicts_with_all = ["all", "json"])]
    raw: bool,

    /// Show every read
    #[arg(long, conflicts_with = "raw")]
    explain: bool,

    #[cfg(feature = "parquet")]
    #[command(flatten)]
    rows: crate::beside::rows::RowFormat,
}

/// Runs the command.
pub(crate) fn run(arguments: &TableGet, output: &mut Output) -> Result<Outcome> {
    let open = arguments.table.open_any(arguments.explain)?;
    #[cfg(feature = "parquet")]
    {
        if open.is_beside() {
            let (table, keys) = (&arguments.table, arguments.keys.all()?);
            return crate::beside::get(table, open, &keys, &arguments.rows, arguments.explain, output);
        }
        arguments.rows.refuse()?;
    }
    let open = arguments.table.plain(open)?;
    if arguments.raw {
        return verbs::get_raw(&open, &arguments.keys, |key| Ok(open.table.value_reader(key)?), output);
    }
    verbs::get_each(&open, &arguments.keys, arguments.all, output)
}
