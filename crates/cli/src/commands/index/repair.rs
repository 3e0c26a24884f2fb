//! `ogive index repair`: recovers an index without its log.

use super::any::either;
use super::file::IndexFile;
use super::verify::IndexFindings;
use crate::failure::{Failure, Result};
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::size::{counted, grouped};
use crate::words::of_command;
use ogive::page::LostLog;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  ogive index repair ids.ogx                  report the loss and change nothing
  cp ids.ogx ids-damaged.ogx && ogive index repair ids.ogx --accept-loss
                                              recover without the log

For an index that does not open because its log is missing or damaged. Checks every page of the last checkpoint and
keeps that state; all later commits are lost, and their number is unknown. Does not change an index that opens, or one
with damaged pages. `ogive repair` saves what is left of both in a new index, commits before the damage included.";

/// Recover an index whose log is lost
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct IndexRepair {
    #[command(flatten)]
    file: IndexFile,

    /// Discard all commits since the last checkpoint; without this option, nothing is changed
    #[arg(long)]
    accept_loss: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &IndexRepair, output: &mut Output) -> Result<Outcome> {
    let shown = arguments.file.to_string();
    let Some((index, lost)) = arguments.file.without_log()? else {
        if let Some(error) = IndexFindings::of(&arguments.file)?.into_error() {
            let message = format!("{shown}: its log is intact, but its pages are not: {}", of_command(&error));
            return Err(Failure::refused(message, advice(&shown)));
        }
        if output.is_json() {
            output.json(&json!({ "opens": true, "repaired": false }))?;
        } else {
            output.line(format_args!("{shown}: opens normally; nothing to repair"))?;
        }
        return Ok(Outcome::Done);
    };
    let entries = match either!(&index, index => index.verify()) {
        Ok(report) => report.entries,
        Err(error) => {
            let kept = "its log is lost and its last checkpoint is damaged, so nothing was changed";
            return Err(Failure::refused(
                format!("{shown}: {kept}: {}", of_command(&error)),
                format!("{}, with its log", advice(&shown)),
            ));
        }
    };
    if arguments.accept_loss {
        lost.accept()?;
    }
    tell(&lost, &shown, entries, arguments.accept_loss, output)?;
    if !arguments.accept_loss {
        output.flush()?;
        note("nothing was changed; hint: copy the file, then use --accept-loss");
        return Ok(Outcome::Negative);
    }
    if !output.is_json() {
        output.line(format_args!("{shown}: repaired"))?;
    }
    Ok(Outcome::Done)
}

fn advice(shown: &str) -> String {
    format!("`ogive repair {shown}` saves the entries of its intact leaves in a new index; or restore it from a backup")
}

fn tell(lost: &LostLog, shown: &str, entries: u64, is_accepted: bool, output: &mut Output) -> Result<()> {
    if output.is_json() {
        return output.json(&json!({
            "opens": false,
            "repaired": is_accepted,
            "cause": lost.cause.to_string(),
            "entries": entries,
            "commit": lost.checkpoint,
            "unused_segments": lost.segments,
        }));
    }
    output.line(format_args!("{shown}: its log is lost: {}", lost.cause))?;
    output.line(format_args!(
        "kept: {}, as of commit {}, the last checkpoint",
        counted(entries, "entry"),
        grouped(lost.checkpoint)
    ))?;
    output.line("lost: all later commits; their number is unknown")?;
    if !lost.segments.is_empty() {
        let count = counted(lost.segments.len() as u64, "segment");
        output.line(format_args!("unusable: {count} of the log: {}", lost.segments.join(", ")))?;
    }
    Ok(())
}
