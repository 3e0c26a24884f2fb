//! `ogive db delete`: removes an entry, or a range of them.

use super::store::KeyspaceOptions;
use crate::args::Outcome;
use crate::failure::{Failure, Result};
use crate::output::{Output, note};
use serde_json::json;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  ogive db delete fruit apple                remove an entry
  ogive db delete fruit --from a --to c      remove the keys from 'a' up to, but without, 'c'

A single key that is not there is told on standard error, and the exit code is 1. A range costs the same however many keys
are in it. When the command is done, the removal is durable.";

/// Remove an entry, or all of a range
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    keyspace: KeyspaceOptions,

    /// Key of the entry
    #[arg(value_name = "KEY", allow_negative_numbers = true, required_unless_present_any = ["from", "to"])]
    key: Option<OsString>,

    /// First key of the range [default: the first of all]
    #[arg(long, value_name = "KEY", allow_negative_numbers = true, conflicts_with = "key")]
    from: Option<OsString>,

    /// Key that the range ends before [default: behind the last of all]
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
            return Err(Failure::usage("the range ends before it begins", "exchange --from and --to"));
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
    open.close(if is_there { "the entry was removed" } else { "the key was not there" })?;
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
