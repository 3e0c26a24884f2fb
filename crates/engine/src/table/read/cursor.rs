//! A bidirectional cursor over the records of a table, used by merges and compactions.

use super::context::ReadContext;
use super::reader::{Table, TableInner};
use super::rows_ahead::RowsAhead;
use crate::block::Slice;
use crate::error::{Error, Result};
use crate::io::{PendingReads, Purpose, RangeRequest, ReadRequest};
use crate::table::block::coded::CodedCursor;
use crate::table::block::key::KeyBound;
use crate::table::block::parts::ValueLocation;
use crate::table::block::view::{BlockHead, BlockView};
use crate::table::format::meta::Section;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Requests that share the read-ahead of a compaction: one is consumed while the other is read.
const REQUESTS_AHEAD: u64 = 2;

/// The current record of a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableEntry<'a> {
    pub(crate) key: &'a [u8],
    /// Kind and sequence number of the version; in a table that is not versioned, the values given at opening.
    pub(crate) sequence: u64,
    pub(crate) tag: u8,
    pub(crate) value: &'a [u8],
}

/// A place in a table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TablePlace<'a> {
    First,
    Last,
    /// At or after a key.
    Key(&'a [u8]),
    /// Before a key.
    Before(&'a [u8]),
}

/// With a shorter read, in microseconds, a cursor is placed as fast without starting the read before.
const START_LATENCY_US: f64 = 1000.0;

/// The read mode of a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CursorMode {
    /// Through the cache, with read-ahead of consecutive blocks.
    Cached,
    /// Past the cache, with reads of this size in bytes.
    Compaction(u64),
}

/// A position among the records of a table, ordered by key, then by descending sequence number.
///
/// A new cursor has no position. After an error it has no position, and every further move returns the same error.
#[derive(Debug)]
pub(crate) struct TableCursor {
    table: Table,
    mode: CursorMode,
    at: Option<CursorPosition>,
    /// Key of the current record, unless its block is coded.
    key: Vec<u8>,
    /// Through the cache: the rows of blocks that were read.
    rows: RowsAhead,
    /// The direction of these rows.
    is_forward: bool,
    /// In a compaction, prefetched blocks.
    ahead: VecDeque<(u64, Arc<[u8]>)>,
    /// The blocks behind those: their read was started, or could not be.
    started: Option<(u64, Result<StartedChunk>)>,
    failed: Option<Error>,
}

/// The position of a cursor.
#[derive(Debug)]
struct CursorPosition {
    block: u64,
    bytes: Arc<[u8]>,
    head: BlockHead,
    index: usize,
    tag: u8,
    sequence: u64,
    /// Unless the block is coded.
    value: CursorValue,
    /// The records of a coded block.
    coded: Option<Box<CodedCursor>>,
}

#[derive(Debug)]
enum CursorValue {
    Inline(Range<usize>),
    Long(Slice),
}

impl Table {
    /// A cursor that reads through the cache.
    pub(crate) fn cursor(&self) -> TableCursor {
        TableCursor::new(self.clone(), CursorMode::Cached)
    }

    /// A cursor for one scan over everything, which bypasses the cache and reads about `ahead_bytes` at a time.
    pub(crate) fn compaction_cursor(&self, ahead_bytes: u64) -> TableCursor {
        // At least one block is read.
        let ahead_bytes = if self.inner.fast_paths.prefetch { ahead_bytes } else { 0 };
        TableCursor::new(self.clone(), CursorMode::Compaction(ahead_bytes))
    }
}

impl TableCursor {
    fn new(table: Table, mode: CursorMode) -> Self {
        let (rows, ahead) = (RowsAhead::default(), VecDeque::new());
        Self { table, mode, at: None, key: Vec::new(), rows, is_forward: true, ahead, started: None, failed: None }
    }

    /// Kind of the current record; `None` without a position.
    #[inline]
    pub(crate) fn tag(&self) -> Option<u8> {
        self.at.as_ref().map(|here| here.tag)
    }

