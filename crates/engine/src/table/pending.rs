//! Records that are accepted but not yet written: the writer looks ahead over them to choose where blocks end.

use super::block::{Layout, Stored, TRAILER_BYTES, push_entry, split_entry, start_bytes};
use super::key::coordinate;
use ogive_model::coded::{Cuts, StringCuts};

/// A block may end this share of its room early, if its separator then codes better (sixteenths: about what makes
/// separators cheap and keeps blocks 97 % full).
const SLACK: f64 = 1.0 / 16.0;
/// The share while blocks have been emptier than [`FILL_LEAST`] on average.
const SLACK_WHEN_EMPTY: f64 = 1.0 / 48.0;
const FILL_LEAST: f64 = 0.966;
/// Where the line expects a block to end, as a share of the slack: nearer the full end, so that blocks stay full.
const EXPECTED: f64 = 7.0 / 16.0;

/// Buffered records, numbered from 0, in order.
#[derive(Debug)]
pub(super) struct Pending {
    layout: Layout,
    block_bytes: usize,
    /// Bytes of the records, as a block holds them.
    bytes: Vec<u8>,
    /// Where each record ends in `bytes`.
    ends: Vec<usize>,
    /// Coordinates of numeric keys; empty for byte strings.
    coordinates: Vec<u64>,
    numeric: bool,
    /// Bytes of records in blocks so far, and bytes of those blocks.
    filled: (u64, u64),
}

impl Pending {
    pub(super) fn new(layout: Layout, block_bytes: usize, numeric: bool) -> Self {
        Self {
            layout,
            block_bytes,
            bytes: Vec::new(),
            ends: Vec::new(),
            coordinates: Vec::new(),
            numeric,
            filled: (0, 0),
        }
    }

    /// Takes another size of blocks, as long as none was cut.
    pub(super) fn set_block_bytes(&mut self, block_bytes: usize) {
        self.block_bytes = block_bytes;
    }

    /// Mean bytes that a pending record takes of a block's room.
    pub(super) fn mean_record_bytes(&self) -> f64 {
        self.cost(0, self.len()) as f64 / self.len().max(1) as f64
    }

