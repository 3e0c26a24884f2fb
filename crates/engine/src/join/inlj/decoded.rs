//! The rows of a block that do not lie densely, laid out one behind the other.

use super::piece::{BlockRows, Piece};
use crate::error::Result;
use crate::join::rows::{RowsView, Span};
use crate::table::value::ValuePointer;
use crate::table::{Table, ValuePlace};

/// The rows of one block.
#[derive(Debug, Default)]
pub(super) struct Decoded {
    bytes: Vec<u8>,
    spans: Vec<Span>,
    /// Of rows whose values lie elsewhere.
    pointers: Vec<(usize, ValuePointer)>,
    block: Option<u64>,
}

impl Decoded {
    /// Lays out the rows of a block of a piece, unless they lie densely there.
    ///
    /// # Errors
    /// Damage.
    pub(super) fn load(&mut self, table: &Table, piece: &Piece, block: usize) -> Result<()> {
        let BlockRows::Unpacked(unpacked) = piece.rows(block) else { return Ok(()) };
        let Some(number) = piece.blocks.get(block).map(|block| block.number) else { return Ok(()) };
        if self.block == Some(number) {
            return Ok(());
        }
        self.block = None;
        self.bytes.clear();
        self.spans.clear();
        self.pointers.clear();
        let Self { bytes, spans, pointers, .. } = self;
        table.visit_rows(number, unpacked, |(prefix, rest), value| {
            let key_at = bytes.len();
            bytes.extend_from_slice(prefix);
            bytes.extend_from_slice(rest);
            let value_at = bytes.len();
            let is_long = match value {
                ValuePlace::Inline(value) => {
                    bytes.extend_from_slice(value);
                    false
                }
                ValuePlace::Long(pointer) => {
                    pointers.push((spans.len(), pointer));
                    true
                }
            };
            // A block is at most some MiB long.
            spans.push(Span {
                key_at: key_at as u32,
                key_bytes: (value_at - key_at) as u32,
                value_at: value_at as u32,
                value_bytes: (bytes.len() - value_at) as u32,
                is_long,
            });
        })?;
        self.block = Some(number);
        Ok(())
    }

    /// The rows of a block that was loaded, if it needed that.
    pub(super) fn rows<'a>(&'a self, table: &Table, piece: &'a Piece, block: usize) -> RowsView<'a> {
        match (piece.rows(block), table.dense_widths()) {
            (BlockRows::Dense(bytes), Some((key, value))) => RowsView::Dense { bytes, key, value },
            (BlockRows::Dense(_), None) => RowsView::EMPTY,
            (BlockRows::Unpacked(_), _) => RowsView::Spans { bytes: &self.bytes, spans: &self.spans },
        }
    }

    /// Whether some value of a block that was loaded lies elsewhere.
    pub(super) fn has_long(&self, piece: &Piece, block: usize) -> bool {
        !self.pointers.is_empty() && matches!(piece.rows(block), BlockRows::Unpacked(_))
    }

    /// Where the value of a row lies that is long.
    pub(super) fn pointer(&self, row: usize) -> Option<ValuePointer> {
        let at = self.pointers.binary_search_by_key(&row, |&(row, _)| row).ok()?;
        self.pointers.get(at).map(|&(_, pointer)| pointer)
    }
}
