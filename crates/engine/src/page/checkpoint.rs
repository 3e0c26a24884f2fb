//! Checkpoints: copy committed pages from the log to the page file, and start a new log.

use super::fresh::WriteCombiner;
use super::header::Header;
use super::log_map::read_records;
use super::pages::{Page, PageNumber};
use super::pool::IN_FILE;
use super::readers;
use super::shared::PageFileShared;
use super::space_map::{self, MapPageLocation, epoch_byte};
use super::writer_state::{PageWriter, SealedSegment};
use crate::error::{Error, Result};
use crate::io::{Purpose, Timer};
use crate::log::{segment_name, segment_numbers};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Most pages that a checkpoint has in memory at once.
const BATCH_PAGES_MAX: usize = 256;

impl PageWriter {
    /// Makes a checkpoint if the log, its map, or the set of pages waiting for a checkpoint is large.
    pub(super) fn checkpoint_if_due(&mut self, shared: &PageFileShared) -> Result<()> {
        let options = &shared.options;
        // Pages that wait for reuse make the file grow: by a quarter, at most, if it is large.
        let page_bytes = shared.store.page_bytes as u64;
        let waiting_bytes = self.space.held_pages() * page_bytes;
        let waiting_limit = (u64::from(self.space.page_count) / 4 * page_bytes).max(options.checkpoint_bytes / 16);
        let due = self.log_bytes() > options.checkpoint_bytes
            || shared.log_map().held_bytes() > options.log_map_bytes()
            || waiting_bytes > waiting_limit;
        if due { self.checkpoint(shared, false) } else { Ok(()) }
    }

    /// Copies all pages not delayed by a reader to the page file. With `seal`, the growing segment is included in any
    /// case.
    pub(super) fn checkpoint(&mut self, shared: &PageFileShared, seal: bool) -> Result<()> {
        let (sequence, here) = {
            let current = shared.current();
            (current.sequence, current.readers.keys().next().copied().unwrap_or(u64::MAX))
        };
        let large = self.segment.as_ref().is_some_and(|segment| segment.position() > shared.options.checkpoint_bytes);
        let first = self.sealed.first().map_or(u64::MAX, |sealed| sealed.sequence);
        if !seal && !large && here < sequence.min(first) {
            return Ok(());
        }
        let elsewhere = readers::oldest(&*shared.storage, &shared.name)?;
        let oldest = here.min(elsewhere.unwrap_or(u64::MAX));
        if seal || large || oldest >= sequence {
            self.seal(shared)?;
        }
        let passed = self.sealed.iter().take_while(|sealed| sealed.sequence <= oldest).count();
        let Some(last) = self.sealed[..passed].last().cloned() else {
            return Ok(());
        };
        let timer = Timer::start();
        self.sync()?;
        self.epoch = self.epoch.wrapping_add(1);
        let pages = shared.log_map().pages_through(last.id.number);
        self.write_pages(shared, &pages, &last)?;
        let released = self.write_map(shared)?;
        self.file.sync()?;
        let directory = self.places.directory.first().map_or((0, 0), |&page| (page, self.epoch));
        let first_segment = self.sealed.get(passed).map_or_else(|| self.segment_number(), |sealed| sealed.id.number);
        // What grows was led to when it began; where nothing is left, there is no log.
        let left = self.segment.as_ref().map(|segment| segment.segment.id);
        let left = left.or_else(|| self.sealed[passed..].last().map(|sealed| sealed.id));
        let header = Header {
            last_segment: left.unwrap_or_default(),
            sequence: last.sequence,
            epoch: self.epoch,
            first_segment,
            page_count: self.space.page_count,
            directory,
            state: last.state.to_vec(),
            ..self.header.clone()
        };
        self.write_header(header)?;
        self.forget_log(shared, &pages, &last, passed, &released)?;
        shared.telemetry.report_checkpoint(&shared.store.path, timer, pages.len(), passed);
        Ok(())
    }

    /// Writes the pages as of the last commit of a segment.
    fn write_pages(&self, shared: &PageFileShared, pages: &[(PageNumber, u64)], last: &SealedSegment) -> Result<()> {
        let mut combiner = WriteCombiner::default();
        let free: BTreeSet<PageNumber> =
            self.space.held_through(last.id.number).flat_map(|(first, pages)| first..first + pages).collect();
        let written = pages.iter().filter(|(number, _)| !free.contains(number));
        let all: Vec<(PageNumber, u64)> = written.clone().copied().collect();
        for batch in all.chunks(BATCH_PAGES_MAX) {
            let pages = pages_from_log(shared, batch, last.sequence)?;
            for (&(number, _), page) in batch.iter().zip(&pages) {
                combiner.write(&shared.store, &*self.file, (number, self.epoch), page, Purpose::Leaf)?;
            }
        }
        combiner.flush(&shared.store, &*self.file, Purpose::Leaf)?;
        shared.counters.pages_written.fetch_add(combiner.pages, Ordering::Relaxed);
        let byte = epoch_byte(self.epoch);
        shared.with_epochs(|epochs| {
            written.for_each(|&(number, _)| epochs.set(number, byte));
            free.iter().for_each(|&number| epochs.set(number, 0));
        });
        Ok(())
    }

