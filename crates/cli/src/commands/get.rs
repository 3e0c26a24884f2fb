//! `ogive get`: looks up keys.

use super::index::PayloadOptions;
use super::lookup_keys::LookupKeys;
use super::place::{PlaceArguments, Reading, with_map};
#[cfg(feature = "parquet")]
use super::place_flags::PlaceUse;
use super::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  ogive get words.ogive apple              print the value of a key of a table
  ogive get ids.ogive 1234 --explain       also show every read
  ogive get fruit.db apple --keyspace red  the value of a key in a keyspace of a store
  ogive get ids.ogx 1234 --values number   the payload of a key of an index, as a number
  ogive get ids.ogive 1234 5678            print keys and values of several keys
  ogive get ids.ogive - <keys.txt          look up the keys of a file
  ogive get rows.ogive 1234 --all          print the values of all records with this key
  ogive get films.db night --raw >night    write a value of any length, unchanged

Several keys are looked up together, up to 4096 at a time; by URL that takes the time of a few. Keys of standard input
are answered when it pauses, so a program may write a key and wait for the answer. A line that is no key is told with
its number; the others are answered, and the command exits with 2.

Prints 'not found' to standard error and exits with 1 if the key is absent. With --json, the answer to each key is an
object: key, found, and record, or with --all records; more is the number of further records with the key.";

/// Look up keys in a table, an index or a store
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GetArguments {
    #[command(flatten)]
    place: PlaceArguments,

    #[command(flatten)]
    keys: LookupKeys,

    /// Print the values of all records with this key, not only the first
    #[arg(long)]
    all: bool,

    /// Write the value without a newline
    ///
    /// A row of one column is written as its field: text and bytes unchanged, other types as text. Required for values
    /// larger than --memory. Payloads of an index without a type keep their zeros.
    #[arg(long, conflicts_with_all = ["all", "json", "values"])]
    raw: bool,

    /// For a table or an index of Parquet files: show every read
    #[arg(long, conflicts_with = "raw")]
    explain: bool,

    #[command(flatten)]
    payloads: PayloadOptions,

    #[cfg(feature = "parquet")]
    #[command(flatten)]
    rows: crate::beside::rows::RowFormat,
}

/// Runs the command.
pub(crate) fn run(arguments: &GetArguments, output: &mut Output) -> Result<Outcome> {
    let GetArguments { keys, all, raw, .. } = arguments;
    let reading = Reading { explain: arguments.explain, form: arguments.payloads.values };
    let place = arguments.place.open_for(reading, keys.few())?;
    let memory_bytes = arguments.place.memory_bytes(place.kind());
    #[cfg(feature = "parquet")]
    arguments.place.check(place.kind(), PlaceUse::Records, &arguments.rows.given())?;
    with_map!(
        place,
        map => {
            let outcome = match *raw {
                true => verbs::get_raw(&*map, keys, output)?,
                false => verbs::get_each(&*map, keys, (*all, memory_bytes), output)?,
            };
            if outcome == Outcome::Negative {
                verbs::note_emptiness(&*map, output)?;
            }
            Ok(outcome)
        },
        beside => {
            let shown = crate::beside::lookup::ShownRows { all: *all, raw: *raw, format: &arguments.rows };
            crate::beside::lookup::get(*beside, keys, shown, memory_bytes, output)
        },
    )
}
