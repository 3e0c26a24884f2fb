//! Samples of keys.

use super::window::key_window;
use crate::block::KeyPrefixes;
use crate::error::Result;
use crate::join::input::records::mix;
use crate::join::rows::relation::{KeyRange, Relation};
use crate::join::rows::stream::RowStream;
use crate::join::rows::task::{MemoryGrant, Task};
use std::sync::Arc;

/// Bytes kept of each sampled key: the common prefix of long keys is rarely longer.
const KEY_BYTES_MAX: usize = 64;
/// Fixed seed: every run draws the same sample.
const SAMPLE_SEED: u64 = 0x5EED;

/// Sampled keys, truncated or zero-padded to one width.
#[derive(Debug)]
pub(super) struct KeySample {
    width: usize,
    bytes: Vec<u8>,
    _memory: MemoryGrant,
}

/// Totals counted while sampling.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SampleTotals {
    /// Number of rows and bytes of keys and values, if the whole relation was read.
    pub(super) counted: Option<(u64, u64)>,
}

impl KeySample {
    /// An empty sample within `memory`, for relations with this key width, if fixed.
    pub(super) fn new(key_bytes: Option<usize>, memory: MemoryGrant) -> Self {
        let width = key_bytes.unwrap_or(KEY_BYTES_MAX).clamp(1, KEY_BYTES_MAX);
        Self { width, bytes: Vec::with_capacity(memory.bytes() as usize / width * width), _memory: memory }
    }

    /// Capacity in keys.
    pub(super) fn room(&self) -> usize {
        (self.bytes.capacity() - self.bytes.len()) / self.width
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    fn push(&mut self, key: &[u8]) {
        if self.room() > 0 {
            let end = self.bytes.len() + self.width;
            self.bytes.extend_from_slice(&key[..key.len().min(self.width)]);
            self.bytes.resize(end, 0);
        }
    }

    fn replace(&mut self, at: usize, key: &[u8]) {
        let slot = &mut self.bytes[at * self.width..(at + 1) * self.width];
        slot.fill(0);
        let taken = key.len().min(slot.len());
        slot[..taken].copy_from_slice(&key[..taken]);
    }

    /// Samples about `wanted` keys of a relation: random blocks, or, if it cannot be sampled, a full scan within
    /// `memory`.
    pub(super) fn draw(
        &mut self,
        relation: &dyn Relation,
        wanted: usize,
        task: &Arc<Task>,
        memory: MemoryGrant,
    ) -> Result<SampleTotals> {
        if relation.sample(wanted, SAMPLE_SEED, task, &mut |key| self.push(key))? {
            return Ok(SampleTotals::default());
        }
        self.reservoir(&mut *relation.scan(&KeyRange::all(), task, memory)?, wanted)
    }

    /// Reads all rows of a relation; every row is kept with equal probability (Vitter's algorithm R).
    fn reservoir(&mut self, stream: &mut dyn RowStream, wanted: usize) -> Result<SampleTotals> {
        let start = self.len();
        let wanted = wanted.min(self.room());
        let (mut rows, mut bytes) = (0_u64, 0_u64);
        while stream.advance(None)? {
            let chunk = stream.rows();
            for row in 0..chunk.len() {
                let key = chunk.key(row);
                bytes += (key.len() + chunk.value(row).len()) as u64;
                if rows < wanted as u64 {
                    self.push(key);
                } else {
                    let at = mix(SAMPLE_SEED ^ rows) % (rows + 1);
                    if at < wanted as u64 {
                        self.replace(start + at as usize, key);
                    }
                }
                rows += 1;
            }
        }
        Ok(SampleTotals { counted: Some((rows, bytes)) })
    }

    /// The key window that distinguishes the sampled keys, and their sorted prefixes in it. Takes as much memory as the
    /// sample if keys are short.
    pub(super) fn numbers(&self) -> (KeyPrefixes, Vec<u64>) {
        let keys = || self.bytes.chunks_exact(self.width);
        let (low, high) = (keys().min().unwrap_or_default(), keys().max().unwrap_or_default());
        let window = key_window(low, high);
        let mut numbers: Vec<u64> = keys().map(|key| window.of(key)).collect();
        numbers.sort_unstable();
        (window, numbers)
    }
}
