//! A PGM run: its description, and the layout of its pages.

use super::line::{LINE_BYTES, PgmLine};
use super::packed::{EntryLayout, PackedEntries};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, Pages};

/// Most index levels of a run: each is at most 1/9 of the one below, so that a file cannot hold more.
const LEVELS_MAX: usize = 15;

/// Most root segments in the description of a run.
pub(super) const ROOTS_MAX: usize = 2;

/// Bytes of a position, because runs can have more than 2^32 entries.
const POSITION_BYTES: usize = 5;

/// Layouts derived from the sizes of pages, keys and payloads.
#[derive(Clone, Copy, Debug)]
pub(super) struct PgmGeometry {
    page_payload_bytes: usize,
    entry_bytes: usize,
    /// Layout of entries in runs without tombstones.
    pub(super) plain: EntryLayout,
    /// Layout of entries in other runs; a flag marks a tombstone.
    pub(super) flagged: EntryLayout,
    /// Layout of segments in index levels.
    pub(super) segments: EntryLayout,
    /// The greatest error of a lowest segment, in positions.
    pub(super) error: u64,
}

impl PgmGeometry {
    pub(super) fn new<W: Word>(page_payload_bytes: usize, payload_bytes: usize, error: u64) -> Self {
        let entry_bytes = W::BYTES + payload_bytes;
        Self {
            page_payload_bytes,
            entry_bytes,
            plain: EntryLayout::plain(page_payload_bytes, 0, entry_bytes),
            flagged: EntryLayout::flagged(page_payload_bytes, 0, entry_bytes),
            segments: EntryLayout::plain(page_payload_bytes, level_header_bytes::<W>(), segment_bytes::<W>()),
            error,
        }
    }

    /// Layout of the buffer after a header; a flag marks a tombstone.
    pub(super) fn buffer(&self, header_bytes: usize) -> EntryLayout {
        EntryLayout::flagged(self.page_payload_bytes, header_bytes, self.entry_bytes)
    }

    /// Layout of the entries of a run.
    pub(super) fn data(&self, flagged: bool) -> EntryLayout {
        if flagged { self.flagged } else { self.plain }
    }
}

/// Bytes of the header of an index page: the key of the first segment of the next page, and the end position of the
/// last segment of this one.
pub(super) fn level_header_bytes<W: Word>() -> usize {
    W::BYTES + POSITION_BYTES
}

/// Bytes of a [`Segment`].
pub(super) fn segment_bytes<W: Word>() -> usize {
    W::BYTES + POSITION_BYTES + LINE_BYTES
}

/// A segment: from its key on, its line predicts the positions of entries, or of segments of the level below.
///
/// ```text
/// | first key | position of the first entry: 5 | line: 8 |
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Segment<W> {
    pub(super) key: W,
    pub(super) start: u64,
    pub(super) line: PgmLine,
}

impl<W: Word> Segment<W> {
    pub(super) fn load(bytes: &[u8]) -> Self {
        let start = load_position(bytes, W::BYTES);
        let line = PgmLine::load(bytes.get(W::BYTES + POSITION_BYTES..).unwrap_or(&[]));
        Self { key: W::load(bytes), start, line }
    }

    pub(super) fn push(&self, bytes: &mut Vec<u8>) {
        push_key(bytes, self.key);
        push_position(bytes, self.start);
        bytes.extend_from_slice(&self.line.bytes());
    }

    /// The predicted position of `key`, if the segment ends before position `end`.
    pub(super) fn predict(&self, key: W, end: u64) -> u64 {
        self.start.saturating_add(self.line.position(self.key, key, end.saturating_sub(self.start)))
    }
}

/// The description of a run.
///
/// ```text
/// | level of the logarithmic method: 1 | index levels: 4 bits | root segments: 3 bits | tombstones: 1 bit |
/// | first page: 4 | entries: 5 | with tombstones: their number: 5 |
/// | with index levels: first page: 4, segments of each: 4 | root segments |
/// ```
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PgmRun<W> {
    pub(super) level: u8,
    /// Whether entries have flags.
    pub(super) flagged: bool,
    pub(super) tombstones: u64,
    pub(super) first: PageNumber,
    pub(super) entries: u64,
    /// First page of the index: the lowest level, then the one above it, and so on.
    pub(super) index: PageNumber,
    /// Number of segments of each level stored in pages, the lowest first.
    pub(super) counts: Vec<u32>,
    /// Segments of the level above, if they are few. Without them the uppermost level is one page, or there is none.
    pub(super) roots: Vec<Segment<W>>,
}

