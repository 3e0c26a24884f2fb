//! Write transactions.

use super::dirty_page::DirtyPage;
use super::extents::{Extent, Extents};
use super::fresh::WriteCombiner;
use super::pages::{Page, PageNumber, Pages};
use super::records::PageChanges;
use super::shared::PageFileShared;
use super::snapshot::SnapshotView;
use super::space::TakenExtent;
use super::spilled_pages::SpilledPages;
use super::write_statistics::{PagePhase, PageTouch, PageWriteStatistics, StatisticsRecorder};
use super::writer_state::PageWriter;
use crate::block::NumberHash;
use crate::error::{Error, Result};
use crate::io::Purpose;
use std::collections::HashMap;
use std::sync::Arc;

/// Memory overhead of a changed page, in bytes.
const DIRTY_OVERHEAD_BYTES: u64 = 200;

/// A write transaction: changes to a page file that become visible atomically. Dropping it without [`Self::commit`]
/// discards them.
#[derive(Debug)]
pub struct Transaction {
    pub(super) shared: Arc<PageFileShared>,
    /// The commit on which this transaction is based; none after its own commit.
    pub(super) view: Option<SnapshotView>,
    /// The writer, held until the end.
    pub(super) writer: Option<Box<PageWriter>>,
    pub(super) dirty: HashMap<PageNumber, DirtyPage, NumberHash>,
    /// Changed pages spilled to the log.
    pub(super) spilled: SpilledPages,
    /// The position of the first spilled record.
    pub(super) first_spilled: Option<u64>,
    pub(super) state: Vec<u8>,
    pub(super) taken: Vec<TakenExtent>,
    /// The pages of `taken`.
    pub(super) allocated: Extents,
    pub(super) freed: Vec<Extent>,
    /// Pages written directly.
    pub(super) fresh: Extents,
    pub(super) combiner: WriteCombiner,
    pub(super) keeper: StatisticsRecorder,
    /// Pages of the file when the transaction began.
    pages_before: u32,
    /// Whether a commit was attempted, which may be in the log even if it failed.
    pub(super) is_committing: bool,
}

impl Transaction {
    pub(super) fn new(shared: Arc<PageFileShared>, writer: Box<PageWriter>) -> Self {
        let view = SnapshotView::new(Arc::clone(&shared));
        let pages_before = writer.space.page_count;
        Self {
            state: view.state.to_vec(),
            shared,
            view: Some(view),
            writer: Some(writer),
            dirty: HashMap::default(),
            spilled: SpilledPages::default(),
            first_spilled: None,
            taken: Vec::new(),
            allocated: Extents::default(),
            freed: Vec::new(),
            fresh: Extents::default(),
            combiner: WriteCombiner::default(),
            keeper: StatisticsRecorder::default(),
            pages_before,
            is_committing: false,
        }
    }

    /// The state as of this transaction.
    pub fn state(&self) -> &[u8] {
        &self.state
    }

    /// Sets bytes that are committed with the pages, at most 256: roots, models, counts. The commit fails if there are
    /// more.
    pub fn set_state(&mut self, state: &[u8]) {
        self.state.clear();
        self.state.extend_from_slice(state);
    }

    pub(super) fn put_dirty(&mut self, page: PageNumber, dirty: DirtyPage) {
        self.dirty.insert(page, dirty);
    }

    /// Spills changed pages to the log if they take too much memory.
    pub(super) fn make_room(&mut self) -> Result<()> {
        let page_bytes = self.shared.store.page_bytes as u64 * 3 / 2 + DIRTY_OVERHEAD_BYTES;
        if self.dirty.len() as u64 * page_bytes > self.shared.options.dirty_bytes() {
            self.spill()?;
        }
        Ok(())
    }

    /// Allocates a logged page of zeros, for nodes of one page that are updated in place.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) when the file has 2^32 pages.
    pub fn allocate(&mut self) -> Result<PageNumber> {
        self.make_room()?;
        let taken = self.writer_mut()?.space.take_logged();
        let page = self.record_taken(taken)?;
        let content = Page::zeros(self.shared.store.page_bytes);
        let dirty = DirtyPage { page: content, changes: PageChanges::default(), whole: true, purpose: Purpose::Leaf };
        self.dirty.insert(page, dirty);
        self.keeper.count_change(page, Purpose::Leaf);
        self.keeper.touch(page, Purpose::Leaf, None);
        Ok(page)
    }

