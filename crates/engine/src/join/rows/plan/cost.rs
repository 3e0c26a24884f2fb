//! The predicted cost of a join by one method.

use serde::Serialize;
use std::ops::AddAssign;

/// The fraction of the time that reads ahead hide, where device and processor could both be busy: threads wait for each
/// other, and a join begins and ends without reads ahead.
const HIDDEN_FRACTION: f64 = 0.8;

/// The predicted cost of one method. Methods are compared by the sum of device and processor time: reads ahead hide one
/// behind the other, but about equally in every method. [`Self::elapsed_us`] takes that into account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct JoinCost {
    /// Device and processor time together, in microseconds.
    pub total_us: f64,
    /// Device time of the requests (T(n), P at once), in microseconds.
    pub device_us: f64,
    /// The part of it that passes while rows are joined, because several reads are in flight ahead of them.
    pub ahead_us: f64,
    /// Processor time on one core, in microseconds.
    pub cpu_us: f64,
    /// Bytes read from the relations, their indexes and spill files.
    pub bytes_read: f64,
    /// Read requests for these bytes.
    pub requests: f64,
    /// Bytes written to spill files.
    pub bytes_spilled: f64,
    /// Bytes of text that are parsed.
    pub bytes_parsed: f64,
    /// Rows that are formatted as text.
    pub rows_formatted: f64,
    /// Memory of indexes, hash tables and other structures that must be entirely in memory, in bytes.
    pub memory_bytes: f64,
}

impl JoinCost {
    /// Predicted time from the start of the join to its end, in microseconds.
    #[must_use]
    pub fn elapsed_us(&self) -> f64 {
        self.total_us - HIDDEN_FRACTION * self.ahead_us.min(self.cpu_us)
    }

    /// Adds processor work: `times` steps of this many nanoseconds.
    pub fn work(&mut self, times: f64, each_ns: f64) {
        self.cpu_us += times * each_ns / 1e3;
        self.add_up();
    }

    /// Adds memory needed at the same time as the rest.
    pub fn hold(&mut self, bytes: f64) {
        self.memory_bytes += bytes;
    }

    /// Sums device and processor time up after a change of either.
    pub(in crate::join) fn add_up(&mut self) {
        self.total_us = self.device_us + self.cpu_us;
    }
}

impl AddAssign for JoinCost {
    fn add_assign(&mut self, other: Self) {
        self.device_us += other.device_us;
        self.ahead_us += other.ahead_us;
        self.cpu_us += other.cpu_us;
        self.bytes_read += other.bytes_read;
        self.requests += other.requests;
        self.bytes_spilled += other.bytes_spilled;
        self.bytes_parsed += other.bytes_parsed;
        self.rows_formatted += other.rows_formatted;
        self.memory_bytes += other.memory_bytes;
        self.add_up();
    }
}
