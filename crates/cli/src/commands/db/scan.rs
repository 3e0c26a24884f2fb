//! `ogive db scan`: prints entries in key order.

use super::store::{KeyspaceOptions, OpenKeyspace};
use crate::args::Outcome;
use crate::commands::ordered_map::Window;
use crate::commands::verbs;
use crate::failure::Result;
use crate::key;
use crate::output::Output;
use ogive::KeyType;
use std::ffi::OsString;

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
pub(crate) struct DbScan {
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

    #[command(flatten)]
    window: Window,

    /// Print keys only; long values are not read
    #[arg(long)]
    keys_only: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbScan, output: &mut Output) -> Result<Outcome> {
    let open = OpenKeyspace { keys_only: arguments.keys_only, ..arguments.keyspace.read()? };
    let Some(prefix) = &arguments.prefix else {
        return verbs::scan(&open, (arguments.from.as_deref(), arguments.to.as_deref()), arguments.window, output);
    };
    let range = open.keyspace.prefix(key::from_argument(KeyType::Bytes, prefix)?);
    open.print(range, arguments.window, output)?;
    Ok(Outcome::Done)
}
