//! Learned indexes over the blocks of a table: PGM-index, RadixSpline and RMI, trained on the borders between blocks.
//!
//! A lookup needs a block, not a position, so training on blocks suffices, and costs a two-hundredth of the work of
//! training on keys. An error in keys becomes one in blocks, rounded up, as in [`ogive::tune`].

use crate::models::Locate;
use ogive::Result;
use ogive::join::extend::{
    BlockFinger, BlockIndex, BlockSeparators, BlockWindow, NumericSeparators, StringSeparators, key_prefix_of,
};
use ogive_model::Fence;
use std::fmt::Debug;

/// The mapping of keys to integers.
#[derive(Clone, Debug)]
enum KeyMapping {
    /// Keys are integers.
    Numeric,
    /// The eight bytes after the common prefix of all separators. Keys may collide, so learned windows are approximate.
    Behind(Vec<u8>),
}

impl KeyMapping {
    #[inline]
    fn of(&self, key: &[u8]) -> u64 {
        match self {
            Self::Numeric => key_prefix_of(key),
            Self::Behind(prefix) => match key.get(..prefix.len()).unwrap_or(key).cmp(prefix) {
                std::cmp::Ordering::Less => 0,
                std::cmp::Ordering::Equal => key_prefix_of(key.get(prefix.len()..).unwrap_or_default()),
                std::cmp::Ordering::Greater => u64::MAX,
            },
        }
    }
}

/// The borders between blocks, the training data of learned indexes.
#[derive(Clone, Debug)]
pub(super) struct BlockBorders {
    key_mapping: KeyMapping,
    fences: Vec<Fence>,
    blocks: u64,
}

impl BlockBorders {
    /// The borders of separators, one per block.
    pub(super) fn of(separators: &BlockSeparators) -> Self {
        match separators {
            BlockSeparators::Numeric(numbers) => Self::of_numbers(numbers),
            BlockSeparators::Strings(strings) => Self::of_strings(strings),
        }
    }

    fn of_numbers(numbers: &NumericSeparators) -> Self {
        Self { key_mapping: KeyMapping::Numeric, fences: numbers.fences().collect(), blocks: numbers.blocks() }
    }

    fn of_strings(strings: &StringSeparators) -> Self {
        let numbers = strings.numbers();
        let fence = |i: usize| {
            let x = numbers[i];
            // A key that maps to the same integer as a separator may lie on either side of it. If the neighbours leave
            // room, the fence says so.
            let room_below = i == 0 || numbers[i - 1].checked_add(2).is_some_and(|least| least <= x);
            let room_above = numbers.get(i + 1).is_none_or(|next| x.checked_add(2).is_some_and(|most| most <= *next));
            match room_below && room_above && x > 0 && x < u64::MAX {
                true => Fence { low: x - 1, high: x + 1 },
                false => Fence { low: x, high: x },
            }
        };
        let fences = (0..numbers.len()).map(fence).collect();
        Self { key_mapping: KeyMapping::Behind(strings.prefix().to_vec()), fences, blocks: strings.blocks() }
    }
}

/// A learned index over the blocks of a table.
#[derive(Debug)]
pub(super) struct LearnedIndex<L> {
    key_mapping: KeyMapping,
    structure: L,
    blocks: u64,
    /// Whether a lookup continues from the leaf of the previous one; otherwise it descends from the root.
    is_forward: bool,
}

impl<L: Locate> LearnedIndex<L> {
    /// Trains the structure.
    pub(super) fn train(borders: BlockBorders, is_forward: bool, build: impl FnOnce(&[Fence]) -> L) -> Self {
        let structure = build(&borders.fences);
        Self { key_mapping: borders.key_mapping, structure, blocks: borders.blocks, is_forward }
    }
}

impl<L: Locate + Debug + Send + Sync> BlockIndex for LearnedIndex<L> {
    #[inline]
    fn find(&self, key: &[u8], finger: &mut BlockFinger) -> Result<BlockWindow> {
        let x = self.key_mapping.of(key);
        finger.at = match self.is_forward && x >= finger.x {
            true => self.structure.leaf_from(finger.at, x),
            false => self.structure.leaf_of(x),
        };
        finger.x = x;
        let window = self.structure.window_in(finger.at, x);
        let last = self.blocks.saturating_sub(1);
        let first = (*window.start()).min(last);
        let is_exact = matches!(self.key_mapping, KeyMapping::Numeric);
        Ok(BlockWindow { first, last: (*window.end()).clamp(first, last), is_exact })
    }

    fn bytes(&self) -> u64 {
        self.structure.resident_bytes()
    }
}
