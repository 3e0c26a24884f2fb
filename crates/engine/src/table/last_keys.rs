//! A baseline index as in LevelDB: the full last key of each block in one array, searched by bisection.

use super::reader::TableInner;
use crate::error::Result;

/// Blocks read at a time while the array is built.
const READ_BLOCKS_MAX: u64 = 64;

/// The last key of each block.
#[derive(Debug, Default)]
pub(super) struct LastKeys {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl LastKeys {
    /// Reads the last keys from the blocks; `None` if their total length exceeds the offset type.
    pub(super) fn read(inner: &TableInner) -> Result<Option<Self>> {
        let (mut keys, mut key) = (Self::default(), Vec::new());
        let mut next = 0;
        while next < inner.meta.blocks {
            for (block, bytes) in inner.read_past_cache(next, READ_BLOCKS_MAX)? {
                let view = inner.view(block, &bytes)?;
                let last = view.count().checked_sub(1).and_then(|last| view.key(last));
                last.ok_or_else(|| inner.malformed(block))?.copy_to(&mut key);
                keys.bytes.extend_from_slice(&key);
                let Ok(end) = u32::try_from(keys.bytes.len()) else { return Ok(None) };
                keys.ends.push(end);
                next = block + 1;
            }
        }
        Ok(Some(keys))
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.bytes.len() + self.ends.len() * 4) as u64
    }

    fn key(&self, block: usize) -> Option<&[u8]> {
        let begin = if block == 0 { 0 } else { *self.ends.get(block - 1)? };
        self.bytes.get(begin as usize..*self.ends.get(block)? as usize)
    }

    /// The first block whose last key is not less than `key`; `None` if there is none.
    pub(super) fn find(&self, key: &[u8]) -> Option<u64> {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(middle)? < key { low = middle + 1 } else { high = middle }
        }
        (low < self.ends.len()).then_some(low as u64)
    }
}
