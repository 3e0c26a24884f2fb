//! The report of a verification.

use crate::error::{Error, Result};
use crate::io::Storage;
use serde::Serialize;
use std::io::ErrorKind;
use std::path::Path;

/// Findings are kept up to this number; more are only counted, but for the first of each file.
const FINDINGS_MAX: usize = 1000;

/// One thing in a store that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StoreFinding {
    /// Name of the file.
    pub file: String,
    /// Where, in bytes from its start.
    pub offset: u64,
    /// What is wrong.
    pub detail: String,
}

/// What a walk over a store saw and found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StoreReport {
    /// What is wrong, in the order in which it was met; at most a thousand, and one of each further file.
    pub findings: Vec<StoreFinding>,
    /// How many more findings there were.
    pub further_findings: u64,
    /// Keyspaces.
    pub keyspaces: u64,
    /// Tables that were read.
    pub tables: u64,
    /// Entries in them.
    pub records: u64,
    /// Pointers that were followed to their values, in tables and logs.
    pub pointers: u64,
    /// Value files that were read.
    pub value_files: u64,
    /// Values in them, dead ones included.
    pub values: u64,
    /// Write-ahead logs that were read.
    pub logs: u64,
    /// Groups of operations in them.
    pub groups: u64,
    /// Bytes of all these files.
    pub bytes: u64,
    /// Files that belong to no part of the store: a crash leaves them, and the next open removes them. They are no damage.
    pub orphans: Vec<String>,
}

impl StoreReport {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    pub(super) fn add(&mut self, file: &str, offset: u64, detail: impl Into<String>) {
        // Of each file at least one is kept: a repair goes by them.
        let is_known = self.findings.last().is_some_and(|last| last.file == file);
        if self.findings.len() < FINDINGS_MAX || !(is_known || self.has_finding(file)) {
            self.findings.push(StoreFinding { file: file.to_owned(), offset, detail: detail.into() });
        } else {
            self.further_findings += 1;
        }
    }

    /// Whether something is wrong with a file.
    pub(super) fn has_finding(&self, file: &str) -> bool {
        self.findings.iter().any(|finding| finding.file == file)
    }

    /// What an operation on a file gave; `None` where the file is not as it should be, which is noted.
    ///
    /// # Errors
    /// What says nothing about the file, such as a device that fails.
    pub(super) fn note<T>(&mut self, file: &str, outcome: Result<T>) -> Result<Option<T>> {
        match outcome {
            Ok(done) => Ok(Some(done)),
            Err(error) => match finding_of(&error) {
                Some((offset, detail)) => {
                    self.add(file, offset, detail);
                    Ok(None)
                }
                None => Err(error),
            },
        }
    }
}

/// Where and how a file is not as it should be, if an error says so.
pub(super) fn finding_of(error: &Error) -> Option<(u64, String)> {
    match error {
        Error::Damaged { offset, detail, .. } => Some((*offset, detail.clone())),
        Error::NotATable { detail, .. } => Some((0, format!("it is no table: {detail}"))),
        Error::UnknownVersion { found, supported, .. } => {
            Some((0, format!("it has format version {found}, and {supported} is the newest that is known here")))
        }
        Error::ValueTooLarge { length, .. } => Some((0, format!("it has a value of {length} bytes, too long for it"))),
        Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => Some((0, "it is missing".to_owned())),
        Error::Io { source, .. } if source.kind() == ErrorKind::UnexpectedEof => {
            Some((0, "it ends too early".to_owned()))
        }
        _ => None,
    }
}

/// The folder of a storage, for messages.
pub(super) fn folder(storage: &dyn Storage) -> std::path::PathBuf {
    storage.path("x").parent().map(Path::to_path_buf).unwrap_or_default()
}
