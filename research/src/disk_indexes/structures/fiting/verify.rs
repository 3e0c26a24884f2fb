//! Walks over a whole FITing-tree: verification, statistics, release.

use super::cursor::FitingCursor;
use super::directory::{child, read_node};
use super::node::{FitingGeometry, FitingState, SegmentRecord, buffer};
use super::tree::Fiting;
use crate::disk_indexes::structures::pgm::packed::{PackedEntries, PackedReader};
use crate::kinds::parts::free_parts;
use ogive::Result;
use ogive::index::extend::{Cursor as _, IndexLevelStatistics, IndexStatistics, Visitor, Word};
use ogive::io::Purpose;
use ogive::page::{PageNumber, Pages, Transaction};

/// A part of the tree that a walk visits.
enum FitingPart<W> {
    /// A directory node: page, depth, number of entries.
    Node(PageNumber, u8, u64),
    /// A segment: the page of its record, the record, and an upper bound of its keys.
    Segment(PageNumber, SegmentRecord<W>, Option<W>),
    /// Pages of a segment.
    Data(PageNumber, u32),
    /// The page of a buffer.
    Buffer(PageNumber),
}

/// A validating walk over the directory.
struct FitingWalk<'a, W> {
    pages: &'a dyn Pages,
    geometry: FitingGeometry,
    height: u8,
    /// Number of nodes that may still follow: each has its own page.
    nodes_left: u32,
    visit: &'a mut dyn FnMut(FitingPart<W>) -> Result<()>,
}

impl<W: Word> FitingWalk<'_, W> {
    /// Visits a node: `first` is its key in the parent, `end` the next key there.
    fn node(&mut self, page: PageNumber, level: u8, first: Option<W>, end: Option<W>) -> Result<()> {
        let Some(left) = self.nodes_left.checked_sub(1) else {
            return Err(self.pages.damaged(page, "the directory has more nodes than the file has pages"));
        };
        self.nodes_left = left;
        let (content, count) = read_node(self.pages, &self.geometry, page, level, self.height)?;
        (self.visit)(FitingPart::Node(page, self.height - 1 - level, count as u64))?;
        let shape = self.geometry.node(level);
        let key = |index: usize| if index < count { Some(shape.key::<W>(&content, index)) } else { end };
        if first.is_some_and(|first| key(0) != Some(first)) {
            return Err(self.pages.damaged(page, "the parent has another first key"));
        }
        for index in 0..count {
            let (own, next) = (key(index), key(index + 1));
            if next.is_some_and(|next| own >= Some(next)) {
                return Err(self.pages.damaged(page, "directory keys are out of order"));
            }
            if level == 0 {
                self.segment(page, SegmentRecord::load(shape.entry(&content, index)), next)?;
            } else {
                self.node(child::<W>(&self.geometry, &content, index), level - 1, own, next)?;
            }
        }
        Ok(())
    }

    fn segment(&mut self, page: PageNumber, record: SegmentRecord<W>, end: Option<W>) -> Result<()> {
        let data = record.data(&self.geometry, self.pages, page)?;
        let delta = record.delta(&self.geometry, self.pages, page)?;
        (self.visit)(FitingPart::Segment(page, record, end))?;
        (self.visit)(FitingPart::Data(data.first, data.pages() as u32))?;
        if delta.count > 0 {
            (self.visit)(FitingPart::Buffer(delta.first))?;
        }
        Ok(())
    }
}

/// Visits every part of the tree.
fn walk<W: Word>(
    tree: &Fiting,
    pages: &dyn Pages,
    state: &FitingState,
    visit: &mut dyn FnMut(FitingPart<W>) -> Result<()>,
) -> Result<()> {
    let geometry = tree.geometry::<W>(pages);
    let head = buffer(state.head, state.head_count, &geometry, pages, 0)?;
    if head.count > 0 {
        visit(FitingPart::Buffer(head.first))?;
    }
    if state.height == 0 {
        return Ok(());
    }
    let mut walk = FitingWalk { pages, geometry, height: state.height, nodes_left: pages.page_count(), visit };
    walk.node(state.root, state.height - 1, None, None)
}

pub(super) fn verify<W: Word>(
    tree: &Fiting,
    pages: &dyn Pages,
    state: &FitingState,
    visitor: &mut dyn Visitor<W>,
) -> Result<()> {
    let geometry = tree.geometry::<W>(pages);
    let mut least = None;
    walk(tree, pages, state, &mut |part| match part {
        FitingPart::Node(page, ..) | FitingPart::Buffer(page) => visitor.pages(page, 1),
        FitingPart::Data(first, count) => visitor.pages(first, count),
        FitingPart::Segment(page, record, end) => {
            least = least.or(Some(record.first));
            verify_segment(tree, pages, &geometry, page, &record, end)
        }
    })?;
    let head = keys_of::<W>(pages, &buffer(state.head, state.head_count, &geometry, pages, 0)?)?;
    if !head.is_sorted_by(|a, b| a < b) || least.is_some_and(|least| head.last().is_some_and(|&last| last >= least)) {
        return Err(pages.damaged(state.head, "the first buffer is out of order"));
    }
    let mut cursor = FitingCursor::<W>::new(*tree, &state.bytes());
    let mut payload = vec![0; tree.layout().payload_bytes];
    while let Some(key) = cursor.next(pages, &mut payload)? {
        visitor.entry(key)?;
    }
    Ok(())
}

