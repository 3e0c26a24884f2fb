//! Block locations, for tables whose blocks differ in size or do not follow each other.
//!
//! Two coded layers with exact separators: the offsets of the blocks and, if there are gaps between blocks (chunks of
//! long values), the running sum of their lengths.

use super::meta::Section;
use ogive_model::Fence;
use ogive_model::coded::{CodedLayer, Effort, encode_row, separator_at};

/// Collects the locations of written blocks.
#[derive(Debug)]
pub(in crate::table) struct LocationWriter {
    block_bytes: u64,
    blocks: u64,
    bytes: u64,
    end: u64,
    /// Offset and length of each block, once one of them is irregular.
    irregular: Option<Vec<(u64, u32)>>,
}

impl LocationWriter {
    pub(in crate::table) fn new(block_bytes: u64) -> Self {
        Self { block_bytes, blocks: 0, bytes: 0, end: 0, irregular: None }
    }

    /// Changes the block size, before the first block.
    pub(in crate::table) fn set_block_bytes(&mut self, block_bytes: u64) {
        self.block_bytes = block_bytes;
    }

    pub(in crate::table) fn push(&mut self, offset: u64, bytes: usize) {
        let in_line = offset == self.blocks * self.block_bytes && bytes as u64 == self.block_bytes;
        if !in_line && self.irregular.is_none() {
            let size = self.block_bytes;
            self.irregular = Some((0..self.blocks).map(|i| (i * size, size as u32)).collect());
        }
        if let Some(blocks) = &mut self.irregular {
            blocks.push((offset, bytes as u32));
        }
        self.blocks += 1;
        self.bytes += bytes as u64;
        self.end = offset + bytes as u64;
    }

    pub(in crate::table) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Approximate memory use in bytes, including the stored form.
    pub(in crate::table) fn memory_bytes(&self) -> u64 {
        self.irregular.as_ref().map_or(0, |blocks| 4 * (blocks.capacity() * size_of::<(u64, u32)>()) as u64)
    }

    /// Size of all blocks in bytes, without gaps between them.
    pub(in crate::table) fn stored_bytes(&self) -> u64 {
        self.bytes
    }

    /// End of the last block.
    pub(in crate::table) fn end(&self) -> u64 {
        self.end
    }

    /// The stored index and its number of offset groups; empty if all blocks are regular.
    pub(in crate::table) fn encode(&self) -> (Vec<u8>, u64) {
        let Some(blocks) = self.irregular.as_deref().filter(|blocks| !blocks.is_empty()) else {
            return (Vec::new(), 0);
        };
        let offsets = code(blocks.iter().map(|&(offset, _)| offset));
        let mut out = Vec::new();
        offsets.encode(0..offsets.groups(), &mut out);
        let contiguous = blocks.windows(2).all(|pair| pair[0].0 + u64::from(pair[0].1) == pair[1].0);
        if !contiguous {
            let ends = blocks.iter().scan(0, |sum, &(_, bytes)| {
                *sum += u64::from(bytes);
                Some(*sum)
            });
            let lengths = code(ends);
            lengths.encode(0..lengths.groups(), &mut out);
        }
        (out, offsets.groups() as u64)
    }
}

fn code(values: impl Iterator<Item = u64>) -> CodedLayer {
    let mut fences = values.map(|value| Fence { low: value.wrapping_sub(1), high: value });
    let first = fences.next().map_or(0, |fence| fence.high);
    encode_row(first, &fences.collect::<Vec<_>>(), 1, Effort::Full)
}

/// The locations of a table's blocks.
#[derive(Clone, Debug)]
pub(in crate::table) enum BlockLocations {
    /// Consecutive from `begin`, all of one size.
    Even { begin: u64, block_bytes: u64, end: u64 },
    /// Consecutive from the start of the file, where the first block lacks the file's header.
    Headed { header_bytes: u64, block_bytes: u64, end: u64 },
    /// According to the stored index.
    Coded { stored: Vec<u8>, groups: usize, offsets_len: usize, length_groups: usize, blocks: u64, end: u64 },
}

impl BlockLocations {
    /// Parses a stored index with `groups` groups of offsets; `None` if it is malformed.
    pub(in crate::table) fn parse(stored: Vec<u8>, groups: u64, blocks: u64, end: u64) -> Option<Self> {
        let groups = usize::try_from(groups).ok()?;
        let (offsets_len, covered) = coded_len(&stored, groups)?;
        if covered != blocks {
            return None;
        }
        let rest = &stored[offsets_len..];
        // The running lengths have as many children; their groups are counted until they cover the blocks.
        let mut length_groups = 0;
        if !rest.is_empty() {
            length_groups = (1..=rest.len() / 16).find(|&n| coded_len(rest, n).is_some_and(|(_, c)| c == blocks))?;
        }
        Some(Self::Coded { stored, groups, offsets_len, length_groups, blocks, end })
    }

