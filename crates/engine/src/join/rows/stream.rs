//! Rows in memory, and streams of them.

use crate::error::{Error, Result};
use crate::table::ScanValue;

/// The position of a row's key and value in the bytes of a [`RowsView::Spans`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowSpan {
    /// Offset of the key.
    pub key_at: u32,
    /// Length of the key.
    pub key_bytes: u32,
    /// Offset of the value.
    pub value_at: u32,
    /// Length of the value, or of the pointer to it.
    pub value_bytes: u32,
    /// The value is stored out of line; [`RowStream::long_value`] fetches it.
    pub is_long: bool,
}

impl RowSpan {
    /// The span of a row whose value follows its key, which begins at `key_at`.
    #[inline]
    pub(crate) fn of_row(key_at: usize, key: &[u8], value: &[u8]) -> Self {
        Self {
            key_at: key_at as u32,
            key_bytes: key.len() as u32,
            value_at: (key_at + key.len()) as u32,
            value_bytes: value.len() as u32,
            is_long: false,
        }
    }

    /// Appends the value of a record, or the pointer to a long one, after the key that begins at `key_at`.
    pub(crate) fn push_value(bytes: &mut Vec<u8>, key_at: usize, value: ScanValue<'_>) -> Self {
        let value_at = bytes.len();
        let is_long = matches!(value, ScanValue::Long(_));
        match value {
            ScanValue::Here(value) => bytes.extend_from_slice(value),
            ScanValue::Short(value) => bytes.extend_from_slice(&value),
            ScanValue::Long(pointer) => bytes.extend_from_slice(&pointer.encode()),
        }
        Self {
            key_at: key_at as u32,
            key_bytes: (value_at - key_at) as u32,
            value_at: value_at as u32,
            value_bytes: (bytes.len() - value_at) as u32,
            is_long,
        }
    }
}

/// A view of rows in memory, in key order.
#[derive(Clone, Copy, Debug)]
pub enum RowsView<'a> {
    /// Consecutive rows of one width, key first.
    Dense {
        /// The rows.
        bytes: &'a [u8],
        /// Width of keys.
        key: usize,
        /// Width of values.
        value: usize,
    },
    /// Rows of any length.
    Spans {
        /// Keys and values.
        bytes: &'a [u8],
        /// The position of each row.
        spans: &'a [RowSpan],
    },
}

impl<'a> RowsView<'a> {
    /// No rows.
    pub const EMPTY: RowsView<'static> = RowsView::Spans { bytes: &[], spans: &[] };

    /// Number of rows.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            // Empty rows are never stored densely.
            Self::Dense { bytes, key, value } => bytes.len() / (key + value).max(1),
            Self::Spans { spans, .. } => spans.len(),
        }
    }

    /// Whether there are no rows.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key of a row; empty beyond the last row.
    #[inline]
    #[must_use]
    pub fn key(&self, row: usize) -> &'a [u8] {
        match *self {
            Self::Dense { bytes, key, value } => {
                let at = row * (key + value);
                bytes.get(at..at + key).unwrap_or(&[])
            }
            Self::Spans { bytes, spans } => spans.get(row).map_or(&[], |span| {
                let at = span.key_at as usize;
                bytes.get(at..at + span.key_bytes as usize).unwrap_or(&[])
            }),
        }
    }

    /// The in-line value of a row; empty beyond the last row.
    #[inline]
    #[must_use]
    pub fn value(&self, row: usize) -> &'a [u8] {
        match *self {
            Self::Dense { bytes, key, value } => {
                let at = row * (key + value) + key;
                bytes.get(at..at + value).unwrap_or(&[])
            }
            Self::Spans { bytes, spans } => spans.get(row).map_or(&[], |span| {
                let at = span.value_at as usize;
                bytes.get(at..at + span.value_bytes as usize).unwrap_or(&[])
            }),
        }
    }

    /// Whether some value is stored out of line.
    #[inline]
    #[must_use]
    pub fn has_long(&self) -> bool {
        match self {
            Self::Dense { .. } => false,
            Self::Spans { spans, .. } => spans.iter().any(|span| span.is_long),
        }
    }

    /// Whether the value of a row is stored out of line.
    #[inline]
    #[must_use]
    pub fn is_long(&self, row: usize) -> bool {
        matches!(self, Self::Spans { spans, .. } if spans.get(row).is_some_and(|span| span.is_long))
    }
}

