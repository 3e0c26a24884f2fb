//! `ogive db delete`: removes an entry or a range of entries.

use super::store::KeyspaceOptions;
use crate::args::Outcome;
use crate::commands::ordered_map::bounds;
use crate::commands::verbs;
use crate::failure::{Failure, Result};
use crate::output::Output;
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
pub(crate) struct DbDelete {
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
pub(crate) fn run(arguments: &DbDelete, output: &mut Output) -> Result<Outcome> {
    let open = arguments.keyspace.write()?;
    if let Some(key) = &arguments.key {
        return verbs::delete(open, key, true, output);
    }
    let from = open.keys.parse_some(arguments.from.as_deref())?;
    let to = open.keys.parse_some(arguments.to.as_deref())?;
    if from.is_some() && to.is_some() && from > to {
        return Err(Failure::usage("the range ends before it begins", "swap --from and --to"));
    }
    open.keyspace.remove_range(bounds(from, to))?;
    open.close("the range was removed")?;
    if output.is_json() {
        output.json(&json!({ "removed": "range" }))?;
    } else {
        output.line("range removed")?;
    }
    Ok(Outcome::Done)
}
