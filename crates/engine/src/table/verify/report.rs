//! The report of a table verification.

use serde::Serialize;

/// Limit for the number of findings kept; further ones are only counted.
const FINDINGS_MAX: usize = 1000;

/// One defect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Offset in bytes in the file that the detail names, or in the table's own file if it names none.
    pub offset: u64,
    /// A description of the defect.
    pub detail: String,
}

/// The result of [`Table::verify`](super::super::Table::verify).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TableVerifyReport {
    /// The defects in the order of their discovery; at most a thousand.
    pub findings: Vec<Finding>,
    /// Number of further defects.
    pub further_findings: u64,
    /// Number of blocks whose checksum and layout were checked.
    pub blocks: u64,
    /// Number of records whose order was checked.
    pub records: u64,
    /// Number of index and filter pages checked.
    pub units: u64,
    /// Number of long values read to their end.
    pub values: u64,
    /// Number of keys, present and absent, routed through the index.
    pub routes: u64,
}

impl TableVerifyReport {
    /// Whether no defect was found.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    pub(super) fn add(&mut self, offset: u64, detail: impl Into<String>) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding { offset, detail: detail.into() });
        } else {
            self.further_findings += 1;
        }
    }
}