    pub(super) fn push(&mut self, key: &[u8], value: Stored<'_>) {
        match (self.layout, value) {
            (Layout::Dense { .. }, Stored::Inline(value)) => {
                self.bytes.extend_from_slice(key);
                self.bytes.extend_from_slice(value);
            }
            (_, value) => push_entry(&mut self.bytes, key, value),
        }
        self.ends.push(self.bytes.len());
        if self.numeric {
            self.coordinates.push(coordinate(key));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    fn begin_of(&self, record: usize) -> usize {
        record.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    /// Bytes of the records `begin..end`.
    pub(super) fn records(&self, begin: usize, end: usize) -> &[u8] {
        &self.bytes[self.begin_of(begin)..self.begin_of(end)]
    }

    /// Starts of the records `begin..end` within their bytes, and the end of the last.
    pub(super) fn starts(&self, begin: usize, end: usize) -> Vec<usize> {
        let base = self.begin_of(begin);
        (begin..=end).map(|record| self.begin_of(record) - base).collect()
    }

    pub(super) fn record_key(&self, record: usize) -> &[u8] {
        let bytes = self.records(record, record + 1);
        match self.layout {
            Layout::Dense { key, .. } => &bytes[..key],
            // What this buffer holds was put there by `push`.
            Layout::Slotted => split_entry(bytes).map_or(&[], |(key, _)| key),
        }
    }

    pub(super) fn coordinates(&self) -> &[u64] {
        &self.coordinates
    }

    /// Bytes that the records `begin..end` take of a block's room.
    fn cost(&self, begin: usize, end: usize) -> usize {
        let bytes = self.begin_of(end) - self.begin_of(begin);
        match self.layout {
            Layout::Dense { .. } => bytes,
            Layout::Slotted => bytes + (end - begin) * start_bytes(self.block_bytes),
        }
    }

    /// Bytes of a block that hold no record.
    pub(super) fn overhead(&self) -> usize {
        TRAILER_BYTES + if self.layout == Layout::Slotted { start_bytes(self.block_bytes) } else { 0 }
    }

    fn room(&self) -> usize {
        self.block_bytes - self.overhead()
    }

    /// The largest end of a block that begins at `begin` and takes at most `room` bytes; at least one record.
    fn fitting(&self, begin: usize, room: usize) -> usize {
        let (mut low, mut high) = (begin + 1, self.len().max(begin + 1));
        if let Layout::Dense { .. } = self.layout {
            let record = self.begin_of(begin + 1) - self.begin_of(begin);
            return (begin + room / record.max(1)).clamp(low, high);
        }
        // A block holds few of the buffered records: gallop before bisecting.
        let mut step = 64;
        while low + step < high && self.cost(begin, low + step) <= room {
            low += step;
            step *= 2;
        }
        high = high.min(low + step);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.cost(begin, middle) <= room { low = middle } else { high = middle - 1 }
        }
        low
    }

    /// Where the block that begins at `begin` ends when it is filled.
    pub(super) fn full_end(&self, begin: usize) -> usize {
        self.fitting(begin, self.room())
    }

    fn slack(&self) -> f64 {
        let (used, blocks) = self.filled;
        if used as f64 >= FILL_LEAST * blocks as f64 { SLACK } else { SLACK_WHEN_EMPTY }
    }

    fn range_of_ends(&self, begin: usize) -> Option<(usize, usize)> {
        if begin >= self.len() {
            return None;
        }
        let last = self.full_end(begin);
        if last >= self.len() {
            return None;
        }
        let first = self.fitting(begin, (self.room() as f64 * (1.0 - self.slack())) as usize);
        Some((first.min(last), last))
    }

    fn expected_end(&self, begin: usize, children: usize) -> Option<usize> {
        let room = self.room() as f64 * (1.0 - EXPECTED * self.slack());
        let end = match self.layout {
            Layout::Dense { key, value } => begin + (children as f64 * (room / (key + value) as f64).floor()) as usize,
            Layout::Slotted => {
                let goal = self.cost(0, begin) + (children as f64 * room) as usize;
                let (mut low, mut high) = (begin, self.len());
                while low < high {
                    let middle = low + (high - low) / 2;
                    if self.cost(0, middle) < goal { low = middle + 1 } else { high = middle }
                }
                low
            }
        };
        (end < self.len()).then_some(end)
    }

    /// Notes that the records `begin..end` now fill a block.
    pub(super) fn note_block(&mut self, begin: usize, end: usize) {
        self.filled.0 += self.cost(begin, end) as u64;
        self.filled.1 += self.block_bytes as u64;
    }

    /// Forgets the first `count` records.
    pub(super) fn discard(&mut self, count: usize) {
        let bytes = self.begin_of(count);
        self.bytes.drain(..bytes);
        self.ends.drain(..count);
        self.ends.iter_mut().for_each(|end| *end -= bytes);
        if self.numeric {
            self.coordinates.drain(..count);
        }
    }
}

impl Cuts for Pending {
    fn ends(&self, begin: usize) -> Option<(usize, usize)> {
        self.range_of_ends(begin)
    }

    fn coordinate(&self, record: usize) -> u64 {
        self.coordinates[record]
    }

    fn ahead(&self, begin: usize, children: usize) -> Option<usize> {
        self.expected_end(begin, children)
    }
}

impl StringCuts for Pending {
    fn ends(&self, begin: usize) -> Option<(usize, usize)> {
        self.range_of_ends(begin)
    }

    fn key(&self, record: usize) -> &[u8] {
        self.record_key(record)
    }

    fn ahead(&self, begin: usize, children: usize) -> Option<usize> {
        self.expected_end(begin, children)
    }
}
