//! Builds of LIPP nodes from sorted keys.

use super::cells::{FreshCells, write_cell};
use super::fence;
use super::header::{CellHeader, CellKind, LippCounts};
use super::line::LippLine;
use super::link::Link;
use super::mixed::{LippSlot, Mixed, put};
use super::options::LippOptions;
use super::packed;
use super::shape::{CLASSES, LippLayout, types_bytes, wide_pages, wide_size};
use super::wide::WideWriter;
use crate::kinds::batch::Batch;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, Transaction};
use std::ops::Range;

/// Least number of keys for a build whose cells are in fresh pages, which bypass the log.
const FRESH_KEYS_MIN: usize = 1024;
/// Least number of keys for which a line is rejected if it leaves more than half of them in one slot.
const JUDGED_KEYS_MIN: usize = 9;

/// A builder of the nodes of a batch.
pub(super) struct LippBuilder<'a, W> {
    shape: LippLayout,
    options: LippOptions,
    batch: &'a Batch<W>,
    lists: &'a mut [PageNumber; CLASSES],
    fresh: Option<FreshCells>,
}

impl<'a, W: Word> LippBuilder<'a, W> {
    pub(super) fn new(
        shape: &LippLayout,
        options: &LippOptions,
        batch: &'a Batch<W>,
        lists: &'a mut [PageNumber; CLASSES],
    ) -> Self {
        let fresh = (batch.keys.len() >= FRESH_KEYS_MIN).then(FreshCells::default);
        Self { shape: *shape, options: *options, batch, lists, fresh }
    }

    /// Builds the node of all entries, at least one.
    pub(super) fn build(mut self, tx: &mut Transaction, depth: u8) -> Result<Link<W>> {
        let link = self.node(tx, 0..self.batch.keys.len(), depth)?;
        if let Some(fresh) = self.fresh {
            fresh.finish(tx, self.lists)?;
        }
        Ok(link)
    }

    fn cell(&mut self, tx: &mut Transaction, class: usize, content: &[u8]) -> Result<Link<W>> {
        match &mut self.fresh {
            Some(fresh) => fresh.write(tx, &self.shape, class, content),
            None => write_cell(tx, &self.shape, self.lists, class, content),
        }
    }

    fn node(&mut self, tx: &mut Transaction, range: Range<usize>, depth: u8) -> Result<Link<W>> {
        let count = range.len();
        if count < 2 || depth >= self.options.model_levels {
            return self.sorted(tx, range, depth);
        }
        let wanted = self.options.slots(count);
        if let Some(class) = self.shape.class_of_slots(wanted) {
            return self.mixed_cell(tx, range, depth, class);
        }
        match wide_size(wanted.div_ceil(self.shape.wide_slots())) {
            Some(size) => self.wide(tx, range, depth, size),
            None => self.sorted(tx, range, depth),
        }
    }

    /// The summary of the pages in use, if the line divides keys well enough; else `None`.
    fn summarize(&self, keys: &[W], line: &LippLine<W>, slots: u32, slots_per_page: u32) -> Option<Vec<u8>> {
        let mut summary = vec![0_u8; slots.div_ceil(slots_per_page).div_ceil(8) as usize];
        let (mut fullest, mut start, mut last) = (0, 0, u32::MAX);
        for (index, &key) in keys.iter().enumerate() {
            let slot = line.slot(key, slots);
            if slot != last {
                (start, last) = (index, slot);
                let page = slot / slots_per_page;
                summary[(page / 8) as usize] |= 1 << (page % 8);
            }
            fullest = fullest.max(index + 1 - start);
        }
        (keys.len() < JUDGED_KEYS_MIN && fullest < keys.len() || fullest * 2 <= keys.len()).then_some(summary)
    }