/// A stream of the rows of a relation, chunk by chunk: in key order if the relation is sorted. Chunks are never empty.
/// A stream stays on the thread that created it.
pub trait RowStream {
    /// Moves to the next chunk; `false` at the end, and from then on. Rows with keys below `from` are no longer needed
    /// and may be skipped.
    ///
    /// # Errors
    /// Errors of the storage, and damage; the stream must not be used afterwards.
    fn advance(&mut self, from: Option<&[u8]>) -> Result<bool>;

    /// The rows of the current chunk; none before the first [`Self::advance`].
    fn rows(&self) -> RowsView<'_>;

    /// Fetches the out-of-line value of a row of the chunk into `value`, replacing its content.
    ///
    /// # Errors
    /// As [`Self::advance`]; [`Cause::ValueTooLarge`](crate::Cause::ValueTooLarge) if the value does not fit memory.
    fn long_value(&mut self, row: usize, value: &mut Vec<u8>) -> Result<()> {
        let _ = (row, value);
        Err(Error::input("this relation has no long values"))
    }
}

/// A chunk of copied rows, for streams without rows in memory of their own.
#[derive(Debug)]
pub(crate) struct RowChunk {
    bytes: Vec<u8>,
    layout: ChunkLayout,
}

#[derive(Debug)]
enum ChunkLayout {
    Dense { key: usize, value: usize },
    Spans(Vec<RowSpan>),
}

impl RowChunk {
    /// An empty chunk for rows of these widths, if fixed, with room for `capacity_bytes`.
    pub(crate) fn new(key: Option<usize>, value: Option<usize>, capacity_bytes: usize) -> Self {
        let layout = match (key, value) {
            (Some(key), Some(value)) if key + value > 0 => ChunkLayout::Dense { key, value },
            _ => ChunkLayout::Spans(Vec::new()),
        };
        Self { bytes: Vec::with_capacity(capacity_bytes), layout }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        if let ChunkLayout::Spans(spans) = &mut self.layout {
            spans.clear();
        }
    }

    /// Memory of the rows in bytes, spans included.
    pub(crate) fn taken_bytes(&self) -> usize {
        match &self.layout {
            ChunkLayout::Dense { .. } => self.bytes.len(),
            ChunkLayout::Spans(spans) => self.bytes.len() + spans.len() * size_of::<RowSpan>(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && !matches!(&self.layout, ChunkLayout::Spans(spans) if !spans.is_empty())
    }

    /// Appends a row. In a dense chunk, the caller must ensure that it has the chunk's width.
    #[inline]
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        if let ChunkLayout::Spans(spans) = &mut self.layout {
            spans.push(RowSpan::of_row(at, key, value));
        }
    }

    /// Appends a row whose value is stored out of line, with the pointer to it.
    pub(crate) fn push_long(&mut self, key: &[u8], pointer: &[u8]) {
        self.push(key, pointer);
        if let ChunkLayout::Spans(spans) = &mut self.layout
            && let Some(span) = spans.last_mut()
        {
            span.is_long = true;
        }
    }

    pub(crate) fn rows(&self) -> RowsView<'_> {
        match &self.layout {
            &ChunkLayout::Dense { key, value } => RowsView::Dense { bytes: &self.bytes, key, value },
            ChunkLayout::Spans(spans) => RowsView::Spans { bytes: &self.bytes, spans },
        }
    }
}
