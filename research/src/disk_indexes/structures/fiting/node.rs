//! The layout of segments, buffers and directory nodes of a FITing-tree, and its state.

use crate::disk_indexes::structures::pgm::line::{LINE_BYTES, PgmLine};
use crate::disk_indexes::structures::pgm::packed::{EntryLayout, PackedEntries};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, Pages};

/// Greatest height of the directory: with two children per node, more than a file can hold.
pub(super) const HEIGHT_MAX: u8 = 32;

/// Most pages of a segment. A full buffer rewrites its segment, which costs at most 1/4 page per insert.
const SEGMENT_PAGES_MAX: usize = 64;

/// Bytes of the header of a directory node: level (0 for segment records), a zero, and the number of entries.
pub(super) const NODE_HEADER_BYTES: usize = 4;

/// Layouts derived from the sizes of pages, keys and payloads.
#[derive(Clone, Copy, Debug)]
pub(super) struct FitingGeometry {
    /// Layout of segment entries; a flag marks a removed entry.
    pub(super) data: EntryLayout,
    /// Layout of buffer entries.
    pub(super) buffer: EntryLayout,
    /// Most entries of a buffer.
    pub(super) buffer_entries: usize,
    /// Most entries of a segment.
    pub(super) segment_entries_max: usize,
    /// Layout of the segment records in the lowest directory nodes.
    pub(super) records: EntryLayout,
    /// Layout of the children in other directory nodes.
    pub(super) children: EntryLayout,
}

impl FitingGeometry {
    pub(super) fn new<W: Word>(page_payload_bytes: usize, payload_bytes: usize, buffer_entries: usize) -> Self {
        let entry_bytes = W::BYTES + payload_bytes;
        let data = EntryLayout::flagged(page_payload_bytes, 0, entry_bytes);
        let buffer = EntryLayout::plain(page_payload_bytes, 0, entry_bytes);
        Self {
            data,
            buffer,
            buffer_entries: buffer_entries.clamp(1, buffer.per_page()),
            segment_entries_max: (data.per_page() * SEGMENT_PAGES_MAX).min(usize::from(u16::MAX)),
            records: EntryLayout::plain(page_payload_bytes, NODE_HEADER_BYTES, record_bytes::<W>()),
            children: EntryLayout::plain(page_payload_bytes, NODE_HEADER_BYTES, W::BYTES + size_of::<PageNumber>()),
        }
    }

    /// The layout of the entries of a directory node.
    pub(super) fn node(&self, level: u8) -> EntryLayout {
        if level == 0 { self.records } else { self.children }
    }
}

/// Bytes of a [`SegmentRecord`].
pub(super) fn record_bytes<W: Word>() -> usize {
    W::BYTES + 14 + LINE_BYTES
}

/// The description of a segment in the directory.
///
/// ```text
/// | first key | first page: 4 | entries: 2 | of them removed: 2 | line: 8 | buffer page, or 0: 4 | entries there: 2 |
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SegmentRecord<W> {
    /// The least key at creation. Keys from there up to the next segment's first belong to the segment.
    pub(super) first: W,
    pub(super) page: PageNumber,
    pub(super) count: u16,
    pub(super) removed: u16,
    pub(super) line: PgmLine,
    pub(super) buffer: PageNumber,
    pub(super) buffered: u16,
}

impl<W: Word> SegmentRecord<W> {
    pub(super) fn load(bytes: &[u8]) -> Self {
        let rest = bytes.get(W::BYTES..).unwrap_or(&[]);
        Self {
            first: W::load(bytes),
            page: load_u32(rest, 0),
            count: load_u16(rest, 4),
            removed: load_u16(rest, 6),
            line: PgmLine::load(rest.get(8..).unwrap_or(&[])),
            buffer: load_u32(rest, 16),
            buffered: load_u16(rest, 20),
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; W::BYTES];
        self.first.store(&mut bytes);
        bytes.extend_from_slice(&self.page.to_le_bytes());
        bytes.extend_from_slice(&self.count.to_le_bytes());
        bytes.extend_from_slice(&self.removed.to_le_bytes());
        bytes.extend_from_slice(&self.line.bytes());
        bytes.extend_from_slice(&self.buffer.to_le_bytes());
        bytes.extend_from_slice(&self.buffered.to_le_bytes());
        bytes
    }

    /// Number of entries of the segment, without removed ones.
    pub(super) fn live(&self) -> u64 {
        u64::from(self.count.saturating_sub(self.removed)) + u64::from(self.buffered)
    }

    /// The entries of the segment itself; `from` is the directory page of the record.
    pub(super) fn data(&self, geometry: &FitingGeometry, pages: &dyn Pages, from: PageNumber) -> Result<PackedEntries> {
        if self.count == 0 || self.removed > self.count {
            return Err(pages.damaged(from, "a segment has no entries, or more removed than it has"));
        }
        PackedEntries { first: self.page, count: u64::from(self.count), shape: geometry.data }.check(pages, from)
    }

    /// The entries in the segment's buffer.
    pub(super) fn delta(
        &self,
        geometry: &FitingGeometry,
        pages: &dyn Pages,
        from: PageNumber,
    ) -> Result<PackedEntries> {
        buffer(self.buffer, self.buffered, geometry, pages, from)
    }
}

/// The entries of a buffer.
pub(super) fn buffer(
    page: PageNumber,
    count: u16,
    geometry: &FitingGeometry,
    pages: &dyn Pages,
    from: PageNumber,
) -> Result<PackedEntries> {
    let packed = PackedEntries { first: page, count: u64::from(count), shape: geometry.buffer };
    if usize::from(count) > geometry.buffer.per_page() {
        return Err(pages.damaged(from, "a buffer has more entries than fit"));
    }
    if count == 0 { Ok(packed) } else { packed.check(pages, from) }
}

/// The committed state: root of the directory (0 if there is no segment), its height, the buffer of the keys below the
/// first segment (0 if there is none), and the number of its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FitingState {
    pub(super) root: PageNumber,
    pub(super) height: u8,
    pub(super) head: PageNumber,
    pub(super) head_count: u16,
}

/// Bytes of a [`FitingState`].
const STATE_BYTES: usize = 11;

impl FitingState {
    pub(super) fn load(bytes: &[u8], pages: &dyn Pages) -> Result<Self> {
        Self::parse(bytes).ok_or_else(|| pages.damaged(0, "the state is not that of a FITing-tree"))
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let state = Self {
            root: load_u32(bytes, 0),
            height: bytes.get(4).copied().unwrap_or(0),
            head: load_u32(bytes, 5),
            head_count: load_u16(bytes, 9),
        };
        let valid =
            bytes.len() == STATE_BYTES && state.height <= HEIGHT_MAX && (state.root == 0) == (state.height == 0);
        valid.then_some(state)
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.root.to_le_bytes().to_vec();
        bytes.push(self.height);
        bytes.extend_from_slice(&self.head.to_le_bytes());
        bytes.extend_from_slice(&self.head_count.to_le_bytes());
        bytes
    }
}

pub(super) fn load_u16(bytes: &[u8], offset: usize) -> u16 {
    bytes.get(offset..).and_then(|bytes| bytes.first_chunk()).map_or(0, |&bytes| u16::from_le_bytes(bytes))
}

pub(super) fn load_u32(bytes: &[u8], offset: usize) -> u32 {
    bytes.get(offset..).and_then(|bytes| bytes.first_chunk()).map_or(0, |&bytes| u32::from_le_bytes(bytes))
}
