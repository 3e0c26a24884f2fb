//! `ogive db checkpoint`: copies a store consistently.

use super::store::StoreFolder;
use crate::args::Outcome;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::Output;
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ogive db checkpoint fruit fruit-backup

The copy is an independent store. On the same file system it consists of hard links, which takes little time and space;
on another one the files are copied. Later writes to either store do not affect the other.";

/// Make a consistent copy of a store
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbCheckpoint {
    #[command(flatten)]
    store: StoreFolder,

    /// Folder of the copy; created if necessary
    #[arg(value_name = "COPY")]
    copy: PathBuf,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbCheckpoint, output: &mut Output) -> Result<Outcome> {
    let interrupt = Interrupt::watch();
    if let (Ok(store), Ok(copy)) = (arguments.store.folder.canonicalize(), arguments.copy.canonicalize())
        && store == copy
    {
        return Err(Failure::usage("the copy would be the store itself", "choose another folder for the copy"));
    }
    let db = arguments.store.write_stoppable(&interrupt)?;
    db.checkpoint(&arguments.copy).map_err(|error| match interrupt.interrupted(&error) {
        Some(failure) => failure.but(format!("no copy was created in {}", arguments.copy.display())),
        None => error.into(),
    })?;
    let copied = format!("{} is a complete copy", arguments.copy.display());
    db.close().map_err(|error| Failure::from(error).but(copied))?;
    if output.is_json() {
        output.json(&json!({ "copy": arguments.copy.display().to_string() }))?;
    } else {
        output.line(format_args!("{}: a copy of {}", arguments.copy.display(), arguments.store))?;
    }
    Ok(Outcome::Done)
}
