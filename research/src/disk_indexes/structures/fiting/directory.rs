//! The directory: a B+-tree over the first keys of segments, with the segment records in its lowest nodes.
//!
//! ```text
//! | level: 1 | 0: 1 | entries: 2 | entry 0 | entry 1 | ...        level 0: records
//!                                                                 above: | least key below | page: 4 |
//! ```
//!
//! A key belongs to the last entry whose own key is not above it; keys below all entries belong to the first. The first
//! key of a node is its key in the parent.

use super::node::{FitingGeometry, FitingState, NODE_HEADER_BYTES, SegmentRecord, load_u16, load_u32};
use crate::disk_indexes::structures::pgm::packed::push_entry;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages, Transaction};
use std::marker::PhantomData;

/// A node on a path, and the index of the entry taken.
#[derive(Clone, Debug)]
pub(super) struct DirectoryStep {
    pub(super) page: PageNumber,
    pub(super) content: Page,
    pub(super) count: usize,
    pub(super) index: usize,
}

/// The path from the root to a segment record, the root first.
#[derive(Clone, Debug)]
pub(super) struct DirectoryPath<W> {
    pub(super) steps: Vec<DirectoryStep>,
    pub(super) geometry: FitingGeometry,
    height: u8,
    word: PhantomData<W>,
}

/// The purpose of reading a node of a level.
pub(super) fn purpose(height: u8, level: u8) -> Purpose {
    Purpose::Inner(height.saturating_sub(level).saturating_sub(1))
}

/// Reads a node of a level; returns its content and the number of its entries, which is not 0.
pub(super) fn read_node(
    pages: &dyn Pages,
    geometry: &FitingGeometry,
    page: PageNumber,
    level: u8,
    height: u8,
) -> Result<(Page, usize)> {
    let content = pages.read(page, purpose(height, level))?;
    let count = usize::from(load_u16(&content, 2));
    let valid = content.first() == Some(&level) && (1..=geometry.node(level).per_page()).contains(&count);
    if valid { Ok((content, count)) } else { Err(pages.damaged(page, "not a directory node of the level expected")) }
}

/// The header of a node.
pub(super) fn node_header(level: u8, count: usize) -> [u8; NODE_HEADER_BYTES] {
    let [low, high] = (count as u16).to_le_bytes();
    [level, 0, low, high]
}

/// The page of child `index`.
pub(super) fn child<W: Word>(geometry: &FitingGeometry, content: &[u8], index: usize) -> PageNumber {
    load_u32(geometry.children.entry(content, index), W::BYTES)
}

/// The entry to take in each node.
#[derive(Clone, Copy, Debug)]
pub(super) enum EntryChoice<W> {
    First,
    Last,
    Of(W),
}

impl<W: Word> DirectoryPath<W> {
    /// The path to a segment; `None` if there are none.
    pub(super) fn find(
        pages: &dyn Pages,
        geometry: &FitingGeometry,
        state: &FitingState,
        choice: EntryChoice<W>,
    ) -> Result<Option<Self>> {
        if state.height == 0 {
            return Ok(None);
        }
        let mut path = Self { steps: Vec::new(), geometry: *geometry, height: state.height, word: PhantomData };
        path.descend(pages, state.root, choice)?;
        Ok(Some(path))
    }

    /// Descends from `page` to a record.
    fn descend(&mut self, pages: &dyn Pages, mut page: PageNumber, choice: EntryChoice<W>) -> Result<()> {
        while self.steps.len() < usize::from(self.height) {
            let level = self.level(self.steps.len());
            let (content, count) = read_node(pages, &self.geometry, page, level, self.height)?;
            let index = match choice {
                EntryChoice::First => 0,
                EntryChoice::Last => count - 1,
                EntryChoice::Of(key) => self.geometry.node(level).floor(&content, count, key),
            };
            let next = if level > 0 { child::<W>(&self.geometry, &content, index) } else { 0 };
            self.steps.push(DirectoryStep { page, content, count, index });
            page = next;
        }
        Ok(())
    }

    /// The level of a step.
    pub(super) fn level(&self, step: usize) -> u8 {
        self.height.saturating_sub(1).saturating_sub(step as u8)
    }

    /// The purpose of reading the node of a step.
    pub(super) fn purpose(&self, step: usize) -> Purpose {
        Purpose::Inner(step as u8)
    }

    /// The record at the end of the path.
    pub(super) fn record(&self) -> SegmentRecord<W> {
        let entry = self.steps.last().map_or(&[][..], |step| self.geometry.records.entry(&step.content, step.index));
        SegmentRecord::load(entry)
    }

    /// The page of the record.
    pub(super) fn page(&self) -> PageNumber {
        self.steps.last().map_or(0, |step| step.page)
    }

    /// Whether the record is the first of the tree.
    pub(super) fn is_first(&self) -> bool {
        self.steps.iter().all(|step| step.index == 0)
    }

