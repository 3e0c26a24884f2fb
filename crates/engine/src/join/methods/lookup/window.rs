//! Windows: the blocks in which an index locates a key.

use crate::error::Result;
use crate::table::key_prefix_at;
use std::fmt::Debug;

/// The blocks that contain the first row of a key, if the key is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockWindow {
    /// The first block.
    pub first: u64,
    /// The last block.
    pub last: u64,
    /// Whether the window is certain. An approximate window is checked against the data, and widened if wrong.
    pub is_exact: bool,
}

/// The position in an index at which the last lookup ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockFinger {
    /// A leaf, or a separator.
    pub at: usize,
    /// The key prefix of that lookup.
    pub x: u64,
}

/// The largest integer as a key.
const LARGEST: &[u8] = &[0xFF; 8];

/// An index over the blocks of a table.
pub trait BlockIndex: Debug + Send + Sync {
    /// Looks a key up: from the root, or from the leaf at `finger`, which is updated. Total: any key has a window
    /// within the table.
    ///
    /// # Errors
    /// Errors of the storage, and damage, for indexes not entirely in memory.
    fn find(&self, key: &[u8], finger: &mut BlockFinger) -> Result<BlockWindow>;

    /// As [`Self::find`], but correct for the largest integer too: no separator lies above it, so its rows may begin
    /// where those of its predecessor would.
    ///
    /// # Errors
    /// As [`Self::find`].
    #[inline]
    fn look_up(&self, key: &[u8], finger: &mut BlockFinger) -> Result<BlockWindow> {
        if key != LARGEST {
            return self.find(key, finger);
        }
        let before = self.find(&(u64::MAX - 1).to_be_bytes(), finger)?;
        let found = self.find(key, finger)?;
        Ok(BlockWindow {
            first: before.first.min(found.first),
            last: before.last.max(found.last),
            is_exact: before.is_exact && found.is_exact,
        })
    }

    /// Memory of the index in bytes.
    fn bytes(&self) -> u64;
}

/// The key prefix of a key in a table of integers; for a key of another length, the nearest integer at or below it.
/// Monotone in the key.
#[inline]
#[must_use]
pub fn key_prefix_of(key: &[u8]) -> u64 {
    key_prefix_at(key, 0)
}
