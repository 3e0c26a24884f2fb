//! `ogive stats`: shows what a table, an index or a store is made of.

use super::db::OpenKeyspace;
use super::index::OpenIndex;
use super::ordered_map::Report;
use super::place::{PlaceArguments, PlaceKind};
use super::place_flags::PlaceUse;
use super::query::OpenTable;
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
  ogive stats words.ogive          a table: sizes of all parts, layers of its index, modelled times
  ogive stats ids.ogx              an index: entries, height, nodes and pages per level
  ogive stats fruit.db             a store: keyspaces, levels, sizes, amplification, models
  ogive stats fruit.db --json      the same as JSON

For a table, reads only its end. For an index, reads all nodes, which takes a while if it is large.

The rows of a store are counted if that takes a moment, and otherwise estimated from the entries of tables and logs:
'exactly' and 'about' say which. `ogive count` counts them. Lookups and write amplification are counted since the store
was opened, here by this command. A program that has the store open reads its own counts with `Db::stats`.

The memory given is that of --memory. The least is what an opening for writing needs for the present records, also to
flush and compact them: an opening with less is refused. It grows with the tables, so records written later may
need more. The JSON has both as memory_bytes and least_memory_bytes.";

impl Report for TableReport {
    fn to_json(&self) -> Result<impl Serialize> {
        Ok(self)
    }

    fn print(&self, name: &str, output: &mut Output) -> Result<()> {
        report::print(name, self, output)
    }
}

/// Runs the command.
pub(crate) fn run(place: &PlaceArguments, output: &mut Output) -> Result<Outcome> {
    match place.kind(PlaceUse::Structure, &[])? {
        PlaceKind::Table | PlaceKind::Beside => of_table(place, output),
        PlaceKind::Index => verbs::stats::<OpenIndex>(&place.index(), output),
        PlaceKind::Store => verbs::stats::<OpenKeyspace>(&place.store(), output),
    }
}

/// Shows the parts of a table, or of the index of Parquet files that it holds.
pub(crate) fn of_table(place: &PlaceArguments, output: &mut Output) -> Result<Outcome> {
    let file = place.table();
    let open = file.open_any(false)?;
    place.check(PlaceKind::of_open(&open), PlaceUse::Structure, &[])?;
    #[cfg(feature = "parquet")]
    if open.is_beside() {
        return crate::beside::explain(&file, open, output);
    }
    verbs::stats::<OpenTable>(&file, output)
}
