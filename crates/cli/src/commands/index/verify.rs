//! `ogive index verify`: checks every page and node of an index.

use super::any::{AnyIndex, either};
use super::file::IndexFile;
use crate::commands::ordered_map::Report;
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::size::{counted, grouped};
use crate::words::of_command;
use ogive::Error;
use ogive::index::IndexVerifyReport;
use ogive::io::Storage;
use ogive::page::PageOptions;
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;

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
        match file.read(None).and_then(|open| Ok(either!(&open.any, index => index.verify())?)) {
            Err(Failure::Engine(error @ Error::Damaged { .. })) => Ok(Self(Err(error))),
            report => Ok(Self(Ok(report?))),
        }
    }

    /// The first finding.
    pub(super) fn into_error(self) -> Option<Error> {
        self.0.err()
    }
}

/// Verifies an index, which may be too damaged to open; returns the number of its entries, or the first finding.
pub(crate) fn verify_at(storage: &Arc<dyn Storage>, name: &str, options: &PageOptions) -> Result<Result<u64, Error>> {
    let verified = AnyIndex::open(storage, name, options, true).and_then(|any| either!(&any, index => index.verify()));
    match verified {
        Err(error @ Error::Damaged { .. }) => Ok(Err(error)),
        report => Ok(Ok(report?.entries)),
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
        let hint = format!("`ogive repair {name}` saves the entries of its intact leaves; or restore it from a backup");
        vec![format!("error: {}", of_command(error)), format!("hint: {hint}")]
    }

    fn is_sound(&self) -> bool {
        self.0.is_ok()
    }
}
