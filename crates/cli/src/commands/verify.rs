//! `ogive verify`: checks every byte and every promise of a table.

use super::query::TableOptions;
use crate::args::Outcome;
use crate::failure::Result;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::size::grouped;

const EXAMPLES: &str = "\
Examples:
  ogive verify words.ogive
  ogive verify words.ogive --json

Checks every checksum, the order of the keys, and that the index leads every key to its place within the reads that
the table promises. For a table built with --beside, also that the file beside it has not changed.";

/// Check every byte of a table, the order of its keys, and its index
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    table: TableOptions,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let open = arguments.table.open()?;
    let mut progress = Progress::start("verifying", None, Unit::Bytes);
    let report = open.table.verify(&mut |done, total| {
        progress.set_total(total);
        progress.reach(done);
    })?;
    drop(progress);
    if output.is_json() {
        output.json(&report)?;
    } else {
        output.line(format_args!(
            "ok: {} records in {} blocks; every checksum, the order, and the index hold",
            grouped(report.records),
            grouped(report.blocks)
        ))?;
    }
    Ok(Outcome::Done)
}
