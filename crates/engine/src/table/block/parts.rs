//! The parts of a record in a block: keys and values that may be shared or decoded, and version tags.

use crate::table::format::value::ValuePointer;
use std::cmp::Ordering;
use std::ops::{Deref, Range};

/// Longest part of a key from its first number on.
pub(in crate::table) const KEY_WINDOW_BYTES_MAX: usize = 40;
/// Largest value that is coded as numbers.
pub(in crate::table) const CODED_VALUE_BYTES_MAX: usize = 16;
/// Size of the version tag before a value in a versioned table, in blocks without columns: the kind, and the sequence
/// number with all bits flipped, so that larger sequence numbers come first.
pub(in crate::table) const VERSION_TAG_BYTES: usize = 9;

/// Size of an offset in a block, in bytes.
pub(in crate::table) fn start_bytes(block_bytes: usize) -> usize {
    if block_bytes <= 1 << 16 { 2 } else { 4 }
}

/// Kind and sequence number of a record in a versioned table; zeros in other tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::table) struct VersionTag {
    pub(in crate::table) kind: u8,
    pub(in crate::table) sequence: u64,
}

impl VersionTag {
    /// The stored form before a value.
    pub(in crate::table) fn to_bytes(self) -> [u8; VERSION_TAG_BYTES] {
        let mut bytes = [self.kind; VERSION_TAG_BYTES];
        bytes[1..].copy_from_slice(&(!self.sequence).to_be_bytes());
        bytes
    }

    /// Splits the tag off a stored value.
    pub(in crate::table) fn split(value: &[u8]) -> Option<(Self, &[u8])> {
        let (&[kind, ref flipped @ ..], value) = value.split_first_chunk::<VERSION_TAG_BYTES>()?;
        Some((Self { kind, sequence: !u64::from_be_bytes(*flipped) }, value))
    }
}

/// A value as stored in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::table) enum StoredValue<'a> {
    Inline(&'a [u8]),
    /// A value that was decoded.
    Short(ShortValue),
    Long(ValuePointer),
}

impl StoredValue<'_> {
    /// The bytes of a value that is in the block; `None` for a long one.
    pub(in crate::table) fn in_block(&self) -> Option<&[u8]> {
        match self {
            Self::Inline(value) => Some(value),
            Self::Short(value) => Some(value),
            Self::Long(_) => None,
        }
    }

    /// Size of the value in the block, or of the pointer to it.
    pub(in crate::table) fn stored_bytes(&self) -> usize {
        self.in_block().map_or(ValuePointer::BYTES, <[u8]>::len)
    }

    /// Size of the value, wherever it is.
    pub(in crate::table) fn value_bytes(&self) -> u64 {
        match self {
            Self::Inline(value) => value.len() as u64,
            Self::Short(value) => value.len() as u64,
            Self::Long(pointer) => pointer.length,
        }
    }
}

/// The location of a value: in the block, here, or elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::table) enum ValueLocation {
    Inline(Range<usize>),
    Short(ShortValue),
    Long(ValuePointer),
}

/// A short value that was decoded from numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShortValue {
    length: u8,
    bytes: [u8; CODED_VALUE_BYTES_MAX],
}

impl ShortValue {
    /// A value of `length` zeros; `None` if that is not short.
    pub(in crate::table) fn zeros(length: usize) -> Option<Self> {
        (length <= CODED_VALUE_BYTES_MAX).then_some(Self { length: length as u8, bytes: [0; CODED_VALUE_BYTES_MAX] })
    }

    pub(in crate::table) fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(..usize::from(self.length)).unwrap_or_default()
    }
}

impl Deref for ShortValue {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }
}

/// A stored key: a part that may be shared with other keys, a part that was decoded, and the rest.
#[derive(Clone, Copy, Debug)]
pub(in crate::table) struct SplitKey<'a> {
    prefix: &'a [u8],
    window: [u8; KEY_WINDOW_BYTES_MAX],
    window_bytes: usize,
    rest: &'a [u8],
}

impl<'a> SplitKey<'a> {
    #[inline]
    pub(super) fn of_parts(prefix: &'a [u8], rest: &'a [u8]) -> Self {
        Self { prefix, window: [0; KEY_WINDOW_BYTES_MAX], window_bytes: 0, rest }
    }

    #[inline]
    pub(in crate::table) fn whole(key: &'a [u8]) -> Self {
        Self::of_parts(&[], key)
    }

    /// A key of a shared part and `window` bytes that are still to be decoded; `None` if these are too many.
    #[inline]
    pub(in crate::table) fn with_window(prefix: &'a [u8], window: usize) -> Option<Self> {
        (window <= KEY_WINDOW_BYTES_MAX).then_some(Self { window_bytes: window, ..Self::of_parts(prefix, &[]) })
    }

    /// With what follows the decoded bytes.
    #[inline]
    pub(in crate::table) fn followed_by(self, rest: &'a [u8]) -> Self {
        Self { rest, ..self }
    }

    #[inline]
    pub(in crate::table) fn window_mut(&mut self) -> &mut [u8] {
        self.window.get_mut(..self.window_bytes).unwrap_or_default()
    }

    #[inline]
    fn parts(&self) -> [&[u8]; 3] {
        [self.prefix, self.window.get(..self.window_bytes).unwrap_or_default(), self.rest]
    }

    pub(in crate::table) fn compare(&self, mut other: &[u8]) -> Ordering {
        for part in self.parts() {
            let Some((head, rest)) = other.split_at_checked(part.len()) else { return part.cmp(other) };
            match part.cmp(head) {
                Ordering::Equal => other = rest,
                unequal => return unequal,
            }
        }
        if other.is_empty() { Ordering::Equal } else { Ordering::Less }
    }

    pub(in crate::table) fn is(&self, other: &[u8]) -> bool {
        self.compare(other) == Ordering::Equal
    }

    pub(in crate::table) fn to_vec(self) -> Vec<u8> {
        self.parts().concat()
    }

    pub(in crate::table) fn len(&self) -> usize {
        self.prefix.len() + self.window_bytes + self.rest.len()
    }

    /// The key, copied to `buffer` if it is in several parts.
    #[inline]
    pub(in crate::table) fn joined<'b>(&'b self, buffer: &'b mut Vec<u8>) -> &'b [u8] {
        if self.prefix.is_empty() && self.window_bytes == 0 {
            return self.rest;
        }
        self.copy_to(buffer);
        buffer
    }

    /// Appends the key.
    pub(in crate::table) fn append_to(&self, buffer: &mut Vec<u8>) {
        self.parts().iter().for_each(|part| buffer.extend_from_slice(part));
    }

    /// Replaces the content of a buffer with the key.
    pub(in crate::table) fn copy_to(&self, buffer: &mut Vec<u8>) {
        buffer.clear();
        self.append_to(buffer);
    }

    /// Fills a place of the key's length; `None` if it has another.
    pub(in crate::table) fn copy_into(&self, mut place: &mut [u8]) -> Option<()> {
        for part in self.parts() {
            let (head, rest) = place.split_at_mut_checked(part.len())?;
            head.copy_from_slice(part);
            place = rest;
        }
        place.is_empty().then_some(())
    }
}
