//! The sort buffer: records in one allocation, with an index that is sorted in place.

use crate::block::key_prefix;
use std::cmp::Ordering;

/// Two lengths before each record.
pub(super) const HEADER_BYTES: usize = 8;
const ENTRY_BYTES: usize = size_of::<BufferEntry>();
/// Assumed size of a record before any was seen.
const INITIAL_RECORD_BYTES: usize = 32;

/// Records that are fetched together: more than a processor reads from memory at a time, and few for its cache.
const FETCHED_RECORDS: usize = 32;
/// Bytes that a processor reads from memory at a time. Most records are in two of these lines.
const LINE_BYTES: usize = 64;

/// Size of a record in a buffer or a run, in bytes.
pub(super) fn record_bytes(key: &[u8], value: &[u8]) -> usize {
    HEADER_BYTES + key.len() + value.len()
}

#[derive(Clone, Copy, Debug)]
struct BufferEntry {
    prefix: u64,
    /// Start of the record; later arrivals have greater ones.
    offset: usize,
}

/// A buffer of fixed size, divided between records and index by the mean size of previous records.
#[derive(Debug)]
pub(super) struct RecordBuffer {
    limit_bytes: usize,
    mean_bytes: usize,
    records: Vec<u8>,
    entries: Vec<BufferEntry>,
}

impl RecordBuffer {
    /// A buffer of at most `limit_bytes`, which allocates nothing before the first record.
    pub(super) fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, mean_bytes: INITIAL_RECORD_BYTES, records: Vec::new(), entries: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a record whose value is in two parts, or returns `false` if there is no room for it. An empty buffer has
    /// room for a record of two sevenths of the limit.
    pub(super) fn push(&mut self, key: &[u8], [head, rest]: [&[u8]; 2]) -> bool {
        if self.entries.capacity() == 0 && !self.reserve() {
            return false;
        }
        let value_bytes = head.len() + rest.len();
        let is_full = self.entries.len() == self.entries.capacity()
            || self.records.capacity() - self.records.len() < HEADER_BYTES + key.len() + value_bytes;
        if is_full {
            return false;
        }
        self.entries.push(BufferEntry { prefix: key_prefix(key), offset: self.records.len() });
        let lengths = u64::from(key.len() as u32) | (value_bytes as u64) << 32;
        self.records.extend_from_slice(&lengths.to_le_bytes());
        self.records.extend_from_slice(key);
        self.records.extend_from_slice(head);
        self.records.extend_from_slice(rest);
        true
    }

    /// Allocates both parts; `false` if the system refuses the memory.
    fn reserve(&mut self) -> bool {
        let entry_count = self.limit_bytes / (self.mean_bytes + ENTRY_BYTES);
        let records_bytes = self.limit_bytes - entry_count * ENTRY_BYTES;
        let reserved = self.records.try_reserve_exact(records_bytes);
        reserved.and_then(|()| self.entries.try_reserve_exact(entry_count)).is_ok()
    }

    /// Sorts the records in place by key, and those with equal keys by arrival.
    pub(super) fn sort(&mut self) {
        let records = &self.records;
        self.entries.sort_unstable_by(|a, b| {
            let by_key = || record_at(records, a.offset).0.cmp(record_at(records, b.offset).0);
            a.prefix.cmp(&b.prefix).then_with(by_key).then(a.offset.cmp(&b.offset))
        });
    }

    /// Key and value of the record at `position` in the current order. Positions are asked for one after the other.
    pub(super) fn get(&self, position: usize) -> Option<(&[u8], &[u8])> {
        if position.is_multiple_of(FETCHED_RECORDS) {
            self.fetch(position);
        }
        self.entries.get(position).map(|entry| record_at(&self.records, entry.offset))
    }

    /// Brings the records from `position` on into the cache of the processor, which waits for them together. One by one
    /// it would wait for each, since the order of the records is not that of the memory.
    fn fetch(&self, position: usize) {
        let entries = self.entries.iter().skip(position).take(FETCHED_RECORDS);
        let byte = |at: usize| self.records.get(at).copied().unwrap_or_default();
        std::hint::black_box(
            entries.fold(0, |bytes, entry| bytes ^ byte(entry.offset) ^ byte(entry.offset + LINE_BYTES)),
        );
    }

    /// Drops the records, and redivides the memory if one part was full long before the other.
    pub(super) fn clear(&mut self) {
        let used = |length: usize, capacity: usize| length as f64 / capacity.max(1) as f64;
        let records_used = used(self.records.len(), self.records.capacity());
        let entries_used = used(self.entries.len(), self.entries.capacity());
        let mean_bytes = self.records.len() / self.entries.len().max(1);
        self.records.clear();
        self.entries.clear();
        if records_used.total_cmp(&0.8) == Ordering::Less || entries_used.total_cmp(&0.8) == Ordering::Less {
            self.mean_bytes = mean_bytes.max(HEADER_BYTES);
            self.release();
        }
    }

    /// Frees the memory until the next record.
    pub(super) fn release(&mut self) {
        self.records = Vec::new();
        self.entries = Vec::new();
    }

    #[cfg(test)]
    pub(super) fn allocated_bytes(&self) -> usize {
        self.records.capacity() + self.entries.capacity() * ENTRY_BYTES
    }
}

/// The record at `offset` of a buffer.
fn record_at(records: &[u8], offset: usize) -> (&[u8], &[u8]) {
    let parts = || {
        let (key_length, rest) = records.get(offset..)?.split_first_chunk::<4>()?;
        let (value_length, rest) = rest.split_first_chunk::<4>()?;
        let (key, rest) = rest.split_at_checked(u32::from_le_bytes(*key_length) as usize)?;
        Some((key, rest.get(..u32::from_le_bytes(*value_length) as usize)?))
    };
    parts().unwrap_or_default()
}
