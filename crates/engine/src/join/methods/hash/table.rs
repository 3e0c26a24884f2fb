//! The hash table over rows in memory.

use crate::error::Result;
use crate::join::input::records::mix;
use crate::join::rows::relation::{KeyRange, Relation, RelationFacts};
use crate::join::rows::sort_progress::SortProgress;
use crate::join::rows::stream::{RowSpan, RowStream, RowsView};
use crate::join::rows::task::{MemoryGrant, Task, TimedPhase};
use std::sync::Arc;
use twox_hash::XxHash3_64;

/// Marks the absence of a row.
const NO_ROW: u32 = u32::MAX;
/// Memory overhead of a row in bytes: a link to the next key, one to the next row of its key, and at most two heads of
/// chains.
const ROW_OVERHEAD_BYTES: u64 = 16;
/// An estimated relation may turn out larger by this factor before it counts as one that does not fit.
const ESTIMATE_SLACK_FACTOR: u64 = 2;

/// The hash of a key under a seed.
#[inline]
pub(super) fn hash(key: &[u8], seed: u64) -> u64 {
    match <[u8; 8]>::try_from(key) {
        Ok(word) => mix(u64::from_le_bytes(word) ^ seed),
        Err(_) => XxHash3_64::oneshot_with_seed(seed, key),
    }
}

/// A hash table over the rows of a relation.
///
/// ```text
/// heads[hash]   -> row of one key -> row of another key -> ...        next
///                  |                 |
///                  row of that key   ...                              same
/// ```
///
/// Chains hold one row per key, so that a key with a million rows does not slow down others.
#[derive(Debug)]
pub(super) struct HashTable {
    bytes: Vec<u8>,
    storage: RowStorage,
    heads: Vec<u32>,
    next: Vec<u32>,
    same_key: Vec<u32>,
    seed: u64,
    memory: MemoryGrant,
    /// Most memory it may take, in bytes.
    limit_bytes: u64,
}

#[derive(Debug)]
enum RowStorage {
    Dense { key: usize, value: usize },
    Spans(Vec<RowSpan>),
}

/// The capacity of a table, in rows and in bytes of rows.
#[derive(Clone, Copy, Debug)]
struct TableCapacity {
    rows: u64,
    bytes: u64,
    widths: Option<(usize, usize)>,
}

impl TableCapacity {
    /// The capacity for a whole relation, with slack if its size is an estimate.
    fn of(facts: &RelationFacts) -> Self {
        let widths = facts.key_bytes.zip(facts.value_bytes).filter(|(key, value)| key + value > 0);
        let slack = if facts.is_exact { 1 } else { ESTIMATE_SLACK_FACTOR };
        let rows = facts.rows.saturating_mul(slack).max(16);
        let bytes = match widths {
            Some((key, value)) => rows.saturating_mul((key + value) as u64),
            None => facts.decoded_bytes.saturating_mul(slack).max(4096),
        };
        Self { rows, bytes, widths }
    }

    fn memory_bytes(self) -> u64 {
        table_memory_bytes(self.rows, self.bytes, self.widths.is_some())
    }
}

/// Memory of a table of this many rows, whose keys and values take `bytes`. The planner predicts with it.
pub(crate) fn table_memory_bytes(rows: u64, bytes: u64, is_dense: bool) -> u64 {
    let span = if is_dense { 0 } else { size_of::<RowSpan>() as u64 };
    bytes.saturating_add(rows.saturating_mul(ROW_OVERHEAD_BYTES + span))
}

/// Memory of a table of all rows of a relation, in bytes.
pub(super) fn memory_bytes(facts: &RelationFacts) -> u64 {
    TableCapacity::of(facts).memory_bytes()
}

impl HashTable {
    /// Builds a table of all rows of a relation; `None` if they do not fit `memory_bytes` of the budget, of which the
    /// scan takes `scan_bytes`.
    pub(super) fn build(
        relation: &dyn Relation,
        range: &KeyRange,
        task: &Arc<Task>,
        (memory_bytes, scan_bytes): (u64, u64),
        seed: u64,
        progress: &mut SortProgress,
    ) -> Result<Option<Self>> {
        let capacity_plan = TableCapacity::of(relation.facts());
        let fits = capacity_plan.memory_bytes().saturating_add(scan_bytes) <= memory_bytes
            && capacity_plan.rows < u64::from(NO_ROW);
        let fits = fits && (capacity_plan.widths.is_some() || capacity_plan.bytes < u64::from(u32::MAX));
        let Some(memory) = fits.then(|| task.budget.try_take(capacity_plan.memory_bytes())).flatten() else {
            return Ok(None);
        };
        let mut stream = relation.scan(range, task, task.budget.take(scan_bytes, "reading")?)?;
        let storage = match capacity_plan.widths {
            Some((key, value)) => RowStorage::Dense { key, value },
            None => RowStorage::Spans(Vec::with_capacity(capacity_plan.rows as usize)),
        };
        let bytes = Vec::with_capacity(capacity_plan.bytes as usize);
        let limit_bytes = memory_bytes - scan_bytes;
        let (heads, next, same_key) = (Vec::new(), Vec::new(), Vec::new());
        let mut table = Self { bytes, storage, heads, next, same_key, seed, memory, limit_bytes };
        let mut long = Vec::new();
        while stream.advance(None)? {
            task.check()?;
            progress.add(stream.rows().len() as u64);
            if !table.take(&mut *stream, &capacity_plan, &mut long)? {
                return Ok(None);
            }
        }
        drop(stream);
        task.timed(TimedPhase::Loading, || table.link());
        Ok(Some(table))
    }

