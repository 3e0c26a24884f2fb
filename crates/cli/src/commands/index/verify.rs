//! `ogive index verify`: checks every page and node of an index.

use super::file::IndexFile;
use crate::args::Outcome;
use crate::failure::{Failure, Result};
use crate::output::{Output, note};
use crate::size::{counted, grouped};
use ogive::Error;
use serde_json::json;

/// Help after the arguments.
pub(super) const EXAMPLES: &str = "\
Examples:
  ogive index verify ids.ogx
  ogive index verify ids.ogx --json

Walks all nodes and checks checksums, the order of keys, links, models as lookups use them, and counts. Reports the
first finding and exits with 1.";

/// Runs the command.
pub(crate) fn run(file: &IndexFile, output: &mut Output) -> Result<Outcome> {
    let report = match file.read().and_then(|index| Ok(index.verify()?)) {
        Err(Failure::Engine(error @ Error::Damaged { .. })) => return damaged(&error, output),
        report => report?,
    };
    if output.is_json() {
        output.json(&json!({ "sound": true, "entries": report.entries, "pages": report.pages, "findings": [] }))?;
    } else {
        output.line(format_args!(
            "{}: sound; entries: {}, in {}",
            file.shown(),
            grouped(report.entries),
            counted(report.pages, "page")
        ))?;
    }
    Ok(Outcome::Done)
}

fn damaged(error: &Error, output: &mut Output) -> Result<Outcome> {
    if output.is_json()
        && let Error::Damaged { offset, detail, .. } = error
    {
        output.json(&json!({ "sound": false, "findings": [{ "offset": offset, "detail": detail }] }))?;
    }
    output.flush()?;
    note(format_args!("error: {error}"));
    note("hint: restore it from a backup; if it still opens, `ogive index scan` prints the entries up to the damage");
    Ok(Outcome::Negative)
}