    /// Blocks of a foreign file: `block_bytes` each from the start of the file, so that they are aligned with the
    /// device, if the header of `header_bytes` is a whole number of records; else from the end of the header.
    pub(in crate::table) fn foreign(header_bytes: u64, block_bytes: u64, end: u64, record_bytes: u64) -> Option<Self> {
        if record_bytes == 0 || !block_bytes.is_multiple_of(record_bytes) || block_bytes == 0 {
            return None;
        }
        let aligned = header_bytes.is_multiple_of(record_bytes) && header_bytes < block_bytes;
        Some(if aligned {
            Self::Headed { header_bytes, block_bytes, end }
        } else {
            Self::Even { begin: header_bytes, block_bytes, end }
        })
    }

    pub(in crate::table) fn resident_bytes(&self) -> u64 {
        match self {
            Self::Even { .. } | Self::Headed { .. } => 0,
            Self::Coded { stored, .. } => stored.len() as u64,
        }
    }

    /// Offset and length of a block; `None` if there is no such block.
    pub(in crate::table) fn of(&self, block: u64) -> Option<Section> {
        match self {
            Self::Even { begin, block_bytes, end } => {
                let offset = block.checked_mul(*block_bytes)?.checked_add(*begin)?;
                (offset < *end).then(|| Section { offset, bytes: (*block_bytes).min(*end - offset) })
            }
            Self::Headed { header_bytes, block_bytes, end } => {
                let offset = block.checked_mul(*block_bytes)?.max(*header_bytes);
                let next = block.checked_add(1)?.checked_mul(*block_bytes)?.min(*end);
                (offset < next).then(|| Section { offset, bytes: next - offset })
            }
            Self::Coded { stored, groups, offsets_len, length_groups, blocks, end } => {
                let (offsets, lengths) = stored.split_at_checked(*offsets_len)?;
                let offset = separator_at(offsets, *groups, block)?;
                let bytes = if *length_groups > 0 {
                    let before = match block.checked_sub(1) {
                        Some(before) => separator_at(lengths, *length_groups, before)?,
                        None => 0,
                    };
                    separator_at(lengths, *length_groups, block)?.checked_sub(before)?
                } else if block + 1 < *blocks {
                    separator_at(offsets, *groups, block + 1)?.checked_sub(offset)?
                } else {
                    end.checked_sub(offset)?
                };
                Some(Section { offset, bytes })
            }
        }
    }
}

/// Stored length of a coded layer with this number of groups, and its number of children.
fn coded_len(stored: &[u8], groups: usize) -> Option<(usize, u64)> {
    ogive_model::coded::stored_len(stored, groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(blocks: &[(u64, u32)]) -> usize {
        let mut writer = LocationWriter::new(4096);
        blocks.iter().for_each(|&(offset, bytes)| writer.push(offset, bytes as usize));
        let (stored, groups) = writer.encode();
        let stored_bytes = stored.len();
        let locations = BlockLocations::parse(stored, groups, writer.blocks(), writer.end()).unwrap();
        for (i, &(offset, bytes)) in blocks.iter().enumerate() {
            assert_eq!(locations.of(i as u64), Some(Section { offset, bytes: u64::from(bytes) }), "block {i}");
        }
        stored_bytes
    }

    #[test]
    fn blocks_in_line_need_no_index() {
        let mut writer = LocationWriter::new(4096);
        (0..10).for_each(|i| writer.push(i * 4096, 4096));
        assert_eq!(writer.encode(), (vec![], 0));
    }

    #[test]
    fn packed_blocks_and_blocks_among_values_are_located() {
        let mut at = 0;
        let packed: Vec<_> = (0..3000_u64)
            .map(|i| {
                let bytes = 1500 + (i * 7919 % 700) as u32;
                at += u64::from(bytes);
                (at - u64::from(bytes), bytes)
            })
            .collect();
        assert!(round_trip(&packed) < 3000 * 5 / 2);
        let among: Vec<_> = (0..500_u64).map(|i| (i * 4096 + i / 7 * 65_536, 4096)).collect();
        round_trip(&among);
        round_trip(&[(0, 512), (512, 131_072), (200_000, 512)]);
    }
}