    /// Allocates consecutive pages to be filled with [`Self::write_fresh`]: for nodes of many pages, and for bulk
    /// loads. They bypass the log; the commit syncs them before its record.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) when the file would have more than 2^32 pages, and for no pages.
    pub fn allocate_extent(&mut self, pages: u32) -> Result<PageNumber> {
        if pages == 0 {
            return Err(Error::input("an extent has at least one page"));
        }
        let taken = self.writer_mut()?.space.take_clean(pages);
        self.record_taken(taken)
    }

    fn record_taken(&mut self, taken: Option<TakenExtent>) -> Result<PageNumber> {
        let path = &self.shared.store.path;
        let full = || Error::input(format!("{} would have more than 2^32 pages", path.display()));
        let taken = taken.ok_or_else(full)?;
        self.taken.push(taken);
        self.allocated.insert(taken.extent.0, taken.extent.1);
        Ok(taken.extent.0)
    }

    /// Writes one page of an extent allocated by this transaction; a shorter payload is padded with zeros. Each page
    /// may be written once, in any order; ascending order is the fastest.
    ///
    /// # Errors
    /// `Cause::Io` if the file cannot be written; `Cause::Input` for a page of another origin, and for a
    /// payload that is too long.
    pub fn write_fresh(&mut self, page: PageNumber, purpose: Purpose, payload: &[u8]) -> Result<()> {
        if !self.allocated.contains(page) || payload.len() > self.shared.store.payload_bytes() {
            return Err(Error::input(format!(
                "{} bytes cannot be written to page {page}: allocate it in the same transaction, and give at most {} \
                 bytes",
                payload.len(),
                self.shared.store.payload_bytes()
            )));
        }
        let shared = Arc::clone(&self.shared);
        shared.check_poison()?;
        shared.pool.remove(page, super::pool::IN_FILE);
        self.fresh.insert(page, 1);
        self.keeper.forget(page);
        self.keeper.count_change(page, purpose);
        let (file, epoch) = self.writer_mut().map(|writer| (Arc::clone(&writer.file), writer.epoch))?;
        let outcome = self.combiner.write(&shared.store, &*file, (page, epoch), payload, purpose);
        shared.poison_on_error(outcome)
    }

    /// Frees pages. They are reused once no snapshot and no recovery can need them.
    pub fn free(&mut self, first: PageNumber, pages: u32) {
        // A number from a damaged node may be any; pages that do not exist are not freed.
        let end = first.saturating_add(pages).min(self.page_count());
        let first = first.max(self.shared.first_page);
        if first >= end {
            return;
        }
        if !self.dirty.is_empty() || !self.spilled.is_empty() {
            for page in first..end {
                self.dirty.remove(&page);
                self.forget_spilled(page);
                self.spilled.remove(page);
            }
        }
        self.freed.push((first, end - first));
    }

    /// Starts a phase, to which the following operations are attributed. [`PagePhase::Search`] begins an operation.
    pub fn enter(&mut self, phase: PagePhase) {
        self.keeper.enter(phase);
    }

    /// Begins an operation: its distinct pages are counted separately, and pages it reads are kept for it, regardless
    /// of the memory.
    pub fn begin_operation(&mut self) {
        self.keeper.enter(PagePhase::Search);
    }

    /// Enables or disables the timing of phases.
    pub fn set_timed(&mut self, timed: bool) {
        self.keeper.set_timed(timed);
    }

    /// Starts or stops recording touched pages.
    pub fn watch(&mut self, on: bool) {
        self.keeper.watch(on);
    }

    /// The distinct pages touched since the last call, in order, if enabled by [`Self::watch`].
    pub fn take_touched(&mut self) -> Vec<PageTouch> {
        self.keeper.take_touched()
    }

    /// Counts a structure modification.
    pub fn count(&mut self, modification: &'static str) {
        self.keeper.count(modification);
    }

    /// The statistics of the transaction so far.
    pub fn write_statistics(&self) -> PageWriteStatistics {
        self.keeper.write_statistics()
    }

