//! Read-ahead of values: a scan that meets a pointer collects the records that follow, and reads all their values in
//! one wave, ordered by their place in the value files.

use super::value_wave::{BatchLimits, read_values};
use crate::block::Slice;
use crate::error::Error;
use crate::lsm::state::entry::ValueKind;
use crate::lsm::state::tables::value_files::ValueFiles;
use crate::lsm::state::view::FoundValue;
use std::collections::VecDeque;

/// Records that are collected at once, at most. Each time twice as many are, so that a short scan reads few in vain.
const RECORDS_MAX: usize = 1024;

/// Bytes of the values that are collected, at most, for any memory.
const VALUE_BYTES_MAX: u64 = 8 << 20;

/// A record that a scan has passed, but not returned. Its value is read again if the wave failed, so that the error is
/// that of the record which has it.
#[derive(Clone, Debug)]
pub(in crate::lsm) struct QueuedRecord {
    pub(in crate::lsm) key: Slice,
    pub(in crate::lsm) found: FoundValue,
    pub(in crate::lsm) value: Option<Slice>,
}

/// The records between the last one returned and the cursor, at one end of a scan.
#[derive(Debug, Default)]
pub(in crate::lsm) struct ValueQueue {
    pub(in crate::lsm) records: VecDeque<QueuedRecord>,
    /// Reported after the records.
    pub(in crate::lsm) failure: Option<Error>,
    /// Number of records to collect next time.
    reach: usize,
}

impl ValueQueue {
    /// Adds a record without its value.
    pub(in crate::lsm) fn push(&mut self, key: Slice, found: FoundValue) {
        self.records.push_back(QueuedRecord { key, found, value: None });
    }

    /// The number of records to collect now; twice as many next time.
    pub(in crate::lsm) fn next_reach(&mut self) -> usize {
        self.reach = (self.reach * 2).clamp(1, RECORDS_MAX);
        self.reach
    }

    /// Whether the values of the collected records take all the memory that a scan may use for them.
    pub(in crate::lsm) fn is_full(bytes: u64, limits: &BatchLimits<'_>) -> bool {
        bytes >= limits.wave_bytes().min(VALUE_BYTES_MAX)
    }

    /// Reads the values of all collected records.
    pub(in crate::lsm) fn read(&mut self, files: &ValueFiles, limits: &BatchLimits<'_>) {
        let pointers: Vec<(usize, Slice)> = self
            .records
            .iter()
            .enumerate()
            .filter(|(_, record)| record.found.0 == ValueKind::Pointer)
            .map(|(index, record)| (index, record.found.1.clone()))
            .collect();
        let mut values = vec![None; self.records.len()];
        // What could not be read is read again when its record is returned, and fails there.
        _ = read_values(files, &pointers, &mut values, limits);
        self.records.iter_mut().zip(values).for_each(|(record, value)| record.value = value);
    }
}
