//! `ogive db checkpoint`: copies a store consistently.

use super::store::{StoreFolder, refuse_same};
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::urls::path_argument;
use clap::builder::{OsStringValueParser, TypedValueParser};
use ogive::lsm::checkpoint_store;
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ogive db checkpoint fruit fruit-of-today

The store may be open in another process, which goes on reading and writing: no lock is taken, and nothing is written to
the store. The copy has everything that was durable when the command began, and is an independent store. On the same
file system it consists of hard links, which take little time and space but do not protect against damage of the disk:
for that, see `ogive db backup`.";

/// Make a consistent copy of a store
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbCheckpoint {
    #[command(flatten)]
    store: StoreFolder,

    /// Folder of the copy, or its URL; created if necessary
    #[arg(value_name = "COPY", value_parser = OsStringValueParser::new().try_map(path_argument))]
    copy: PathBuf,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbCheckpoint, output: &mut Output) -> Result<Outcome> {
    let interrupt = Interrupt::watch();
    refuse_same(&arguments.store, &arguments.copy, "copy")?;
    arguments.store.check_there()?;
    checkpoint_store(&arguments.store.stoppable(&interrupt)?, &arguments.copy).map_err(|error| {
        match interrupt.interrupted(&error) {
            Some(failure) => failure.but(format!("no copy was created in {}", arguments.copy.display())),
            None => error.into(),
        }
    })?;
    if output.is_json() {
        output.json(&json!({ "copy": arguments.copy.display().to_string() }))?;
    } else {
        output.line(format_args!("{}: a copy of {}", arguments.copy.display(), arguments.store))?;
    }
    Ok(Outcome::Done)
}
