//! Keys in memory, from which several tables are written.

use crate::keys::KeySet;
use crate::random::mix;
use ogive::KeyType;
use ogive::tune::TableSample;

/// Bytes of the trailer of a data block.
pub(super) const BLOCK_TRAILER_BYTES: u64 = 8;

/// The keys of a set.
pub(super) enum Keys {
    Integers(Vec<u64>),
    Lines(Vec<Vec<u8>>),
}

impl Keys {
    pub(super) fn load(set: &KeySet) -> crate::Result<Self> {
        match set.is_text() {
            true => Ok(Self::Lines(set.lines()?.collect::<crate::Result<_>>()?)),
            false => Ok(Self::Integers(set.load()?)),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Integers(keys) => keys.len(),
            Self::Lines(lines) => lines.len(),
        }
    }

    pub(super) fn key_type(&self) -> KeyType {
        match self {
            Self::Integers(_) => KeyType::U64,
            Self::Lines(_) => KeyType::Text,
        }
    }

    /// The order-preserving bytes of the key at a position.
    pub(super) fn copy(&self, position: usize, key: &mut Vec<u8>) {
        key.clear();
        match self {
            Self::Integers(keys) => key.extend_from_slice(&keys[position].to_be_bytes()),
            Self::Lines(lines) => key.extend_from_slice(&lines[position]),
        }
    }

    /// The sample for choosing the block size: runs from a set of integers, or all of it; `None` for byte strings.
    pub(super) fn sample(&self, payload_bytes: u32, exact: bool) -> Option<TableSample> {
        let Self::Integers(keys) = self else { return None };
        let runs = if exact || keys.len() <= TableSample::RUNS * TableSample::RUN_RECORDS {
            vec![keys.clone()]
        } else {
            let apart = keys.len() / TableSample::RUNS;
            (0..TableSample::RUNS).map(|run| keys[run * apart..][..TableSample::RUN_RECORDS].to_vec()).collect()
        };
        Some(TableSample {
            runs,
            records: keys.len() as u64,
            record_bytes: f64::from(payload_bytes + 8),
            block_overhead_bytes: BLOCK_TRAILER_BYTES,
        })
    }

    /// Bytes of all keys.
    pub(super) fn key_bytes(&self) -> u64 {
        match self {
            Self::Integers(keys) => 8 * keys.len() as u64,
            Self::Lines(lines) => lines.iter().map(|line| line.len() as u64).sum(),
        }
    }

    pub(super) fn at(&self, position: usize) -> Vec<u8> {
        let mut key = Vec::new();
        self.copy(position, &mut key);
        key
    }
}

/// The value of a key: bytes that depend on every byte of it.
pub(super) fn fill_value(key: &[u8], value: &mut [u8]) {
    let mut state = key.iter().fold(1, |state, &byte| mix(state ^ u64::from(byte)));
    for part in value.chunks_mut(8) {
        part.copy_from_slice(&state.to_le_bytes()[..part.len()]);
        state = mix(state);
    }
}
