//! `ogive db backups`: lists and verifies backups.

use crate::commands::db::store::check_backups_there;
use crate::failure::{Failure, Result};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::urls::path_argument;
use crate::values::dates::date;
use crate::values::size::{grouped, human_bytes};
use crate::values::table_text::plain_table;
use clap::builder::{OsStringValueParser, TypedValueParser};
use ogive::backup::{BackupFinding, BackupInfo, Backups};
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ogive db backups backups                       list the backups, oldest first
  ogive db backups backups --verify              also read all files and compare them with their checksums
  ogive db backups backups --json

Exits with 1 if a backup is damaged, and if there is none.";

/// List the backups of a store
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbBackups {
    /// Folder of the backups, or its URL
    #[arg(value_name = "BACKUPS", value_parser = OsStringValueParser::new().try_map(path_argument))]
    backups: PathBuf,

    /// Read all files, and compare them with their checksums
    #[arg(long)]
    verify: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbBackups, output: &mut Output) -> Result<Outcome> {
    check_backups_there(&arguments.backups)?;
    let backups = Backups::at(&arguments.backups)?;
    let list = backups.list()?;
    if list.backups.is_empty() && list.damaged.is_empty() {
        let (folder, hint) =
            (arguments.backups.display(), "check the path; `ogive db backup` makes backups of a store");
        return Err(Failure::refused(format!("{folder} contains no backups"), hint));
    }
    let findings = match arguments.verify {
        true => Progress::during("verifying", Unit::Bytes, |progress| backups.verify(progress))?,
        false => list.damaged,
    };
    if output.is_json() {
        output.json(&json!({ "backups": list.backups, "archived": list.archived, "damaged": findings }))?;
    } else {
        print(&list.backups, &findings, output)?;
        if let (Some(first), Some(last)) = (list.archived.first(), list.archived.last()) {
            output.line(format_args!("archived from {first}"))?;
            output.line(format_args!("    until    {last}"))?;
        }
    }
    Ok(if findings.is_empty() { Outcome::Done } else { Outcome::Negative })
}

fn print(backups: &[BackupInfo], findings: &[BackupFinding], output: &mut Output) -> Result<()> {
    let rows = backups.iter().map(|backup| {
        let state = match findings.iter().any(|finding| finding.backups.contains(&backup.number)) {
            true => "damaged",
            false if backup.unread_files > 0 => "not verified when it was made",
            false => "",
        };
        let numbers =
            [backup.number.to_string(), date(backup.made_ms.saturating_mul(1_000_000)), grouped(backup.files)];
        numbers.into_iter().chain([human_bytes(backup.bytes), state.to_owned()]).collect()
    });
    if !backups.is_empty() {
        output.line(plain_table(&["backup", "made (UTC)", "files", "bytes", ""], rows))?;
    }
    for finding in findings {
        output.line(format_args!("{}: {}", finding.file, finding.detail))?;
    }
    Ok(())
}
