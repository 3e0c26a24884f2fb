//! Commits: append the changes of a transaction to the log, and publish them to readers.

use super::dirty_page::DirtyPage;
use super::extents::Extent;
use super::header::STATE_BYTES_MAX;
use super::log_map::PageVersion;
use super::pages::PageNumber;
use super::pool::IN_FILE;
use super::records::{self, ALLOCATED, DELTA, EXTENTS_MAX, FREED, FRESH, IMAGE, STATE};
use super::shared::PageFileShared;
use super::space_map::epoch_byte;
use super::spilled_pages::SpilledPages;
use super::transaction::Transaction;
use super::writer_state::PageWriter;
use crate::durability::Durability;
use crate::error::{Error, Result};
use crate::io::Purpose;
use crate::log::SegmentWriter;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Most deltas after an image: each one not in memory costs a read when the page is read from the log.
const CHAIN_CHANGES_MAX: usize = 64;

impl Transaction {
    /// Writes the commit, publishes it, and returns the writer. On an error the caller aborts.
    pub(super) fn write_commit(&mut self) -> Result<()> {
        if self.state.len() > STATE_BYTES_MAX {
            let detail = format!("a state of {} bytes is too long; it may have {STATE_BYTES_MAX}", self.state.len());
            return Err(Error::input(detail));
        }
        let old_state = self.view.as_ref().map(|view| Arc::clone(&view.state)).unwrap_or_default();
        let same_space = self.taken.is_empty() && self.freed.is_empty();
        if same_space && self.dirty.is_empty() && self.spilled.is_empty() && *old_state == *self.state {
            return Ok(());
        }
        let shared = Arc::clone(&self.shared);
        shared.check_poison()?;
        self.is_committing = true;
        let outcome = self.log_all(&shared, &old_state);
        let sequence = shared.poison_on_error(outcome)?;
        self.publish(&shared, sequence);
        self.view = None;
        let Some(mut writer) = self.writer.take() else {
            return Ok(());
        };
        // The commit is valid even if the checkpoint fails; the next transaction reports the failure.
        let checkpoint = writer.checkpoint_if_due(&shared);
        let _ = shared.poison_on_error(checkpoint);
        shared.give_writer_back(writer);
        Ok(())
    }

    /// Writes the log as the durability requires; returns the number of the commit.
    fn log_all(&mut self, shared: &PageFileShared, old_state: &[u8]) -> Result<u64> {
        let file = Arc::clone(&self.writer_mut()?.file);
        if self.combiner.pages > 0 {
            self.combiner.flush(&shared.store, &*file, Purpose::Leaf)?;
            file.sync()?;
            shared.counters.pages_written.fetch_add(self.combiner.pages, Ordering::Relaxed);
        }
        let sequence = shared.current().sequence + 1;
        let before = self.writer_mut()?.segment_mut(shared)?.position();
        let first = self.first_spilled.unwrap_or(before);
        self.log_pages(shared, sequence)?;
        self.log_space(shared, old_state)?;
        let writer = self.writer_mut()?;
        let segment = writer.segment_mut(shared)?;
        segment.commit(sequence, first)?;
        let bytes = segment.position() - before;
        shared.counters.log_bytes_written.fetch_add(bytes, Ordering::Relaxed);
        writer.make_durable(shared, bytes)?;
        Ok(sequence)
    }

