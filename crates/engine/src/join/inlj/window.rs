//! Windows: the blocks in which an index locates a key.

use crate::error::Result;
use crate::table::key_prefix_at;
use std::fmt::Debug;

/// The blocks where the first row of a key lies if the key is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// Whether that is certain. A hint is checked against what was read, and widened where it was wrong.
    pub(crate) proof: bool,
}

/// Where in an index the last look-up ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Finger {
    /// A leaf, or a separator.
    pub(crate) at: usize,
    /// Coordinate of the key.
    pub(crate) x: u64,
}

/// The largest number as a key.
const LARGEST: &[u8] = &[0xFF; 8];

/// An index in memory over the blocks of a table.
pub(crate) trait BlockIndex: Debug + Send + Sync {
    /// Looks a key up, as the index does it: from the root, or from the leaf that `finger` points to, which moves along.
    ///
    /// # Errors
    /// What the storage reports, and damage, for indexes that are not all in memory.
    fn find(&self, key: &[u8], finger: &mut Finger) -> Result<Window>;

    /// The same for the largest number, too: no separator stands behind it, so that its rows may begin where its predecessor's would.
    ///
    /// # Errors
    /// As [`Self::find`].
    #[inline]
    fn look_up(&self, key: &[u8], finger: &mut Finger) -> Result<Window> {
        if key != LARGEST {
            return self.find(key, finger);
        }
        let before = self.find(&(u64::MAX - 1).to_be_bytes(), finger)?;
        let found = self.find(key, finger)?;
        Ok(Window {
            first: before.first.min(found.first),
            last: before.last.max(found.last),
            proof: before.proof && found.proof,
        })
    }

    /// Bytes of memory that it takes.
    fn bytes(&self) -> u64;
}

/// The coordinate of a key in a table of numeric keys; of another length, that of the nearest number at or below it. Never falls as keys
/// rise.
#[inline]
pub(super) fn coordinate(key: &[u8]) -> u64 {
    key_prefix_at(key, 0)
}
