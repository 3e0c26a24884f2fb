//! `ogive index verify`: checks every page and node of an index.

use super::any::either;
use super::file::IndexFile;
use super::text::Form;
use crate::commands::ordered_map::Report;
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::size::{counted, grouped};
use ogive::Error;
use ogive::index::IndexVerifyReport;
use serde::Serialize;
use serde_json::json;

/// Help after the arguments.
pub(super) const EXAMPLES: &str = "\
Examples:
  ogive index verify ids.ogx
  ogive index verify ids.ogx --json

Walks all nodes and checks checksums, the order of keys, links, models as lookups use them, and counts. Reports the
first finding and exits with 1.";

/// Result of a verification: counts, or the first finding.
#[derive(Debug)]
pub(super) struct IndexFindings(Result<IndexVerifyReport, Error>);

impl IndexFindings {
    /// Verifies an index. It may be too damaged to open.
    pub(super) fn of(file: &IndexFile) -> Result<Self> {
        match file.read(Form::default()).and_then(|open| Ok(either!(&open.any, index => index.verify())?)) {
            Err(Failure::Engine(error @ Error::Damaged { .. })) => Ok(Self(Err(error))),
            report => Ok(Self(Ok(report?))),
        }
    }
}

impl Report for IndexFindings {
    fn to_json(&self) -> Result<impl Serialize> {
        Ok(match &self.0 {
            Ok(report) => {
                let (entries, pages, copies) = (report.entries, report.pages, report.header_copies);
                json!({ "sound": true, "entries": entries, "pages": pages, "header_copies": copies, "findings": [] })
            }
            Err(Error::Damaged { offset, detail, .. }) => {
                json!({ "sound": false, "findings": [{ "offset": offset, "detail": detail }] })
            }
            Err(error) => json!({ "sound": false, "findings": [{ "detail": error.to_string() }] }),
        })
    }

    fn print(&self, name: &str, output: &mut Output) -> Result<()> {
        let Ok(report) = &self.0 else { return Ok(()) };
        let (entries, pages) = (grouped(report.entries), counted(report.pages, "page"));
        output.line(format_args!("{name}: sound; entries: {entries}, in {pages}"))
    }

    fn remarks(&self, name: &str, _: bool) -> Vec<String> {
        let error = match &self.0 {
            Err(error) => error,
            Ok(report) if report.header_copies < 2 => {
                let remedy = "the next write to the index restores it";
                return vec![format!("note: {name}: one of the two copies of the header is invalid; {remedy}")];
            }
            Ok(_) => return Vec::new(),
        };
        let hint =
            "restore it from a backup; if it still opens, `ogive index scan` prints the entries up to the damage";
        vec![format!("error: {error}"), format!("hint: {hint}")]
    }

    fn is_sound(&self) -> bool {
        self.0.is_ok()
    }
}