    /// Commits: makes all changes visible, and durable as the file's [`Durability`](crate::Durability) specifies.
    ///
    /// # Errors
    /// `Cause::Io`: the file then rejects further writes, and reopening it may or may not show the commit.
    /// `Cause::Input` for a state that is too long, and `Cause::Gone` if the file was removed, renamed or
    /// replaced: nothing was changed.
    pub fn commit(mut self) -> Result<()> {
        self.shared.check_place()?;
        self.write_commit()
    }

    pub(super) fn writer_mut(&mut self) -> Result<&mut PageWriter> {
        let path = &self.shared.store.path;
        self.writer.as_deref_mut().ok_or_else(|| Error::poisoned(path.clone()))
    }

    /// Reads a page that is not among the changed ones in memory.
    fn read_unchanged(&self, page: PageNumber, purpose: Purpose) -> Result<Page> {
        if let Some(versions) = self.spilled.get(page) {
            return self.read_spilled(page, purpose, versions);
        }
        if self.fresh.contains(page) {
            return self.read_fresh(page, purpose);
        }
        let sequence = self.view.as_ref().map_or(0, |view| view.sequence);
        self.shared.read_committed(page, sequence, purpose)
    }

    /// Reads a page that this transaction wrote directly.
    fn read_fresh(&self, page: PageNumber, purpose: Purpose) -> Result<Page> {
        let store = &self.shared.store;
        if let Some(found) = self.combiner.waiting(store, page) {
            return Ok(found);
        }
        let (found, epoch) = store.read(page, purpose)?;
        if self.writer.as_ref().is_some_and(|writer| writer.epoch != epoch) {
            return Err(super::space_map::stale(store, page));
        }
        Ok(found)
    }

    /// Rolls back the changes.
    fn abort(&mut self) {
        let Some(mut writer) = self.writer.take() else {
            return;
        };
        // The next transaction will have the same number.
        self.spilled.numbers().for_each(|page| self.forget_spilled(page));
        let segment = writer.segment_number();
        for taken in self.taken.drain(..) {
            let (first, pages) = taken.extent;
            let written = (first..first + pages).any(|page| self.fresh.contains(page));
            writer.space.put_back(taken, written, segment);
        }
        if !self.is_committing {
            writer.shrink(&self.shared, self.pages_before);
        }
        self.view = None;
        self.shared.give_writer_back(writer);
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.abort();
    }
}

impl Pages for Transaction {
    fn payload_bytes(&self) -> usize {
        self.shared.store.payload_bytes()
    }

    fn read(&self, page: PageNumber, purpose: Purpose) -> Result<Page> {
        if let Some(dirty) = self.dirty.get(&page) {
            self.keeper.touch(page, purpose, None);
            return Ok(dirty.page.clone());
        }
        if let Some(found) = self.keeper.kept(page) {
            return Ok(found);
        }
        if page < self.shared.first_page || page >= self.page_count() {
            return Err(self.damaged(page, "there is no such page: whatever led here is damaged"));
        }
        let found = self.read_unchanged(page, purpose)?;
        self.keeper.touch(page, purpose, Some(&found));
        Ok(found)
    }

    fn read_many(&self, pages: &[PageNumber], purpose: Purpose) -> Result<Vec<Page>> {
        // Those that nothing of this transaction knows are read at once into the pool, or here.
        let own = |page: &PageNumber| {
            self.dirty.contains_key(page) || self.spilled.contains(*page) || self.fresh.contains(*page)
        };
        match &self.view {
            Some(view) if !pages.iter().any(own) => {
                let found = view.read_many(pages, self.page_count(), purpose)?;
                for (&page, content) in pages.iter().zip(&found) {
                    self.keeper.touch(page, purpose, Some(content));
                }
                Ok(found)
            }
            _ => pages.iter().map(|&page| self.read(page, purpose)).collect(),
        }
    }

    fn page_count(&self) -> u32 {
        self.writer.as_ref().map_or(0, |writer| writer.space.page_count)
    }

    fn damaged(&self, page: PageNumber, detail: &str) -> Error {
        self.shared.store.damaged(page, detail)
    }
}
