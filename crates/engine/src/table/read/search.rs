//! The general lookup: routes a search position through the index layers to a block and a record, and verifies what
//! approximate nodes predicted.

use super::context::ReadContext;
use super::reader::TableInner;
use crate::error::Result;
use crate::table::block::coded::CodedBlock;
use crate::table::block::key::KeyBound;
use crate::table::block::view::{BlockHead, BlockView};
use crate::table::format::index_page::{ChildWindow, IndexPageView, RouteTarget, StoredNodes};
use std::cmp::Ordering;
use std::sync::Arc;

/// Largest read that the index was designed for and that is made regardless of the budget, in bytes.
const DESIGNED_READ_BYTES_MAX: u64 = 32 << 20;

/// A position in the data: the record at `index` of `block`, or the end of the data if `block` is the number of blocks.
#[derive(Clone, Debug)]
pub(in crate::table) struct RecordPosition {
    pub(in crate::table) block: u64,
    pub(in crate::table) index: usize,
    /// The block, if it was read.
    pub(in crate::table) bytes: Option<Arc<[u8]>>,
    /// Its head, if it was decoded.
    pub(in crate::table) head: Option<BlockHead>,
}

impl RecordPosition {
    /// A position in a block that was not read.
    pub(in crate::table) fn unread(block: u64, index: usize) -> Self {
        Self { block, index, bytes: None, head: None }
    }
}

