//! `ogive explain`: shows the parts of a table and the cost of a lookup.

use super::query::TableOptions;
use crate::args::Outcome;
use crate::failure::Result;
use crate::output::Output;
use crate::report;

/// Help after the arguments.
pub(crate) const EXAMPLES: &str = "\
Examples:
  ogive explain words.ogive            show sizes of all parts, index layers, and modelled times
  ogive explain words.ogive --json     the same as JSON

Reads only the tail of the table, as opening it always does.";

/// Runs the command.
pub(crate) fn run(table: &TableOptions, output: &mut Output) -> Result<Outcome> {
    let report = table.open()?.table.explain();
    if output.is_json() {
        output.json(&report)?;
    } else {
        report::print(&table.shown(), &report, output)?;
    }
    Ok(Outcome::Done)
}
