//! Bulk loads of a FITing-tree, and the segmentation of sorted entries.

use super::directory::DirectoryBuilder;
use super::node::{FitingGeometry, FitingState, SegmentRecord};
use super::tree::Fiting;
use crate::disk_indexes::structures::pgm::line::{PgmLine, longest};
use crate::disk_indexes::structures::pgm::packed::push_entry;
use ogive::Result;
use ogive::index::extend::{Entries, Word};
use ogive::io::Purpose;
use ogive::page::{PagePhase, Transaction};

/// A segment may leave at most 1/32 of its pages unused; else it ends at the end of a page.
const WASTE_DIVISOR: usize = 32;

/// Builds a tree of a sorted stream; returns its state.
pub(super) fn bulk_load<W: Word>(tree: &Fiting, tx: &mut Transaction, entries: &mut dyn Entries<W>) -> Result<Vec<u8>> {
    tx.enter(PagePhase::Structure);
    let geometry = tree.geometry::<W>(tx);
    let mut writer = SegmentWriter::new(&geometry, tree.error());
    let mut directory = DirectoryBuilder::new(&geometry, tree.layout().fill_percent, 0);
    let mut payload = vec![0; tree.layout().payload_bytes];
    while let Some(key) = entries.next(&mut payload)? {
        writer.push(tx, key, &payload)?;
        for record in writer.take_records() {
            directory.push_record(tx, &record)?;
        }
    }
    for record in writer.finish(tx)? {
        directory.push_record(tx, &record)?;
    }
    let (root, height) = directory.finish(tx)?;
    Ok(FitingState { root, height, head: 0, head_count: 0 }.bytes())
}

/// Cuts sorted entries into segments and writes them to fresh extents.
///
/// Each segment is as long as one line allows (optimal PLA), but at least a page, because pages are read whole. It ends
/// at the end of a page, unless it wastes little space.
#[derive(Debug)]
pub(super) struct SegmentWriter<W> {
    geometry: FitingGeometry,
    error: u64,
    keys: Vec<W>,
    entries: Vec<u8>,
    /// Number of entries at the front that are already written.
    written: usize,
    records: Vec<SegmentRecord<W>>,
}

impl<W: Word> SegmentWriter<W> {
    pub(super) fn new(geometry: &FitingGeometry, error: u64) -> Self {
        Self { geometry: *geometry, error, keys: Vec::new(), entries: Vec::new(), written: 0, records: Vec::new() }
    }

    /// Adds an entry, with a greater key than the previous one.
    pub(super) fn push(&mut self, tx: &mut Transaction, key: W, payload: &[u8]) -> Result<()> {
        self.keys.push(key);
        push_entry(&mut self.entries, key, payload);
        if self.keys.len() - self.written > self.geometry.segment_entries_max {
            self.cut(tx, false)?;
        }
        Ok(())
    }

    /// The records of the segments written since the last call.
    pub(super) fn take_records(&mut self) -> Vec<SegmentRecord<W>> {
        std::mem::take(&mut self.records)
    }

    /// Writes the remaining entries, and returns the records not taken yet.
    pub(super) fn finish(mut self, tx: &mut Transaction) -> Result<Vec<SegmentRecord<W>>> {
        while self.written < self.keys.len() {
            self.cut(tx, true)?;
        }
        Ok(self.records)
    }

    /// Writes the next segment.
    fn cut(&mut self, tx: &mut Transaction, ending: bool) -> Result<()> {
        let keys = self.keys.get(self.written..).unwrap_or(&[]);
        let candidates = keys.get(..self.geometry.segment_entries_max).unwrap_or(keys);
        let (served, line) = longest(candidates, self.error);
        let count = self.end(served, keys.len(), ending);
        let first = keys.first().copied().unwrap_or_default();
        let line = if count > served { PgmLine::FLAT } else { line };
        self.write(tx, first, count, line)?;
        // Written entries are dropped in large batches, because that moves the rest.
        if self.written >= self.geometry.segment_entries_max {
            self.keys.drain(..self.written);
            self.entries.drain(..self.written * self.geometry.data.entry_bytes());
            self.written = 0;
        }
        Ok(())
    }

    /// The length of a segment whose line covers `served` of `available` entries.
    fn end(&self, served: usize, available: usize, ending: bool) -> usize {
        let per_page = self.geometry.data.per_page();
        let served = served.max(per_page.min(available));
        let room = served.div_ceil(per_page) * per_page;
        let whole = if (room - served) * WASTE_DIVISOR > room { served / per_page * per_page } else { served };
        if !ending {
            return whole.max(1);
        }
        if served == available {
            return served;
        }
        // Avoids a last segment of few entries: the next appends would create more of them.
        let rest = available - whole;
        let least = per_page / 2;
        if rest < least { whole - (least - rest).min(whole / 2) } else { whole }
    }

    fn write(&mut self, tx: &mut Transaction, first: W, count: usize, line: PgmLine) -> Result<()> {
        let shape = self.geometry.data;
        let (entry_bytes, per_page) = (shape.entry_bytes(), shape.per_page());
        let pages = shape.pages(count as u64) as u32;
        let page = tx.allocate_extent(pages)?;
        let from = self.written * entry_bytes;
        let entries = self.entries.get(from..from + count * entry_bytes).unwrap_or(&[]);
        for (number, content) in (page..).zip(entries.chunks(per_page * entry_bytes)) {
            tx.write_fresh(number, Purpose::Leaf, content)?;
        }
        self.written += count;
        let record = SegmentRecord { first, page, count: count as u16, removed: 0, line, buffer: 0, buffered: 0 };
        self.records.push(record);
        Ok(())
    }
}
