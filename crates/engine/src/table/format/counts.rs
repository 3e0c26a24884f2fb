//! Cumulative record counts by block, for rank and position.
//!
//! ```text
//! for each 128 blocks:  records before the first u40 | least records of a block u24 | width u8 | start of the bits u32
//! then bit-packed:      records of each block minus the least, in `width` bits
//! then:                 checksum u32
//! ```
//!
//! The section is read as a whole at first use and then stays in memory.

use crate::block::checksum;
use ogive_model::bits::{self, BitWriter};

const GROUP_BLOCKS: usize = 128;
const HEADER_BYTES: usize = 13;

/// Cumulative record counts of the blocks of a table.
#[derive(Clone, Debug)]
pub(in crate::table) enum RecordCounts {
    /// All blocks but the last have the same number of records.
    Even { per_block: u64, blocks: u64, records: u64 },
    /// The stored section.
    Packed { bytes: Vec<u8>, blocks: u64, records: u64 },
}

/// The number of records of every block but the last, if it is the same and the last has no more.
pub(in crate::table) fn even_count(counts: &[u32]) -> Option<u64> {
    let (&first, &last) = (counts.first()?, counts.last()?);
    (last <= first && counts[..counts.len() - 1].iter().all(|&count| count == first)).then_some(u64::from(first))
}

/// The stored section, to be written at `offset`.
pub(in crate::table) fn encode(file_id: u64, offset: u64, counts: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut packed = BitWriter::new();
    let mut before = 0_u64;
    for group in counts.chunks(GROUP_BLOCKS) {
        let fewest = group.iter().copied().min().unwrap_or(0);
        let most = group.iter().copied().max().unwrap_or(0);
        let width = u32::BITS - (most - fewest).leading_zeros();
        out.extend_from_slice(&before.to_le_bytes()[..5]);
        out.extend_from_slice(&fewest.to_le_bytes()[..3]);
        out.push(width as u8);
        out.extend_from_slice(&(packed.bit_len() as u32).to_le_bytes());
        for &count in group {
            packed.push(u64::from(count - fewest), width);
            before += u64::from(count);
        }
    }
    out.extend_from_slice(packed.as_bytes());
    out.extend_from_slice(&[0; 4]);
    checksum::seal(file_id, offset, &mut out);
    out
}

/// An upper bound for the size of the section.
pub(in crate::table) fn most_bytes(blocks: u64) -> u64 {
    let groups = blocks.div_ceil(GROUP_BLOCKS as u64);
    blocks.saturating_mul(4).saturating_add(groups.saturating_mul(HEADER_BYTES as u64)).saturating_add(64)
}

impl RecordCounts {
    /// Records before `block`; all of them for a block after the last. `None` if the section is malformed.
    pub(in crate::table) fn before(&self, block: u64) -> Option<u64> {
        match self {
            Self::Even { per_block, records, .. } => Some(block.saturating_mul(*per_block).min(*records)),
            Self::Packed { blocks, records, .. } if block >= *blocks => Some(*records),
            Self::Packed { bytes, blocks, .. } => {
                let (group, within) = (block as usize / GROUP_BLOCKS, block as usize % GROUP_BLOCKS);
                let header = bytes.get(group * HEADER_BYTES..(group + 1) * HEADER_BYTES)?;
                let int = |range: std::ops::Range<usize>| {
                    let mut word = [0; 8];
                    word[..range.len()].copy_from_slice(&header[range]);
                    u64::from_le_bytes(word)
                };
                let (fewest, width, start) = (int(5..8), int(8..9) as u32, int(9..13));
                if width > 32 {
                    return None;
                }
                let packed = bytes.get((*blocks as usize).div_ceil(GROUP_BLOCKS) * HEADER_BYTES..)?;
                let mut sum = int(0..5) + fewest * within as u64;
                for i in 0..within as u64 {
                    sum += bits::read(packed, start + i * u64::from(width), width)?;
                }
                Some(sum)
            }
        }
    }

    /// The block that holds record `rank`, and the number of records before the block; `None` for a rank past the last
    /// record, or if the section is malformed.
    pub(in crate::table) fn locate(&self, rank: u64) -> Option<(u64, u64)> {
        let (blocks, records) = match self {
            Self::Even { blocks, records, .. } | Self::Packed { blocks, records, .. } => (*blocks, *records),
        };
        if rank >= records {
            return None;
        }
        let (mut low, mut high) = (0, blocks.checked_sub(1)?);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.before(middle)? <= rank {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        Some((low, self.before(low).filter(|&before| before <= rank)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_is_located_in_its_block() {
        let counts: Vec<u32> = (0..1000_u32).map(|i| 200 + (i * 7919) % 23).chain([5]).collect();
        let records: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        assert_eq!(even_count(&counts), None);
        let bytes = encode(1, 0, &counts);
        assert!(bytes.len() < counts.len(), "{} bytes for {} blocks", bytes.len(), counts.len());
        let packed = RecordCounts::Packed { bytes, blocks: counts.len() as u64, records };
        let mut rank = 0;
        for (block, &count) in counts.iter().enumerate() {
            assert_eq!(packed.before(block as u64), Some(rank));
            for i in 0..u64::from(count) {
                assert_eq!(packed.locate(rank + i), Some((block as u64, rank)));
            }
            rank += u64::from(count);
        }
        assert_eq!((packed.locate(records), packed.before(5000)), (None, Some(records)));
    }

    #[test]
    fn even_blocks_need_no_section() {
        assert_eq!(even_count(&[63, 63, 10]), Some(63));
        assert_eq!(even_count(&[63, 62, 63]), None);
        assert_eq!(even_count(&[62, 63]), None);
        let even = RecordCounts::Even { per_block: 63, blocks: 3, records: 136 };
        assert_eq!((even.before(2), even.before(3), even.locate(135)), (Some(126), Some(136), Some((2, 126))));
    }
}
