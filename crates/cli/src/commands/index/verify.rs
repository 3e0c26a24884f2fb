//! The verification of an index, for `ogive verify`.

use super::any::either;
use super::file::IndexFile;
use super::text;
use crate::advice;
use crate::commands::ordered_map::Report;
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::values::size::{counted, grouped};
use ogive::index::{AnyIndex, IndexOptions, IndexVerifyReport, Word};
use ogive::io::{LenientStorage, Storage, UnreadablePart};
use ogive::page::PageOptions;
use ogive::{Cause, Error};
use ogive_terminal::shell_word;
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;

/// Result of a verification: counts, or the first finding.
#[derive(Debug)]
pub(super) struct IndexFindings {
    structure: Result<IndexVerifyReport, Error>,
    /// The first entry of a sound structure whose payload is no value of the stated type.
    wrong_value: Option<String>,
}

impl IndexFindings {
    /// Verifies an index. It may be too damaged to open.
    pub(super) fn of(file: &IndexFile) -> Result<Self> {
        let (storage, opened) = file.read_leniently()?;
        let found = opened.and_then(|open| {
            let report = either!(&open.any, index => index.verify())?;
            Ok((report, wrong_value(&open.any)?))
        });
        match unreadable(&*storage).map_or(found, |error| Err(error.into())) {
            Err(Failure::Engine(error @ Error { cause: Cause::Damaged, .. })) => {
                Ok(Self { structure: Err(error), wrong_value: None })
            }
            found => {
                let (report, wrong_value) = found?;
                Ok(Self { structure: Ok(report), wrong_value })
            }
        }
    }

    /// The first finding in the structure.
    pub(super) fn into_error(self) -> Option<Error> {
        self.structure.err()
    }
}

/// The first part that the device cannot read. Other findings may follow from it.
fn unreadable(storage: &dyn Storage) -> Option<Error> {
    storage.unreadable().first().map(UnreadablePart::to_error)
}

/// The first entry whose payload is no value of the stated type.
fn wrong_value(any: &AnyIndex) -> Result<Option<String>> {
    let (key_type, values) = (any.key_type(), &any.record_type().values);
    if values.is_bytes() {
        return Ok(None);
    }
    either!(any, index => {
        for entry in index.iter()? {
            let (key, payload) = entry?;
            if index.decode_value(&payload).is_err() {
                let key = text::key_shown(key_type, Word::to_u128(key.0));
                return Ok(Some(format!("the payload of key {key} is no value of type {values}")));
            }
        }
        Ok(None)
    })
}

/// Verifies an index, which may be too damaged to open; returns the number of its entries, or the first finding.
pub(crate) fn verify_at(storage: &Arc<dyn Storage>, name: &str, options: &PageOptions) -> Result<Result<u64, Error>> {
    let storage = &LenientStorage::around(storage);
    let verified = AnyIndex::open_read_only((storage, name), &IndexOptions::default().pages(options.clone()))
        .and_then(|any| either!(&any, index => index.verify()));
    match unreadable(&**storage).map_or(verified, Err) {
        Err(error @ Error { cause: Cause::Damaged, .. }) => Ok(Err(error)),
        report => Ok(Ok(report?.entries)),
    }
}

impl Report for IndexFindings {
    fn to_json(&self) -> Result<impl Serialize> {
        Ok(match (&self.structure, &self.wrong_value) {
            (Ok(_), Some(detail)) => json!({ "sound": false, "findings": [{ "detail": detail }] }),
            (Ok(report), None) => {
                let (entries, pages, copies) = (report.entries, report.pages, report.header_copies);
                json!({ "sound": true, "entries": entries, "pages": pages, "header_copies": copies, "findings": [] })
            }
            (Err(error @ Error { cause: Cause::Damaged, .. }), _) => {
                json!({ "sound": false, "findings": [{ "offset": error.offset(), "detail": error.detail() }] })
            }
            (Err(error), _) => json!({ "sound": false, "findings": [{ "detail": error.message() }] }),
        })
    }

    fn print(&self, name: &str, output: &mut Output) -> Result<()> {
        let (Ok(report), None) = (&self.structure, &self.wrong_value) else { return Ok(()) };
        let (entries, pages) = (grouped(report.entries), counted(report.pages, "page"));
        output.line(format_args!("{name}: sound; entries: {entries}, in {pages}"))
    }

    fn remarks(&self, name: &str, _: bool) -> Vec<String> {
        let path = shell_word(name);
        let error = match (&self.structure, &self.wrong_value) {
            (Err(error), _) => error,
            (Ok(_), Some(detail)) => {
                let hint = format!("`ogive index put {path} KEY VALUE` writes a value of that type");
                return vec![format!("error: {name}: {detail}"), format!("hint: {hint}")];
            }
            (Ok(report), None) if report.header_copies < 2 => {
                let remedy = "the next write to the index restores it";
                return vec![format!("note: {name}: one of the two copies of the header is invalid; {remedy}")];
            }
            (Ok(_), None) => return Vec::new(),
        };
        let hint = format!("`ogive repair {path}` saves the entries of its intact leaves; or restore it from a backup");
        vec![format!("error: {}", advice::message(error)), format!("hint: {hint}")]
    }

    fn is_sound(&self) -> bool {
        self.structure.is_ok() && self.wrong_value.is_none()
    }
}
