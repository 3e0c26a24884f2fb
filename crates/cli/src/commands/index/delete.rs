//! `ogive index delete`: removes entries of a key.

use super::file::IndexEntry;
use crate::commands::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  ogive index delete ids.ogx 1234            remove an entry
  ogive index delete tags.ogx 1234 --all     remove all entries with this key

Prints 'not found' to standard error and exits with 1 if the key is absent.";

/// Remove the entry of a key
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct IndexDelete {
    #[command(flatten)]
    entry: IndexEntry,

    /// Remove all entries with this key, not only one
    #[arg(long)]
    all: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &IndexDelete, output: &mut Output) -> Result<Outcome> {
    let open = arguments.entry.index.write(None)?;
    verbs::delete(open, &arguments.entry.key, arguments.all, output)
}
