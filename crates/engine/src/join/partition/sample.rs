//! Samples of keys.

use super::window::Window;
use crate::error::Result;
use crate::join::records::mix;
use crate::join::source::{KeyRange, Relation};
use crate::join::task::{Share, Task};
use std::sync::Arc;

/// So many bytes of each sampled key are kept: what long keys have in common is rarely longer.
const KEY_BYTES_MAX: usize = 64;
/// Samples are drawn in the same way in each run.
const SEED: u64 = 0x5EED;

/// Keys that were drawn, cut or filled up with zeros to one width.
#[derive(Debug)]
pub(super) struct Sample {
    width: usize,
    bytes: Vec<u8>,
    _memory: Share,
}

/// What drawing a sample told besides.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drawn {
    /// Rows of the relation, and bytes of their keys and values, where all of it was read.
    pub(super) counted: Option<(u64, u64)>,
}

impl Sample {
    /// No keys; those to come take at most `memory`, of relations whose keys have this width, if any.
    pub(super) fn new(key_bytes: Option<usize>, memory: Share) -> Self {
        let width = key_bytes.unwrap_or(KEY_BYTES_MAX).clamp(1, KEY_BYTES_MAX);
        Self { width, bytes: Vec::with_capacity(memory.bytes() as usize / width * width), _memory: memory }
    }

    /// How many keys there is room for.
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

    /// Draws about `wanted` keys of a relation: by blocks at random, or, where it has none, by reading all of it within `memory`.
    pub(super) fn draw(
        &mut self,
        relation: &dyn Relation,
        wanted: usize,
        task: &Arc<Task>,
        memory: Share,
    ) -> Result<Drawn> {
        if relation.sample(wanted, SEED, task, &mut |key| self.push(key))? {
            return Ok(Drawn::default());
        }
        self.reservoir(relation, wanted, task, memory)
    }

    /// Reads everything; every row is as likely to stay as any other (Vitter's algorithm R).
    fn reservoir(&mut self, relation: &dyn Relation, wanted: usize, task: &Arc<Task>, memory: Share) -> Result<Drawn> {
        let start = self.len();
        let wanted = wanted.min(self.room());
        let mut stream = relation.scan(&KeyRange::all(), task, memory)?;
        let (mut rows, mut bytes) = (0_u64, 0_u64);
        while stream.advance(None)? {
            let chunk = stream.rows();
            for row in 0..chunk.len() {
                let key = chunk.key(row);
                bytes += (key.len() + chunk.value(row).len()) as u64;
                if rows < wanted as u64 {
                    self.push(key);
                } else {
                    let at = mix(SEED ^ rows) % (rows + 1);
                    if at < wanted as u64 {
                        self.replace(start + at as usize, key);
                    }
                }
                rows += 1;
            }
        }
        Ok(Drawn { counted: Some((rows, bytes)) })
    }

    /// The window that tells these keys apart, and their numbers in it, sorted. Takes as much memory as the sample where keys are short.
    pub(super) fn numbers(&self) -> (Window, Vec<u64>) {
        let keys = || self.bytes.chunks_exact(self.width);
        let (low, high) = (keys().min().unwrap_or_default(), keys().max().unwrap_or_default());
        let window = Window::between(low, high);
        let mut numbers: Vec<u64> = keys().map(|key| window.coordinate(key)).collect();
        numbers.sort_unstable();
        (window, numbers)
    }
}