    /// Moves to the next record; false, without moving, at the last.
    pub(super) fn forward(&mut self, pages: &dyn Pages) -> Result<bool> {
        let Some(turn) = self.steps.iter().rposition(|step| step.index + 1 < step.count) else { return Ok(false) };
        let before = self.record().first;
        self.turn(pages, turn, 1, EntryChoice::First)?;
        if self.record().first <= before {
            return Err(pages.damaged(self.page(), "segments are out of order"));
        }
        Ok(true)
    }

    /// Moves to the previous record; false, without moving, at the first.
    pub(super) fn backward(&mut self, pages: &dyn Pages) -> Result<bool> {
        let Some(turn) = self.steps.iter().rposition(|step| step.index > 0) else { return Ok(false) };
        let after = self.record().first;
        self.turn(pages, turn, -1, EntryChoice::Last)?;
        if self.record().first >= after {
            return Err(pages.damaged(self.page(), "segments are out of order"));
        }
        Ok(true)
    }

    fn turn(&mut self, pages: &dyn Pages, turn: usize, by: isize, choice: EntryChoice<W>) -> Result<()> {
        let level = self.level(turn);
        self.steps.truncate(turn + 1);
        let Some(step) = self.steps.last_mut() else { return Ok(()) };
        step.index = step.index.saturating_add_signed(by);
        let next = if level > 0 { child::<W>(&self.geometry, &step.content, step.index) } else { 0 };
        self.descend(pages, next, choice)
    }
}

/// A builder of the directory, which writes nodes from left to right.
#[derive(Debug)]
pub(super) struct DirectoryBuilder<W> {
    geometry: FitingGeometry,
    fill_percent: u8,
    /// Entries of the open node of each level, from `base_level` on.
    open: Vec<Vec<u8>>,
    base_level: u8,
    word: PhantomData<W>,
}

impl<W: Word> DirectoryBuilder<W> {
    /// Creates a builder of the levels from `base_level` on.
    pub(super) fn new(geometry: &FitingGeometry, fill_percent: u8, base_level: u8) -> Self {
        Self { geometry: *geometry, fill_percent, open: Vec::new(), base_level, word: PhantomData }
    }

    pub(super) fn push_record(&mut self, tx: &mut Transaction, record: &SegmentRecord<W>) -> Result<()> {
        self.push(tx, 0, &record.bytes())
    }

    pub(super) fn push_child(&mut self, tx: &mut Transaction, key: W, page: PageNumber) -> Result<()> {
        let mut entry = Vec::new();
        push_entry(&mut entry, key, &page.to_le_bytes());
        self.push(tx, 0, &entry)
    }

    /// Adds an entry to the open node of the level `above` the base.
    fn push(&mut self, tx: &mut Transaction, above: usize, entry: &[u8]) -> Result<()> {
        if self.open.len() <= above {
            self.open.push(Vec::new());
        }
        let capacity = self.geometry.node(self.base_level + above as u8).per_page();
        // With nodes of one child, the tree would never end.
        let fill = (capacity * usize::from(self.fill_percent.min(100)) / 100).clamp(2.min(capacity), capacity);
        if self.open.get(above).is_some_and(|open| open.len() >= fill * entry.len()) {
            self.close(tx, above)?;
        }
        if let Some(open) = self.open.get_mut(above) {
            open.extend_from_slice(entry);
        }
        Ok(())
    }

    /// Writes the open node, and adds it to the level above.
    fn close(&mut self, tx: &mut Transaction, above: usize) -> Result<()> {
        let (key, page) = self.write(tx, above)?;
        let mut entry = Vec::new();
        push_entry(&mut entry, key, &page.to_le_bytes());
        self.push(tx, above + 1, &entry)
    }

    fn write(&mut self, tx: &mut Transaction, above: usize) -> Result<(W, PageNumber)> {
        let entries = self.open.get_mut(above).map(std::mem::take).unwrap_or_default();
        let level = self.base_level + above as u8;
        let count = entries.len() / self.geometry.node(level).entry_bytes();
        let page = tx.allocate_extent(1)?;
        let content = [&node_header(level, count)[..], &entries].concat();
        tx.write_fresh(page, Purpose::Inner(u8::MAX), &content)?;
        Ok((W::load(&entries), page))
    }

    /// Writes all open nodes; returns the root and the height of the tree, 0 and 0 if there was no entry.
    pub(super) fn finish(mut self, tx: &mut Transaction) -> Result<(PageNumber, u8)> {
        let mut above = 0;
        while above + 1 < self.open.len() {
            self.close(tx, above)?;
            above += 1;
        }
        if self.open.is_empty() {
            return Ok((0, 0));
        }
        let (_, root) = self.write(tx, above)?;
        Ok((root, self.base_level + above as u8 + 1))
    }
}
