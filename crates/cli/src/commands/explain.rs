//! `ogive explain`: shows the parts of a table, or the path of a lookup in an index or a store.

use super::place::{PlaceArguments, PlaceKind};
use super::place_flags::PlaceUse;
use super::{db, index, stats};
use crate::failure::{Failure, Result};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::shell::shell_path;
use ogive_terminal::shell_word;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  ogive explain words.ogive            a table: sizes of all parts, index layers, and modelled times
  ogive explain words.ogive --json     the same as JSON
  ogive explain ids.ogx 1234           an index: the nodes and pages that a lookup visits
  ogive explain fruit.db               a store: the levels of each keyspace, with their tables and filters
  ogive explain fruit.db apple         the tables that a lookup of this key goes through

For a table, reads only its end, as every opening does. A lookup in a store asks the memtables, then the tables whose
keys surround the key, newest first, and ends at the first that has the key; a filter answers for most that lack it.
Exits with 1 if the key is absent.";

/// Show a table's parts and costs, or what a lookup in an index or a store goes through
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainArguments {
    #[command(flatten)]
    place: PlaceArguments,

    /// For an index or a store: key to look up
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    key: Option<OsString>,
}

/// Runs the command.
pub(crate) fn run(arguments: &ExplainArguments, output: &mut Output) -> Result<Outcome> {
    let place = &arguments.place;
    let asked = if arguments.key.is_some() { PlaceUse::Records } else { PlaceUse::Structure };
    match (place.kind(asked, &[])?, &arguments.key) {
        (PlaceKind::Table | PlaceKind::Beside, None) => stats::of_table(place, output),
        (PlaceKind::Table | PlaceKind::Beside, Some(key)) => {
            // What is no table is told as such.
            place.check(PlaceKind::of_open(&place.table().open_any(false)?), asked, &[])?;
            let (shown, key) = (shell_path(place.path()), key.to_string_lossy());
            let hint = format!("`ogive get {shown} {} --explain` shows the reads of a lookup", shell_word(&key));
            Err(Failure::usage(format!("{place} is explained without a key"), hint))
        }
        (PlaceKind::Index, Some(key)) => index::explain(&place.index(), key, output),
        (PlaceKind::Index, None) => {
            let hint = format!("give a key to look up; `ogive stats {}` shows its nodes", shell_path(place.path()));
            Err(Failure::usage(format!("{place} is an index, of which a lookup is explained"), hint))
        }
        (PlaceKind::Store, None) => db::explain(&place.store(), output),
        (PlaceKind::Store, Some(key)) => db::explain_lookup(&place.keyspace(), key, output),
    }
}
