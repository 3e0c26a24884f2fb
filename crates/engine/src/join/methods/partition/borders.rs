//! The borders of buckets: ranges of keys, from a learned distribution.

use super::model::KeyDistribution;
use crate::block::KeyPrefixes;
use crate::join::rows::task::MemoryGrant;

/// The borders of the buckets, shared by both relations.
#[derive(Debug)]
pub(super) struct BucketBorders {
    window: KeyPrefixes,
    pub(super) distribution: KeyDistribution,
    _memory: MemoryGrant,
}

impl BucketBorders {
    /// Borders by a distribution of key prefixes, which has its memory.
    pub(super) fn new(window: KeyPrefixes, distribution: KeyDistribution, memory: MemoryGrant) -> Self {
        Self { window, distribution, _memory: memory }
    }

    #[inline]
    pub(super) fn bucket(&self, key: &[u8]) -> usize {
        self.distribution.bucket(self.window.of(key))
    }
}
