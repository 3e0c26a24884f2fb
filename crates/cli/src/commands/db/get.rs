//! `ogive db get`: looks up a key.

use super::store::KeyspaceOptions;
use crate::commands::verbs::{self, LookupKeys};
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  ogive db get fruit apple                     print the value of a key
  ogive db get films night --raw > night.mkv   write a value of any length, unchanged
  ogive db get ids 1234 5678                   print keys and values of several keys
  ogive db get ids - <keys.txt                 look up the keys of a file

Prints 'not found' to standard error and exits with 1 if the key is absent.";

/// Look up a key
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbGet {
    #[command(flatten)]
    keyspace: KeyspaceOptions,

    #[command(flatten)]
    keys: LookupKeys,

    /// Write the value without a newline, or that of its column if it is a row of one: text and bytes unchanged, other
    /// types as text
    #[arg(long, conflicts_with = "json")]
    raw: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbGet, output: &mut Output) -> Result<Outcome> {
    let open = arguments.keyspace.read()?;
    if arguments.raw {
        return verbs::get_raw(&open, &arguments.keys, |key| Ok(open.keyspace.get_stream(key)?), output);
    }
    verbs::get_each(&open, &arguments.keys, false, output)
}
