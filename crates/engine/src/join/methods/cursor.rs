//! Positions in streams of rows.

use crate::error::Result;
use crate::join::rows::stream::{RowStream, RowsView};

/// The position of a stream: a row of its current chunk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StreamCursor {
    pub(super) at: usize,
    /// Whether the chunk has out-of-line values: a chunk may be in many rounds.
    pub(super) has_long: bool,
}

impl StreamCursor {
    pub(super) fn advance(&mut self, stream: &mut dyn RowStream, from: Option<&[u8]>) -> Result<bool> {
        let is_there = stream.advance(from)?;
        *self = Self { at: 0, has_long: is_there && stream.rows().has_long() };
        Ok(is_there)
    }
}

/// The first row from `at` on whose key differs from `key`.
pub(super) fn run_end_of(rows: &RowsView<'_>, at: usize, key: &[u8]) -> usize {
    let end = rows.len();
    let mut next = at;
    while next < end && rows.key(next) == key {
        next += 1;
    }
    next
}
