//! The separators of a table's blocks, in memory.
//!
//! Separator `i` is the lower bound of child `i`, a block or a run of blocks: a key that is present lies in the last
//! child whose separator does not exceed it. Children that hold only repeats of one key have equal separators, and the
//! key belongs before them.

use super::search::upper_bound_near;
use super::window::{BlockFinger, BlockIndex, BlockWindow, key_prefix_of};
use crate::block::{key_prefix_after, key_prefix_at};
use crate::error::Result;
use crate::table::separator_parts;
use ogive_model::Fence;
use ogive_model::coded::{Separator, common_prefix};
use std::sync::Arc;

/// The mapping of children to blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ChildBlocks {
    /// Each child has this many blocks.
    Even(u64),
    /// Each child extends from its first block to that of the next child.
    From(Vec<u64>),
}

impl ChildBlocks {
    #[inline]
    fn first(&self, child: usize, blocks: u64) -> u64 {
        match self {
            Self::Even(granule) => (child as u64).saturating_mul(*granule).min(blocks),
            Self::From(firsts) => firsts.get(child).copied().unwrap_or(blocks).min(blocks),
        }
    }

    /// The blocks of a child, in a table of `blocks`.
    #[inline]
    pub(super) fn window(&self, child: usize, blocks: u64) -> BlockWindow {
        let last = blocks.saturating_sub(1);
        let first = self.first(child, blocks).min(last);
        let end = self.first(child + 1, blocks).max(first + 1);
        BlockWindow { first, last: (end - 1).min(last), is_exact: true }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Even(_) => 0,
            Self::From(firsts) => 8 * firsts.capacity() as u64,
        }
    }
}

/// Separators of the blocks of a table, in memory.
#[derive(Clone, Debug)]
pub enum BlockSeparators {
    /// Of keys that are integers of up to eight bytes.
    Numeric(NumericSeparators),
    /// Of all other keys.
    Strings(StringSeparators),
}

impl BlockSeparators {
    /// Memory in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Numeric(numbers) => numbers.memory_bytes(),
            Self::Strings(strings) => strings.memory_bytes(),
        }
    }

    /// The separators as an index.
    #[must_use]
    pub fn into_index(self) -> Arc<dyn BlockIndex> {
        match self {
            Self::Numeric(numbers) => Arc::new(numbers),
            Self::Strings(strings) => Arc::new(strings),
        }
    }
}

/// Separators of numeric keys.
#[derive(Clone, Debug)]
pub struct NumericSeparators {
    pub(super) starts: Vec<u64>,
    pub(super) children: ChildBlocks,
    pub(super) blocks: u64,
}

impl NumericSeparators {
    pub(super) fn new(children: ChildBlocks, blocks: u64) -> Self {
        Self { starts: Vec::new(), children, blocks }
    }

    /// The separators, in ascending order.
    #[inline]
    #[must_use]
    pub fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// Number of blocks of the table.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The fences between children, as far as separators define them.
    pub fn fences(&self) -> impl Iterator<Item = Fence> {
        self.starts.iter().skip(1).map(|&start| Fence { low: start.saturating_sub(1), high: start })
    }

    /// The window of a key, given the number of separators that are not above it.
    #[inline]
    #[must_use]
    pub fn child_window(&self, upper_bound: usize) -> BlockWindow {
        self.children.window(upper_bound.saturating_sub(1), self.blocks)
    }

    fn memory_bytes(&self) -> u64 {
        8 * self.starts.capacity() as u64 + self.children.bytes()
    }
}

/// Gallops from the previous child.
impl BlockIndex for NumericSeparators {
    #[inline]
    fn find(&self, key: &[u8], finger: &mut BlockFinger) -> Result<BlockWindow> {
        let found = upper_bound_near(&self.starts, key_prefix_of(key), finger.at);
        finger.at = found.saturating_sub(1);
        Ok(self.child_window(found))
    }

    fn bytes(&self) -> u64 {
        self.memory_bytes()
    }
}

/// Byte-string separators: the eight bytes after the common prefix as an integer, and the whole string for ties.
#[derive(Clone, Debug)]
pub struct StringSeparators {
    bytes: Vec<u8>,
    /// End offset of each separator in `bytes`.
    ends: Vec<u32>,
    /// Length of the common prefix of all separators but the first.
    prefix: usize,
    /// Integers of the separators from the second on.
    numbers: Vec<u64>,
    pub(super) children: ChildBlocks,
    pub(super) blocks: u64,
}

