//! Rows in memory, and streams of them.

use crate::error::{Error, Result};
use crate::table::ScanValue;

/// Where key and value of a row lie in the bytes of a [`RowsView::Spans`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) key_at: u32,
    pub(crate) key_bytes: u32,
    pub(crate) value_at: u32,
    pub(crate) value_bytes: u32,
    /// The value lies elsewhere; [`RowStream::long_value`] fetches it.
    pub(crate) is_long: bool,
}

impl Span {
    /// Appends the value of a record, or the place of a long one, to the key that was appended to `bytes` from `key_at` on.
    pub(crate) fn push_value(bytes: &mut Vec<u8>, key_at: usize, value: ScanValue<'_>) -> Self {
        let value_at = bytes.len();
        let is_long = matches!(value, ScanValue::Long(_));
        match value {
            ScanValue::Here(value) => bytes.extend_from_slice(value),
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

/// Rows that lie together in memory, in key order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowsView<'a> {
    /// Rows of one width, key first, without gaps.
    Dense { bytes: &'a [u8], key: usize, value: usize },
    /// Rows of any length.
    Spans { bytes: &'a [u8], spans: &'a [Span] },
}

impl<'a> RowsView<'a> {
    /// No rows.
    pub(crate) const EMPTY: RowsView<'static> = RowsView::Spans { bytes: &[], spans: &[] };

    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            // Rows of no bytes are not stored densely.
            Self::Dense { bytes, key, value } => bytes.len() / (key + value).max(1),
            Self::Spans { spans, .. } => spans.len(),
        }
    }

    /// The key of a row; empty behind the last row.
    #[inline]
    pub(crate) fn key(&self, row: usize) -> &'a [u8] {
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

    /// The value of a row that is not long; empty behind the last row.
    #[inline]
    pub(crate) fn value(&self, row: usize) -> &'a [u8] {
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

    /// Whether the value of a row lies elsewhere.
    #[inline]
    pub(crate) fn is_long(&self, row: usize) -> bool {
        matches!(self, Self::Spans { spans, .. } if spans.get(row).is_some_and(|span| span.is_long))
    }
}

/// Rows of a relation, chunk by chunk. Those of a sorted relation come in key order; a chunk is never empty. A stream stays on the thread
/// that began it.
pub(crate) trait RowStream {
    /// Goes to the next chunk; `false` behind the last one, and from then on. Rows whose keys are below `from` are not needed any more: a
    /// stream may leave them out.
    ///
    /// # Errors
    /// What the storage reports, and damage; the stream is not used any further then.
    fn advance(&mut self, from: Option<&[u8]>) -> Result<bool>;

    /// The rows of the chunk; none before the first [`Self::advance`].
    fn rows(&self) -> RowsView<'_>;

    /// Fetches the value of a row of the chunk that is long, in place of what `value` holds.
    ///
    /// # Errors
    /// As [`Self::advance`]; [`Error::ValueTooLarge`] where memory has no room for it.
    fn long_value(&mut self, row: usize, value: &mut Vec<u8>) -> Result<()> {
        let _ = (row, value);
        Err(Error::InvalidArgument("this relation has no long values".into()))
    }
}

/// A chunk that is made by copying rows: what streams hold that have no rows in memory themselves.
#[derive(Debug)]
pub(crate) struct Chunk {
    bytes: Vec<u8>,
    shape: Shape,
}

#[derive(Debug)]
enum Shape {
    Dense { key: usize, value: usize },
    Spans(Vec<Span>),
}

impl Chunk {
    /// A chunk for rows of these widths, where they are fixed; it takes `capacity_bytes` and [`Self::overhead_bytes`].
    pub(crate) fn new(key: Option<usize>, value: Option<usize>, capacity_bytes: usize) -> Self {
        let shape = match (key, value) {
            (Some(key), Some(value)) if key + value > 0 => Shape::Dense { key, value },
            _ => Shape::Spans(Vec::new()),
        };
        Self { bytes: Vec::with_capacity(capacity_bytes), shape }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        if let Shape::Spans(spans) = &mut self.shape {
            spans.clear();
        }
    }

    /// Bytes of memory that the rows take, of the bytes themselves and beside them.
    pub(crate) fn taken_bytes(&self) -> usize {
        match &self.shape {
            Shape::Dense { .. } => self.bytes.len(),
            Shape::Spans(spans) => self.bytes.len() + spans.len() * size_of::<Span>(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && !matches!(&self.shape, Shape::Spans(spans) if !spans.is_empty())
    }

    /// Appends a row; one of another width than the chunk's is left to the caller's care.
    #[inline]
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        if let Shape::Spans(spans) = &mut self.shape {
            let value_at = at + key.len();
            spans.push(Span {
                key_at: at as u32,
                key_bytes: key.len() as u32,
                value_at: value_at as u32,
                value_bytes: value.len() as u32,
                is_long: false,
            });
        }
    }

    pub(crate) fn rows(&self) -> RowsView<'_> {
        match &self.shape {
            &Shape::Dense { key, value } => RowsView::Dense { bytes: &self.bytes, key, value },
            Shape::Spans(spans) => RowsView::Spans { bytes: &self.bytes, spans },
        }
    }
}