    /// The current record; `None` without a position.
    #[inline]
    pub(crate) fn entry(&self) -> Option<TableEntry<'_>> {
        let here = self.at.as_ref()?;
        let (key, value) = match (&here.coded, &here.value) {
            (Some(coded), _) => (coded.key(here.index)?, coded.value(&here.bytes, here.index)?),
            (None, CursorValue::Inline(place)) => (&*self.key, here.bytes.get(place.clone())?),
            (None, CursorValue::Long(value)) => (&*self.key, &**value),
        };
        Some(TableEntry { key, sequence: here.sequence, tag: here.tag, value })
    }

    /// The value of the current record, shared.
    #[inline]
    pub(crate) fn value_slice(&self) -> Option<Slice> {
        let here = self.at.as_ref()?;
        match (&here.coded, &here.value) {
            (Some(coded), _) => coded.value_slice(&here.bytes, here.index),
            (None, CursorValue::Inline(place)) => Slice::of_block(&here.bytes, place.clone()),
            (None, CursorValue::Long(value)) => Some(value.clone()),
        }
    }

    /// Starts to read the blocks that a move to a place, which follows, needs first, if the storage is slow; with an
    /// index in memory only. The cursor loses its position.
    pub(crate) fn start(&mut self, place: TablePlace<'_>) {
        let inner = self.table.inner.clone();
        let is_worth_it = inner.fast_paths.prefetch
            && inner.fast_paths.in_flight
            && inner.profile.time_us(0) >= START_LATENCY_US
            && self.mode == CursorMode::Cached
            && self.failed.is_none();
        if !is_worth_it {
            return;
        }
        self.at = None;
        self.forget_ahead();
        let (block, is_forward) = match place {
            TablePlace::First => (Some(0), true),
            TablePlace::Last => (inner.meta.blocks.checked_sub(1), false),
            TablePlace::Key(key) => (inner.resident_block_of(key), true),
            TablePlace::Before(key) => (inner.resident_block_of(key), false),
        };
        if let Some(block) = block.filter(|&block| block < inner.meta.blocks) {
            self.is_forward = is_forward;
            self.rows.start(&inner, block, is_forward);
        }
    }

    /// Moves to the first record at or after (`key`, `sequence`): a version of the key with at most that sequence
    /// number, or else the first version of the next key.
    ///
    /// # Errors
    /// Storage errors and damage; the same error again if the cursor has failed before.
    pub(crate) fn seek(&mut self, key: &[u8], sequence: u64) -> Result<()> {
        self.moved(|cursor| {
            let inner = cursor.table.inner.clone();
            let block = match cursor.mode {
                CursorMode::Cached => inner.block_of(key)?,
                // The output of a compaction replaces the table: a key missed by a wrong index would be lost.
                CursorMode::Compaction(_) => {
                    inner.bisect(KeyBound { key, after: false }, &mut ReadContext::default())?.block
                }
            };
            cursor.forget_ahead_but(block, true);
            cursor.seek_from(block, |view| view.lower_bound_of_version(key, sequence, inner.unversioned.1))
        })
    }

    /// Moves to the last record whose key is less than `key`.
    ///
    /// # Errors
    /// As [`Self::seek`].
    pub(crate) fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        self.moved(|cursor| {
            let inner = cursor.table.inner.clone();
            let block = inner.block_of(key)?;
            cursor.forget_ahead_but(block, false);
            if block == inner.meta.blocks {
                return cursor.last_before(block);
            }
            cursor.enter(block, false)?;
            let here = cursor.at.as_ref().map(|here| BlockView::with_head(here.head, &here.bytes));
            let index = here.and_then(|view| view.lower_bound(&KeyBound { key, after: false }));
            match index.ok_or_else(|| inner.malformed(block))?.checked_sub(1) {
                Some(index) => cursor.show(index),
                None => cursor.last_before(block),
            }
        })
    }

    /// Moves to the record at a position, counted from 0, without using the index; no position past the last.
    ///
    /// # Errors
    /// As [`Self::seek`].
    pub(crate) fn seek_position(&mut self, position: u64) -> Result<()> {
        self.moved(|cursor| {
            cursor.forget_ahead();
            let inner = cursor.table.inner.clone();
            if position >= inner.meta.records {
                cursor.at = None;
                return Ok(());
            }
            let malformed = || inner.damaged(inner.files.tail_offset(), "the record counts are malformed");
            let counts = inner.counts(&mut ReadContext::default())?;
            let (block, before) = counts.locate(position).ok_or_else(malformed)?;
            cursor.enter(block, true)?;
            cursor.show((position - before) as usize)
        })
    }

    /// Moves to the first record.
    ///
    /// # Errors
    /// As [`Self::seek`].
    pub(crate) fn first(&mut self) -> Result<()> {
        self.moved(|cursor| {
            cursor.forget_ahead_but(0, true);
            cursor.seek_from(0, |_| Some(0))
        })
    }

    /// Moves to the last record.
    ///
    /// # Errors
    /// As [`Self::seek`].
    pub(crate) fn last(&mut self) -> Result<()> {
        self.moved(|cursor| {
            let blocks = cursor.table.inner.meta.blocks;
            cursor.forget_ahead_but(blocks.saturating_sub(1), false);
            cursor.last_before(blocks)
        })
    }

    /// Moves to the next record; no position after the last.
    ///
    /// # Errors
    /// As [`Self::seek`].
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        // The next record of a coded or a columnar block is shown on a fast path.
        if let Some(here) = &mut self.at
            && here.index + 1 < here.head.count()
            && (here.show_loaded() || here.show_column(&mut self.key))
        {
            return Ok(());
        }
        self.next_anyhow()
    }

    fn next_anyhow(&mut self) -> Result<()> {
        self.moved(|cursor| match &cursor.at {
            None => Ok(()),
            Some(here) if here.index + 1 < here.head.count() => cursor.show(here.index + 1),
            Some(here) => cursor.seek_from(here.block + 1, |_| Some(0)),
        })
    }

    /// Moves to the previous record; no position before the first.
    ///
    /// # Errors
    /// As [`Self::seek`].
    pub(crate) fn prev(&mut self) -> Result<()> {
        self.moved(|cursor| match &cursor.at {
            None => Ok(()),
            Some(here) => match here.index.checked_sub(1) {
                Some(index) => cursor.show(index),
                None => cursor.last_before(here.block),
            },
        })
    }

    /// Moves, unless the cursor has failed before; an error leaves no position.
    fn moved(&mut self, step: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if let Some(error) = &self.failed {
            return Err(error.again());
        }
        let done = step(self);
        if let Err(error) = &done {
            self.failed = Some(error.again());
            self.at = None;
            self.forget_ahead();
        }
        done
    }

    fn forget_ahead(&mut self) {
        self.ahead.clear();
        self.started = None;
        self.rows.forget();
    }

    /// Forgets what was read ahead, unless it was started for a move to this block.
    fn forget_ahead_but(&mut self, block: u64, is_forward: bool) {
        if self.at.is_some() || self.is_forward != is_forward || !self.rows.is_next(block, is_forward) {
            self.forget_ahead();
        }
    }

    /// Moves to the record that `find` returns in a block, or to the first record of the following blocks.
    fn seek_from(&mut self, mut block: u64, find: impl Fn(&BlockView<'_>) -> Option<usize>) -> Result<()> {
        while block < self.table.inner.meta.blocks {
            self.enter(block, true)?;
            let Some(here) = &self.at else { return Ok(()) };
            let index = find(&BlockView::with_head(here.head, &here.bytes));
            let index = index.ok_or_else(|| self.table.inner.malformed(block))?;
            if index < here.head.count() {
                return self.show(index);
            }
            block += 1;
        }
        self.at = None;
        Ok(())
    }

    /// Moves to the last record of the blocks before `block`.
    fn last_before(&mut self, mut block: u64) -> Result<()> {
        while let Some(before) = block.checked_sub(1) {
            self.enter(before, false)?;
            let count = self.at.as_ref().map_or(0, |here| here.head.count());
            if let Some(last) = count.checked_sub(1) {
                return self.show(last);
            }
            block = before;
        }
        self.at = None;
        Ok(())
    }

    /// Enters a block, at none of its records yet, from the one before or behind it, or from elsewhere.
    fn enter(&mut self, block: u64, is_forward: bool) -> Result<()> {
        if self.is_forward != is_forward {
            self.forget_ahead();
            self.is_forward = is_forward;
        }
        let bytes = self.fetch(block)?;
        let view = self.table.inner.view(block, &bytes)?;
        let coded = view.coded().map(|&coded| match self.at.take().and_then(|before| before.coded) {
            Some(mut cursor) => {
                cursor.enter(coded);
                cursor
            }
            None => Box::new(CodedCursor::new(coded)),
        });
        let head = view.head();
        self.key.clear();
        let value = CursorValue::Inline(0..0);
        self.at = Some(CursorPosition { block, bytes, head, index: 0, tag: 0, sequence: 0, value, coded });
        Ok(())
    }

    /// Moves to a record of the current block.
    fn show(&mut self, index: usize) -> Result<()> {
        let Self { table, at: Some(here), key, .. } = self else { return Ok(()) };
        let inner = &*table.inner;
        if here.coded.is_some() {
            return here.show_coded(index, inner).ok_or_else(|| inner.malformed(here.block));
        }
        let view = BlockView::with_head(here.head, &here.bytes);
        let malformed = || inner.malformed(here.block);
        view.key(index).ok_or_else(malformed)?.copy_to(key);
        (here.tag, here.sequence) = inner.version_in(&view, index).ok_or_else(malformed)?;
        here.value = match view.place(index).ok_or_else(malformed)? {
            ValueLocation::Inline(place) => CursorValue::Inline(place),
            // Only coded blocks have such values.
            ValueLocation::Short(value) => CursorValue::Long(Slice::from(&*value)),
            ValueLocation::Long(pointer) => CursorValue::Long(inner.long_value(pointer)?.into()),
        };
        here.index = index;
        Ok(())
    }

    /// A block: prefetched, from the cache, or read together with those that follow in the direction of the move.
    fn fetch(&mut self, block: u64) -> Result<Arc<[u8]>> {
        if self.mode == CursorMode::Cached {
            return self.fetch_cached(block);
        }
        while self.ahead.front().is_some_and(|&(number, _)| number != block) {
            self.ahead.pop_front();
        }
        if let Some((number, bytes)) = self.ahead.front()
            && *number == block
        {
            return Ok(bytes.clone());
        }
        let follows = self.at.as_ref().is_some_and(|here| here.block + 1 == block);
        let inner = self.table.inner.clone();
        let each = inner.meta.block_bytes.max(1);
        match self.mode {
            CursorMode::Compaction(0) | CursorMode::Cached => self.ahead = inner.read_past_cache(block, 1)?.into(),
            CursorMode::Compaction(ahead) => {
                self.fetch_chunk(block, (ahead / REQUESTS_AHEAD / each).max(1), follows)?
            }
        }
        self.ahead.front().map(|(_, bytes)| bytes.clone()).ok_or_else(|| inner.malformed(block))
    }
}

