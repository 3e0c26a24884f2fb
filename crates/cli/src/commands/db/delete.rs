//! `ogive db delete`: removes an entry or a range of entries.

use super::store::KeyspaceOptions;
use crate::args::Outcome;
use crate::failure::{Failure, Result};
use crate::output::{Output, note};
use serde_json::json;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  ogive db delete fruit apple                remove an entry
  ogive db delete fruit --from a --to c      remove the keys from 'a' up to but not including 'c'

Prints 'not found' to standard error and exits with 1 if a single key is absent. Removing a range costs the same for any
number of keys. The removal is durable when the command returns.";

/// Remove an entry or a range
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    keyspace: KeyspaceOptions,

    /// Key of the entry
    #[arg(value_name = "KEY", allow_negative_numbers = true, required_unless_present_any = ["from", "to"])]
    key: Option<OsString>,

    /// First key of the range [default: the first of the keyspace]
    #[arg(long, value_name = "KEY", allow_negative_numbers = true, conflicts_with = "key")]
    from: Option<OsString>,

    /// End of the range, exclusive [default: the end of the keyspace]
    #[arg(long, value_name = "KEY", allow_negative_numbers = true, conflicts_with = "key")]
    to: Option<OsString>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let open = arguments.keyspace.write()?;
    let keys = open.keys;
    let Some(key) = keys.parse_some(arguments.key.as_deref())? else {
        let from = keys.parse_some(arguments.from.as_deref())?;
        let to = keys.parse_some(arguments.to.as_deref())?;
        if from.is_some() && to.is_some() && from > to {
            return Err(Failure::usage("the range ends before it begins", "swap --from and --to"));
        }
        super::scan::with_bounds(from, to, |bounds| open.keyspace.remove_range(bounds))?;
        open.close("the range was removed")?;
        if output.is_json() {
            output.json(&json!({ "removed": "range" }))?;
        } else {
            output.line("range removed")?;
        }
        return Ok(Outcome::Done);
    };
    let is_there = open.keyspace.contains_key(&key)?;
    if is_there {
        open.keyspace.remove(&key)?;
    }
    open.close(if is_there { "the entry was removed" } else { "the key was absent" })?;
    if output.is_json() {
        output.json(&json!({ "key": keys.to_json(&key), "removed": u64::from(is_there) }))?;
    } else if is_there {
        output.line(format_args!("{}: removed", keys.shown(&key)))?;
    }
    if !is_there {
        output.flush()?;
        note(format_args!("{}: not found", keys.shown(&key)));
        return Ok(Outcome::Negative);
    }
    Ok(Outcome::Done)
}
