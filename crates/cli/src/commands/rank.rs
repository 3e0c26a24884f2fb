//! `ogive rank`: counts the records below a key.

use super::place::{PlaceArguments, Reading, with_map};
use super::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  ogive rank words.ogive apple          count the records before 'apple'
  ogive rank ids.ogive 5000 --explain   also show every read
  ogive rank fruit.db apple             count the entries of a store before 'apple'

The rank of an absent key is the position at which it would be inserted. A table takes one lookup for it. An index reads
the leaves before the key, and a store the keys before it.";

/// Count the records with smaller keys
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RankArguments {
    #[command(flatten)]
    place: PlaceArguments,

    /// Key to find the rank of
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    key: OsString,

    /// For a table or an index of Parquet files: show every read
    #[arg(long)]
    explain: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &RankArguments, output: &mut Output) -> Result<Outcome> {
    with_map!(
        arguments.place.open(Reading { explain: arguments.explain, form: None })?,
        map => verbs::rank(&*map, &arguments.key, output),
        beside => crate::beside::rank(*beside, &arguments.key, output),
    )
}
