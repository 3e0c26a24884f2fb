//! The hash table over rows in memory.

use crate::error::Result;
use crate::join::records::mix;
use crate::join::rows::{RowStream, RowsView, Span};
use crate::join::sorted::Progress;
use crate::join::source::{Facts, KeyRange, Relation};
use crate::join::task::{Share, Spent, Task};
use std::sync::Arc;
use twox_hash::XxHash3_64;

/// No row.
const NONE: u32 = u32::MAX;
/// What a row takes beside its bytes: a link to the next key, one to the next row of its key, and two heads of chains at most.
const ROW_BYTES: u64 = 16;
/// A relation that was estimated may turn out larger by this factor before it counts as one that does not fit.
const SURPRISE: u64 = 2;

/// The hash of a key; another one for each seed.
#[inline]
pub(super) fn hash(key: &[u8], seed: u64) -> u64 {
    match <[u8; 8]>::try_from(key) {
        Ok(word) => mix(u64::from_le_bytes(word) ^ seed),
        Err(_) => XxHash3_64::oneshot_with_seed(seed, key),
    }
}

/// Rows of a relation, found by key.
///
/// ```text
/// heads[hash]   -> row of one key -> row of another key -> ...        next
///                  |                 |
///                  row of that key   ...                              same
/// ```
///
/// Chains hold a row for each key, so that a key of a million rows costs others nothing.
#[derive(Debug)]
pub(super) struct HashTable {
    bytes: Vec<u8>,
    shape: Shape,
    heads: Vec<u32>,
    next: Vec<u32>,
    same: Vec<u32>,
    seed: u64,
    _memory: Share,
}

#[derive(Debug)]
enum Shape {
    Dense { key: usize, value: usize },
    Spans(Vec<Span>),
}

/// How many rows there is room for, and for how many bytes of theirs.
#[derive(Clone, Copy, Debug)]
struct Room {
    rows: u64,
    bytes: u64,
    widths: Option<(usize, usize)>,
}

impl Room {
    /// Room for all of a relation, and for more where it was estimated.
    fn of(facts: &Facts) -> Self {
        let widths = facts.key_bytes.zip(facts.value_bytes).filter(|(key, value)| key + value > 0);
        let surprise = if facts.is_exact { 1 } else { SURPRISE };
        let rows = facts.rows.saturating_mul(surprise).max(16);
        let bytes = match widths {
            Some((key, value)) => rows.saturating_mul((key + value) as u64),
            None => facts.bytes.saturating_mul(surprise).max(4096),
        };
        Self { rows, bytes, widths }
    }

    fn memory_bytes(self) -> u64 {
        let span = if self.widths.is_some() { 0 } else { size_of::<Span>() as u64 };
        self.bytes.saturating_add(self.rows.saturating_mul(ROW_BYTES + span))
    }
}

/// What a table of all rows of a relation takes, in bytes.
pub(super) fn memory_bytes(facts: &Facts) -> u64 {
    Room::of(facts).memory_bytes()
}

impl HashTable {
    /// A table of all rows of a relation; `None` where they do not fit `memory_bytes` of the budget, of which a scan takes `scan_bytes`.
    pub(super) fn build(
        relation: &dyn Relation,
        range: &KeyRange,
        task: &Arc<Task>,
        (memory_bytes, scan_bytes): (u64, u64),
        seed: u64,
        progress: &mut Progress,
    ) -> Result<Option<Self>> {
        let room = Room::of(relation.facts());
        let fits = room.memory_bytes() + scan_bytes <= memory_bytes && room.rows < u64::from(NONE);
        let fits = fits && (room.widths.is_some() || room.bytes < u64::from(u32::MAX));
        let Some(memory) = fits.then(|| task.budget.try_take(room.memory_bytes())).flatten() else { return Ok(None) };
        let mut stream = relation.scan(range, task, task.budget.take(scan_bytes, "reading")?)?;
        let shape = match room.widths {
            Some((key, value)) => Shape::Dense { key, value },
            None => Shape::Spans(Vec::with_capacity(room.rows as usize)),
        };
        let bytes = Vec::with_capacity(room.bytes as usize);
        let mut table =
            Self { bytes, shape, heads: Vec::new(), next: Vec::new(), same: Vec::new(), seed, _memory: memory };
        let mut long = Vec::new();
        while stream.advance(None)? {
            task.check()?;
            progress.add(stream.rows().len() as u64);
            if !table.take(&mut *stream, &room, &mut long)? {
                return Ok(None);
            }
        }
        drop(stream);
        task.spend(Spent::Loading, || table.link());
        Ok(Some(table))
    }