impl TableCursor {
    /// A block from the row in use, from the cache, or read.
    fn fetch_cached(&mut self, block: u64) -> Result<Arc<[u8]>> {
        if let Some(found) = self.rows.in_use(block) {
            return Ok(found);
        }
        let (inner, is_forward) = (self.table.inner.clone(), self.is_forward);
        if !self.rows.is_next(block, is_forward) {
            if let Some(found) = inner.cached(block) {
                return Ok(found);
            }
            let (before, behind) = if is_forward { (1, 0) } else { (0, 1) };
            if self.at.as_ref().is_none_or(|here| here.block + before != block + behind) {
                self.rows.forget();
            }
        }
        let last = if is_forward { inner.meta.blocks - 1 } else { 0 };
        self.rows.block(&inner, block, last, is_forward, &mut ReadContext::default())
    }

    /// Takes consecutive blocks from `first` on, and starts to read those behind them before waiting.
    fn fetch_chunk(&mut self, first: u64, blocks: u64, follows: bool) -> Result<()> {
        let inner = self.table.inner.clone();
        let chunk = match self.started.take() {
            Some((block, chunk)) if block == first => chunk?,
            _ => inner.start_past_cache(first, blocks)?,
        };
        let next = first + chunk.sections.len() as u64;
        if follows && next < inner.meta.blocks {
            // An error counts only where the cursor comes to these blocks.
            self.started = Some((next, inner.start_past_cache(next, blocks)));
        }
        self.ahead = inner.finish_past_cache(chunk)?.into();
        Ok(())
    }
}

