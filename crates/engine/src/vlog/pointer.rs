//! Value pointers: the location of a value in the value log.

use crate::block::varint::{put_varint, take_varint};

/// The location of a value in the value log, stored in entries instead of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ValueFilePointer {
    /// Number of the file.
    pub(crate) file: u64,
    /// Offset of its record.
    pub(crate) offset: u64,
    /// Length of the record: key, heads, checksums, and the value as stored.
    pub(crate) stored_bytes: u64,
    /// Length of the value.
    pub(crate) length: u64,
}

impl ValueFilePointer {
    /// Appends the encoded pointer: four varints.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        for number in [self.file, self.offset, self.stored_bytes, self.length] {
            put_varint(out, number);
        }
    }

    /// Decodes a pointer; `None` if `bytes` are not one. Its contents are checked by [`ValueFile`](super::ValueFile).
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut at = 0;
        let file = take_varint(bytes, &mut at)?;
        let offset = take_varint(bytes, &mut at)?;
        let stored_bytes = take_varint(bytes, &mut at)?;
        let length = take_varint(bytes, &mut at)?;
        (at == bytes.len()).then_some(Self { file, offset, stored_bytes, length })
    }

    /// End of the record; `None` if it overflows.
    pub(crate) fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.stored_bytes)
    }
}