impl StringSeparators {
    pub(super) fn new(children: ChildBlocks, blocks: u64) -> Self {
        Self { bytes: Vec::new(), ends: Vec::new(), prefix: 0, numbers: Vec::new(), children, blocks }
    }

    /// Appends a separator; `None` if the total length exceeds 32 bits.
    pub(super) fn push(&mut self, head: &[u8], tail: &[u8]) -> Option<()> {
        self.bytes.extend_from_slice(head);
        self.bytes.extend_from_slice(tail);
        self.ends.push(u32::try_from(self.bytes.len()).ok()?);
        Some(())
    }

    /// Appends a stored separator.
    pub(super) fn push_stored(&mut self, separator: &Separator<'_>) -> Option<()> {
        let mut word = [0; 8];
        let (head, tail) = separator_parts(separator, &mut word);
        self.push(head, tail)
    }

    /// Completes the separators; called after the last one.
    pub(super) fn complete(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.prefix = match self.len() {
            0 | 1 => 0,
            len => common_prefix(self.get(1), self.get(len - 1)),
        };
        self.numbers = (1..self.len()).map(|i| key_prefix_at(self.get(i), self.prefix)).collect();
    }

    /// Number of separators.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no separators.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Number of blocks of the table.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The blocks between a separator and the next one.
    #[must_use]
    pub fn child_window(&self, child: usize) -> BlockWindow {
        self.children.window(child, self.blocks)
    }

    /// A separator; empty beyond the last one.
    #[inline]
    #[must_use]
    pub fn get(&self, i: usize) -> &[u8] {
        let end = |i: usize| self.ends.get(i).map_or(0, |&end| end as usize);
        self.bytes.get(if i == 0 { 0 } else { end(i - 1) }..end(i)).unwrap_or_default()
    }

    /// The bytes of `key` after the common prefix as an integer; `Err` if the key sorts before or after all keys with
    /// the prefix.
    #[inline]
    fn number(&self, key: &[u8]) -> std::result::Result<u64, std::cmp::Ordering> {
        key_prefix_after(self.prefix(), key)
    }

    /// The common prefix of all separators but the first.
    #[must_use]
    pub fn prefix(&self) -> &[u8] {
        self.get(1).get(..self.prefix).unwrap_or_default()
    }

    /// The eight bytes after the common prefix of each separator but the first, as integers.
    #[must_use]
    pub fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// The child that holds a key, given how many integers are not above its own.
    #[inline]
    fn resolve(&self, key: &[u8], x: u64, not_above: usize) -> usize {
        // Separators with the same integer as the key are compared in full.
        if not_above == 0 || self.numbers[not_above - 1] != x || self.get(not_above) <= key {
            return not_above;
        }
        let first = self.numbers[..not_above].partition_point(|&number| number < x);
        let (mut low, mut high) = (first, not_above - 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle + 1) <= key { low = middle + 1 } else { high = middle }
        }
        low
    }

    fn child_near(&self, key: &[u8], near: usize) -> usize {
        match self.number(key) {
            Ok(x) => self.resolve(key, x, upper_bound_near(&self.numbers, x, near)),
            Err(std::cmp::Ordering::Less) => 0,
            Err(_) => self.numbers.len(),
        }
    }

    /// Memory in bytes once all separators so far are complete, with what the growth of their list takes.
    pub(super) fn complete_bytes(&self) -> u64 {
        self.memory_bytes() + 8 * self.len() as u64
    }

    fn memory_bytes(&self) -> u64 {
        (self.bytes.capacity() + 4 * self.ends.capacity() + 8 * self.numbers.capacity()) as u64 + self.children.bytes()
    }
}

impl BlockIndex for StringSeparators {
    #[inline]
    fn find(&self, key: &[u8], finger: &mut BlockFinger) -> Result<BlockWindow> {
        let child = self.child_near(key, finger.at);
        finger.at = child.saturating_sub(1);
        Ok(self.children.window(child, self.blocks))
    }

    fn bytes(&self) -> u64 {
        self.memory_bytes()
    }
}