    /// Copies the rows of a chunk; `false` where there is no room for them.
    fn take(&mut self, stream: &mut dyn RowStream, room: &Room, long: &mut Vec<u8>) -> Result<bool> {
        let rows = stream.rows();
        if let (Shape::Dense { key, value }, RowsView::Dense { bytes, key: found, value: behind }) = (&self.shape, rows)
            && (*key, *value) == (found, behind)
        {
            let fits = bytes.len() <= self.bytes.capacity() - self.bytes.len();
            if fits {
                self.bytes.extend_from_slice(bytes);
            }
            return Ok(fits);
        }
        for row in 0..rows.len() {
            let is_long = stream.rows().is_long(row);
            if is_long {
                stream.long_value(row, long)?;
            }
            let rows = stream.rows();
            if !self.push(rows.key(row), if is_long { long } else { rows.value(row) }, room) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn push(&mut self, key: &[u8], value: &[u8], room: &Room) -> bool {
        let at = self.bytes.len();
        if key.len() + value.len() > self.bytes.capacity() - at {
            return false;
        }
        if let Shape::Spans(spans) = &mut self.shape {
            if spans.len() as u64 >= room.rows {
                return false;
            }
            spans.push(Span {
                key_at: at as u32,
                key_bytes: key.len() as u32,
                value_at: (at + key.len()) as u32,
                value_bytes: value.len() as u32,
                is_long: false,
            });
        }
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        true
    }

    fn link(&mut self) {
        let rows = self.rows().len();
        self.heads = vec![NONE; rows.next_power_of_two()];
        self.next = vec![NONE; rows];
        self.same = vec![NONE; rows];
        for row in 0..rows as u32 {
            let key = self.rows().key(row as usize);
            let slot = self.slot(hash(key, self.seed));
            match self.find_in(slot, key) {
                Some(first) => {
                    self.same[row as usize] = self.same[first as usize];
                    self.same[first as usize] = row;
                }
                None => {
                    self.next[row as usize] = self.heads[slot];
                    self.heads[slot] = row;
                }
            }
        }
    }

    /// The rows, in the order in which they came.
    pub(super) fn rows(&self) -> RowsView<'_> {
        match &self.shape {
            &Shape::Dense { key, value } => RowsView::Dense { bytes: &self.bytes, key, value },
            Shape::Spans(spans) => RowsView::Spans { bytes: &self.bytes, spans },
        }
    }

    #[inline]
    fn slot(&self, hash: u64) -> usize {
        hash as usize & (self.heads.len() - 1)
    }

    #[inline]
    fn find_in(&self, slot: usize, key: &[u8]) -> Option<u32> {
        let rows = self.rows();
        let mut row = self.heads[slot];
        while row != NONE {
            if rows.key(row as usize) == key {
                return Some(row);
            }
            row = self.next[row as usize];
        }
        None
    }

    /// Where a key's chain begins, to be given to [`Self::find`]; many are best asked for ahead, as memory answers late.
    #[inline]
    pub(super) fn chain(&self, key: &[u8]) -> usize {
        self.slot(hash(key, self.seed))
    }

    /// A row of a key, in its chain.
    #[inline]
    pub(super) fn find(&self, chain: usize, key: &[u8]) -> Option<u32> {
        self.find_in(chain, key)
    }

    /// The next row of the same key.
    #[inline]
    pub(super) fn next_of_key(&self, row: u32) -> Option<u32> {
        self.same.get(row as usize).copied().filter(|&next| next != NONE)
    }
}
