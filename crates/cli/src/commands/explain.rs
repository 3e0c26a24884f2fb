//! `ogive explain`: shows the parts of a table, or the path of a lookup in an index.

use super::place::{PlaceArguments, PlaceKind};
use super::{index, stats};
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

For a table, reads only its end, as every opening does. Exits with 1 if the key is absent.";

/// Show a table's parts and the cost of a lookup, or the path of a lookup in an index
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainArguments {
    #[command(flatten)]
    place: PlaceArguments,

    /// For an index: key to look up
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    key: Option<OsString>,
}

/// Runs the command.
pub(crate) fn run(arguments: &ExplainArguments, output: &mut Output) -> Result<Outcome> {
    let place = &arguments.place;
    match (place.kind()?, &arguments.key) {
        (PlaceKind::Table, None) => stats::of_table(place, output),
        (PlaceKind::Index, Some(key)) => index::explain(&place.index(), key, output),
        (PlaceKind::Table, Some(key)) => {
            let (shown, key) = (shell_path(place.path()), key.to_string_lossy());
            let hint = format!("`ogive get {shown} {} --explain` shows the reads of a lookup", shell_word(&key));
            Err(Failure::usage(format!("{place} is explained without a key"), hint))
        }
        (PlaceKind::Index, None) => {
            let hint = format!("give a key to look up; `ogive stats {}` shows its nodes", shell_path(place.path()));
            Err(Failure::usage(format!("{place} is an index, of which a lookup is explained"), hint))
        }
        (PlaceKind::Store, _) => {
            let hint = format!("use `ogive stats {0}`, or `ogive report {0} -o PAGE`", shell_path(place.path()));
            Err(Failure::refused(format!("{place} is a store, whose lookups are not explained one by one"), hint))
        }
    }
}