    /// Stores the changed parts of the space map, and its directory, at new locations; returns the old locations, which
    /// are needed until the header is written.
    fn write_map(&mut self, shared: &PageFileShared) -> Result<Vec<PageNumber>> {
        let payload_bytes = shared.store.payload_bytes();
        let mut released = std::mem::take(&mut self.places.directory);
        let mut moved = BTreeSet::new();
        let byte = epoch_byte(self.epoch);
        let (space, places, epoch) = (&mut self.space, &mut self.places, self.epoch);
        let full = || Error::input("the file would have more than 2^32 pages");
        shared
            .with_epochs(|map| -> Option<()> {
                released.iter().for_each(|&page| map.set(page, 0));
                loop {
                    let parts = space_map::parts_of(space.page_count, payload_bytes);
                    places.parts.resize(parts, (0, 0));
                    if places.directory.len() * space_map::entries_in(payload_bytes) < parts {
                        let (page, _) = space.take_clean(1)?.extent;
                        map.set(page, byte);
                        places.directory.push(page);
                        continue;
                    }
                    let Some(part) = map.take_changed() else {
                        return Some(());
                    };
                    if !moved.insert(part) {
                        continue;
                    }
                    let (page, _) = space.take_clean(1)?.extent;
                    map.set(page, byte);
                    places.parts.resize(space_map::parts_of(space.page_count, payload_bytes), (0, 0));
                    let (old, _) = std::mem::replace(places.parts.get_mut(part)?, (page, epoch));
                    if old != 0 {
                        map.set(old, 0);
                        released.push(old);
                    }
                }
            })
            .ok_or_else(full)?;
        self.store_map(shared, &moved)?;
        Ok(released)
    }

    /// Writes the map pages of the parts in `moved`, and the directory.
    fn store_map(&self, shared: &PageFileShared, moved: &BTreeSet<usize>) -> Result<()> {
        let (store, file, epoch) = (&shared.store, &*self.file, self.epoch);
        let mut combiner = WriteCombiner::default();
        for &part in moved {
            let bytes = shared.with_epochs(|map| map.part(part).to_vec());
            let (page, _) = self.places.parts.get(part).copied().unwrap_or_default();
            combiner.write(store, file, (page, epoch), &bytes, Purpose::Open)?;
        }
        let entries = space_map::entries_in(store.payload_bytes());
        for (index, &page) in self.places.directory.iter().enumerate() {
            let next: MapPageLocation = self.places.directory.get(index + 1).map_or((0, 0), |&next| (next, epoch));
            let rest = &self.places.parts[(index * entries).min(self.places.parts.len())..];
            let content = space_map::directory_page(store.page_bytes, next, &rest[..rest.len().min(entries)]);
            combiner.write(store, file, (page, epoch), &content, Purpose::Open)?;
        }
        combiner.flush(store, file, Purpose::Open)?;
        shared.counters.pages_written.fetch_add(combiner.pages, Ordering::Relaxed);
        Ok(())
    }

    /// Drops the segments that the checkpoint has copied.
    fn forget_log(
        &mut self,
        shared: &PageFileShared,
        pages: &[(PageNumber, u64)],
        last: &SealedSegment,
        passed: usize,
        released: &[PageNumber],
    ) -> Result<()> {
        // Before the log map drops the pages: from then on, readers read the page file.
        for &(number, version) in pages {
            shared.pool.rename(number, version, IN_FILE);
        }
        shared.log_map_mut().drop_through(last.id.number);
        self.space.release_through(last.id.number);
        for &page in released {
            self.space.clean.insert(page, 1);
        }
        self.sealed.drain(..passed);
        shared.counters.checkpoints.fetch_add(1, Ordering::Relaxed);
        remove_segments(shared, self.header.first_segment)
    }
}

/// Pages as of a commit: from the pool, and from the log by as many reads at once as the storage serves.
fn pages_from_log(shared: &PageFileShared, batch: &[(PageNumber, u64)], sequence: u64) -> Result<Vec<Page>> {
    let mut missing = Vec::new();
    let mut found: Vec<Option<Page>> = Vec::with_capacity(batch.len());
    let mut chains = Vec::new();
    for &(number, version) in batch {
        let page = shared.pool.get(number, version);
        if page.is_none() {
            let records = shared.log_map().records(number, sequence);
            let records = records.ok_or_else(|| shared.store.damaged(number, "the log has lost it"))?;
            chains.push((number, records.len()));
            missing.extend(records);
        }
        found.push(page);
    }
    let bodies = read_records(&missing)?;
    let mut read = Vec::with_capacity(chains.len());
    let (mut missing, mut bodies) = (&missing[..], &bodies[..]);
    for (number, length) in chains {
        read.push(shared.assemble(number, &missing[..length], &bodies[..length])?);
        (missing, bodies) = (&missing[length..], &bodies[length..]);
    }
    let mut read = read.into_iter();
    Ok(found.into_iter().filter_map(|page| page.or_else(|| read.next())).collect())
}

/// Removes segments before `first`, the oldest first.
pub(super) fn remove_segments(shared: &PageFileShared, first: u32) -> Result<()> {
    let numbers = segment_numbers(&*shared.storage, &shared.name)?;
    let mut old = numbers.into_iter().filter(|&number| number < first).peekable();
    if old.peek().is_none() {
        return Ok(());
    }
    for number in old {
        shared.storage.remove(&segment_name(&shared.name, number))?;
    }
    shared.storage.sync_directory()
}

impl PageFileShared {
    /// Returns the writer, so that the next transaction can begin.
    pub(super) fn give_writer_back(self: &Arc<Self>, writer: Box<PageWriter>) {
        writer.publish_counts(self);
        *self.writer.lock() = Some(writer);
        self.writer_is_back.notify_all();
    }
}