    /// Builds the slot of the keys from `start` on; returns its number, its content, and the start of the next slot's
    /// keys.
    fn slot(
        &mut self,
        tx: &mut Transaction,
        range: &Range<usize>,
        start: usize,
        depth: u8,
        slot_of: impl Fn(W) -> u32,
    ) -> Result<(u32, LippSlot<W>, usize)> {
        let keys = &self.batch.keys;
        let slot = slot_of(keys[start]);
        let end = (start + 1..range.end).find(|&index| slot_of(keys[index]) != slot).unwrap_or(range.end);
        if end == start + 1 {
            return Ok((slot, LippSlot::Data(keys[start], self.batch.value(start).to_vec()), end));
        }
        Ok((slot, LippSlot::Node(self.node(tx, start..end, depth + 1)?), end))
    }

    fn mixed_cell(&mut self, tx: &mut Transaction, range: Range<usize>, depth: u8, class: usize) -> Result<Link<W>> {
        let shape = self.shape;
        let slots = shape.cell_slots(class);
        let keys = &self.batch.keys[range.clone()];
        let line = LippLine::fit(keys, slots as u32);
        if self.summarize(keys, &line, slots as u32, slots as u32).is_none() {
            return self.sorted(tx, range, depth);
        }
        let header =
            CellHeader { kind: CellKind::Mixed, length: slots as u16, counts: LippCounts::of(range.len()), line };
        let mut content = vec![0; shape.cell_header() + types_bytes(slots) + slots * shape.slot()];
        header.store(&mut content);
        let mut start = range.start;
        while start < range.end {
            let (slot, filled, end) = self.slot(tx, &range, start, depth, |key| line.slot(key, slots as u32))?;
            put(&mut content, &shape, shape.cell_header(), slots, slot as usize, &filled);
            start = end;
        }
        self.cell(tx, class, &content)
    }

    fn wide(&mut self, tx: &mut Transaction, range: Range<usize>, depth: u8, size: u8) -> Result<Link<W>> {
        let shape = self.shape;
        let keys = &self.batch.keys[range.clone()];
        let slots = wide_pages(size).unwrap_or(1).saturating_mul(shape.wide_slots() as u32);
        let line = LippLine::fit(keys, slots);
        let Some(summary) = self.summarize(keys, &line, slots, shape.wide_slots() as u32) else {
            return self.sorted(tx, range, depth);
        };
        let first = tx.allocate_extent(shape.wide_extent_pages(size).unwrap_or(1))?;
        let node = Mixed::wide(&shape, first, size, line, depth);
        let mut writer = WideWriter::new(&shape, &node, LippCounts::of(range.len()), summary);
        let mut start = range.start;
        while start < range.end {
            let (slot, filled, end) = self.slot(tx, &range, start, depth, |key| node.slot_of(key))?;
            writer.put(tx, slot, &filled)?;
            start = end;
        }
        writer.finish(tx)?;
        Ok(Link::Wide { first, size, line })
    }

    /// Builds sorted entries: a packed node with some room, or a fence over several nodes.
    fn sorted(&mut self, tx: &mut Transaction, range: Range<usize>, depth: u8) -> Result<Link<W>> {
        let largest = self.shape.packed_entries(CLASSES - 1);
        let count = range.len();
        if count <= largest {
            let class = self.shape.class_of_entries((count + count / 4).min(largest)).unwrap_or(CLASSES - 1);
            let entries = range.map(|index| (self.batch.keys[index], self.batch.value(index)));
            let content = packed::content(&self.shape, entries);
            return self.cell(tx, class, &content);
        }
        let parts_max = (self.shape.fence_entries() * 3 / 4).max(2);
        let parts = count.div_ceil((largest * 3 / 4).max(1)).clamp(2, parts_max);
        let bound = |part: usize| range.start + count * part / parts;
        let mut entries = Vec::with_capacity(parts);
        for part in 0..parts {
            let start = bound(part);
            entries.push((self.batch.keys[start], self.node(tx, start..bound(part + 1), depth + 1)?));
        }
        let content = fence::content(&self.shape, &entries);
        self.cell(tx, CLASSES - 1, &content)
    }
}
