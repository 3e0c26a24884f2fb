//! `ogive db backup`: makes an incremental backup of a store.

use super::store::{StoreFolder, refuse_same};
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::progress::{Progress, Unit};
use crate::urls::path_argument;
use crate::values::size::{counted, human_bytes, positive_count};
use clap::builder::{OsStringValueParser, TypedValueParser};
use ogive::backup::{BackupOptions, BackupSummary, Backups};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ogive db backup fruit backups                  the first backup copies all files, later ones what is new
  ogive db backup fruit backups --keep 7         remove all but the newest 7 afterwards
  ogive db backup s3://b/fruit s3://b/backups    within a bucket, tables are copied by requests, and read once
  ogive db backups backups                       list the backups
  ogive db restore backups fruit-again           restore the newest

The store may be open in another process, which goes on reading and writing: no lock is taken, and nothing is written to
the store. The backup has everything that was durable when the command began. New files are read back and verified,
unless --trust is given. If the command fails or is killed, earlier backups are as they were.";

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
}

/// Runs the command.
pub(crate) fn run(arguments: &DbBackup, output: &mut Output) -> Result<Outcome> {
    let interrupt = Interrupt::watch();
    refuse_same(&arguments.store, &arguments.backups, "backup")?;
    arguments.store.check_there()?;
    let source = arguments.store.stoppable(&interrupt)?;
    let keep = arguments.keep.map(|keep| usize::try_from(keep).unwrap_or(usize::MAX));
    let options = keep.into_iter().fold(BackupOptions::default().trust(arguments.trust), BackupOptions::keep);
    let backups = Backups::at(&arguments.backups)?;
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
    }
    Ok(Outcome::Done)
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
    if !summary.damaged.is_empty() {
        let list: Vec<String> = summary.damaged.iter().map(u64::to_string).collect();
        note(format_args!(
            "the records of backups {} are damaged, so nothing was removed: delete these NNNNNN.backup files if they \
             cannot be restored from elsewhere",
            list.join(", ")
        ));
    }
}
