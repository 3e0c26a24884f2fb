//! Bytes that are shared rather than copied.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Bytes shared with what holds them: a cached block, a group of operations, a value that was read. Cloning copies no byte; a
/// slice keeps the whole of what holds it in memory, so one that is to live long is better copied.
#[derive(Clone)]
pub struct Slice {
    owner: Owner,
    start: usize,
    end: usize,
}

#[derive(Clone)]
enum Owner {
    Block(Arc<[u8]>),
    Buffer(Arc<Vec<u8>>),
}

impl Owner {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Block(bytes) => bytes,
            Self::Buffer(bytes) => bytes,
        }
    }
}

impl Slice {
    /// A part of a block; `None` where the block does not have it.
    pub(crate) fn of_block(block: &Arc<[u8]>, range: Range<usize>) -> Option<Self> {
        block.get(range.clone())?;
        Some(Self { owner: Owner::Block(Arc::clone(block)), start: range.start, end: range.end })
    }

    /// A part of a buffer; `None` where the buffer does not have it.
    pub(crate) fn of_buffer(buffer: &Arc<Vec<u8>>, range: Range<usize>) -> Option<Self> {
        buffer.get(range.clone())?;
        Some(Self { owner: Owner::Buffer(Arc::clone(buffer)), start: range.start, end: range.end })
    }
}

impl Deref for Slice {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.owner.bytes().get(self.start..self.end).unwrap_or_default()
    }
}

impl AsRef<[u8]> for Slice {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Vec<u8>> for Slice {
    fn from(bytes: Vec<u8>) -> Self {
        Self { start: 0, end: bytes.len(), owner: Owner::Buffer(Arc::new(bytes)) }
    }
}

impl From<&[u8]> for Slice {
    fn from(bytes: &[u8]) -> Self {
        Self { start: 0, end: bytes.len(), owner: Owner::Block(bytes.into()) }
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
