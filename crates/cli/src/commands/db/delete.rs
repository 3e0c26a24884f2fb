//! `ogive db delete`: removes an entry or a range of entries.

use super::store::KeyspaceOptions;
use crate::commands::ordered_map::{OrderedMap, RangeOptions};
use crate::commands::verbs;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;
use serde_json::json;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  ogive db delete fruit apple                remove an entry
  ogive db delete fruit --from a --to c      remove the keys from 'a' up to but not including 'c'
  ogive db delete fruit --prefix app         remove the keys that begin with 'app'

Prints 'not found' to standard error and exits with 1 if a single key is absent. Removing a range costs the same for any
number of keys, unless the keyspace has indexes. The removal is durable when the command returns.";

/// Remove an entry or a range
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbDelete {
    #[command(flatten)]
    keyspace: KeyspaceOptions,

    /// Key of the entry
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    #[arg(required_unless_present_any = ["from", "to", "prefix"], conflicts_with_all = ["from", "to", "prefix"])]
    key: Option<OsString>,

    #[command(flatten)]
    range: RangeOptions,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbDelete, output: &mut Output) -> Result<Outcome> {
    let open = arguments.keyspace.write()?;
    if let Some(key) = &arguments.key {
        return verbs::delete(open, key, true, output);
    }
    if let Some(range) = open.parse_range(&arguments.range)? {
        open.keyspace.remove_range(range)?;
    }
    open.close("the range was removed")?;
    if output.is_json() {
        output.json(&json!({ "removed": "range" }))?;
    } else {
        output.line("range removed")?;
    }
    Ok(Outcome::Done)
}
