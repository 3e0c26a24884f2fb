//! The general lookup: routes a search position through the index layers to a block and a record, and verifies what
//! approximate nodes predicted.

use super::block::BlockView;
use super::filter;
use super::format::{FilterMeta, Section};
use super::key::Probe;
use super::reader::{Inner, Reads};
use super::unit::{Nodes, Target, Unit, Window};
use crate::block::checksum;
use crate::error::Result;
use crate::io::Purpose;
use std::cmp::Ordering;
use std::sync::Arc;

/// A window that the index was designed to read is read whatever the budget, up to this size in bytes.
const MOST_DESIGNED_BYTES: u64 = 32 << 20;

/// A place in the data: the record at `index` of `block`, or the end of the data where `block` is the number of blocks.
#[derive(Clone, Debug)]
pub(super) struct Position {
    pub(super) block: u64,
    pub(super) index: usize,
    /// The block, where it was seen.
    pub(super) bytes: Option<Arc<[u8]>>,
}

impl Inner {
    pub(super) fn view<'a>(&self, block: u64, bytes: &'a [u8]) -> Result<BlockView<'a>> {
        BlockView::new(self.layout, self.meta.tagged, bytes).ok_or_else(|| {
            self.damaged(self.offset_of(block), format!("block {block} has an impossible number of records"))
        })
    }

    pub(super) fn offset_of(&self, block: u64) -> u64 {
        self.locations.of(block).map_or(self.tail_offset, |section| section.offset)
    }

    pub(super) fn malformed(&self, block: u64) -> crate::Error {
        self.damaged(self.offset_of(block), format!("a record of block {block} is malformed"))
    }

    /// The target of a probe; `None` where it lies behind all keys that there can be.
    pub(super) fn target<'a>(&self, probe: Probe<'a>) -> Option<Target<'a>> {
        let x = if self.meta.key_type.is_numeric() { probe.coordinate()? } else { 0 };
        Some(Target { probe, x })
    }

    /// The children of `level` that the layers above name for a target.
    pub(super) fn route(&self, target: &Target<'_>, level: usize, reads: &mut Reads<'_>) -> Result<Window> {
        let Some(top) = self.meta.layers.len().checked_sub(1) else {
            return Ok(Window { first: 0, last: self.meta.blocks.saturating_sub(1), proof: true });
        };
        let (kind, granule) = self.nodes_over(top);
        let root = Nodes {
            kind,
            granule,
            payload: &self.root,
            count: self.meta.layers[top].nodes as usize,
            end_child: self.children(top),
            children: self.children(top),
        };
        let mut window = self.clamp(root.search(target), top, self.tail_offset)?;
        for at in (level..top).rev() {
            window = self.descend(target, at + 1, window, reads)?;
        }
        Ok(window)
    }

    /// Through the units of layer `layer` (1 is the bottom one) that `window` names, to the children of the level below.
    fn descend(&self, target: &Target<'_>, layer: usize, window: Window, reads: &mut Reads<'_>) -> Result<Window> {
        let Window { mut first, mut last, proof } = window;
        let (kind, granule) = self.nodes_over(layer - 1);
        let end = self.children(layer) - 1;
        loop {
            if self.exceeds_memory(layer, first, last) {
                return self.bisect_units(target, layer, reads);
            }
            let row = self.row(layer, first, last, reads)?;
            let mut chosen = None;
            for (number, bytes) in (first..).zip(&row) {
                let offset = self.section(layer, number)?.offset;
                let damaged = || self.damaged(offset, format!("unit {number} is malformed"));
                let unit = Unit::parse(kind, granule, self.children(layer - 1), bytes).ok_or_else(damaged)?;
                let side = unit.side(target).ok_or_else(damaged)?;
                match side {
                    Ordering::Less if number == first && number > 0 && !proof => break,
                    Ordering::Greater if number == last && number < end && !proof => break,
                    Ordering::Greater if number < last => {}
                    _ => {
                        chosen = Some((unit.nodes.search(target), offset));
                        break;
                    }
                }
            }
            if let Some((window, offset)) = chosen {
                return self.clamp(window, layer - 1, offset);
            }
            // The hint was wrong: look on either side, twice as far each time.
            (first, last) = widen(first, last, end);
        }
    }

    /// The same over all units, one at a time: for hints that lie, and forged nodes.
    fn bisect_units(&self, target: &Target<'_>, layer: usize, reads: &mut Reads<'_>) -> Result<Window> {
        let (kind, granule) = self.nodes_over(layer - 1);
        let (mut low, mut high) = (0, self.children(layer) - 1);
        loop {
            // The last unit that does not lie behind the target.
            let middle = low + (high - low).div_ceil(2);
            let offset = self.section(layer, middle)?.offset;
            let damaged = || self.damaged(offset, format!("unit {middle} is malformed"));
            let bytes = self.child(layer, middle, reads)?;
            let unit = Unit::parse(kind, granule, self.children(layer - 1), &bytes).ok_or_else(damaged)?;
            let behind = unit.side(target).ok_or_else(damaged)? == Ordering::Less;
            if low == high {
                return self.clamp(unit.nodes.search(target), layer - 1, offset);
            }
            if behind { high = middle - 1 } else { low = middle }
        }
    }

    /// Whether the children `first..=last` are more than is read at once: than the index was designed to read, and than there is
    /// memory for.
    pub(super) fn exceeds_memory(&self, level: usize, first: u64, last: u64) -> bool {
        let (child_bytes, designed) = match level.checked_sub(1) {
            None if self.meta.layers.is_empty() => (self.meta.block_bytes, 0),
            None => (self.meta.block_bytes, self.meta.max_read_bytes),
            Some(below) => (self.meta.layers[below].unit_bytes, self.meta.layers[below].max_read_bytes),
        };
        let most = designed.min(MOST_DESIGNED_BYTES).max(self.working_bytes / 2);
        last > first && (last - first + 1).saturating_mul(child_bytes) > most
    }

    fn clamp(&self, window: Option<Window>, level: usize, offset: u64) -> Result<Window> {
        let last = self.children(level).saturating_sub(1);
        match window {
            Some(window) => Ok(Window { first: window.first.min(last), last: window.last.min(last), ..window }),
            None => Err(self.damaged(offset, "index nodes that make no sense")),
        }
    }

    /// The first record at or behind a place.
    pub(super) fn lower_bound(&self, probe: Probe<'_>, reads: &mut Reads<'_>) -> Result<Position> {
        let end = Position { block: self.meta.blocks, index: 0, bytes: None };
        let Some(target) = self.target(probe).filter(|_| self.meta.blocks > 0) else { return Ok(end) };
        if self.resident.is_misleading {
            return self.bisect(probe, reads);
        }
        let window = self.route(&target, 0, reads)?;
        self.settle(probe, window, reads)
    }

    /// The first record at or behind a place, given the blocks that the index names for it.
    fn settle(&self, probe: Probe<'_>, window: Window, reads: &mut Reads<'_>) -> Result<Position> {
        let Window { mut first, mut last, proof } = window;
        let end = self.meta.blocks - 1;
        loop {
            // What the index was designed to read is read; a table without index, or one whose hints are wrong, may have to be
            // searched one block at a time to keep to the budget.
            if self.exceeds_memory(0, first, last) {
                return self.bisect(probe, reads);
            }
            let row = self.row(0, first, last, reads)?;
            // The first block whose last key is not before the place.
            let (mut low, mut high) = (0, row.len());
            while low < high {
                let middle = low + (high - low) / 2;
                if self.ends_before(first + middle as u64, &row[middle], &probe)? {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            let block = first + low as u64;
            if low == row.len() {
                if proof || last == end {
                    return Ok(Position { block, index: 0, bytes: None });
                }
            } else {
                let index = self.view(block, &row[low])?.lower_bound(&probe).ok_or_else(|| self.malformed(block))?;
                if index > 0 || low > 0 || block == 0 || proof || self.is_first_of_its_key(&probe, block, &row[low])? {
                    return Ok(Position { block, index, bytes: Some(row[low].clone()) });
                }
            }
            (first, last) = widen(first, last, end);
        }
    }

    /// Whether the first record of a block, which lies at or behind the place, is certainly the first of its key: where keys
    /// are distinct and it has the very key that is looked for.
    fn is_first_of_its_key(&self, probe: &Probe<'_>, block: u64, bytes: &[u8]) -> Result<bool> {
        let key = self.view(block, bytes)?.key(0).ok_or_else(|| self.malformed(block))?;
        Ok(self.meta.distinct && !probe.behind && key.is(probe.key))
    }

    fn ends_before(&self, block: u64, bytes: &[u8], probe: &Probe<'_>) -> Result<bool> {
        let view = self.view(block, bytes)?;
        match view.count().checked_sub(1) {
            Some(last) => Ok(probe.passes(&view.key(last).ok_or_else(|| self.malformed(block))?)),
            None => Ok(true),
        }
    }

    /// The same over all blocks, one block at a time.
    pub(super) fn bisect(&self, probe: Probe<'_>, reads: &mut Reads<'_>) -> Result<Position> {
        let (mut low, mut high) = (0, self.meta.blocks);
        while low < high {
            let middle = low + (high - low) / 2;
            let bytes = self.child(0, middle, reads)?;
            if self.ends_before(middle, &bytes, &probe)? { low = middle + 1 } else { high = middle }
        }
        if low == self.meta.blocks {
            return Ok(Position { block: low, index: 0, bytes: None });
        }
        let bytes = self.child(0, low, reads)?;
        let index = self.view(low, &bytes)?.lower_bound(&probe).ok_or_else(|| self.malformed(low))?;
        Ok(Position { block: low, index, bytes: Some(bytes) })
    }

    /// The first record of a key, if there is one.
    pub(super) fn find(&self, key: &[u8], reads: &mut Reads<'_>) -> Result<Option<Position>> {
        let probe = Probe { key, behind: false };
        let Some(target) = self.target(probe).filter(|_| self.meta.blocks > 0) else { return Ok(None) };
        if self.meta.key_type.width().is_some_and(|width| width != key.len()) {
            return Ok(None);
        }
        let position = if self.resident.is_misleading {
            self.bisect(probe, reads)?
        } else {
            let window = self.route(&target, 0, reads)?;
            if !self.filter_allows(key, window, reads)? {
                return Ok(None);
            }
            self.settle(probe, window, reads)?
        };
        let Some(bytes) = &position.bytes else { return Ok(None) };
        let found = self.view(position.block, bytes)?.key(position.index);
        Ok(found.is_some_and(|found| found.is(key)).then_some(position))
    }

    /// What the filter says of a key in the blocks of a window; the filter is read at its first use, if the budget has room.
    ///
    /// A hint may lead to blocks whose part of the filter never saw the key, so it is not taken at its word: only a filter
    /// that does not tell blocks apart is asked then.
    fn filter_allows(&self, key: &[u8], window: Window, reads: &mut Reads<'_>) -> Result<bool> {
        let Some(meta) = self.asked_filter else { return Ok(true) };
        if !window.proof && u64::from(meta.layout.blocks_per_group()) < self.meta.blocks {
            return Ok(true);
        }
        let hash = filter::hash_key(key);
        for group in meta.layout.groups_of_blocks(window.first..=window.last) {
            if self.unit_may_contain(&meta, meta.layout.unit_in_group(group, hash), hash, reads)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What a unit of the filter says.
    #[inline]
    pub(super) fn unit_may_contain(
        &self,
        meta: &FilterMeta,
        unit: u64,
        hash: u64,
        reads: &mut Reads<'_>,
    ) -> Result<bool> {
        let resident = match self.filter.get() {
            Some(filter) => Some(filter),
            None => self.resident_filter(meta, reads)?,
        };
        match resident {
            Some(filter) => Ok(filter.may_contain(unit, hash)),
            None => self.cached_unit_may_contain(meta, unit, hash, reads),
        }
    }

    /// The same of a filter that memory has no room for: its units go through the cache.
    fn cached_unit_may_contain(&self, meta: &FilterMeta, unit: u64, hash: u64, reads: &mut Reads<'_>) -> Result<bool> {
        let (Some(directory), Some(frames)) = (&self.directory, self.cache.frames()) else { return Ok(true) };
        let number = self.meta.blocks.saturating_add(unit);
        if let Some(found) = frames.visit(directory, number, |bytes, _| filter::may_contain(bytes, hash)) {
            return Ok(found);
        }
        let unit_bytes = filter::UNIT_BYTES as u64;
        let Some(at) = unit.checked_mul(unit_bytes).filter(|at| at + unit_bytes <= meta.section.bytes) else {
            return Ok(true);
        };
        let section = Section { offset: meta.section.offset + at, bytes: unit_bytes };
        let bytes = self.whole(section, Purpose::Filter, reads)?;
        self.check_filter_unit(section.offset, &bytes)?;
        let found = filter::may_contain(&bytes, hash);
        frames.insert(directory, number, bytes.into(), [0; 5]);
        Ok(found)
    }

    fn check_filter_unit(&self, offset: u64, unit: &[u8]) -> Result<()> {
        match checksum::check(self.file_id, offset, unit) {
            true => Ok(()),
            false => Err(self.damaged(offset, "the checksum of a filter unit does not match")),
        }
    }

    /// The filter, read at its first use; `None` where memory has no room for it now.
    pub(super) fn resident_filter(
        &self,
        meta: &FilterMeta,
        reads: &mut Reads<'_>,
    ) -> Result<Option<&filter::ResidentFilter>> {
        if self.filter.get().is_none() {
            if self.directory.is_some() && !self.cache.take(meta.section.bytes) {
                return Ok(None);
            }
            let is_ours = self.read_filter(meta, reads);
            if self.directory.is_some() {
                match is_ours {
                    Ok(true) => self.note_reserved(meta.section.bytes),
                    _ => self.cache.give(meta.section.bytes),
                }
            }
            is_ours?;
        }
        Ok(self.filter.get())
    }

    /// Reads the filter; whether no other thread was first.
    fn read_filter(&self, meta: &FilterMeta, reads: &mut Reads<'_>) -> Result<bool> {
        let bytes = self.whole(meta.section, Purpose::Filter, reads)?;
        for (unit, offset) in bytes.chunks(filter::UNIT_BYTES).zip((meta.section.offset..).step_by(filter::UNIT_BYTES))
        {
            self.check_filter_unit(offset, unit)?;
        }
        Ok(self.filter.set(filter::ResidentFilter::new(&bytes)).is_ok())
    }
}

/// Whether a filter stays in memory within a budget.
pub(super) fn keeps_filter(meta: &FilterMeta, budget_bytes: u64) -> bool {
    meta.section.bytes <= budget_bytes / 2
}

/// A window three times as wide around the same middle, within `0..=end`.
fn widen(first: u64, last: u64, end: u64) -> (u64, u64) {
    let by = last - first + 1;
    (first.saturating_sub(by), last.saturating_add(by).min(end))
}
