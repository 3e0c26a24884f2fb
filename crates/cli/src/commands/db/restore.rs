//! `ogive db restore`: restores a backup of a store.

use crate::commands::db::stoppable::Stoppable;
use crate::commands::db::store::check_backups_there;
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::progress::{Progress, Unit};
use crate::urls::path_argument;
use crate::values::dates::{utc_text, utc_time};
use crate::values::size::{counted, human_bytes, whole_number};
use clap::builder::{OsStringValueParser, TypedValueParser};
use ogive::backup::{Backups, Moment, RestoredMoment};
use ogive::io::locate_folder;
use serde_json::json;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

const EXAMPLES: &str = "\
Examples:
  ogive db restore backups fruit-again           restore the newest backup
  ogive db restore backups fruit-again --backup 3
                                                 restore backup 3 of those that `ogive db backups` lists
  ogive db restore backups fruit-again --until '2026-11-30 12:00:00'
                                                 restore what was archived until then (UTC)
  ogive db restore backups fruit-again --until 0123456789abcdef-4711
                                                 restore up to this position, as in `ogive db changes`
  ogive db restore backups fruit-again --until newest
                                                 restore all that was archived

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
    /// that time or before, a position, or `newest`
    #[arg(long, value_name = "TIME|POSITION|newest", value_parser = moment, conflicts_with = "backup")]
    until: Option<Moment>,
}

/// A moment as an argument.
fn moment(text: &str) -> std::result::Result<Moment, String> {
    if text == "newest" {
        return Ok(Moment::Newest);
    }
    if let Ok(position) = text.parse() {
        return Ok(Moment::Position(position));
    }
    let hint = "give a time in UTC, such as '2026-11-30 12:00:00', a position, such as '0123456789abcdef-4711', or \
                'newest'";
    let since = utc_time(text).map_err(|_| hint.to_owned())?.duration_since(SystemTime::UNIX_EPOCH);
    let made_ms = since.ok().and_then(|since| u64::try_from(since.as_millis()).ok()).ok_or(hint)?;
    Ok(Moment::Time { made_ms })
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
    if let (None, Some(last)) = (arguments.backup, backups.list()?.archived.last()) {
        note(format_args!(
            "note: changes are archived beside the backups, up to {last}; `--until newest` restores them, too"
        ));
    }
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
    if !restored.indexes_left_out.is_empty() {
        let left_out = restored.indexes_left_out.join(", ");
        note(format_args!(
            "warning: unique indexes that were not made, since rows of this moment have the same values: {left_out}; \
             `ogive db index create` makes them once these rows differ"
        ));
    }
    if output.is_json() {
        output.json(&json!({ "store": store.to_string(), "restored": restored }))?;
    } else {
        let (number, position) = (restored.backup.number, restored.position);
        let at = match restored.made_ms {
            Some(made_ms) => format!("{} UTC, ", utc_text(SystemTime::UNIX_EPOCH + Duration::from_millis(made_ms))),
            None => String::new(),
        };
        output.line(format_args!("{store}: restored from backup {number} and the archive: {at}position {position}"))?;
    }
    Ok(Outcome::Done)
}