impl CursorPosition {
    /// Moves to a record of a coded block.
    fn show_coded(&mut self, index: usize, inner: &TableInner) -> Option<()> {
        let coded = self.coded.as_mut()?;
        coded.load(&self.bytes, index)?;
        let tag = coded.tag(index)?;
        (self.tag, self.sequence) = if inner.meta.versioned { (tag.kind, tag.sequence) } else { inner.unversioned };
        self.index = index;
        Some(())
    }

    /// Moves to the next record of a coded block; returns `false` without moving if it is not loaded.
    #[inline]
    fn show_loaded(&mut self) -> bool {
        let next = self.index + 1;
        let Some(tag) = self.coded.as_ref().and_then(|coded| coded.tag(next)) else { return false };
        if self.head.versioned {
            (self.tag, self.sequence) = (tag.kind, tag.sequence);
        }
        self.index = next;
        true
    }

    /// Moves to the next record of a columnar block; returns `false` without moving if the block is not columnar or is
    /// damaged. `key` holds the key of the current record.
    #[inline]
    fn show_column(&mut self, key: &mut Vec<u8>) -> bool {
        let Some(columns) = self.head.versioned_columns() else { return false };
        let next = self.index + 1;
        let (Some(rest), Some(tag)) = (columns.key_rest(&self.bytes, next), columns.tag(&self.bytes, next)) else {
            return false;
        };
        let Some(value) = columns.value(&self.bytes, next) else { return false };
        key.truncate(columns.prefix);
        key.extend_from_slice(rest);
        (self.tag, self.sequence, self.value, self.index) = (tag.kind, tag.sequence, CursorValue::Inline(value), next);
        true
    }
}

