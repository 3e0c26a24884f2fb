//! The report of a finished join: rows, times, reads and memory.

use super::method::JoinMethod;
use super::plan::explanation::JoinExplanation;
use super::task::TaskCounts;
use serde::Serialize;

/// The running time of a join by phase, in seconds. The phases add up to the total; with several joining threads, each
/// is the mean of theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct JoinSeconds {
    /// Choosing the method.
    pub planning: f64,
    /// Reading and building indexes and hash tables.
    pub loading: f64,
    /// Waiting for reads.
    pub reading: f64,
    /// Sorting, partitioning, comparing, and building output rows.
    pub joining: f64,
    /// Waiting for writes, completing and syncing the output.
    pub writing: f64,
}

impl JoinSeconds {
    /// The total time.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.planning + self.loading + self.reading + self.joining + self.writing
    }
}

/// The report of a finished join.
#[derive(Clone, Debug, Serialize)]
pub struct JoinReport {
    /// The executed method, as text.
    pub method: String,
    /// Number of output rows.
    pub rows: u64,
    /// Time by phase.
    pub seconds: JoinSeconds,
    /// Predicted time in microseconds: [`JoinCost::elapsed_us`](crate::join::JoinCost::elapsed_us) of the plan, which
    /// allows for reads that pass while rows are joined. Methods are ranked by `total_us`, which does not.
    pub predicted_us: f64,
    /// Bytes read from the relations, their indexes and spill files.
    pub bytes_read: u64,
    /// Read requests for these bytes.
    pub requests: u64,
    /// Peak of the memory reserved by the join, in bytes.
    pub peak_memory_bytes: u64,
    /// The plan, and the alternatives it was compared with.
    #[serde(skip)]
    pub explanation: Option<JoinExplanation>,
}

impl JoinReport {
    /// An empty report for a method.
    pub(in crate::join) fn new(method: JoinMethod) -> Self {
        Self {
            method: method.to_string(),
            rows: 0,
            seconds: JoinSeconds::default(),
            predicted_us: 0.0,
            bytes_read: 0,
            requests: 0,
            peak_memory_bytes: 0,
            explanation: None,
        }
    }

    /// Fills in the measurements.
    pub(in crate::join) fn measured(&mut self, counts: &TaskCounts) {
        let &TaskCounts { planning_s, loading_s, reading_s, joining_s, writing_s, .. } = counts;
        self.seconds = JoinSeconds {
            planning: planning_s,
            loading: loading_s,
            reading: reading_s,
            joining: joining_s,
            writing: writing_s,
        };
        self.requests = counts.requests;
        self.bytes_read = counts.bytes_read;
        self.peak_memory_bytes = counts.peak_memory_bytes;
    }
}
