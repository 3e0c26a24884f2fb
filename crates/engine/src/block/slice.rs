//! Byte slices that share their backing memory instead of copying it.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Bytes that share memory with their source: a cached block, a batch of operations, or a value that was read. Cloning
/// does not copy. A slice keeps all of its source in memory, so long-lived data should be copied.
#[derive(Clone)]
pub struct Slice(Bytes);

/// Slices up to this length are copied, which costs less than sharing.
const INLINE_BYTES: usize = 30;

#[derive(Clone)]
enum Bytes {
    Inline { length: u8, bytes: [u8; INLINE_BYTES] },
    Block { block: Arc<[u8]>, start: u32, end: u32 },
    Buffer { buffer: Arc<Vec<u8>>, start: usize, end: usize },
}

impl Slice {
    /// A part of a block; `None` if it is out of bounds.
    pub(crate) fn of_block(block: &Arc<[u8]>, range: Range<usize>) -> Option<Self> {
        block.get(range.clone())?;
        let (start, end) = (u32::try_from(range.start).ok()?, u32::try_from(range.end).ok()?);
        Some(Self(Bytes::Block { block: Arc::clone(block), start, end }))
    }

    /// A part of a buffer; `None` if it is out of bounds.
    pub(crate) fn of_buffer(buffer: &Arc<Vec<u8>>, range: Range<usize>) -> Option<Self> {
        buffer.get(range.clone())?;
        Some(Self(Bytes::Buffer { buffer: Arc::clone(buffer), start: range.start, end: range.end }))
    }
}

impl Slice {
    /// The slice without its first bytes, of which there are at least this many.
    pub(crate) fn without_first(self, skip: usize) -> Self {
        let length = self.len().saturating_sub(skip);
        match self.0 {
            Bytes::Inline { .. } => Self::from(self.get(skip..).unwrap_or_default()),
            Bytes::Block { block, end, .. } => Self(Bytes::Block { block, start: end - length as u32, end }),
            Bytes::Buffer { buffer, end, .. } => Self(Bytes::Buffer { buffer, start: end - length, end }),
        }
    }
}

impl Deref for Slice {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let bytes = match &self.0 {
            Bytes::Inline { length, bytes } => bytes.get(..usize::from(*length)),
            Bytes::Block { block, start, end } => block.get(*start as usize..*end as usize),
            Bytes::Buffer { buffer, start, end } => buffer.get(*start..*end),
        };
        bytes.unwrap_or_default()
    }
}

impl AsRef<[u8]> for Slice {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Vec<u8>> for Slice {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Bytes::Buffer { start: 0, end: bytes.len(), buffer: Arc::new(bytes) })
    }
}

impl From<&[u8]> for Slice {
    /// Copies the bytes; short slices without allocation.
    fn from(bytes: &[u8]) -> Self {
        let mut inline = [0; INLINE_BYTES];
        match inline.get_mut(..bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                Self(Bytes::Inline { length: bytes.len() as u8, bytes: inline })
            }
            None => bytes.to_vec().into(),
        }
    }
}

impl<B: AsRef<[u8]> + ?Sized> PartialEq<B> for Slice {
    fn eq(&self, other: &B) -> bool {
        **self == *other.as_ref()
    }
}

impl Eq for Slice {}

impl fmt::Debug for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.escape_ascii())
    }
}