impl<W: Word> PgmRun<W> {
    /// Parses a description from page `from`; returns it and its length in bytes.
    pub(super) fn load(
        bytes: &[u8],
        geometry: &PgmGeometry,
        pages: &dyn Pages,
        from: PageNumber,
    ) -> Result<(Self, usize)> {
        let damaged = |detail| pages.damaged(from, detail);
        let parsed = Self::parse(bytes).ok_or_else(|| damaged("the description of a run is cut short"))?;
        let run = &parsed.0;
        if run.entries == 0 || run.tombstones > run.entries || run.counts.contains(&0) {
            return Err(damaged("the description of a run is invalid"));
        }
        run.data(geometry).check(pages, from)?;
        for level in 0..run.counts.len() {
            run.segments(geometry, level).check(pages, from)?;
        }
        if run.roots.is_empty() && run.counts.last().is_some_and(|&count| geometry.segments.pages(u64::from(count)) > 1)
        {
            return Err(damaged("a run has no root"));
        }
        Ok(parsed)
    }

    fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut take = ByteReader { bytes, at: 0 };
        let [level, kinds] = *take.bytes(2)?.first_chunk()?;
        let (levels, roots, flagged) = (usize::from(kinds & 15), usize::from(kinds >> 4 & 7), kinds & 128 != 0);
        let first = take.page()?;
        let entries = load_position(take.bytes(POSITION_BYTES)?, 0);
        let tombstones = if flagged { load_position(take.bytes(POSITION_BYTES)?, 0) } else { 0 };
        let index = if levels > 0 { take.page()? } else { 0 };
        let counts = (0..levels).map(|_| take.page()).collect::<Option<_>>()?;
        let segment = |_| Some(Segment::load(take.bytes(segment_bytes::<W>())?));
        let roots = (0..roots).map(segment).collect::<Option<_>>()?;
        Some((Self { level, flagged, tombstones, first, entries, index, counts, roots }, take.at))
    }

    pub(super) fn push(&self, bytes: &mut Vec<u8>) {
        let levels = self.counts.len().min(LEVELS_MAX);
        bytes.push(self.level);
        bytes.push(levels as u8 | (self.roots.len().min(ROOTS_MAX) as u8) << 4 | u8::from(self.flagged) << 7);
        bytes.extend_from_slice(&self.first.to_le_bytes());
        push_position(bytes, self.entries);
        if self.flagged {
            push_position(bytes, self.tombstones);
        }
        if levels > 0 {
            bytes.extend_from_slice(&self.index.to_le_bytes());
        }
        for count in self.counts.iter().take(levels) {
            bytes.extend_from_slice(&count.to_le_bytes());
        }
        for root in self.roots.iter().take(ROOTS_MAX) {
            root.push(bytes);
        }
    }

    /// The entries.
    pub(super) fn data(&self, geometry: &PgmGeometry) -> PackedEntries {
        PackedEntries { first: self.first, count: self.entries, shape: geometry.data(self.flagged) }
    }

    /// The segments of a level, 0 for the lowest.
    pub(super) fn segments(&self, geometry: &PgmGeometry, level: usize) -> PackedEntries {
        let shape = geometry.segments;
        let below = self.counts.iter().take(level).map(|&count| shape.pages(u64::from(count)) as u32);
        let first = below.fold(self.index, u32::saturating_add);
        PackedEntries { first, count: u64::from(self.counts.get(level).copied().unwrap_or(0)), shape }
    }

    /// Pages of all index levels.
    pub(super) fn index_pages(&self, geometry: &PgmGeometry) -> u32 {
        (0..self.counts.len()).map(|level| self.segments(geometry, level).pages() as u32).fold(0, u32::saturating_add)
    }
}

/// A reader of bytes from the front.
struct ByteReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ByteReader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at + count)?;
        self.at += count;
        Some(taken)
    }

    fn page(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.bytes(4)?.first_chunk()?))
    }
}

pub(super) fn push_key<W: Word>(bytes: &mut Vec<u8>, key: W) {
    super::packed::push_entry(bytes, key, &[]);
}

/// The position at `offset`; 0 if there are too few bytes.
pub(super) fn load_position(bytes: &[u8], offset: usize) -> u64 {
    let position: Option<&[u8; POSITION_BYTES]> = bytes.get(offset..).and_then(|bytes| bytes.first_chunk());
    position.map_or(0, |bytes| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

pub(super) fn push_position(bytes: &mut Vec<u8>, position: u64) {
    bytes.extend(position.to_le_bytes().into_iter().take(POSITION_BYTES));
}
