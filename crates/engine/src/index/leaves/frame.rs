//! The state of a tree: that of its router, and behind it what the leaves need.

use crate::error::Result;
use crate::index::packed::word_at;
use crate::index::word::Word;
use crate::page::{PageNumber, Pages};

const NUMBER_BYTES: usize = 4;
const NUMBERS: usize = 4;

/// What is known about the leaves without reading one: 24 bytes for keys of 8. It stands behind the router's state, so
/// that a router may change the length of its own in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame<W> {
    /// The head of the first group of leaves.
    pub(super) first: PageNumber,
    /// The head of the last group, which is not in the router.
    pub(super) last: PageNumber,
    /// The leaf at the end of the chain: that of `last`, or the last continuation of its run.
    pub(super) tail: PageNumber,
    /// Leaves in the chain.
    pub(super) leaves: u32,
    /// Not below the greatest separator: keys above it lie in the last leaf, without a look into the router.
    pub(super) low: W,
}

impl<W: Word> Frame<W> {
    const BYTES: usize = NUMBERS * NUMBER_BYTES + W::BYTES;

    /// The frame, and the router's state in front of it.
    pub(super) fn parse<'a>(pages: &dyn Pages, state: &'a [u8]) -> Result<(Self, &'a [u8])> {
        let split = state.len().checked_sub(Self::BYTES).and_then(|length| state.split_at_checked(length));
        let Some((router, bytes)) = split else {
            return Err(pages.damaged(0, "the state of an index is too short"));
        };
        let number = |index: usize| word_at::<u64>(bytes, NUMBER_BYTES, index) as u32;
        let low = W::load(&bytes[NUMBERS * NUMBER_BYTES..]);
        let frame = Self { first: number(0), last: number(1), tail: number(2), leaves: number(3), low };
        Ok((frame, router))
    }

    /// Cuts the frame off, so that the router's state is left.
    pub(super) fn take(state: &mut Vec<u8>) {
        state.truncate(state.len().saturating_sub(Self::BYTES));
    }

    /// Puts the frame behind the router's state.
    pub(super) fn append(&self, state: &mut Vec<u8>) {
        for number in [self.first, self.last, self.tail, self.leaves] {
            state.extend_from_slice(&number.to_le_bytes());
        }
        let start = state.len();
        state.resize(start + W::BYTES, 0);
        self.low.store(&mut state[start..]);
    }

    /// Whether there is one group of leaves, and the router is empty.
    #[inline]
    pub(super) fn is_single(&self) -> bool {
        self.first == self.last
    }
}

/// The key just below; the least key has none and stays.
pub(super) fn below<W: Word>(key: W) -> W {
    W::from_u128(key.to_u128().saturating_sub(1))
}
