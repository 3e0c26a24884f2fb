//! The report of a finished join: rows, times, reads and memory.

use super::options::Method;
use super::plan::Explanation;
use serde::Serialize;

/// Where the time of a join went, in seconds. They add up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Seconds {
    /// Choosing the method.
    pub planning: f64,
    /// Reading and building indexes and hash tables.
    pub loading: f64,
    /// Waiting for reads.
    pub reading: f64,
    /// Sorting, partitioning, comparing, and making rows of the output.
    pub joining: f64,
    /// Waiting for writes, completing the output, making it durable.
    pub writing: f64,
}

impl Seconds {
    /// All of them together.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.planning + self.loading + self.reading + self.joining + self.writing
    }
}

/// What a join did.
#[derive(Clone, Debug, Serialize)]
pub struct JoinReport {
    /// The method that was executed, as text.
    pub method: String,
    /// Rows of the output.
    pub rows: u64,
    /// Where the time went.
    pub seconds: Seconds,
    /// What the planner expected it to take, in microseconds.
    pub predicted_us: f64,
    /// Bytes read from the relations, their indexes and spill files.
    pub bytes_read: u64,
    /// Requests that read them.
    pub requests: u64,
    /// Most memory that was set aside at one time, in bytes.
    pub peak_memory_bytes: u64,
    /// Why it was done so, and what else it was compared with.
    #[serde(skip)]
    pub explanation: Option<Explanation>,
}

impl JoinReport {
    /// A report of a method that has not begun.
    pub(super) fn new(method: Method) -> Self {
        Self {
            method: method.to_string(),
            rows: 0,
            seconds: Seconds::default(),
            predicted_us: 0.0,
            bytes_read: 0,
            requests: 0,
            peak_memory_bytes: 0,
            explanation: None,
        }
    }
}
