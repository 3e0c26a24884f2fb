//! The state of the leaf chain, stored after the state of the router.

use crate::error::Result;
use crate::index::entries::packed::word_at;
use crate::index::entries::word::Word;
use crate::page::{PageNumber, Pages};

const NUMBER_BYTES: usize = 4;
const NUMBER_COUNT: usize = 4;

/// The state of the leaf chain: 24 bytes for keys of 8. It follows the router's state, so that a router can change the
/// length of its own in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChainState<W> {
    /// The head of the first group of leaves.
    pub(super) first: PageNumber,
    /// The head of the last group, which is not in the router.
    pub(super) last: PageNumber,
    /// The last leaf of the chain: that of `last`, or the last continuation of its run.
    pub(super) tail: PageNumber,
    /// Number of leaves in the chain.
    pub(super) leaves: u32,
    /// A bound of all separators: keys above it are in the last leaf, without a search of the router.
    pub(super) low: W,
}

impl<W: Word> ChainState<W> {
    const BYTES: usize = NUMBER_COUNT * NUMBER_BYTES + W::BYTES;

    /// Parses the state of a tree: the chain's, and the router's before it.
    pub(super) fn parse<'a>(pages: &dyn Pages, state: &'a [u8]) -> Result<(Self, &'a [u8])> {
        let split = state.len().checked_sub(Self::BYTES).and_then(|length| state.split_at_checked(length));
        let Some((router, bytes)) = split else {
            return Err(pages.damaged(0, "the state of an index is too short"));
        };
        let number = |index: usize| word_at::<u64>(bytes, NUMBER_BYTES, index) as u32;
        let low = W::load(&bytes[NUMBER_COUNT * NUMBER_BYTES..]);
        let chain = Self { first: number(0), last: number(1), tail: number(2), leaves: number(3), low };
        Ok((chain, router))
    }

    /// Removes the state of the chain, which leaves the router's.
    pub(super) fn strip(state: &mut Vec<u8>) {
        state.truncate(state.len().saturating_sub(Self::BYTES));
    }

    /// Appends the state of the chain to the router's.
    pub(super) fn append(&self, state: &mut Vec<u8>) {
        for number in [self.first, self.last, self.tail, self.leaves] {
            state.extend_from_slice(&number.to_le_bytes());
        }
        let start = state.len();
        state.resize(start + W::BYTES, 0);
        self.low.store(&mut state[start..]);
    }

    /// Whether there is only one group of leaves, so that the router is empty.
    #[inline]
    pub(super) fn is_single(&self) -> bool {
        self.first == self.last
    }
}

/// The predecessor of a key; the least key maps to itself.
pub(super) fn below<W: Word>(key: W) -> W {
    W::from_u128(key.to_u128().saturating_sub(1))
}
