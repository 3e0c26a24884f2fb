//! `ogive nth`: prints the record at a position.

use super::index::PayloadOptions;
use super::place::{PlaceArguments, Reading, with_map};
#[cfg(feature = "parquet")]
use super::place_flags::PlaceUse;
use super::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  ogive nth words.ogive 0             print the first record
  ogive nth ids.ogive 500000          print the record after the first 500,000
  ogive nth words.ogive -1            print the last record
  ogive nth ids.ogive 7 --explain     also show every read
  ogive nth fruit.db 100              an entry of a store

Exits with 1 if there is no such position. A table takes one lookup. An index and a store read what is before the
position; a store reads all keys if the position is counted from the end.";

/// Print the record at a position, counted from 0, or from the end
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct NthArguments {
    #[command(flatten)]
    place: PlaceArguments,

    /// Position, counted from 0; -1 is the last record, -2 the one before
    #[arg(value_name = "POSITION", allow_negative_numbers = true, value_parser = position)]
    position: i64,

    /// For a table or an index of Parquet files: show every read
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    payloads: PayloadOptions,

    #[cfg(feature = "parquet")]
    #[command(flatten)]
    rows: crate::beside::rows::RowFormat,
}

/// A position as an argument.
fn position(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| "a position is an integer: 0 is the first record, and -1 the last".into())
}

/// Runs the command.
pub(crate) fn run(arguments: &NthArguments, output: &mut Output) -> Result<Outcome> {
    let place = arguments.place.open(Reading { explain: arguments.explain, form: arguments.payloads.values })?;
    #[cfg(feature = "parquet")]
    arguments.place.check(place.kind(), PlaceUse::Records, &arguments.rows.given())?;
    with_map!(
        place,
        map => verbs::nth(&*map, arguments.position, output),
        beside => crate::beside::nth(*beside, arguments.position, &arguments.rows, output),
    )
}
