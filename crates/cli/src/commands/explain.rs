//! `ogive explain`: shows the parts of a table and the cost of a lookup.

use super::ordered_map::Report;
use super::query::{OpenTable, TableArguments};
use super::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::report;
use ogive::table::TableReport;
use serde::Serialize;

/// Help after the arguments.
pub(crate) const EXAMPLES: &str = "\
Examples:
  ogive explain words.ogive            show sizes of all parts, index layers, and modelled times
  ogive explain words.ogive --json     the same as JSON

Reads only the tail of the table, as opening it always does.";

impl Report for TableReport {
    fn to_json(&self) -> Result<impl Serialize> {
        Ok(self)
    }

    fn print(&self, name: &str, output: &mut Output) -> Result<()> {
        report::print(name, self, output)
    }
}

/// Runs the command.
pub(crate) fn run(table: &TableArguments, output: &mut Output) -> Result<Outcome> {
    #[cfg(feature = "parquet")]
    {
        let open = table.open_any(false)?;
        if open.is_beside() {
            return crate::beside::explain(table, open, output);
        }
    }
    verbs::stats::<OpenTable>(table, output)
}