impl TableInner {
    pub(in crate::table) fn view<'a>(&self, block: u64, bytes: &'a [u8]) -> Result<BlockView<'a>> {
        let view = BlockView::new(self.layout, self.meta.versioned, bytes);
        view.filter(|view| view.coded().is_none_or(|coded| self.holds_coded(coded))).ok_or_else(|| {
            self.damaged(self.offset_of(block), format!("block {block} has an invalid number of records"))
        })
    }

    /// Whether the table states that it has coded blocks of this size.
    fn holds_coded(&self, coded: &CodedBlock) -> bool {
        coded.decoded_bytes() <= self.meta.decoded_block_bytes && self.meta.decoded_block_bytes > 0
    }

    pub(in crate::table) fn offset_of(&self, block: u64) -> u64 {
        self.locations.of(block).map_or(self.files.tail_offset(), |section| section.offset)
    }

    pub(in crate::table) fn malformed(&self, block: u64) -> crate::Error {
        self.damaged(self.offset_of(block), format!("a record of block {block} is malformed"))
    }

    /// The routing target of a bound; `None` if it lies after all possible keys.
    pub(in crate::table) fn target<'a>(&self, probe: KeyBound<'a>) -> Option<RouteTarget<'a>> {
        let x = if self.meta.record_type.keys.is_numeric() { probe.key_as_u64()? } else { 0 };
        Some(RouteTarget { probe, x })
    }

    /// The children of `level` to which the layers above route a target.
    pub(in crate::table) fn route(
        &self,
        target: &RouteTarget<'_>,
        level: usize,
        reads: &mut ReadContext<'_>,
    ) -> Result<ChildWindow> {
        let Some(top) = self.meta.layers.len().checked_sub(1) else {
            return Ok(ChildWindow { first: 0, last: self.meta.blocks.saturating_sub(1), is_exact: true });
        };
        let (kind, granule) = self.nodes_over(top);
        let root = StoredNodes {
            kind,
            granule,
            payload: &self.root,
            count: self.meta.layers[top].nodes as usize,
            end_child: self.children(top),
            children: self.children(top),
        };
        let mut window = self.clamp(root.search(target), top, self.files.tail_offset())?;
        for at in (level..top).rev() {
            window = self.descend(target, at + 1, window, reads)?;
        }
        Ok(window)
    }

    /// Routes a target through the pages of layer `layer` (1 is the bottom layer) in `window`, to the children of the
    /// level below.
    fn descend(
        &self,
        target: &RouteTarget<'_>,
        layer: usize,
        window: ChildWindow,
        reads: &mut ReadContext<'_>,
    ) -> Result<ChildWindow> {
        let ChildWindow { mut first, mut last, is_exact } = window;
        let (kind, granule) = self.nodes_over(layer - 1);
        let end = self.children(layer) - 1;
        loop {
            if self.exceeds_memory(layer, first, last) {
                return reads.at_once(|reads| self.bisect_pages(target, layer, reads));
            }
            let row = self.row(layer, first, last, reads)?;
            let mut chosen = None;
            for (number, bytes) in (first..).zip(&row) {
                let offset = self.section(layer, number)?.offset;
                let damaged = || self.damaged(offset, format!("index page {number} is malformed"));
                let page = IndexPageView::parse(kind, granule, self.children(layer - 1), bytes).ok_or_else(damaged)?;
                let side = page.side(target).ok_or_else(damaged)?;
                match side {
                    Ordering::Less if number == first && number > 0 && !is_exact => break,
                    Ordering::Greater if number == last && number < end && !is_exact => break,
                    Ordering::Greater if number < last => {}
                    _ => {
                        chosen = Some((page.nodes.search(target), offset));
                        break;
                    }
                }
            }
            if let Some((window, offset)) = chosen {
                return self.clamp(window, layer - 1, offset);
            }
            // The approximate window was wrong: widen it on both sides, doubling each time.
            (first, last) = widen(first, last, end);
        }
    }

    /// Searches all pages by bisection, one at a time: for wrong approximate windows and corrupt nodes.
    fn bisect_pages(&self, target: &RouteTarget<'_>, layer: usize, reads: &mut ReadContext<'_>) -> Result<ChildWindow> {
        let (kind, granule) = self.nodes_over(layer - 1);
        let (mut low, mut high) = (0, self.children(layer) - 1);
        loop {
            // The last page that does not lie after the target.
            let middle = low + (high - low).div_ceil(2);
            let offset = self.section(layer, middle)?.offset;
            let damaged = || self.damaged(offset, format!("index page {middle} is malformed"));
            let bytes = self.child(layer, middle, reads)?;
            let page = IndexPageView::parse(kind, granule, self.children(layer - 1), &bytes).ok_or_else(damaged)?;
            let behind = page.side(target).ok_or_else(damaged)? == Ordering::Less;
            if low == high {
                return self.clamp(page.nodes.search(target), layer - 1, offset);
            }
            if behind { high = middle - 1 } else { low = middle }
        }
    }

    /// Whether the children `first..=last` are too many to read at once: more than the index was designed for, and more
    /// than fit the memory.
    pub(in crate::table) fn exceeds_memory(&self, level: usize, first: u64, last: u64) -> bool {
        let (child_bytes, designed) = match level.checked_sub(1) {
            None if self.meta.layers.is_empty() => (self.meta.block_bytes, 0),
            None => (self.meta.block_bytes, self.meta.max_read_bytes),
            Some(below) => (self.meta.layers[below].page_bytes, self.meta.layers[below].max_read_bytes),
        };
        let most = designed.min(DESIGNED_READ_BYTES_MAX).max(self.memory.working_bytes() / 2);
        last > first && (last - first + 1).saturating_mul(child_bytes) > most
    }

    fn clamp(&self, window: Option<ChildWindow>, level: usize, offset: u64) -> Result<ChildWindow> {
        let last = self.children(level).saturating_sub(1);
        match window {
            Some(window) => Ok(ChildWindow { first: window.first.min(last), last: window.last.min(last), ..window }),
            None => Err(self.damaged(offset, "invalid index nodes")),
        }
    }

    /// The first record at or after a bound.
    pub(in crate::table) fn lower_bound(
        &self,
        probe: KeyBound<'_>,
        reads: &mut ReadContext<'_>,
    ) -> Result<RecordPosition> {
        let end = RecordPosition::unread(self.meta.blocks, 0);
        let Some(target) = self.target(probe).filter(|_| self.meta.blocks > 0) else { return Ok(end) };
        let window = self.route(&target, 0, reads)?;
        Ok(self.resolve_record(probe, window, reads)?.0)
    }

    /// As [`Self::resolve_record`], if blocks in memory suffice: mostly the one in the middle of several.
    fn resolve_in_memory(
        &self,
        probe: KeyBound<'_>,
        window: ChildWindow,
        reads: &ReadContext<'_>,
    ) -> Result<Option<(RecordPosition, bool)>> {
        let (mut low, mut high) = (window.first, window.last);
        while low <= high {
            let block = low + (high - low) / 2;
            let Some((bytes, note)) = self.block_in_memory(block, reads) else { return Ok(None) };
            let view = BlockView::of_note(self.layout, self.meta.versioned, &note, &bytes);
            let view = view.map_or_else(|| self.noted_view(block, &bytes), Ok)?;
            let (index, has_key) = view.find(&probe).ok_or_else(|| self.malformed(block))?;
            if index == view.count() {
                low = block + 1;
            } else if index > 0 || block == 0 || self.meta.distinct && !probe.after && has_key {
                let head = Some(view.head());
                return Ok(Some((RecordPosition { block, index, bytes: Some(bytes), head }, has_key)));
            } else {
                // The blocks before may have the record, or others of the same key.
                high = block - 1;
            }
        }
        Ok(None)
    }

    /// Moves a position to the first record at or after a key, which is not before that of the position; returns
    /// whether it has the key. `None` if the record is in a block behind.
    pub(in crate::table) fn move_on(&self, position: &mut RecordPosition, key: &[u8]) -> Result<Option<bool>> {
        let block = position.block;
        let (view, malformed) = (self.view_at(position)?, || self.malformed(block));
        let last = view.key(view.count().saturating_sub(1)).ok_or_else(malformed)?;
        if last.compare(key) == Ordering::Less {
            return Ok(None);
        }
        let (index, has_key) = view.find(&KeyBound { key, after: false }).ok_or_else(malformed)?;
        position.index = index;
        Ok(Some(has_key))
    }

    /// The first record at or after a bound, given the blocks to which the index routes it, and whether it has the key
    /// of the bound.
    fn resolve_record(
        &self,
        probe: KeyBound<'_>,
        window: ChildWindow,
        reads: &mut ReadContext<'_>,
    ) -> Result<(RecordPosition, bool)> {
        let ChildWindow { mut first, mut last, is_exact } = window;
        if first < last
            && let Some(found) = self.resolve_in_memory(probe, window, reads)?
        {
            return Ok(found);
        }
        let end = self.meta.blocks - 1;
        loop {
            // Reads that the index was designed for are always made. A table without an index, or with wrong
            // approximate nodes, may have to be searched one block at a time to keep within the budget.
            if self.exceeds_memory(0, first, last) {
                let found = reads.at_once(|reads| self.bisect(probe, reads))?;
                let has_key = self.has_key(&found, probe.key)?;
                return Ok((found, has_key));
            }
            let row = self.row(0, first, last, reads)?;
            // The first block whose last key is not before the bound; a single one is searched in any case.
            let (mut low, mut high) = (0, row.len());
            while low < high && row.len() > 1 {
                let middle = low + (high - low) / 2;
                if self.ends_before(first + middle as u64, &row[middle], &probe)? {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            if let Some(bytes) = row.get(low) {
                let block = first + low as u64;
                let view = self.view(block, bytes)?;
                let (index, has_key) = view.find(&probe).ok_or_else(|| self.malformed(block))?;
                // Of distinct keys, none before this block is the same.
                let is_first = self.meta.distinct && !probe.after && has_key;
                if index == view.count() {
                    low += 1;
                } else if index > 0 || low > 0 || block == 0 || is_exact || is_first {
                    let (bytes, head) = (Some(bytes.clone()), Some(view.head()));
                    return Ok((RecordPosition { block, index, bytes, head }, has_key));
                }
            }
            if low == row.len() && (is_exact || last == end) || (first, last) == (0, end) {
                return Ok((RecordPosition::unread(first + low as u64, 0), false));
            }
            (first, last) = widen(first, last, end);
        }
    }

    /// The block of a position that was read.
    pub(in crate::table) fn view_at<'p>(&self, position: &'p RecordPosition) -> Result<BlockView<'p>> {
        let bytes: &'p Arc<[u8]> = position.bytes.as_ref().ok_or_else(|| self.malformed(position.block))?;
        match position.head {
            Some(head) => Ok(BlockView::with_head(head, bytes)),
            None => self.view(position.block, bytes),
        }
    }

    /// Whether the record at a position has a key.
    fn has_key(&self, position: &RecordPosition, key: &[u8]) -> Result<bool> {
        let Some(bytes) = &position.bytes else { return Ok(false) };
        Ok(self.view(position.block, bytes)?.key(position.index).is_some_and(|found| found.is(key)))
    }

    fn ends_before(&self, block: u64, bytes: &[u8], probe: &KeyBound<'_>) -> Result<bool> {
        let view = self.view(block, bytes)?;
        match view.count().checked_sub(1) {
            Some(last) => Ok(probe.passes(&view.key(last).ok_or_else(|| self.malformed(block))?)),
            None => Ok(true),
        }
    }

    /// Searches all blocks by bisection, one at a time.
    pub(in crate::table) fn bisect(&self, probe: KeyBound<'_>, reads: &mut ReadContext<'_>) -> Result<RecordPosition> {
        let (mut low, mut high) = (0, self.meta.blocks);
        while low < high {
            let middle = low + (high - low) / 2;
            let bytes = self.child(0, middle, reads)?;
            if self.ends_before(middle, &bytes, &probe)? { low = middle + 1 } else { high = middle }
        }
        if low == self.meta.blocks {
            return Ok(RecordPosition::unread(low, 0));
        }
        let bytes = self.child(0, low, reads)?;
        let index = self.view(low, &bytes)?.lower_bound(&probe).ok_or_else(|| self.malformed(low))?;
        Ok(RecordPosition { bytes: Some(bytes), ..RecordPosition::unread(low, index) })
    }

    /// The first record of a key, if there is one.
    pub(in crate::table) fn find_record(
        &self,
        key: &[u8],
        reads: &mut ReadContext<'_>,
    ) -> Result<Option<RecordPosition>> {
        if self.meta.blocks == 0 {
            return Ok(None);
        }
        let Some(window) = self.routed(key, Some(reads))? else { return Ok(None) };
        match self.filter_allows(key, window, Some(reads))? {
            true => self.find_record_in(key, window, reads),
            false => Ok(None),
        }
    }

    /// The first record of a key, given the blocks to which the index leads, if there is one.
    pub(in crate::table) fn find_record_in(
        &self,
        key: &[u8],
        window: ChildWindow,
        reads: &mut ReadContext<'_>,
    ) -> Result<Option<RecordPosition>> {
        let (position, has_key) = self.resolve_record(KeyBound { key, after: false }, window, reads)?;
        Ok(has_key.then_some(position))
    }
}

/// A window three times as wide around the same middle, within `0..=end`.
fn widen(first: u64, last: u64, end: u64) -> (u64, u64) {
    let by = last - first + 1;
    (first.saturating_sub(by), last.saturating_add(by).min(end))
}