/// Consecutive blocks whose read was started.
#[derive(Debug)]
struct StartedChunk {
    first: u64,
    sections: Vec<Section>,
    pending: Box<dyn PendingReads>,
}

impl TableInner {
    /// The locations of up to `most` consecutive blocks from `first` on, at least one.
    fn sections_from(&self, first: u64, most: u64) -> Result<Vec<Section>> {
        let mut sections = vec![self.section(0, first)?];
        for block in first + 1..first.saturating_add(most).min(self.meta.blocks) {
            let section = self.section(0, block)?;
            if sections.last().is_some_and(|before| before.end() != section.offset) {
                break;
            }
            sections.push(section);
        }
        Ok(sections)
    }

    /// Up to `most` consecutive blocks from `first` on, at least one, with one read and without caching.
    pub(in crate::table) fn read_past_cache(&self, first: u64, most: u64) -> Result<Vec<(u64, Arc<[u8]>)>> {
        let sections = self.sections_from(first, most)?;
        let mut buffer = vec![0; sections.iter().map(|section| section.bytes as usize).sum()];
        self.files.data().read(ReadRequest {
            offset: sections[0].offset,
            buffer: &mut buffer,
            purpose: Purpose::Data,
        })?;
        self.checked_blocks(first, &sections, &buffer)
    }

    /// Starts to read up to `most` consecutive blocks, as [`Self::read_past_cache`] does.
    fn start_past_cache(&self, first: u64, most: u64) -> Result<StartedChunk> {
        let sections = self.sections_from(first, most)?;
        let bytes = sections.iter().map(|section| section.bytes as usize).sum();
        let range = RangeRequest { offset: sections[0].offset, bytes, purpose: Purpose::Data };
        Ok(StartedChunk { first, pending: self.files.data().start_reads(&[range])?, sections })
    }

    fn finish_past_cache(&self, chunk: StartedChunk) -> Result<Vec<(u64, Arc<[u8]>)>> {
        let filled = chunk.pending.wait()?;
        self.checked_blocks(chunk.first, &chunk.sections, filled.first().map(|bytes| &**bytes).unwrap_or_default())
    }

    /// Checks consecutive blocks that were read.
    fn checked_blocks(&self, first: u64, sections: &[Section], bytes: &[u8]) -> Result<Vec<(u64, Arc<[u8]>)>> {
        let offset = sections[0].offset;
        let block = |(block, section): (u64, &Section)| {
            let at = (section.offset - offset) as usize;
            Ok((block, self.check(0, block, *section, &bytes[at..][..section.bytes as usize])?))
        };
        (first..).zip(sections).map(block).collect()
    }
}
