//! `ogive explain`: shows the parts of a table and the cost of a lookup.

use super::query::TableOptions;
use crate::args::Outcome;
use crate::failure::Result;
use crate::output::Output;
use crate::report;

const EXAMPLES: &str = "\
Examples:
  ogive explain words.ogive            show sizes of all parts, index layers, and modelled times
  ogive explain words.ogive --json     the same as JSON

Reads only the tail of the table, as opening it always does.";

/// Show a table's parts and the cost of a lookup
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
