//! The headers of LIPP nodes: kind, size and statistics.

use super::line::LippLine;
use crate::kinds::numbers::{u16_at, u32_at};
use ogive::index::extend::Word;

/// The kind of node in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellKind {
    /// Slots that the model computes.
    Mixed,
    /// Sorted entries.
    Packed,
    /// Sorted separators and pointers.
    Fence,
}

/// Offset of [`LippCounts`] in the header of a cell, and in the first page of a wide node.
pub(super) const COUNTS_OFFSET: usize = 4;
/// Offset of the number of slots or entries in the header of a cell.
pub(super) const LENGTH_OFFSET: usize = 2;

/// Statistics of a node, which determine when it is rebuilt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LippCounts {
    /// Number of entries in the node and below.
    pub(super) entries: u32,
    /// Number of entries when it was built; for packed nodes and fences, the peak since then.
    pub(super) built: u32,
    /// Number of inserts since then that hit an occupied slot.
    pub(super) conflicts: u32,
}

impl LippCounts {
    pub(super) fn load(bytes: &[u8], offset: usize) -> Self {
        Self { entries: u32_at(bytes, offset), built: u32_at(bytes, offset + 4), conflicts: u32_at(bytes, offset + 8) }
    }

    pub(super) fn stored(&self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&self.entries.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.built.to_le_bytes());
        bytes[8..].copy_from_slice(&self.conflicts.to_le_bytes());
        bytes
    }

    pub(super) fn of(entries: usize) -> Self {
        let entries = u32::try_from(entries).unwrap_or(u32::MAX);
        Self { entries, built: entries, conflicts: 0 }
    }
}

/// The header of a cell.
///
/// ```text
///   0            1       2             4        8      12         16     20
///   kind, 0 for  unused  slots or      entries  built  conflicts  slope  base
///   a free cell          entries, u16
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CellHeader<W> {
    pub(super) kind: CellKind,
    /// Number of slots of a mixed node, entries of a packed one, or children of a fence.
    pub(super) length: u16,
    pub(super) counts: LippCounts,
    /// The model of a mixed node.
    pub(super) line: LippLine<W>,
}

impl<W: Word> CellHeader<W> {
    /// Parses a header; `None` for a free cell or an unknown kind.
    pub(super) fn load(bytes: &[u8]) -> Option<Self> {
        let kind = match bytes.first() {
            Some(1) => CellKind::Mixed,
            Some(2) => CellKind::Packed,
            Some(3) => CellKind::Fence,
            _ => return None,
        };
        let line = LippLine { slope_bits: u32_at(bytes, 16), base: W::load(bytes.get(20..).unwrap_or_default()) };
        Some(Self { kind, length: u16_at(bytes, LENGTH_OFFSET), counts: LippCounts::load(bytes, COUNTS_OFFSET), line })
    }

    /// Writes the header to the front of a cell.
    pub(super) fn store(&self, bytes: &mut [u8]) {
        bytes[0] = match self.kind {
            CellKind::Mixed => 1,
            CellKind::Packed => 2,
            CellKind::Fence => 3,
        };
        bytes[LENGTH_OFFSET..COUNTS_OFFSET].copy_from_slice(&self.length.to_le_bytes());
        bytes[COUNTS_OFFSET..16].copy_from_slice(&self.counts.stored());
        bytes[16..20].copy_from_slice(&self.line.slope_bits.to_le_bytes());
        self.line.base.store(&mut bytes[20..]);
    }
}
