//! The report of a verification.

use crate::error::{Cause, Error, Result};
use crate::io::{Storage, UnreadablePart};
use serde::Serialize;
use std::io::ErrorKind;
use std::path::Path;

/// Maximum number of findings kept, except for the first of each file; further ones are only counted.
const FINDINGS_MAX: usize = 1000;

/// One defect of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StoreFinding {
    /// Name of the file.
    pub file: String,
    /// Offset of the defect in bytes.
    pub offset: u64,
    /// Description of the defect.
    pub detail: String,
}

/// The report of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StoreReport {
    /// The defects, in the order found: at most a thousand, plus one of each further file.
    pub findings: Vec<StoreFinding>,
    /// Number of further findings.
    pub further_findings: u64,
    /// Number of keyspaces.
    pub keyspaces: u64,
    /// Number of tables read.
    pub tables: u64,
    /// Number of entries in them.
    pub records: u64,
    /// Number of value pointers followed, in tables and logs.
    pub pointers: u64,
    /// Number of value files read.
    pub value_files: u64,
    /// Number of values in them, including dead ones.
    pub values: u64,
    /// Number of write-ahead logs read.
    pub logs: u64,
    /// Number of write groups in them.
    pub groups: u64,
    /// Number of entries in these groups.
    pub log_records: u64,
    /// Bytes of all these files.
    pub bytes: u64,
    /// The defects of indexes that the store keeps: entries without a row, and rows without their entry. They are
    /// looked for if there are no findings in files.
    pub index_faults: Vec<String>,
    /// Files left by a crash that are not part of the store, and which the next opening removes. They are not defects.
    pub orphans: Vec<String>,
}

impl StoreReport {
    /// Whether there are no findings.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty() && self.index_faults.is_empty()
    }

    /// Adds a defect of an index.
    pub(crate) fn add_index_fault(&mut self, index: &str, detail: &str) {
        match self.index_faults.len() < FINDINGS_MAX {
            true => self.index_faults.push(format!("index {index:?}: {detail}")),
            false => self.further_findings += 1,
        }
    }

    pub(crate) fn add(&mut self, file: &str, offset: u64, detail: impl Into<String>) {
        // At least one finding of each file is kept, since a repair depends on them.
        let is_known = self.findings.last().is_some_and(|last| last.file == file);
        if self.findings.len() < FINDINGS_MAX || !(is_known || self.has_finding(file)) {
            self.findings.push(StoreFinding { file: file.to_owned(), offset, detail: detail.into() });
        } else {
            self.further_findings += 1;
        }
    }

    /// Adds what could not be read, before all other findings, which may follow from it.
    pub(crate) fn add_unreadable(&mut self, storage: &dyn Storage) {
        let finding = |part: UnreadablePart| StoreFinding {
            file: file_name_of(&part.path),
            offset: part.offset,
            detail: part.detail(),
        };
        let mut findings: Vec<StoreFinding> = storage.unreadable().into_iter().map(finding).collect();
        // Tables report their own.
        self.findings.retain(|found| !findings.contains(found));
        findings.append(&mut self.findings);
        self.findings = findings;
    }

    /// Whether there is a finding for a file.
    pub(crate) fn has_finding(&self, file: &str) -> bool {
        self.findings.iter().any(|finding| finding.file == file)
    }

    /// The result of an operation on a file; `None` if the file is defective, which is recorded.
    ///
    /// # Errors
    /// Errors that say nothing about the file, such as a failing device.
    pub(crate) fn note<T>(&mut self, file: &str, outcome: Result<T>) -> Result<Option<T>> {
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

/// The offset and description of a defect, if the error states one.
pub(crate) fn finding_of(error: &Error) -> Option<(u64, String)> {
    match error {
        Error { cause: Cause::Damaged, .. } => Some((error.offset().unwrap_or(0), error.detail().to_owned())),
        Error { cause: Cause::NotATable, .. } => Some((0, format!("it is not a table: {}", error.detail()))),
        Error { cause: Cause::Version { found: found @ 1.., supported }, .. } => {
            Some((0, format!("it has format version {found}; the newest supported one is {supported}")))
        }
        Error { cause: Cause::ValueTooLarge { length, .. }, .. } => {
            Some((0, format!("it has a value of {length} bytes, which is too long")))
        }
        Error { cause: Cause::Io(ErrorKind::NotFound), .. } => Some((0, "it is missing".to_owned())),
        Error { cause: Cause::Io(ErrorKind::UnexpectedEof), .. } => Some((0, "it ends too early".to_owned())),
        _ => None,
    }
}

/// The name of the file of a path.
pub(crate) fn file_name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The folder of a storage, for error messages.
pub(crate) fn folder(storage: &dyn Storage) -> std::path::PathBuf {
    storage.path("x").parent().map(Path::to_path_buf).unwrap_or_default()
}
