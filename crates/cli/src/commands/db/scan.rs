//! `ogive db scan`: prints entries in key order.

use super::store::{KeyspaceOptions, OpenKeyspace};
use crate::commands::ordered_map::{RangeOptions, Window};
use crate::commands::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  ogive db scan fruit                           print all entries
  ogive db scan fruit --from a --to c           print the keys from 'a' up to but not including 'c'
  ogive db scan fruit --prefix app              print the keys that begin with 'app'
  ogive db scan fruit --reverse --limit 10      print the last ten entries
  ogive db scan fruit --keys-only --json        print one JSON object per line, without values

Each line is a key, a tab and a value. Control characters and bytes that are not UTF-8 are escaped, in keys as all
commands take them, in values of bytes as `ogive db put --escaped` takes them. The scan reads a consistent snapshot.";

/// Print entries in key order: key, tab, value
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbScan {
    #[command(flatten)]
    keyspace: KeyspaceOptions,

    #[command(flatten)]
    range: RangeOptions,

    #[command(flatten)]
    window: Window,

    /// Print keys only; long values are not read
    #[arg(long)]
    keys_only: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbScan, output: &mut Output) -> Result<Outcome> {
    let open = OpenKeyspace { keys_only: arguments.keys_only, ..arguments.keyspace.read()? };
    verbs::scan(&open, &arguments.range, arguments.window, output)
}
