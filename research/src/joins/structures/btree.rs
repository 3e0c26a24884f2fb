//! The B-tree of the paper (Sections 5.2 and 6.6): full nodes of 4 KiB in memory, over one separator per block.
//!
//! A bulk-loaded tree that never changes needs no pointers: node `i` of a level holds entries `i * 256` to `i * 256 +
//! 255`, and entry `j` of a level leads to node `j` of the level below. Leaves lead to blocks.

use ogive::Result;
use ogive::join::extend::{
    BlockFinger, BlockIndex, BlockWindow, NumericSeparators, StringSeparators, key_prefix_of, upper_bound,
};

/// Entries of a node: 4 KiB of keys and pointers of 8 bytes each, as in Section 6.6.
const NODE_ENTRIES: usize = 256;

/// A B-tree of integers. Every lookup begins at the root.
#[derive(Debug)]
pub(super) struct SeparatorBTree {
    leaves: NumericSeparators,
    /// Inner levels, the root first.
    inner: Vec<Vec<u64>>,
}

impl SeparatorBTree {
    pub(super) fn new(leaves: NumericSeparators) -> Self {
        let mut inner: Vec<Vec<u64>> = Vec::new();
        loop {
            let below = inner.last().map_or(leaves.starts(), Vec::as_slice);
            if below.len() <= NODE_ENTRIES {
                break;
            }
            let level = below.iter().step_by(NODE_ENTRIES).copied().collect();
            inner.push(level);
        }
        inner.reverse();
        Self { leaves, inner }
    }
}

/// The entries of a node of a level.
#[inline]
fn node(level: &[u64], number: usize) -> &[u64] {
    let begin = number * NODE_ENTRIES;
    level.get(begin..(begin + NODE_ENTRIES).min(level.len())).unwrap_or_default()
}

impl BlockIndex for SeparatorBTree {
    #[inline]
    fn find(&self, key: &[u8], _: &mut BlockFinger) -> Result<BlockWindow> {
        let x = key_prefix_of(key);
        let mut number = 0;
        for level in &self.inner {
            let entry = upper_bound(node(level, number), x).saturating_sub(1);
            number = number * NODE_ENTRIES + entry;
        }
        let found = number * NODE_ENTRIES + upper_bound(node(self.leaves.starts(), number), x);
        Ok(self.leaves.child_window(found))
    }

    fn bytes(&self) -> u64 {
        self.leaves.bytes() + self.inner.iter().map(|level| 8 * level.capacity() as u64).sum::<u64>()
    }
}

/// A B-tree of byte strings, compared in full, byte by byte, as in the paper.
#[derive(Debug)]
pub(super) struct StringBTree {
    leaves: StringSeparators,
    levels: u32,
}

impl StringBTree {
    pub(super) fn new(leaves: StringSeparators) -> Self {
        let mut levels = 1;
        let mut reach = NODE_ENTRIES;
        while reach < leaves.len() {
            levels += 1;
            reach = reach.saturating_mul(NODE_ENTRIES);
        }
        Self { leaves, levels }
    }
}

impl BlockIndex for StringBTree {
    fn find(&self, key: &[u8], _: &mut BlockFinger) -> Result<BlockWindow> {
        // The entries of a node are every 256^level-th separator of its range.
        let mut first = 0;
        for level in (0..self.levels).rev() {
            let stride = NODE_ENTRIES.saturating_pow(level);
            let entries = (self.leaves.len() - first).div_ceil(stride).min(NODE_ENTRIES);
            let (mut low, mut high) = (0, entries);
            while low < high {
                let middle = low + (high - low) / 2;
                if self.leaves.get(first + middle * stride) <= key { low = middle + 1 } else { high = middle }
            }
            first += low.saturating_sub(1) * stride;
        }
        Ok(self.leaves.child_window(first))
    }

    fn bytes(&self) -> u64 {
        self.leaves.bytes()
    }
}
