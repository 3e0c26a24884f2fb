//! Read traces: a record of the storage reads that an operation made.

use crate::io::Purpose;
use std::collections::BTreeSet;

/// One range that was read from storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedRead {
    /// The purpose of the read.
    pub purpose: Purpose,
    /// Offset in the file in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

/// A trace of the storage reads of one or more operations, in order. Reads answered by the cache are not included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadTrace {
    /// The reads.
    pub reads: Vec<TracedRead>,
}

impl ReadTrace {
    /// Creates an empty trace.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Total number of bytes read.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.reads.iter().map(|read| read.bytes).sum()
    }

    /// Number of blocks fetched: distinct ranges aligned to `block_bytes` that the reads overlap.
    #[must_use]
    pub fn blocks(&self, block_bytes: u64) -> u64 {
        let size = block_bytes.max(1);
        let touched = self.reads.iter().filter(|read| read.bytes > 0);
        let blocks = touched.flat_map(|read| read.offset / size..=(read.offset + read.bytes - 1) / size);
        blocks.collect::<BTreeSet<_>>().len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_two_reads_share_counts_once_and_one_that_straddles_counts_twice() {
        let read = |offset, bytes| TracedRead { purpose: Purpose::Data, offset, bytes };
        let trace = ReadTrace { reads: vec![read(0, 100), read(200, 100), read(4000, 200), read(9000, 0)] };
        assert_eq!((trace.blocks(4096), trace.bytes()), (2, 400));
    }
}
