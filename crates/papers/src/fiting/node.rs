//! The page layout of a FITing-tree.

use crate::pgm::line::{LINE_BYTES, Line};
use crate::pgm::packed::{Packed, Shape};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, Pages};

/// Deepest directory: with two children a node, more than a file can hold.
pub(super) const MAX_HEIGHT: u8 = 32;

/// Pages of the longest segment. A full buffer costs writing its segment anew: at most a quarter of a page an insert.
const MAX_SEGMENT_PAGES: usize = 64;

/// Header of a directory node: level (0 for records of segments), a zero, and how many entries.
pub(super) const NODE_HEADER_BYTES: usize = 4;

/// Sizes that follow from the pages and the payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    /// Entries of segments; the flag of an entry says that it was removed.
    pub(super) data: Shape,
    /// Entries of a buffer.
    pub(super) buffer: Shape,
    /// Entries that a buffer takes.
    pub(super) buffer_entries: usize,
    /// Entries of the longest segment.
    pub(super) most_entries: usize,
    /// Records in the lowest nodes of the directory.
    pub(super) records: Shape,
    /// Children in the others.
    pub(super) children: Shape,
}

impl Geometry {
    pub(super) fn new<W: Word>(page_payload_bytes: usize, payload_bytes: usize, buffer_entries: usize) -> Self {
        let entry_bytes = W::BYTES + payload_bytes;
        let data = Shape::flagged(page_payload_bytes, 0, entry_bytes);
        let buffer = Shape::plain(page_payload_bytes, 0, entry_bytes);
        Self {
            data,
            buffer,
            buffer_entries: buffer_entries.clamp(1, buffer.per_page()),
            most_entries: (data.per_page() * MAX_SEGMENT_PAGES).min(usize::from(u16::MAX)),
            records: Shape::plain(page_payload_bytes, NODE_HEADER_BYTES, record_bytes::<W>()),
            children: Shape::plain(page_payload_bytes, NODE_HEADER_BYTES, W::BYTES + size_of::<PageNumber>()),
        }
    }

    /// The entries of a directory node of a level.
    pub(super) fn node(&self, level: u8) -> Shape {
        if level == 0 { self.records } else { self.children }
    }
}

/// Bytes of a [`Record`].
pub(super) fn record_bytes<W: Word>() -> usize {
    W::BYTES + 14 + LINE_BYTES
}

/// A segment, as the directory describes it.
///
/// ```text
/// | first key | first page: 4 | entries: 2 | of them removed: 2 | line: 8 | buffer page, or 0: 4 | entries there: 2 |
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Record<W> {
    /// Least key when the segment was made. Keys from there up to the next segment's belong to it.
    pub(super) first: W,
    pub(super) page: PageNumber,
    pub(super) count: u16,
    pub(super) removed: u16,
    pub(super) line: Line,
    pub(super) buffer: PageNumber,
    pub(super) buffered: u16,
}

impl<W: Word> Record<W> {
    pub(super) fn load(bytes: &[u8]) -> Self {
        let rest = bytes.get(W::BYTES..).unwrap_or(&[]);
        Self {
            first: W::load(bytes),
            page: load_u32(rest, 0),
            count: load_u16(rest, 4),
            removed: load_u16(rest, 6),
            line: Line::load(rest.get(8..).unwrap_or(&[])),
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

    /// Entries of the segment, without those removed.
    pub(super) fn live(&self) -> u64 {
        u64::from(self.count.saturating_sub(self.removed)) + u64::from(self.buffered)
    }

    /// The segment's own entries; `from` is the directory page that said so.
    pub(super) fn data(&self, geometry: &Geometry, pages: &dyn Pages, from: PageNumber) -> Result<Packed> {
        if self.count == 0 || self.removed > self.count {
            return Err(pages.damaged(from, "a segment has no entries, or more removed than it has"));
        }
        Packed { first: self.page, count: u64::from(self.count), shape: geometry.data }.check(pages, from)
    }

    /// The entries in the segment's buffer.
    pub(super) fn delta(&self, geometry: &Geometry, pages: &dyn Pages, from: PageNumber) -> Result<Packed> {
        buffer(self.buffer, self.buffered, geometry, pages, from)
    }
}

/// The entries of a buffer.
pub(super) fn buffer(
    page: PageNumber,
    count: u16,
    geometry: &Geometry,
    pages: &dyn Pages,
    from: PageNumber,
) -> Result<Packed> {
    let packed = Packed { first: page, count: u64::from(count), shape: geometry.buffer };
    if usize::from(count) > geometry.buffer.per_page() {
        return Err(pages.damaged(from, "a buffer has more entries than fit"));
    }
    if count == 0 { Ok(packed) } else { packed.check(pages, from) }
}

/// What is committed beside the pages: root of the directory (0 where there is no segment), its height, the buffer of
/// the keys below the first segment (0 where there is none), and how many entries that has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) root: PageNumber,
    pub(super) height: u8,
    pub(super) head: PageNumber,
    pub(super) head_count: u16,
}

/// Bytes of a [`State`].
const STATE_BYTES: usize = 11;

impl State {
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
        let sound =
            bytes.len() == STATE_BYTES && state.height <= MAX_HEIGHT && (state.root == 0) == (state.height == 0);
        sound.then_some(state)
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
