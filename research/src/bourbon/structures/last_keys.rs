//! A baseline index as in LevelDB: the full last key of each block in one array, searched by bisection.

use ogive::Result;
use ogive::lsm::extend::TableFile;

/// The last key of each block.
#[derive(Debug, Default)]
pub(super) struct LastKeys {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl LastKeys {
    /// Reads the last keys from the blocks; `None` if their total length exceeds the offset type.
    pub(super) fn read(table: &TableFile) -> Result<Option<Self>> {
        let (mut keys, mut fits) = (Self::default(), true);
        table.visit_last_keys(&mut |key| {
            keys.bytes.extend_from_slice(key);
            match u32::try_from(keys.bytes.len()) {
                Ok(end) => keys.ends.push(end),
                Err(_) => fits = false,
            }
            fits
        })?;
        Ok(fits.then_some(keys))
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.bytes.len() + self.ends.len() * 4) as u64
    }

    fn key(&self, block: usize) -> Option<&[u8]> {
        let begin = if block == 0 { 0 } else { *self.ends.get(block - 1)? };
        self.bytes.get(begin as usize..*self.ends.get(block)? as usize)
    }

    /// The first block whose last key is not less than `key`, or else the last block: a search of it confirms that
    /// there is nothing after its last key.
    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> Option<u64> {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(middle)? < key { low = middle + 1 } else { high = middle }
        }
        Some(low.min(self.ends.len().checked_sub(1)?) as u64)
    }
}
