//! `ogive db count`: counts the entries of a range.

use super::store::KeyspaceOptions;
use crate::commands::ordered_map::RangeOptions;
use crate::commands::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  ogive db count fruit                          count all entries
  ogive db count fruit --from a --to c          count the keys from 'a' up to but not including 'c'
  ogive db count fruit --prefix app             count the keys that begin with 'app'
  ogive db count fruit --keyspace colours       count the entries of another keyspace

The count is exact, of a consistent snapshot. It reads the keys of the range, but no long values. `ogive db keyspaces`
estimates all rows without reading them.";

/// Count the entries in a range
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbCount {
    #[command(flatten)]
    keyspace: KeyspaceOptions,

    #[command(flatten)]
    range: RangeOptions,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbCount, output: &mut Output) -> Result<Outcome> {
    verbs::count(&arguments.keyspace.read()?, &arguments.range, output)
}
