//! `ogive get`: looks up a key.

use super::ordered_map::OrderedMap;
use super::query::TableArguments;
use super::verbs;
use crate::args::Outcome;
use crate::failure::Result;
use crate::output::Output;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  ogive get words.ogive apple              print the value of a key
  ogive get ids.ogive 1234 --explain       also show every read
  ogive get rows.ogive 1234 --all          print the values of all records with this key
  ogive get images.ogive cat --raw >cat    write a value of any length, unchanged

Prints 'not found' to standard error and exits with 1 if the key is absent.";

/// Look up a key
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TableGet {
    #[command(flatten)]
    table: TableArguments,

    /// Key to look up, written as in the input of the table
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    key: OsString,

    /// Print the values of all records with this key, not only the first
    #[arg(long)]
    all: bool,

    /// Write the value unchanged and without a newline; required for values larger than --memory
    #[arg(long, conflicts_with_all = ["all", "json"])]
    raw: bool,

    /// Show every read
    #[arg(long, conflicts_with = "raw")]
    explain: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &TableGet, output: &mut Output) -> Result<Outcome> {
    let open = arguments.table.open(arguments.explain)?;
    if arguments.raw {
        let key = open.parse_key(&arguments.key)?;
        return verbs::print_raw(open.table.value_reader(&key)?, open.shown_key(&key), output);
    }
    verbs::get(&open, &arguments.key, arguments.all, output)
}
