//! The predicted cost of a join by one method.

use super::device::Requests;
use crate::io::Profile;
use serde::Serialize;
use std::ops::AddAssign;

/// Predicted figures of one method. Device and CPU add up: reading ahead hides one behind the other, but not more of it in one
/// method than in another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Device and CPU together, in microseconds.
    pub total_us: f64,
    /// Time that the device needs for the requests (T(n), P at once), in microseconds.
    pub device_us: f64,
    /// Time that one core needs, in microseconds.
    pub cpu_us: f64,
    /// Bytes read from the relations, their indexes and spill files.
    pub bytes_read: f64,
    /// Requests that read them.
    pub requests: f64,
    /// Bytes written to spill files.
    pub bytes_spilled: f64,
    /// Bytes of indexes, hash tables and what else must be in memory as a whole.
    pub memory_bytes: f64,
}

impl Cost {
    /// Reads.
    pub(in crate::join) fn read(&mut self, requests: Requests, profile: &Profile) {
        self.device_us += requests.time_us(profile);
        self.bytes_read += requests.bytes;
        self.requests += requests.count;
        self.add_up();
    }

    /// Writes, of the same price as reads of their size: a profile knows no other.
    pub(in crate::join) fn write(&mut self, requests: Requests, profile: &Profile) {
        self.device_us += requests.time_us(profile);
        self.bytes_spilled += requests.bytes;
        self.add_up();
    }

    /// Work of so many nanoseconds for each of `times`.
    pub(in crate::join) fn work(&mut self, times: f64, each_ns: f64) {
        self.cpu_us += times * each_ns / 1e3;
        self.add_up();
    }

    /// What must be in memory at the same time as all else that was counted.
    pub(in crate::join) fn hold(&mut self, bytes: f64) {
        self.memory_bytes += bytes;
    }

    fn add_up(&mut self) {
        self.total_us = self.device_us + self.cpu_us;
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.device_us += other.device_us;
        self.cpu_us += other.cpu_us;
        self.bytes_read += other.bytes_read;
        self.requests += other.requests;
        self.bytes_spilled += other.bytes_spilled;
        self.memory_bytes += other.memory_bytes;
        self.add_up();
    }
}
