//! `ogive index count`: counts the entries of a range.

use super::file::IndexFile;
use crate::commands::ordered_map::RangeOptions;
use crate::commands::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  ogive index count ids.ogx                           count all entries
  ogive index count ids.ogx --from 1000 --to 2000     count the keys from 1000 up to but not including 2000

The count of all entries is stored; that of a range reads its leaves.";

/// Count the entries in a range
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct IndexCount {
    #[command(flatten)]
    file: IndexFile,

    #[command(flatten)]
    range: RangeOptions,
}

/// Runs the command.
pub(crate) fn run(arguments: &IndexCount, output: &mut Output) -> Result<Outcome> {
    verbs::count(&arguments.file.read(None)?, &arguments.range, output)
}
