//! `ogive db scan`: prints entries in key order.

use super::store::KeyspaceOptions;
use crate::args::Outcome;
use crate::failure::{Failure, Result};
use crate::key;
use crate::output::Output;
use ogive::lsm::DbRange;
use serde_json::json;
use std::ffi::OsString;
use std::ops::Bound;

const EXAMPLES: &str = "\
Examples:
  ogive db scan fruit                           print all entries
  ogive db scan fruit --from a --to c           print the keys from 'a' up to but not including 'c'
  ogive db scan fruit --prefix app              print the keys that begin with 'app'
  ogive db scan fruit --reverse --limit 10      print the last ten entries
  ogive db scan fruit --keys-only --json        print one JSON object per line, without values

Each line is a key, a tab and a value. Control characters and bytes that are not UTF-8 are escaped. The scan reads a
consistent snapshot.";

/// Print entries in key order: key, tab, value
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    keyspace: KeyspaceOptions,

    /// First key of the range [default: the first of the keyspace]
    #[arg(long, value_name = "KEY", allow_negative_numbers = true)]
    from: Option<OsString>,

    /// End of the range, exclusive [default: the end of the keyspace]
    #[arg(long, value_name = "KEY", allow_negative_numbers = true)]
    to: Option<OsString>,

    /// Print only keys that begin with these bytes
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["from", "to"])]
    prefix: Option<OsString>,

    /// Print at most N entries
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Print the entries in reverse order
    #[arg(long)]
    reverse: bool,

    /// Print keys only; long values are not read
    #[arg(long)]
    keys_only: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let open = arguments.keyspace.read()?;
    let keys = open.keys;
    let range = match &arguments.prefix {
        Some(prefix) => open.keyspace.prefix(crate::key::from_argument(ogive::KeyType::Bytes, prefix)?),
        None => {
            let from = keys.parse_some(arguments.from.as_deref())?;
            let to = keys.parse_some(arguments.to.as_deref())?;
            with_bounds(from, to, |bounds| Ok::<DbRange, Failure>(open.keyspace.range(bounds)))?
        }
    };
    let mut pairs = range.pairs();
    for _ in 0..arguments.limit.unwrap_or(u64::MAX) {
        let pair = if arguments.reverse { pairs.next_back() } else { pairs.next() };
        let Some(pair) = pair.transpose()? else { break };
        let value = if arguments.keys_only { None } else { Some(pair.value()?) };
        if output.is_json() {
            let mut object = json!({ "key": keys.to_json(pair.key()) });
            if let Some(value) = value {
                object["value"] = key::bytes_to_json(&value);
            }
            output.json(&object)?;
        } else {
            match value {
                Some(value) => output.line(format_args!("{}\t{}", keys.shown(pair.key()), key::escaped(&value)))?,
                None => output.line(keys.shown(pair.key()))?,
            }
        }
    }
    Ok(Outcome::Done)
}

/// Calls `work` with the bounds of a range that may be open at either end.
pub(super) fn with_bounds<T>(
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
    work: impl FnOnce((Bound<Vec<u8>>, Bound<Vec<u8>>)) -> T,
) -> T {
    work((from.map_or(Bound::Unbounded, Bound::Included), to.map_or(Bound::Unbounded, Bound::Excluded)))
}
