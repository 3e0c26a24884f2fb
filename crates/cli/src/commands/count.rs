//! `ogive count`: counts the records in a range.

use super::place::{PlaceArguments, Reading, with_map};
use super::query::TableRangeOptions;
use super::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  ogive count words.ogive                       count all records
  ogive count words.ogive --prefix a            count the keys that begin with 'a'
  ogive count ids.ogive --from 1000 --explain   count the keys from 1000 on, and show every read
  ogive count fruit.db --keyspace colours       count the entries of a keyspace
  ogive count ids.ogx --from 1000 --to 2000     count entries of an index

For tables and indexes of Parquet files, reads only the two ends of the range. An index states the count of all
entries; for a range, its leaves are read. A store whose tables hide no entries of each other, as after `ogive db
compact`, states the count of all; else the keys of the range are read, but no long values: the count is exact, of one
consistent state. `ogive db keyspaces` estimates all rows without reading them.";

/// Count the records in a range
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CountArguments {
    #[command(flatten)]
    place: PlaceArguments,

    #[command(flatten)]
    range: TableRangeOptions,

    /// For a table or an index of Parquet files: show every read
    #[arg(long)]
    explain: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &CountArguments, output: &mut Output) -> Result<Outcome> {
    let range = arguments.range.range();
    with_map!(
        arguments.place.open(Reading { explain: arguments.explain, form: None })?,
        map => verbs::count(&*map, &range, output),
        beside => crate::beside::count(*beside, &range, output),
    )
}
