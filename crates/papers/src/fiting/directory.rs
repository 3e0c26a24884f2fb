//! The directory: a B+-tree over the segments' first keys, whose lowest nodes hold the segments' records.
//!
//! ```text
//! | level: 1 | 0: 1 | entries: 2 | entry 0 | entry 1 | ...        level 0: records
//!                                                                 above: | least key below | page: 4 |
//! ```
//!
//! The entry of a key is the last whose own key is not above it; the first entry also takes what lies below. The
//! first key of a node is the key that its parent has for it.

use super::node::{Geometry, NODE_HEADER_BYTES, Record, State, load_u16, load_u32};
use crate::pgm::packed::push_entry;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages, Transaction};
use std::marker::PhantomData;

/// A node on a path, and which of its entries the path takes.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) page: PageNumber,
    pub(super) content: Page,
    pub(super) count: usize,
    pub(super) index: usize,
}

/// The way from the root to a segment's record, the root first.
#[derive(Clone, Debug)]
pub(super) struct Path<W> {
    pub(super) steps: Vec<Step>,
    pub(super) geometry: Geometry,
    height: u8,
    word: PhantomData<W>,
}

/// What a read of a node is for.
pub(super) fn purpose(height: u8, level: u8) -> Purpose {
    Purpose::Inner(height.saturating_sub(level).saturating_sub(1))
}

/// Reads a node of a level; its content and how many entries it has, which is not 0.
pub(super) fn read_node(
    pages: &dyn Pages,
    geometry: &Geometry,
    page: PageNumber,
    level: u8,
    height: u8,
) -> Result<(Page, usize)> {
    let content = pages.read(page, purpose(height, level))?;
    let count = usize::from(load_u16(&content, 2));
    let sound = content.first() == Some(&level) && (1..=geometry.node(level).per_page()).contains(&count);
    if sound { Ok((content, count)) } else { Err(pages.damaged(page, "not a directory node of the level expected")) }
}

/// The header of a node.
pub(super) fn node_header(level: u8, count: usize) -> [u8; NODE_HEADER_BYTES] {
    let [low, high] = (count as u16).to_le_bytes();
    [level, 0, low, high]
}

/// The page of child `index`.
pub(super) fn child<W: Word>(geometry: &Geometry, content: &[u8], index: usize) -> PageNumber {
    load_u32(geometry.children.entry(content, index), W::BYTES)
}

/// Which entry of a node to take.
#[derive(Clone, Copy, Debug)]
pub(super) enum Which<W> {
    First,
    Last,
    Of(W),
}

impl<W: Word> Path<W> {
    /// The path to a segment; `None` where there are none.
    pub(super) fn find(pages: &dyn Pages, geometry: &Geometry, state: &State, which: Which<W>) -> Result<Option<Self>> {
        if state.height == 0 {
            return Ok(None);
        }
        let mut path = Self { steps: Vec::new(), geometry: *geometry, height: state.height, word: PhantomData };
        path.descend(pages, state.root, which)?;
        Ok(Some(path))
    }

    /// Goes on down from `page` to a record.
    fn descend(&mut self, pages: &dyn Pages, mut page: PageNumber, which: Which<W>) -> Result<()> {
        while self.steps.len() < usize::from(self.height) {
            let level = self.level(self.steps.len());
            let (content, count) = read_node(pages, &self.geometry, page, level, self.height)?;
            let index = match which {
                Which::First => 0,
                Which::Last => count - 1,
                Which::Of(key) => self.geometry.node(level).floor(&content, count, key),
            };
            let next = if level > 0 { child::<W>(&self.geometry, &content, index) } else { 0 };
            self.steps.push(Step { page, content, count, index });
            page = next;
        }
        Ok(())
    }

    /// The level of a step.
    pub(super) fn level(&self, step: usize) -> u8 {
        self.height.saturating_sub(1).saturating_sub(step as u8)
    }

    /// What a read of a step's node is for.
    pub(super) fn purpose(&self, step: usize) -> Purpose {
        Purpose::Inner(step as u8)
    }

    /// The record that the path leads to.
    pub(super) fn record(&self) -> Record<W> {
        let entry = self.steps.last().map_or(&[][..], |step| self.geometry.records.entry(&step.content, step.index));
        Record::load(entry)
    }

    /// The node with the record.
    pub(super) fn page(&self) -> PageNumber {
        self.steps.last().map_or(0, |step| step.page)
    }

    /// Whether the record is the first of all.
    pub(super) fn is_first(&self) -> bool {
        self.steps.iter().all(|step| step.index == 0)
    }

    /// Moves on to the next record; false, staying where it is, at the last.
    pub(super) fn forward(&mut self, pages: &dyn Pages) -> Result<bool> {
        let Some(turn) = self.steps.iter().rposition(|step| step.index + 1 < step.count) else { return Ok(false) };
        let before = self.record().first;
        self.turn(pages, turn, 1, Which::First)?;
        if self.record().first <= before {
            return Err(pages.damaged(self.page(), "segments are out of order"));
        }
        Ok(true)
    }

    /// Moves back to the previous record; false, staying where it is, at the first.
    pub(super) fn backward(&mut self, pages: &dyn Pages) -> Result<bool> {
        let Some(turn) = self.steps.iter().rposition(|step| step.index > 0) else { return Ok(false) };
        let after = self.record().first;
        self.turn(pages, turn, -1, Which::Last)?;
        if self.record().first >= after {
            return Err(pages.damaged(self.page(), "segments are out of order"));
        }
        Ok(true)
    }

    fn turn(&mut self, pages: &dyn Pages, turn: usize, by: isize, which: Which<W>) -> Result<()> {
        let level = self.level(turn);
        self.steps.truncate(turn + 1);
        let Some(step) = self.steps.last_mut() else { return Ok(()) };
        step.index = step.index.saturating_add_signed(by);
        let next = if level > 0 { child::<W>(&self.geometry, &step.content, step.index) } else { 0 };
        self.descend(pages, next, which)
    }
}

/// Writes directory nodes from the left to the right.
#[derive(Debug)]
pub(super) struct DirectoryBuilder<W> {
    geometry: Geometry,
    fill_percent: u8,
    /// Entries of the open node of each level, from `base_level` on.
    open: Vec<Vec<u8>>,
    base_level: u8,
    word: PhantomData<W>,
}

impl<W: Word> DirectoryBuilder<W> {
    /// A builder of the levels from `base_level` on.
    pub(super) fn new(geometry: &Geometry, fill_percent: u8, base_level: u8) -> Self {
        Self { geometry: *geometry, fill_percent, open: Vec::new(), base_level, word: PhantomData }
    }

    pub(super) fn push_record(&mut self, tx: &mut Transaction, record: &Record<W>) -> Result<()> {
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
        let most = self.geometry.node(self.base_level + above as u8).per_page();
        // A node of one child would never end the tree.
        let fill = (most * usize::from(self.fill_percent.min(100)) / 100).clamp(2.min(most), most);
        if self.open.get(above).is_some_and(|open| open.len() >= fill * entry.len()) {
            self.close(tx, above)?;
        }
        if let Some(open) = self.open.get_mut(above) {
            open.extend_from_slice(entry);
        }
        Ok(())
    }

    /// Writes the open node and tells the level above of it.
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

    /// Closes all nodes: the root and the height of the tree, 0 and 0 if there was no entry.
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
