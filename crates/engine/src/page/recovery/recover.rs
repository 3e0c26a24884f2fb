//! Recovery: replays the log beyond the last checkpoint when a page file is opened.

use crate::error::{Error, Result};
use crate::io::ReadableFile;
use crate::log::{Commit, LogEntry, RecordLocation, ReplayStep, Segment, replay};
use crate::page::extents::Extent;
use crate::page::header::{Header, STATE_BYTES_MAX};
use crate::page::log_chain::{FoundSegment, links};
use crate::page::log_map::{LogMap, PageVersion};
use crate::page::pages::PageNumber;
use crate::page::records::{self, ALLOCATED, DELTA, FREED, FRESH, IMAGE, STATE};
use crate::page::space::PageSpace;
use crate::page::space_map::{SpaceMap, epoch_byte};
use crate::page::store::ends_before;
use crate::page::writer_state::SealedSegment;
use std::path::PathBuf;
use std::sync::Arc;

/// A record whose commit has not been read yet.
#[derive(Debug)]
enum PendingLogRecord {
    Page { number: PageNumber, place: RecordLocation, is_image: bool },
    State(Vec<u8>),
    Allocated(u32, Vec<Extent>),
    Freed(Vec<Extent>),
    Fresh(u32, Vec<Extent>),
}

/// The recovered state of a file: initially that of the checkpoint, then commit by commit.
#[derive(Debug)]
pub(in crate::page) struct Recovery {
    pub(in crate::page) log_map: LogMap,
    /// Free pages; none for read-only handles.
    pub(in crate::page) space: Option<PageSpace>,
    pub(in crate::page) epochs: Option<SpaceMap>,
    pub(in crate::page) sequence: u64,
    pub(in crate::page) state: Vec<u8>,
    pub(in crate::page) page_count: u32,
    /// The greatest epoch found.
    pub(in crate::page) epoch: u32,
    pub(in crate::page) sealed: Vec<SealedSegment>,
    /// Pages that the page file has room for.
    file_pages: u64,
    /// The first page that a commit wrote directly and that the page file has no room for.
    missing_page: Option<PageNumber>,
    page_bytes: usize,
    file_path: PathBuf,
}

impl Recovery {
    pub(in crate::page) fn new(
        header: &Header,
        file: &dyn ReadableFile,
        space: Option<PageSpace>,
        epochs: Option<SpaceMap>,
    ) -> Self {
        Self {
            log_map: LogMap::default(),
            space,
            epochs,
            sequence: header.sequence,
            state: header.state.clone(),
            page_count: header.page_count,
            epoch: header.epoch,
            sealed: Vec::new(),
            file_pages: file.len() / header.page_bytes as u64,
            missing_page: None,
            page_bytes: header.page_bytes,
            file_path: file.path().to_path_buf(),
        }
    }

    /// Replays all segments up to a commit. If one header slot is invalid, segments to which it may have led are
    /// included.
    ///
    /// # Errors
    /// [`Cause::Damaged`](crate::Cause::Damaged) if commits are missing, or records are invalid.
    pub(in crate::page) fn replay_all(
        &mut self,
        header: &Header,
        one_slot: bool,
        found: &[FoundSegment],
        last: u64,
    ) -> Result<()> {
        let segments = links(&self.file_path, header, one_slot, found)?;
        for (index, (segment, header)) in segments.iter().enumerate() {
            // What a segment holds beyond the base of the next was not durable when that began, and was dropped by
            // then.
            let later = segments[index + 1..].iter().find_map(|(_, header)| header.as_ref());
            let limit = later.map_or(last, |header| header.base.min(last));
            if self.sequence >= last {
                break;
            }
            if let Some(header) = header {
                if header.base != self.sequence {
                    let detail =
                        format!("the log goes on after commit {}, but {} is the last", header.base, self.sequence);
                    return Err(Error::damaged(segment.file.path(), 0, detail));
                }
                self.epoch = self.epoch.max(header.note);
            }
            self.replay_one(segment, header.is_some(), limit)?;
        }
        Ok(())
    }

