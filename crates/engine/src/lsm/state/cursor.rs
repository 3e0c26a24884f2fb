//! The cursor trait: a position among entries, implemented by memtables, tables, levels, and merges of them.

use crate::block::Slice;
use crate::error::Result;
use crate::lsm::state::entry::{Entry, Sequence};
use std::fmt::Debug;

/// A target position of a cursor.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SeekGoal<'a> {
    First,
    Last,
    /// The first entry at or after a key and sequence number.
    From(&'a [u8], Sequence),
    /// The last entry whose key is less.
    Before(&'a [u8]),
}

/// A position among entries, ordered by key, then newest first. Range tombstones are not shown.
///
/// A new cursor is unpositioned. After an error it is unpositioned, and every further move fails, so an error is never
/// mistaken for the end.
pub(crate) trait EntryCursor: Debug + Send {
    /// The current entry; `None` before the first, behind the last, and while unpositioned.
    fn entry(&self) -> Option<Entry<'_>>;

    /// The value of the current entry, sharing its buffer.
    fn value_slice(&self) -> Option<Slice>;

    /// Starts to read what a move to this position, which follows, needs first. The cursor becomes unpositioned. Errors
    /// are left to the move.
    fn start(&mut self, _goal: SeekGoal<'_>) {}

    /// Moves to the first entry at or after (`key`, `sequence`): the newest version of the key that is not newer than
    /// `sequence`, or else an entry of a later key.
    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()>;

    /// Moves to the last entry whose key is less than `key`.
    fn seek_before(&mut self, key: &[u8]) -> Result<()>;

    /// Moves to the first entry.
    fn first(&mut self) -> Result<()>;

    /// Moves to the last entry.
    fn last(&mut self) -> Result<()>;

    /// Moves to the next entry. At the last entry, or unpositioned, the cursor becomes or stays unpositioned.
    fn next(&mut self) -> Result<()>;

    /// Moves to the previous entry. At the first entry, or unpositioned, the cursor becomes or stays unpositioned.
    fn prev(&mut self) -> Result<()>;
}
