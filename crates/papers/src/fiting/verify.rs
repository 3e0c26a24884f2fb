//! Walks over a whole FITing-tree: verification, counts, release.

use super::directory::{child, read_node};
use super::node::{Geometry, Record, State, buffer};
use super::tree::Fiting;
use crate::parts::free_parts;
use crate::pgm::packed::{Packed, Reader};
use ogive::Result;
use ogive::index::extend::{LevelStatistics, Statistics, Structure, Visitor, Word};
use ogive::io::Purpose;
use ogive::page::{PageNumber, Pages, Transaction};

/// What a walk tells.
enum Part<W> {
    /// A directory node: its page, its depth, how many entries.
    Node(PageNumber, u8, u64),
    /// A segment: the page that says so, its record, and the key that is above all of its own.
    Segment(PageNumber, Record<W>, Option<W>),
    /// Pages of a segment.
    Data(PageNumber, u32),
    /// The page of a buffer.
    Buffer(PageNumber),
}

/// A walk over the directory, which trusts nothing.
struct Walk<'a, W> {
    pages: &'a dyn Pages,
    geometry: Geometry,
    height: u8,
    /// Nodes that may still come: each has a page of its own.
    nodes_left: u32,
    tell: &'a mut dyn FnMut(Part<W>) -> Result<()>,
}

impl<W: Word> Walk<'_, W> {
    /// `first` is the key that the parent has for the node; `end` the next one.
    fn node(&mut self, page: PageNumber, level: u8, first: Option<W>, end: Option<W>) -> Result<()> {
        let Some(left) = self.nodes_left.checked_sub(1) else {
            return Err(self.pages.damaged(page, "the directory has more nodes than the file has pages"));
        };
        self.nodes_left = left;
        let (content, count) = read_node(self.pages, &self.geometry, page, level, self.height)?;
        (self.tell)(Part::Node(page, self.height - 1 - level, count as u64))?;
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
                self.segment(page, Record::load(shape.entry(&content, index)), next)?;
            } else {
                self.node(child::<W>(&self.geometry, &content, index), level - 1, own, next)?;
            }
        }
        Ok(())
    }

    fn segment(&mut self, page: PageNumber, record: Record<W>, end: Option<W>) -> Result<()> {
        let data = record.data(&self.geometry, self.pages, page)?;
        let delta = record.delta(&self.geometry, self.pages, page)?;
        (self.tell)(Part::Segment(page, record, end))?;
        (self.tell)(Part::Data(data.first, data.pages() as u32))?;
        if delta.count > 0 {
            (self.tell)(Part::Buffer(delta.first))?;
        }
        Ok(())
    }
}

/// Tells of every part of the tree.
fn walk<W: Word>(
    tree: &Fiting,
    pages: &dyn Pages,
    state: &State,
    tell: &mut dyn FnMut(Part<W>) -> Result<()>,
) -> Result<()> {
    let geometry = tree.geometry::<W>(pages);
    let head = buffer(state.head, state.head_count, &geometry, pages, 0)?;
    if head.count > 0 {
        tell(Part::Buffer(head.first))?;
    }
    if state.height == 0 {
        return Ok(());
    }
    let mut walk = Walk { pages, geometry, height: state.height, nodes_left: pages.page_count(), tell };
    walk.node(state.root, state.height - 1, None, None)
}

