//! `ogive index scan`: prints entries in key order.

use super::file::{IndexFile, PayloadOptions};
use crate::args::Outcome;
use crate::commands::ordered_map::Window;
use crate::commands::verbs;
use crate::failure::Result;
use crate::output::Output;
use std::ffi::OsString;

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

    /// First key of the range [default: the first of the index]
    #[arg(long, value_name = "KEY", allow_negative_numbers = true)]
    from: Option<OsString>,

    /// End of the range, exclusive [default: the end of the index]
    #[arg(long, value_name = "KEY", allow_negative_numbers = true)]
    to: Option<OsString>,

    #[command(flatten)]
    window: Window,

    #[command(flatten)]
    payloads: PayloadOptions,
}

/// Runs the command.
pub(crate) fn run(arguments: &IndexScan, output: &mut Output) -> Result<Outcome> {
    let open = arguments.file.read(arguments.payloads.values)?;
    verbs::scan(&open, (arguments.from.as_deref(), arguments.to.as_deref()), arguments.window, output)
}