    /// Logs the changed pages, which then count as spilled.
    pub(super) fn log_pages(&mut self, shared: &PageFileShared, sequence: u64) -> Result<()> {
        let mut numbers: Vec<PageNumber> = self.dirty.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            let Some(dirty) = self.dirty.get_mut(&number) else {
                continue;
            };
            let writer = self.writer.as_deref_mut();
            let writer = writer.ok_or_else(|| Error::poisoned(shared.store.path.clone()))?;
            let segment = writer.segment_mut(shared)?;
            if let Some(version) = log_page(shared, segment, number, dirty, sequence, &self.spilled)? {
                self.spilled.add(number, version);
            }
        }
        Ok(())
    }

    /// Logs changes other than those of pages.
    fn log_space(&mut self, shared: &PageFileShared, old_state: &[u8]) -> Result<()> {
        let (allocated, fresh) = (self.allocated.iter().collect::<Vec<_>>(), self.fresh.iter().collect::<Vec<_>>());
        let (freed, state) = (std::mem::take(&mut self.freed), std::mem::take(&mut self.state));
        let writer = self.writer_mut()?;
        let (page_count, epoch) = (writer.space.page_count.to_le_bytes(), writer.epoch.to_le_bytes());
        let segment = writer.segment_mut(shared)?;
        log_extents(segment, ALLOCATED, &page_count, &allocated)?;
        log_extents(segment, FRESH, &epoch, &fresh)?;
        log_extents(segment, FREED, &[], &freed)?;
        if *old_state != *state {
            let (numbers, bytes) = records::state_change(old_state, &state);
            segment.append(STATE, &[&numbers, bytes])?;
        }
        (self.freed, self.state) = (freed, state);
        Ok(())
    }

    /// Publishes the commit.
    fn publish(&mut self, shared: &PageFileShared, sequence: u64) {
        let Some(writer) = self.writer.as_deref_mut() else {
            return;
        };
        let segment = writer.segment_number();
        for (first, pages) in self.freed.drain(..) {
            writer.space.hold(segment, first, pages);
        }
        let byte = epoch_byte(writer.epoch);
        let fresh = &self.fresh;
        shared.with_epochs(|epochs| {
            fresh.iter().flat_map(|(first, pages)| first..first + pages).for_each(|page| epochs.set(page, byte));
        });
        let alone = shared.current().readers.values().sum::<u64>() <= 1;
        let mut map = shared.log_map_mut();
        for (number, versions) in self.spilled.drain() {
            if alone {
                let old = map.newest(number, u64::MAX).unwrap_or(IN_FILE);
                shared.pool.remove(number, old);
            }
            for version in versions {
                map.add(number, version);
            }
        }
        drop(map);
        for (number, dirty) in self.dirty.drain() {
            if dirty.whole || !dirty.changes.as_bytes().is_empty() {
                shared.pool.insert(number, sequence, dirty.purpose, &dirty.page);
            }
        }
        self.taken.clear();
        shared.counters.commits.fetch_add(1, Ordering::Relaxed);
        let mut current = shared.current();
        current.sequence = sequence;
        current.state = std::mem::take(&mut self.state).into();
        current.page_count = writer.space.page_count;
    }
}

/// Logs one page as an image or a delta; `None` if it did not change.
fn log_page(
    shared: &PageFileShared,
    segment: &mut SegmentWriter,
    number: PageNumber,
    dirty: &mut DirtyPage,
    sequence: u64,
    spilled: &SpilledPages,
) -> Result<Option<PageVersion>> {
    let changes = dirty.changes.as_bytes();
    if !dirty.whole && changes.is_empty() {
        return Ok(None);
    }
    let chain = spilled.chain(number, shared.log_map().chain(number, segment.segment.number()));
    let short = chain.is_some_and(|chain| {
        chain.changes < CHAIN_CHANGES_MAX && chain.bytes + changes.len() < shared.store.payload_bytes()
    });
    let as_changes = !dirty.whole && short;
    let head = number.to_le_bytes();
    let (place, body) = if as_changes {
        shared.counters.changes_logged.fetch_add(1, Ordering::Relaxed);
        // The map exceeds its memory only while a reader delays checkpoints.
        let held_bytes = shared.log_map().held_bytes() + spilled.held_bytes();
        let has_room = held_bytes < shared.options.log_map_bytes();
        let body = has_room.then(|| [&head, changes].concat().into());
        (segment.append(DELTA, &[&head, changes])?, body)
    } else {
        shared.counters.images_logged.fetch_add(1, Ordering::Relaxed);
        (segment.append(IMAGE, &[&head, records::without_zeros_at_end(&dirty.page)])?, None)
    };
    Ok(Some(PageVersion { sequence, place, segment: segment.segment.number(), is_image: !as_changes, body }))
}

fn log_extents(segment: &mut SegmentWriter, kind: u8, head: &[u8], extents: &[Extent]) -> Result<()> {
    for part in extents.chunks(EXTENTS_MAX) {
        segment.append(kind, &[head, &records::encode_extents(part)])?;
    }
    Ok(())
}

impl PageWriter {
    /// Syncs the log if the durability requires it after a commit of `bytes`.
    fn make_durable(&mut self, shared: &PageFileShared, bytes: u64) -> Result<()> {
        self.waiting_commits += 1;
        self.waiting_bytes += bytes;
        let options = &shared.options;
        let due = match options.durability {
            Durability::Synced => true,
            Durability::Grouped => {
                self.waiting_commits >= options.group_commits || self.waiting_bytes >= options.group_bytes
            }
            Durability::Buffered => false,
        };
        if due { self.sync() } else { Ok(()) }
    }
}
