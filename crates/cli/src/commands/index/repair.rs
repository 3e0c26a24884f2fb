//! Recovery of an index whose log is lost, in its file, for `ogive repair`.

use super::any::either;
use super::file::IndexFile;
use super::verify::IndexFindings;
use crate::advice;
use crate::failure::{Failure, Result};
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::values::size::{counted, grouped};
use ogive::page::LostLog;
use ogive_terminal::shell_word;
use serde_json::json;

/// Recovers an index that does not open because its log is missing or damaged: with `accept_loss` it is again what it
/// was at its last checkpoint, and without it nothing is changed.
pub(crate) fn recover(file: &IndexFile, accept_loss: bool, output: &mut Output) -> Result<Outcome> {
    let shown = file.to_string();
    let path = shell_word(&shown);
    let Some((index, lost)) = file.without_log()? else {
        if let Some(error) = IndexFindings::of(file)?.into_error() {
            let message = format!("{shown}: its log is intact, but its pages are not: {}", advice::message(&error));
            return Err(Failure::refused(message, way_out(&path)));
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
                format!("{shown}: {kept}: {}", advice::message(&error)),
                format!("{}, with its log", way_out(&path)),
            ));
        }
    };
    if accept_loss {
        lost.accept()?;
    }
    tell(&lost, &shown, entries, accept_loss, output)?;
    if !accept_loss {
        output.flush()?;
        note("nothing was changed; hint: copy the file, then use --accept-loss");
        return Ok(Outcome::Negative);
    }
    if !output.is_json() {
        output.line(format_args!("{shown}: repaired"))?;
    }
    Ok(Outcome::Done)
}

fn way_out(path: &str) -> String {
    format!("`ogive repair {path}` saves the entries of its intact leaves in a new index; or restore it from a backup")
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
