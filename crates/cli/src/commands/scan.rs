//! `ogive scan`: prints records in key order.

use super::index::PayloadOptions;
use super::ordered_map::Window;
use super::place::{PlaceArguments, Reading, with_map};
#[cfg(feature = "parquet")]
use super::place_flags::PlaceUse;
use super::query::TableRangeOptions;
use super::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  ogive scan words.ogive                    print all records
  ogive scan words.ogive --from app --to apq
                                            print the keys from 'app' up to but not including 'apq'
  ogive scan fruit.db --prefix app          print the keys of a store that begin with 'app'
  ogive scan times.ogive --reverse --limit 10
                                            print the last ten records
  ogive scan ids.ogx --from 1000 --json     print the entries of an index, one JSON object per line
  ogive scan fruit.db --keys-only           print keys, and read no long values
  ogive scan ids.ogive --limit 500 --explain
                                            also show every read

Each line is a key, a tab and a value. Control characters and bytes that are not UTF-8 are escaped, in keys as all
commands take them, in values of bytes as `ogive db put --escaped` takes them. The scan of a store or an index reads one
consistent state.";

/// Print records in key order: key, tab, value
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ScanArguments {
    #[command(flatten)]
    place: PlaceArguments,

    #[command(flatten)]
    range: TableRangeOptions,

    #[command(flatten)]
    window: Window,

    /// For a table or an index of Parquet files: show every read, after the records
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    payloads: PayloadOptions,

    #[cfg(feature = "parquet")]
    #[command(flatten)]
    rows: crate::beside::rows::RowFormat,
}

/// Runs the command.
pub(crate) fn run(arguments: &ScanArguments, output: &mut Output) -> Result<Outcome> {
    let (range, window) = (arguments.range.range(), arguments.window);
    let place = arguments.place.open(Reading { explain: arguments.explain, form: arguments.payloads.values })?;
    #[cfg(feature = "parquet")]
    arguments.place.check(place.kind(), PlaceUse::Records, &arguments.rows.given())?;
    with_map!(
        place,
        map => verbs::scan(&*map, &range, window, output),
        beside => crate::beside::scan(*beside, &range, window, &arguments.rows, output),
    )
}