pub(super) fn verify<W: Word>(
    tree: &Fiting,
    pages: &dyn Pages,
    state: &State,
    visitor: &mut dyn Visitor<W>,
) -> Result<()> {
    let geometry = tree.geometry::<W>(pages);
    let mut least = None;
    walk(tree, pages, state, &mut |part| match part {
        Part::Node(page, ..) | Part::Buffer(page) => visitor.pages(page, 1),
        Part::Data(first, count) => visitor.pages(first, count),
        Part::Segment(page, record, end) => {
            least = least.or(Some(record.first));
            verify_segment(tree, pages, &geometry, page, &record, end)
        }
    })?;
    let head = keys_of::<W>(pages, &buffer(state.head, state.head_count, &geometry, pages, 0)?)?;
    if !head.is_sorted_by(|a, b| a < b) || least.is_some_and(|least| head.last().is_some_and(|&last| last >= least)) {
        return Err(pages.damaged(state.head, "the first buffer is out of order"));
    }
    let mut cursor = Structure::<W>::cursor(tree, &state.bytes())?;
    let mut payload = vec![0; tree.layout().payload_bytes];
    while let Some(key) = cursor.next(pages, &mut payload)? {
        visitor.entry(key)?;
    }
    Ok(())
}

fn verify_segment<W: Word>(
    tree: &Fiting,
    pages: &dyn Pages,
    geometry: &Geometry,
    page: PageNumber,
    record: &Record<W>,
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
        return wrong("a segment reaches into the next");
    }
    if data.pages() > 1 && record.line.measure(&keys, tree.error()) < keys.len() {
        return wrong("the line of a segment misses an entry by more than the error");
    }
    let mut reader = Reader::new(data, Purpose::Leaf);
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

fn keys_of<W: Word>(pages: &dyn Pages, packed: &Packed) -> Result<Vec<W>> {
    let mut reader = Reader::new(*packed, Purpose::Leaf);
    (0..packed.count).map(|position| Ok(reader.key(pages, position)?.unwrap_or_default())).collect()
}

pub(super) fn statistics<W: Word>(tree: &Fiting, pages: &dyn Pages, state: &State) -> Result<Statistics> {
    let mut found = Statistics { entries: u64::from(state.head_count), ..Statistics::default() };
    let (mut buffers, mut buffered, mut removed) = (0, u64::from(state.head_count), 0);
    found.levels = vec![LevelStatistics::default(); usize::from(state.height) + 1];
    walk::<W>(tree, pages, state, &mut |part| {
        match part {
            Part::Node(_, depth, entries) => {
                found.inner_pages += 1;
                add(&mut found.levels, depth, 1, entries);
            }
            Part::Segment(_, record, _) => {
                found.leaves += 1;
                found.entries += record.live();
                buffered += u64::from(record.buffered);
                removed += u64::from(record.removed);
                add(&mut found.levels, state.height, 0, record.live());
                if let Some(level) = found.levels.last_mut() {
                    level.nodes += 1;
                }
            }
            Part::Data(_, pages) => {
                found.leaf_pages += u64::from(pages);
                add_pages(&mut found.levels, state.height, u64::from(pages));
            }
            Part::Buffer(_) => {
                buffers += 1;
                found.leaf_pages += 1;
                add_pages(&mut found.levels, state.height, 1);
            }
        }
        Ok(())
    })?;
    add(&mut found.levels, state.height, 0, u64::from(state.head_count));
    found.height = u32::from(state.height) + 1;
    // The entries of the first buffer are one step away.
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

fn add(levels: &mut [LevelStatistics], depth: u8, nodes: u64, entries: u64) {
    if let Some(level) = levels.get_mut(usize::from(depth)) {
        level.nodes += nodes;
        level.pages += nodes;
        level.entries += entries;
    }
}

fn add_pages(levels: &mut [LevelStatistics], depth: u8, pages: u64) {
    if let Some(level) = levels.get_mut(usize::from(depth)) {
        level.pages += pages;
    }
}

pub(super) fn free<W: Word>(tree: &Fiting, tx: &mut Transaction, state: &State) -> Result<()> {
    let mut extents = Vec::new();
    walk::<W>(tree, tx, state, &mut |part| {
        match part {
            Part::Node(page, ..) | Part::Buffer(page) => extents.push((page, 1)),
            Part::Data(first, pages) => extents.push((first, pages)),
            Part::Segment(..) => {}
        }
        Ok(())
    })?;
    free_parts(tx, extents)
}
