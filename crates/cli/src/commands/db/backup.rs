//! `ogive db backup`: makes an incremental backup of a store. `ogive db archive`: archives its changes since, beside
//! the backups.

use super::store::{StoreFolder, check_backups_there, refuse_same};
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::progress::{Progress, Unit};
use crate::urls::path_argument;
use crate::values::size::{counted, human_bytes, positive_count};
use clap::builder::{OsStringValueParser, TypedValueParser};
use ogive::backup::{ArchiveSummary, BackupOptions, BackupSummary, Backups};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ogive db backup fruit backups                  the first backup copies all files, later ones what is new
  ogive db backup fruit backups --keep 7         remove all but the newest 7 afterwards
  ogive db backup s3://b/fruit s3://b/backups    within a bucket, tables are copied by requests, and read once
  ogive db backups backups                       list the backups
  ogive db restore backups fruit-again           restore the newest
  ogive db backup fruit backups --archive-logs   also archive the changes, so that any moment can be restored

The store may be open in another process, which goes on reading and writing: no lock is taken, and nothing is written to
the store, but for the file of a subscriber with --archive-logs. The backup has everything that was durable when the
command began. New files are read back and verified, unless --trust is given. If the command fails or is killed, earlier
backups are as they were.";

const ARCHIVE_EXAMPLES: &str = "\
Examples:
  ogive db backup fruit backups --archive-logs   begin: once, and as often as there is to be a backup
  ogive db archive fruit backups                 each minute, by a timer
  ogive db restore backups fruit-again --until '2026-11-30 12:00:00'

The store may be open in another process. It keeps its changes until they are archived, up to a limit of bytes; if that
is exceeded, the command fails, and the next backup with --archive-logs begins the archive anew. A second folder of
backups needs a subscriber of its own, given to both commands: --archive-logs=NAME, and --subscriber NAME. With --wait,
the command waits for a backup that is being made to the folder.";

/// Archive the changes of a store since the last run, beside its backups
#[derive(Debug, clap::Args)]
#[command(after_help = ARCHIVE_EXAMPLES)]
pub(crate) struct DbArchive {
    #[command(flatten)]
    store: StoreFolder,

    /// Folder of the backups of this store, or its URL
    #[arg(value_name = "BACKUPS", value_parser = OsStringValueParser::new().try_map(path_argument))]
    backups: PathBuf,

    /// Name of the subscriber for which the store keeps its changes; another one for each folder of backups
    #[arg(long, value_name = "NAME", default_value = BackupOptions::ARCHIVE)]
    subscriber: String,
}

/// Runs the command `archive`.
pub(crate) fn archive(arguments: &DbArchive, output: &mut Output) -> Result<Outcome> {
    let interrupt = Interrupt::watch();
    refuse_same(&arguments.store, &arguments.backups, "archive")?;
    arguments.store.check_there()?;
    check_backups_there(&arguments.backups)?;
    let source = arguments.store.stoppable(&interrupt)?;
    let backups = Backups::at(&arguments.backups)?.wait_for_lock(arguments.store.wait());
    let archived = backups.archive(&source, &arguments.subscriber);
    let summary = archived.map_err(|error| match interrupt.interrupted(&error) {
        Some(failure) => failure.but("what was archived before is as it was"),
        None => error.into(),
    })?;
    if output.is_json() {
        output.json(&summary)?;
    } else {
        output.line(format_args!("{}: {}", arguments.backups.display(), archive_line(&summary)))?;
    }
    Ok(Outcome::Done)
}

/// What was archived, in words.
fn archive_line(summary: &ArchiveSummary) -> String {
    let batches = counted(summary.batches, "batch of changes");
    let batches = if summary.batches == 1 { batches } else { format!("{} batches of changes", summary.batches) };
    format!("archived {batches} ({}), up to {}", human_bytes(summary.bytes), summary.moment)
}

/// Make an incremental backup of a store
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbBackup {
    #[command(flatten)]
    store: StoreFolder,

    /// Folder of the backups of this store, or its URL; created if necessary
    #[arg(value_name = "BACKUPS", value_parser = OsStringValueParser::new().try_map(path_argument))]
    backups: PathBuf,

    /// Number of backups that remain: older ones are removed afterwards [default: all]
    #[arg(long, value_name = "N", value_parser = positive_count)]
    keep: Option<u64>,

    /// Trust the files of the store: do not read and verify the copies. The record says so, and `ogive db restore`
    /// verifies them before it restores
    #[arg(long)]
    trust: bool,

    /// Archive the changes of the store, too, for `ogive db restore --until`; the store keeps them for a subscriber of
    /// this name until they are archived. `ogive db archive` goes on between backups
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true,
        default_missing_value = BackupOptions::ARCHIVE)]
    archive_logs: Option<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbBackup, output: &mut Output) -> Result<Outcome> {
    let interrupt = Interrupt::watch();
    refuse_same(&arguments.store, &arguments.backups, "backup")?;
    arguments.store.check_there()?;
    let source = arguments.store.stoppable(&interrupt)?;
    let keep = arguments.keep.map(|keep| usize::try_from(keep).unwrap_or(usize::MAX));
    let options = keep.into_iter().fold(BackupOptions::default().trust(arguments.trust), BackupOptions::keep);
    let options = arguments.archive_logs.iter().fold(options, BackupOptions::archive_logs);
    let backups = Backups::at(&arguments.backups)?.wait_for_lock(arguments.store.wait());
    let made = Progress::during("backing up", Unit::Bytes, |progress| backups.create(&source, &options, progress));
    let summary = made.map_err(|error| match interrupt.interrupted(&error) {
        Some(failure) => failure.but("no backup was made; earlier ones are as they were"),
        None => error.into(),
    })?;
    remarks(&summary);
    if output.is_json() {
        output.json(&summary)?;
    } else {
        output.line(format_args!(
            "{}: backup {} of {}: {} of {}, of which {} of {} copied{}{}",
            arguments.backups.display(),
            summary.backup.number,
            arguments.store,
            counted(summary.backup.files, "file"),
            human_bytes(summary.backup.bytes),
            counted(summary.copied_files, "file"),
            human_bytes(summary.copied_bytes),
            if summary.backup.unread_files > 0 { ", not verified" } else { "" },
            removed(&summary.removed),
        ))?;
        if let Some(archived) = &summary.archive {
            output.line(format_args!("{}: {}", arguments.backups.display(), archive_line(archived)))?;
        }
    }
    Ok(if summary.archive_failure.is_some() { Outcome::Negative } else { Outcome::Done })
}

fn removed(numbers: &[u64]) -> String {
    match numbers {
        [] => String::new(),
        numbers => {
            let list: Vec<String> = numbers.iter().map(u64::to_string).collect();
            format!("; removed {} ({})", counted(numbers.len() as u64, "backup"), list.join(", "))
        }
    }
}

fn remarks(summary: &BackupSummary) {
    if let Some(failure) = &summary.removal_failure {
        note(format_args!("older backups could not be removed: {failure}; the next backup tries again"));
    }
    if let Some(failure) = &summary.archive_failure {
        note(format_args!("the backup was made, but changes could not be archived: {failure}"));
    }
    if !summary.damaged.is_empty() {
        let list: Vec<String> = summary.damaged.iter().map(u64::to_string).collect();
        note(format_args!(
            "the records of backups {} are damaged, so nothing was removed: delete these NNNNNN.backup files if they \
             cannot be restored from elsewhere",
            list.join(", ")
        ));
    }
}
