//! `ogive explain`: tells what a table is made of and what a look-up costs.

use super::query::TableOptions;
use crate::args::Outcome;
use crate::failure::Result;
use crate::output::Output;
use crate::report;

const EXAMPLES: &str = "\
Examples:
  ogive explain words.ogive            sizes of all parts, layers of the index, modelled times
  ogive explain words.ogive --json     the same for programs

Only the end of the table is read, as for every opening.";

/// Tell what a table is made of, and what a look-up costs
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    table: TableOptions,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let report = arguments.table.open()?.table.explain();
    if output.is_json() {
        output.json(&report)?;
    } else {
        report::print(&arguments.table.shown(), &report, output)?;
    }
    Ok(Outcome::Done)
}
