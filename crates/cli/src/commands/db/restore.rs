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
use ogive::KeyType;
use ogive::backup::{Backups, Moment, RestoredMoment};
use ogive::io::locate_folder;
use ogive::types::TimeUnit;
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ogive db restore backups fruit-again           restore the newest backup
  ogive db restore backups fruit-again --backup 3
                                                 restore backup 3 of those that `ogive db backups` lists
  ogive db restore backups fruit-again --until '2026-11-30 12:00:00'
                                                 restore what was archived until then (UTC)
  ogive db restore backups fruit-again --until 0123456789abcdef-4711
                                                 restore up to this position, as in `ogive db changes`

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

    /// Restore the store as of a moment whose changes are archived: a time in UTC, for the last run of the archive at
    /// that time or before, or a position
    #[arg(long, value_name = "TIME|POSITION", value_parser = moment, conflicts_with = "backup")]
    until: Option<Moment>,
}

/// A moment as an argument.
fn moment(text: &str) -> std::result::Result<Moment, String> {
    if let Ok(position) = text.parse() {
        return Ok(Moment::Position(position));
    }
    let text = text.strip_suffix('Z').unwrap_or(text).replace('T', " ");
    let made_ms = KeyType::Timestamp(TimeUnit::Millisecond).parse(&text).ok().and_then(|key| {
        // Keys order as signed numbers do; times before 1970 are none.
        u64::from_be_bytes(key.try_into().ok()?).checked_sub(1 << 63)
    });
    let hint = "give a time in UTC, such as '2026-11-30 12:00:00', or a position, such as '0123456789abcdef-4711'";
    made_ms.map(|made_ms| Moment::Time { made_ms }).ok_or_else(|| hint.to_owned())
}

/// Runs the command.
pub(crate) fn run(arguments: &DbRestore, output: &mut Output) -> Result<Outcome> {
    check_backups_there(&arguments.backups)?;
    let interrupt = Interrupt::watch();
    let backups = Backups::at(Stoppable::around(locate_folder(&arguments.backups)?, &interrupt))?;
    let failed = |error| match interrupt.interrupted(&error) {
        Some(failure) => failure.but(format!("no store was created in {}", arguments.store.display())),
        None => error.into(),
    };
    if let Some(until) = arguments.until {
        let restored = Progress::during("restoring", Unit::Bytes, |progress| {
            backups.restore_until(until, &arguments.store, progress)
        });
        return show_moment(arguments, &restored.map_err(failed)?, output);
    }
    let restored = Progress::during("restoring", Unit::Bytes, |progress| {
        backups.restore(arguments.backup, &arguments.store, progress)
    });
    let info = restored.map_err(failed)?;
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

fn show_moment(arguments: &DbRestore, restored: &RestoredMoment, output: &mut Output) -> Result<Outcome> {
    let store = arguments.store.display();
    if output.is_json() {
        output.json(&json!({ "store": store.to_string(), "restored": restored }))?;
    } else {
        let (number, position) = (restored.backup.number, restored.position);
        output.line(format_args!("{store}: restored from backup {number} and the archive: position {position}"))?;
    }
    Ok(Outcome::Done)
}
