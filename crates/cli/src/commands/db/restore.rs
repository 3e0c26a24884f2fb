//! `ogive db restore`: restores a backup of a store.

use crate::commands::db::stoppable::Stoppable;
use crate::commands::db::store::check_backups_there;
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::urls::path_argument;
use crate::values::size::{counted, human_bytes, whole_number};
use clap::builder::{OsStringValueParser, TypedValueParser};
use ogive::backup::Backups;
use ogive::io::locate_folder;
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ogive db restore backups fruit-again           restore the newest backup
  ogive db restore backups fruit-again --backup 3
                                                 restore backup 3 of those that `ogive db backups` lists

Each file is compared with its checksum. A damaged backup is an error that names the file, and leaves nothing in the
folder. The restored store is independent of the original one.";

/// Restore a backup as a new store
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbRestore {
    /// Folder of the backups, or its URL
    #[arg(value_name = "BACKUPS", value_parser = OsStringValueParser::new().try_map(path_argument))]
    backups: PathBuf,

    /// Folder of the new store, or its URL; created if necessary
    #[arg(value_name = "STORE", value_parser = OsStringValueParser::new().try_map(path_argument))]
    store: PathBuf,

    /// Number of the backup [default: the newest]
    #[arg(long, value_name = "N", value_parser = whole_number::<u64>)]
    backup: Option<u64>,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbRestore, output: &mut Output) -> Result<Outcome> {
    check_backups_there(&arguments.backups)?;
    let interrupt = Interrupt::watch();
    let backups = Backups::at(Stoppable::around(locate_folder(&arguments.backups)?, &interrupt))?;
    let restored = Progress::during("restoring", Unit::Bytes, |progress| {
        backups.restore(arguments.backup, &arguments.store, progress)
    });
    let info = restored.map_err(|error| match interrupt.interrupted(&error) {
        Some(failure) => failure.but(format!("no store was created in {}", arguments.store.display())),
        None => error.into(),
    })?;
    if output.is_json() {
        output.json(&json!({ "store": arguments.store.display().to_string(), "backup": info }))?;
    } else {
        output.line(format_args!(
            "{}: restored from backup {}: {} of {}",
            arguments.store.display(),
            info.number,
            counted(info.files, "file"),
            human_bytes(info.bytes),
        ))?;
    }
    Ok(Outcome::Done)
}
