//! `ogive index get`: looks up a key.

use super::file::{IndexFile, PayloadOptions};
use crate::commands::ordered_map::OrderedMap;
use crate::commands::verbs::{self, LookupKeys};
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;
use std::io::Cursor;

const EXAMPLES: &str = "\
Examples:
  ogive index get ids.ogx 1234                     print the payload of a key
  ogive index get ids.ogx 1234 --values number     print it as a number
  ogive index get tags.ogx 1234 --all              print the payloads of all entries with this key

Prints 'not found' to standard error and exits with 1 if the key is absent.";

/// Look up a key
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct IndexGet {
    #[command(flatten)]
    file: IndexFile,

    #[command(flatten)]
    keys: LookupKeys,

    /// Print the payloads of all entries with this key, not only the first
    #[arg(long)]
    all: bool,

    /// Write the payload unchanged, with its zeros, and without a newline
    #[arg(long, conflicts_with_all = ["all", "json", "values"])]
    raw: bool,

    #[command(flatten)]
    payloads: PayloadOptions,
}

/// Runs the command.
pub(crate) fn run(arguments: &IndexGet, output: &mut Output) -> Result<Outcome> {
    let open = arguments.file.read(arguments.payloads.values)?;
    if arguments.raw {
        return verbs::get_raw(
            &open,
            &arguments.keys,
            |key| Ok(open.get(key, false)?.into_iter().next().map(Cursor::new)),
            output,
        );
    }
    verbs::get_each(&open, &arguments.keys, arguments.all, output)
}
