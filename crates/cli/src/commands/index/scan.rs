//! `ogive index scan`: prints entries in key order.

use super::file::{IndexFile, PayloadOptions};
use crate::commands::ordered_map::{RangeOptions, Window};
use crate::commands::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  ogive index scan ids.ogx                           print all entries
  ogive index scan ids.ogx --from 1000 --to 2000     print the keys from 1000 up to but not including 2000
  ogive index scan ids.ogx --reverse --limit 10      print the last ten entries
  ogive index scan ids.ogx --values number --json    print one JSON object per line

Each line is a key, a tab and a payload. The scan reads a single commit.";

/// Print entries in key order: key, tab, payload
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct IndexScan {
    #[command(flatten)]
    file: IndexFile,

    #[command(flatten)]
    range: RangeOptions,

    #[command(flatten)]
    window: Window,

    #[command(flatten)]
    payloads: PayloadOptions,
}

/// Runs the command.
pub(crate) fn run(arguments: &IndexScan, output: &mut Output) -> Result<Outcome> {
    let open = arguments.file.read(arguments.payloads.values)?;
    verbs::scan(&open, &arguments.range, arguments.window, output)
}
