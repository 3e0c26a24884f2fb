//! Progress and findings of scrubbing.

use serde::Serialize;
use std::collections::HashSet;

/// Findings that are kept of a store, at most.
const FINDINGS_MAX: usize = 100;

/// Progress and findings of the scrubbing of an open store: see
/// [`DbOptions::scrub_bytes_per_s`](crate::DbOptions::scrub_bytes_per_s).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ScrubStats {
    /// Bytes read since the store was opened.
    pub read_bytes: u64,
    /// How often all files were read.
    pub passes: u64,
    /// Bytes read of the pass that is under way.
    pub pass_bytes: u64,
    /// Damage in files that the store still has, as of their last reading: at most a hundred.
    pub findings: Vec<ScrubFinding>,
}

/// Damage that scrubbing has found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ScrubFinding {
    /// The name of the file.
    pub file: String,
    /// Its offset in the file, in bytes.
    pub offset: u64,
    /// Its description.
    pub detail: String,
}

impl ScrubStats {
    /// Replaces what is known of a file.
    pub(in crate::lsm) fn note_file(&mut self, file: &str, found: &[ScrubFinding]) {
        self.findings.retain(|finding| finding.file != file);
        let room = FINDINGS_MAX.saturating_sub(self.findings.len());
        self.findings.extend_from_slice(&found[..found.len().min(room)]);
    }

    /// Ends a pass over these files.
    pub(in crate::lsm) fn end_pass(&mut self, files: &HashSet<String>) {
        self.findings.retain(|finding| files.contains(&finding.file));
        self.passes += 1;
        self.pass_bytes = 0;
    }

    /// Number of damaged files.
    pub(in crate::lsm) fn damaged_files(&self) -> usize {
        let files: HashSet<&str> = self.findings.iter().map(|finding| finding.file.as_str()).collect();
        files.len()
    }
}
