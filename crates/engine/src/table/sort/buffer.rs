//! The sort buffer: records in one allocation, with an index that is sorted in place.

use std::cmp::Ordering;

/// Two lengths before each record.
pub(super) const HEADER_BYTES: usize = 8;
const ENTRY_BYTES: usize = size_of::<BufferEntry>();
/// What a record is taken to need before any was seen.
const INITIAL_RECORD_BYTES: usize = 32;

/// The first eight bytes of a key as a number. Where two differ, so do the keys, and in the same direction.
pub(super) fn key_prefix(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut padded = [0; 8];
            padded[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(padded)
        }
    }
}

/// Bytes that a record takes in a buffer or a run.
pub(super) fn record_bytes(key: &[u8], value: &[u8]) -> usize {
    HEADER_BYTES + key.len() + value.len()
}

#[derive(Clone, Copy, Debug)]
struct BufferEntry {
    prefix: u64,
    /// Where the record starts; later arrivals have greater ones.
    offset: usize,
}

/// A buffer of a fixed number of bytes, divided between records and index by the mean size of the records before.
#[derive(Debug)]
pub(super) struct RecordBuffer {
    limit_bytes: usize,
    mean_bytes: usize,
    records: Vec<u8>,
    entries: Vec<BufferEntry>,
}

impl RecordBuffer {
    /// A buffer that will take at most `limit_bytes`, and nothing before the first record.
    pub(super) fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, mean_bytes: INITIAL_RECORD_BYTES, records: Vec::new(), entries: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Takes a record, or says `false` where there is no room for it. An empty buffer has room for a record of two
    /// sevenths of the limit.
    pub(super) fn push(&mut self, key: &[u8], value: &[u8]) -> bool {
        if self.entries.capacity() == 0 && !self.reserve() {
            return false;
        }
        let is_full = self.entries.len() == self.entries.capacity()
            || self.records.capacity() - self.records.len() < record_bytes(key, value);
        if is_full {
            return false;
        }
        self.entries.push(BufferEntry { prefix: key_prefix(key), offset: self.records.len() });
        self.records.extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.records.extend_from_slice(&(value.len() as u32).to_le_bytes());
        self.records.extend_from_slice(key);
        self.records.extend_from_slice(value);
        true
    }

    /// Allocates both parts; `false` where the system refuses so much memory.
    fn reserve(&mut self) -> bool {
        let entry_count = self.limit_bytes / (self.mean_bytes + ENTRY_BYTES);
        let records_bytes = self.limit_bytes - entry_count * ENTRY_BYTES;
        let reserved = self.records.try_reserve_exact(records_bytes);
        reserved.and_then(|()| self.entries.try_reserve_exact(entry_count)).is_ok()
    }

    /// Sorts the records by key, those of equal keys by arrival; needs no memory.
    pub(super) fn sort(&mut self) {
        let records = &self.records;
        self.entries.sort_unstable_by(|a, b| {
            let by_key = || record_at(records, a.offset).0.cmp(record_at(records, b.offset).0);
            a.prefix.cmp(&b.prefix).then_with(by_key).then(a.offset.cmp(&b.offset))
        });
    }

    /// Key and value of the record that is `position`th in the present order.
    pub(super) fn get(&self, position: usize) -> Option<(&[u8], &[u8])> {
        self.entries.get(position).map(|entry| record_at(&self.records, entry.offset))
    }

    /// Forgets the records, and divides the memory anew where one part was full long before the other.
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

    /// Gives the memory back until the next record comes.
    pub(super) fn release(&mut self) {
        self.records = Vec::new();
        self.entries = Vec::new();
    }

    #[cfg(test)]
    pub(super) fn allocated_bytes(&self) -> usize {
        self.records.capacity() + self.entries.capacity() * ENTRY_BYTES
    }
}

/// The record at `offset` of a buffer that holds one there.
fn record_at(records: &[u8], offset: usize) -> (&[u8], &[u8]) {
    let parts = || {
        let (key_length, rest) = records.get(offset..)?.split_first_chunk::<4>()?;
        let (value_length, rest) = rest.split_first_chunk::<4>()?;
        let (key, rest) = rest.split_at_checked(u32::from_le_bytes(*key_length) as usize)?;
        Some((key, rest.get(..u32::from_le_bytes(*value_length) as usize)?))
    };
    parts().unwrap_or_default()
}
