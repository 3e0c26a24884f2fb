//! The cursor trait: a position among entries, implemented by memtables, tables, levels, and merges of them.

use super::entry::{Entry, Sequence};
use crate::block::Slice;
use crate::error::Result;
use std::fmt::Debug;

/// A position among entries in the order of all sources: by key, then newest first. Range tombstones are not shown.
///
/// A new cursor stands nowhere. After an error it stands nowhere, and every further move gives an error: an error is never
/// taken for the end.
pub(crate) trait Cursor: Debug + Send {
    /// The entry here; `None` behind either end, and nowhere.
    fn entry(&self) -> Option<Entry<'_>>;

    /// The value of the entry here, shared.
    fn value_slice(&self) -> Option<Slice>;

    /// To the first entry at or behind (`key`, `sequence`): those of the key itself that are not newer, or of the next keys.
    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()>;

    /// To the last entry whose key is less than `key`.
    fn seek_before(&mut self, key: &[u8]) -> Result<()>;

    /// To the first entry.
    fn first(&mut self) -> Result<()>;

    /// To the last entry.
    fn last(&mut self) -> Result<()>;

    /// To the next entry; nowhere from the last one, and from nowhere.
    fn next(&mut self) -> Result<()>;

    /// To the entry before; nowhere from the first one, and from nowhere.
    fn prev(&mut self) -> Result<()>;
}