    fn replay_one(&mut self, segment: &Arc<Segment>, header_is_valid: bool, limit: u64) -> Result<()> {
        let before = self.sequence;
        let mut pending: Vec<(u64, PendingLogRecord)> = Vec::new();
        replay(segment, header_is_valid, &mut |entry| match entry {
            LogEntry::Record { kind, location, body } => {
                let record = parse(kind, location, body).ok_or_else(|| invalid_record(segment, location.position))?;
                pending.push((location.position, record));
                Ok(ReplayStep::Continue)
            }
            LogEntry::Commit(commit) if commit.sequence > limit => Ok(ReplayStep::Stop),
            LogEntry::Commit(commit) => {
                if commit.sequence != self.sequence + 1 {
                    return Err(invalid_record(segment, commit.first));
                }
                self.sequence = commit.sequence;
                // Pages last: what was allocated for them is logged behind those that had no room in memory.
                let records = pending.drain(..).filter(|&(position, _)| position >= commit.first);
                let (pages, others): (Vec<_>, Vec<_>) =
                    records.partition(|(_, record)| matches!(record, PendingLogRecord::Page { .. }));
                for (position, record) in others.into_iter().chain(pages) {
                    self.take(segment, commit, record).ok_or_else(|| invalid_record(segment, position))?;
                }
                // Later records may be incomplete.
                Ok(if commit.sequence == limit { ReplayStep::Stop } else { ReplayStep::Continue })
            }
        })?;
        if self.sequence > before {
            self.log_map.add_segment(Arc::clone(segment));
        }
        if self.sequence > before || header_is_valid {
            self.sealed.push(SealedSegment {
                id: segment.id,
                bytes: segment.file.len(),
                sequence: self.sequence,
                state: self.state.clone().into(),
            });
        }
        Ok(())
    }

    /// Applies a committed record; `None` if it is invalid.
    fn take(&mut self, segment: &Segment, commit: Commit, record: PendingLogRecord) -> Option<()> {
        match record {
            PendingLogRecord::Page { number, place, is_image } => {
                if number >= self.page_count || !is_image && self.log_map.chain(number, segment.number()).is_none() {
                    return None;
                }
                let version =
                    PageVersion { sequence: commit.sequence, place, segment: segment.number(), is_image, body: None };
                self.log_map.add(number, version);
            }
            PendingLogRecord::State(body) => {
                self.state =
                    records::changed_state(&self.state, &body).filter(|state| state.len() <= STATE_BYTES_MAX)?;
            }
            PendingLogRecord::Allocated(page_count, extents) => {
                self.page_count = self.page_count.max(page_count);
                for (first, pages) in self.inside(extents)? {
                    if let Some(space) = &mut self.space {
                        grow(space, self.page_count);
                        space.claim(first, pages);
                    }
                }
            }
            PendingLogRecord::Freed(extents) => {
                for (first, pages) in extents {
                    if let Some(space) = &mut self.space {
                        space.hold(segment.number(), first, pages);
                    }
                }
            }
            PendingLogRecord::Fresh(epoch, extents) => {
                self.epoch = self.epoch.max(epoch);
                for (first, pages) in self.inside(extents)? {
                    let end = u64::from(first) + u64::from(pages);
                    if end > self.file_pages {
                        let missing = u64::from(first).max(self.file_pages) as PageNumber;
                        self.missing_page = Some(self.missing_page.map_or(missing, |page| page.min(missing)));
                    }
                    if let Some(epochs) = &mut self.epochs {
                        (first..first + pages).for_each(|page| epochs.set(page, epoch_byte(epoch)));
                    }
                }
            }
        }
        Some(())
    }

    /// Fails if the page file is too short for pages that were durable before their commits. This is no damage to the
    /// log, whose commits are complete but for these pages.
    ///
    /// # Errors
    /// [`Cause::Damaged`](crate::Cause::Damaged) at the first such page of the page file.
    pub(in crate::page) fn check_length(&self) -> Result<()> {
        self.missing_page.map_or(Ok(()), |page| Err(ends_before(&self.file_path, self.page_bytes, page)))
    }

    fn inside(&self, extents: Vec<Extent>) -> Option<Vec<Extent>> {
        extents.iter().all(|&(first, pages)| first + pages <= self.page_count).then_some(extents)
    }

    /// An error at the page file.
    pub(in crate::page) fn damaged(&self, detail: &str) -> Error {
        Error::damaged(&self.file_path, 0, detail)
    }
}

/// Extends the file; pages that no commit claims are free.
fn grow(space: &mut PageSpace, page_count: u32) {
    if let Some(more) = page_count.checked_sub(space.page_count) {
        space.clean.insert(space.page_count, more);
        space.page_count = page_count;
    }
}

fn invalid_record(segment: &Segment, position: u64) -> Error {
    Error::damaged(segment.file.path(), position, "a log record has a valid checksum but invalid content")
}

fn parse(kind: u8, place: RecordLocation, body: &[u8]) -> Option<PendingLogRecord> {
    let head = || body.split_first_chunk::<4>().map(|(head, rest)| (u32::from_le_bytes(*head), rest));
    Some(match kind {
        IMAGE | DELTA => PendingLogRecord::Page { number: records::page_of(body)?.0, place, is_image: kind == IMAGE },
        STATE => PendingLogRecord::State(body.to_vec()),
        ALLOCATED => {
            let (page_count, rest) = head()?;
            PendingLogRecord::Allocated(page_count, records::decode_extents(rest)?)
        }
        FREED => PendingLogRecord::Freed(records::decode_extents(body)?),
        FRESH => {
            let (epoch, rest) = head()?;
            PendingLogRecord::Fresh(epoch, records::decode_extents(rest)?)
        }
        _ => return None,
    })
}
