//! Chunks of values: the units of storage and checksumming within a record of a value file.
//!
//! ```text
//! tag u8 | length varint | stored length varint, if packed | key length varint, if first | key | value | checksum u32
//! ```
//!
//! The low half of the tag is the position of the chunk in its record, the high half the codec. A value of at most
//! [`CHUNK_BYTES`] is one chunk; in a longer one, all chunks but the last have exactly this length. The checksum is
//! bound to the file and to the offset of the chunk.

use crate::block::checksum::{CHECKSUM_BYTES, check, checksum};
use crate::block::compress::{CODEC_STORED, CodecError, decompress};
use crate::block::varint::{put_varint, take_varint};
use std::ops::Range;

/// Value bytes of a full chunk.
pub(super) const CHUNK_BYTES: usize = 64 << 10;

/// Longest key of a record, in bytes: a store's key of 64 KiB, with space for what the store adds to it.
pub(super) const KEY_BYTES_MAX: usize = (64 << 10) + 64;

/// A tag, and three numbers of up to 21 bits.
const HEAD_BYTES_MAX: usize = 1 + 3 * 3;

/// The longest chunk.
pub(super) const STORED_BYTES_MAX: usize = HEAD_BYTES_MAX + KEY_BYTES_MAX + CHUNK_BYTES + CHECKSUM_BYTES;

/// Longest chunk that does not begin a record.
pub(super) const LATER_BYTES_MAX: usize = HEAD_BYTES_MAX + CHUNK_BYTES + CHECKSUM_BYTES;

/// The shortest chunk: an empty value without a key.
pub(super) const STORED_BYTES_MIN: usize = 1 + 2 + CHECKSUM_BYTES;

/// The position of a chunk in its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum ChunkPart {
    /// The only one.
    Whole = 1,
    /// The first of several.
    First = 2,
    /// Neither the first nor the last.
    Middle = 3,
    /// The last of several.
    Last = 4,
}

impl ChunkPart {
    fn from_low_half(tag: u8) -> Option<Self> {
        [Self::Whole, Self::First, Self::Middle, Self::Last].into_iter().find(|&part| part as u8 == tag & 0xf)
    }

    /// Whether it begins a record.
    pub(super) fn begins(self) -> bool {
        matches!(self, Self::Whole | Self::First)
    }

    /// Whether it ends a record.
    pub(super) fn ends(self) -> bool {
        matches!(self, Self::Whole | Self::Last)
    }
}

/// The decoded head of a chunk, with the ranges of its parts relative to its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChunkHead {
    pub(super) part: ChunkPart,
    pub(super) codec: u8,
    /// Uncompressed length of the value part.
    pub(super) length: usize,
    pub(super) key: Range<usize>,
    /// The value part as stored.
    pub(super) value: Range<usize>,
}

impl ChunkHead {
    /// Length of the chunk.
    pub(super) fn chunk_bytes(&self) -> usize {
        self.value.end + CHECKSUM_BYTES
    }

    /// Decodes the head at the start of `bytes`; `None` if there is no chunk, or too few bytes.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let tag = *bytes.first()?;
        let (part, codec) = (ChunkPart::from_low_half(tag)?, tag >> 4);
        let mut at = 1;
        let length = number(bytes, &mut at, CHUNK_BYTES)?;
        let stored = if codec == CODEC_STORED { length } else { number(bytes, &mut at, CHUNK_BYTES)? };
        let key_bytes = if part.begins() { number(bytes, &mut at, KEY_BYTES_MAX)? } else { 0 };
        let fits = match part {
            ChunkPart::Whole => true,
            ChunkPart::First | ChunkPart::Middle => length == CHUNK_BYTES,
            ChunkPart::Last => length > 0,
        };
        let key = at..at + key_bytes;
        let value = key.end..key.end + stored;
        fits.then_some(Self { part, codec, length, key, value })
    }

    /// Decodes the head and verifies the checksum of the chunk at `offset`.
    pub(super) fn checked(identity: u64, offset: u64, bytes: &[u8]) -> Option<Self> {
        let head = Self::decode(bytes)?;
        let chunk = bytes.get(..head.chunk_bytes())?;
        check(identity, offset, chunk).then_some(head)
    }

    /// Decompresses the value part into `raw`, replacing its contents.
    pub(super) fn unpack(&self, bytes: &[u8], raw: &mut Vec<u8>) -> Result<(), CodecError> {
        decompress(self.codec, bytes.get(self.value.clone()).unwrap_or_default(), self.length, raw)
    }
}

/// Decodes the number at `at`, if it is at most `most`.
fn number(bytes: &[u8], at: &mut usize, most: usize) -> Option<usize> {
    usize::try_from(take_varint(bytes, at)?).ok().filter(|&number| number <= most)
}

/// The encoder of a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkEncoder<'a> {
    pub(super) identity: u64,
    /// Offset of the chunk in the file.
    pub(super) offset: u64,
    pub(super) part: ChunkPart,
    /// The key; empty unless the chunk begins a record.
    pub(super) key: &'a [u8],
}

impl ChunkEncoder<'_> {
    /// Appends a chunk with `length` value bytes, stored by `codec` as `stored`.
    pub(super) fn encode(&self, out: &mut Vec<u8>, codec: u8, length: usize, stored: &[u8]) {
        let start = out.len();
        out.push(self.part as u8 | codec << 4);
        put_varint(out, length as u64);
        if codec != CODEC_STORED {
            put_varint(out, stored.len() as u64);
        }
        if self.part.begins() {
            put_varint(out, self.key.len() as u64);
        }
        out.extend_from_slice(self.key);
        out.extend_from_slice(stored);
        let sum = checksum(self.identity, self.offset, &out[start..]);
        out.extend_from_slice(&sum.to_le_bytes());
    }
}