    /// Copies the rows of a chunk; `false` if they do not fit.
    fn take(&mut self, stream: &mut dyn RowStream, capacity_plan: &TableCapacity, long: &mut Vec<u8>) -> Result<bool> {
        let rows = stream.rows();
        if let (RowStorage::Dense { key, value }, RowsView::Dense { bytes, key: found, value: behind }) =
            (&self.storage, rows)
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
            if !self.push(rows.key(row), if is_long { long } else { rows.value(row) }, capacity_plan) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn push(&mut self, key: &[u8], value: &[u8], capacity_plan: &TableCapacity) -> bool {
        let at = self.bytes.len();
        let needed = key.len() + value.len();
        if needed > self.bytes.capacity() - at && !self.make_room(needed) {
            return false;
        }
        if let RowStorage::Spans(spans) = &mut self.storage {
            if spans.len() as u64 >= capacity_plan.rows {
                return false;
            }
            spans.push(RowSpan::of_row(at, key, value));
        }
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        true
    }

    /// Makes room for a row of `needed` bytes where the size of the relation was underestimated; `false` if memory is
    /// short. A relation of one width has its exact size.
    fn make_room(&mut self, needed: usize) -> bool {
        let (length, held) = (self.bytes.len(), self.bytes.capacity());
        let least = length.saturating_add(needed);
        if matches!(self.storage, RowStorage::Dense { .. }) || least > u32::MAX as usize {
            return false;
        }
        let doubled = held.saturating_mul(2).min(u32::MAX as usize);
        // Old and new bytes are in memory together while they are copied.
        let left_bytes = self.limit_bytes.saturating_sub(self.memory.bytes());
        let grown = doubled.max(least);
        if grown as u64 > left_bytes || !self.memory.try_grow(grown as u64) {
            return false;
        }
        self.bytes.reserve_exact(grown - length);
        self.memory.shrink_to(self.memory.bytes() - held as u64);
        true
    }

    fn link(&mut self) {
        let rows = self.rows().len();
        self.heads = vec![NO_ROW; rows.next_power_of_two()];
        self.next = vec![NO_ROW; rows];
        self.same_key = vec![NO_ROW; rows];
        for row in 0..rows as u32 {
            let key = self.rows().key(row as usize);
            let slot = self.slot(hash(key, self.seed));
            match self.find_in(slot, key) {
                Some(first) => {
                    self.same_key[row as usize] = self.same_key[first as usize];
                    self.same_key[first as usize] = row;
                }
                None => {
                    self.next[row as usize] = self.heads[slot];
                    self.heads[slot] = row;
                }
            }
        }
    }

    /// The rows, in the order of arrival.
    pub(super) fn rows(&self) -> RowsView<'_> {
        match &self.storage {
            &RowStorage::Dense { key, value } => RowsView::Dense { bytes: &self.bytes, key, value },
            RowStorage::Spans(spans) => RowsView::Spans { bytes: &self.bytes, spans },
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
        while row != NO_ROW {
            if rows.key(row as usize) == key {
                return Some(row);
            }
            row = self.next[row as usize];
        }
        None
    }

    /// The chain of a key, to be passed to [`Self::find`]. Compute many chains ahead, to overlap cache misses.
    #[inline]
    pub(super) fn chain(&self, key: &[u8]) -> usize {
        self.slot(hash(key, self.seed))
    }

    /// Finds a row of a key in its chain.
    #[inline]
    pub(super) fn find(&self, chain: usize, key: &[u8]) -> Option<u32> {
        self.find_in(chain, key)
    }

    /// The next row of the same key.
    #[inline]
    pub(super) fn next_of_key(&self, row: u32) -> Option<u32> {
        self.same_key.get(row as usize).copied().filter(|&next| next != NO_ROW)
    }
}
