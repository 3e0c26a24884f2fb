//! The report of a table verification.

use serde::Serialize;

/// Findings are kept up to this number; more are only counted.
const FINDINGS_MAX: usize = 1000;

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Where, in bytes from the start of the file that the detail names; of the table's own file where it names none.
    pub offset: u64,
    /// What is wrong.
    pub detail: String,
}

/// What [`Table::verify`](super::super::Table::verify) saw and found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TableVerifyReport {
    /// What is wrong, in the order in which it was met; at most a thousand.
    pub findings: Vec<Finding>,
    /// How many more findings there were.
    pub further_findings: u64,
    /// Blocks whose checksum and layout were checked.
    pub blocks: u64,
    /// Records whose order was checked.
    pub records: u64,
    /// Units of index layers and of the filter that were checked.
    pub units: u64,
    /// Long values that were read to their end.
    pub values: u64,
    /// Keys, present and absent, for which the index was asked.
    pub routes: u64,
}

impl TableVerifyReport {
    /// Whether nothing is wrong.
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
