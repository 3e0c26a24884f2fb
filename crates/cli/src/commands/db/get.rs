//! `ogive db get`: looks up a key.

use super::store::KeyspaceOptions;
use crate::args::Outcome;
use crate::commands::ordered_map::OrderedMap;
use crate::commands::verbs;
use crate::failure::Result;
use crate::output::Output;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  ogive db get fruit apple                     print the value of a key
  ogive db get films night --raw > night.mkv   write a value of any length, unchanged
  ogive db get ids 1234 --keys u64             look up an integer key

Prints 'not found' to standard error and exits with 1 if the key is absent.";

/// Look up a key
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbGet {
    #[command(flatten)]
    keyspace: KeyspaceOptions,

    /// Key to look up
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    key: OsString,

    /// Write the value unchanged and without a newline
    #[arg(long)]
    raw: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbGet, output: &mut Output) -> Result<Outcome> {
    let open = arguments.keyspace.read()?;
    if arguments.raw && !output.is_json() {
        let key = open.parse_key(&arguments.key)?;
        return verbs::print_raw(open.keyspace.get_stream(&key)?, open.shown_key(&key), output);
    }
    verbs::get(&open, &arguments.key, false, output)
}