fn verify_segment<W: Word>(
    tree: &Fiting,
    pages: &dyn Pages,
    geometry: &FitingGeometry,
    page: PageNumber,
    record: &SegmentRecord<W>,
    end: Option<W>,
) -> Result<()> {
    let data = record.data(geometry, pages, page)?;
    let keys = keys_of::<W>(pages, &data)?;
    let wrong = |detail| Err(pages.damaged(record.page, detail));
    if keys.first() != Some(&record.first) || !keys.is_sorted_by(|a, b| a < b) {
        return wrong("the keys of a segment are out of order");
    }
    let beyond = |last: Option<&W>| last.is_some_and(|&last| end.is_some_and(|end| last >= end));
    if beyond(keys.last()) {
        return wrong("a segment overlaps the next");
    }
    if data.pages() > 1 && record.line.measure(&keys, tree.error()) < keys.len() {
        return wrong("the line of a segment misses an entry by more than the error");
    }
    let mut reader = PackedReader::new(data, Purpose::Leaf);
    let mut removed = 0;
    for position in 0..data.count {
        removed += u16::from(reader.flag(pages, position)?);
    }
    if removed != record.removed {
        return wrong("a segment has another number of removed entries");
    }
    let delta = keys_of::<W>(pages, &record.delta(geometry, pages, page)?)?;
    let sorted = delta.is_sorted_by(|a, b| a < b) && delta.first().is_none_or(|&key| key > record.first);
    if !sorted || beyond(delta.last()) || delta.iter().any(|key| keys.binary_search(key).is_ok()) {
        return Err(pages.damaged(record.buffer, "the buffer of a segment is out of order"));
    }
    Ok(())
}

fn keys_of<W: Word>(pages: &dyn Pages, packed: &PackedEntries) -> Result<Vec<W>> {
    let mut reader = PackedReader::new(*packed, Purpose::Leaf);
    (0..packed.count).map(|position| Ok(reader.key(pages, position)?.unwrap_or_default())).collect()
}

pub(super) fn statistics<W: Word>(tree: &Fiting, pages: &dyn Pages, state: &FitingState) -> Result<IndexStatistics> {
    let mut found = IndexStatistics { entries: u64::from(state.head_count), ..IndexStatistics::default() };
    let (mut buffers, mut buffered, mut removed) = (0, u64::from(state.head_count), 0);
    found.levels = vec![IndexLevelStatistics::default(); usize::from(state.height) + 1];
    walk::<W>(tree, pages, state, &mut |part| {
        match part {
            FitingPart::Node(_, depth, entries) => {
                found.inner_pages += 1;
                add(&mut found.levels, depth, 1, entries);
            }
            FitingPart::Segment(_, record, _) => {
                found.leaves += 1;
                found.entries += record.live();
                buffered += u64::from(record.buffered);
                removed += u64::from(record.removed);
                add(&mut found.levels, state.height, 0, record.live());
                if let Some(level) = found.levels.last_mut() {
                    level.nodes += 1;
                }
            }
            FitingPart::Data(_, pages) => {
                found.leaf_pages += u64::from(pages);
                add_pages(&mut found.levels, state.height, u64::from(pages));
            }
            FitingPart::Buffer(_) => {
                buffers += 1;
                found.leaf_pages += 1;
                add_pages(&mut found.levels, state.height, 1);
            }
        }
        Ok(())
    })?;
    add(&mut found.levels, state.height, 0, u64::from(state.head_count));
    found.height = u32::from(state.height) + 1;
    // An entry of the first buffer has a path of one node.
    let in_segments = found.entries - u64::from(state.head_count);
    let steps = in_segments * u64::from(found.height) + u64::from(state.head_count);
    found.mean_height = steps as f64 / found.entries.max(1) as f64;
    found.details = vec![
        ("segments", found.leaves),
        ("buffers", buffers),
        ("buffered entries", buffered),
        ("removed entries", removed),
    ];
    Ok(found)
}

fn add(levels: &mut [IndexLevelStatistics], depth: u8, nodes: u64, entries: u64) {
    if let Some(level) = levels.get_mut(usize::from(depth)) {
        level.nodes += nodes;
        level.pages += nodes;
        level.entries += entries;
    }
}

fn add_pages(levels: &mut [IndexLevelStatistics], depth: u8, pages: u64) {
    if let Some(level) = levels.get_mut(usize::from(depth)) {
        level.pages += pages;
    }
}

pub(super) fn free<W: Word>(tree: &Fiting, tx: &mut Transaction, state: &FitingState) -> Result<()> {
    let mut extents = Vec::new();
    walk::<W>(tree, tx, state, &mut |part| {
        match part {
            FitingPart::Node(page, ..) | FitingPart::Buffer(page) => extents.push((page, 1)),
            FitingPart::Data(first, pages) => extents.push((first, pages)),
            FitingPart::Segment(..) => {}
        }
        Ok(())
    })?;
    free_parts(tx, extents)
}
