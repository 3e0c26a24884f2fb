//! `ogive index repair`: lets an index go on whose log is lost.

use super::file::IndexFile;
use crate::args::Outcome;
use crate::failure::{Failure, Result};
use crate::output::{Output, note};
use crate::size::{counted, grouped};
use ogive::page::LostLog;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  ogive index repair ids.ogx                  say what is lost, and change nothing
  cp ids.ogx ids-damaged.ogx && ogive index repair ids.ogx --accept-loss
                                              go on without the log

For an index whose log is missing or damaged, so that it does not open. Kept is what its last checkpoint left, once every page of that was
checked; all commits since are lost, and how many they were is not known. An index that opens is not touched, and neither is one whose
pages are damaged: restore that from a copy.";

/// Go on without a log that is lost
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    file: IndexFile,

    /// Give up all commits since the last checkpoint; without it, nothing is changed
    #[arg(long)]
    accept_loss: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let shown = arguments.file.shown();
    let Some((index, lost)) = arguments.file.without_log()? else {
        if output.is_json() {
            output.json(&json!({ "opens": true, "repaired": false }))?;
        } else {
            output.line(format_args!("{shown}: it opens; nothing to repair"))?;
        }
        return Ok(Outcome::Done);
    };
    let entries = match index.verify() {
        Ok(report) => report.entries,
        Err(error) => {
            let kept = "its log is lost, and what its last checkpoint left is not whole, so nothing was changed";
            return Err(Failure::refused(
                format!("{shown}: {kept}: {error}"),
                "restore the index and its log from a copy",
            ));
        }
    };
    if arguments.accept_loss {
        lost.accept()?;
    }
    tell(&lost, &shown, entries, arguments.accept_loss, output)?;
    if !arguments.accept_loss {
        output.flush()?;
        note("nothing was changed; hint: copy the file, then give --accept-loss");
        return Ok(Outcome::Negative);
    }
    if !output.is_json() {
        output.line(format_args!("{shown}: it opens again"))?;
    }
    Ok(Outcome::Done)
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
        "kept: {} entries, as commit {} left them, the last that a checkpoint brought into the file",
        grouped(entries),
        grouped(lost.checkpoint)
    ))?;
    output.line("lost: all later commits; how many they were is not known")?;
    if !lost.segments.is_empty() {
        let count = counted(lost.segments.len() as u64, "segment");
        output.line(format_args!("of no use: {count} of the log that are there: {}", lost.segments.join(", ")))?;
    }
    Ok(())
}
