//! A double-ended iterator over the records of a key range.

use super::context::ReadContext;
use super::operations::Record;
use super::read_trace::ReadTrace;
use super::reader::{Table, TableInner};
use super::rows_ahead::RowsAhead;
use super::search::RecordPosition;
use crate::error::Result;
use crate::table::block::coded::CodedCursor;
use crate::table::block::key::KeyBound;
use crate::table::block::parts::StoredValue;
use crate::table::block::view::{BlockHead, BlockView};
use std::ops::{Bound, ControlFlow};

/// An iterator over the records of a key range, in key order, from both ends.
///
/// Blocks are read as the iterator proceeds, with a read-ahead that grows with the length of the scan, and several
/// reads in flight in a long one. After an error the iterator ends; but after one of kind
/// [`WouldBlock`](std::io::ErrorKind::WouldBlock), from a storage that does not wait, it goes on with the same record.
#[derive(Debug)]
pub struct TableRange {
    table: Table,
    bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>),
    /// Next record from the front, and the one after the next from the back; resolved at first use, and after moves.
    ends: Option<(BlockPosition, BlockPosition)>,
    /// The ends at the beginning, and where they were when one of them was moved.
    whole: Option<(BlockPosition, BlockPosition)>,
    before_move: Option<(BlockPosition, BlockPosition)>,
    /// The keys to which the front and the back were moved.
    moved: [Option<Vec<u8>>; 2],
    failed: bool,
    forward: ReadAheadBuffer,
    backward: ReadAheadBuffer,
    trace: Option<ReadTrace>,
}

/// Block number and index of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct BlockPosition {
    block: u64,
    index: usize,
}

/// Prefetched blocks, and the one that records are taken from.
#[derive(Debug, Default)]
struct ReadAheadBuffer {
    rows: RowsAhead,
    opened: Option<OpenedBlock>,
}

/// A block whose head is decoded.
#[derive(Debug)]
struct OpenedBlock {
    number: u64,
    head: BlockHead,
    /// Decodes the records of a coded block.
    coded: Option<Box<CodedCursor>>,
}

impl ReadAheadBuffer {
    fn opened(&mut self, inner: &TableInner, number: u64, bytes: &[u8]) -> Result<&mut OpenedBlock> {
        if self.opened.as_ref().is_none_or(|opened| opened.number != number) {
            let view = inner.view(number, bytes)?;
            let used = self.opened.take().and_then(|opened| opened.coded);
            let coded = view.coded().map(|&coded| match used {
                Some(mut cursor) => {
                    cursor.enter(coded);
                    cursor
                }
                None => Box::new(CodedCursor::new(coded)),
            });
            self.opened = Some(OpenedBlock { number, head: view.head(), coded });
        }
        self.opened.as_mut().ok_or_else(|| inner.malformed(number))
    }

    /// Number of records of a block.
    fn count(&mut self, inner: &TableInner, number: u64, bytes: &[u8]) -> Result<usize> {
        Ok(self.opened(inner, number, bytes)?.head.count())
    }

    /// Passes the records of a block on, from a position to the end of the range, if that is in the block; returns the
    /// index of the next one.
    fn visit(
        &mut self,
        inner: &TableInner,
        first: &RecordPosition,
        back: Option<BlockPosition>,
        key: &mut Vec<u8>,
        visit: &mut impl FnMut(&TableInner, &[u8], StoredValue<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<(usize, ControlFlow<()>)> {
        let malformed = || inner.malformed(first.block);
        let bytes = first.bytes.as_deref().ok_or_else(malformed)?;
        let opened = self.opened(inner, first.block, bytes)?;
        let view = BlockView::with_head(opened.head, bytes);
        let end = back.filter(|back| back.block == first.block).map_or(view.count(), |back| back.index);
        for index in first.index..end {
            let flow = match &mut opened.coded {
                None => {
                    let (found, value) = view.record(index).ok_or_else(malformed)?;
                    visit(inner, found.joined(key), value)
                }
                Some(coded) => {
                    coded.load(bytes, index).ok_or_else(malformed)?;
                    let value = coded.value(bytes, index).ok_or_else(malformed)?;
                    visit(inner, coded.key(index).ok_or_else(malformed)?, StoredValue::Inline(value))
                }
            };
            if flow?.is_break() {
                return Ok((index + 1, ControlFlow::Break(())));
            }
        }
        Ok((end, ControlFlow::Continue(())))
    }

    /// Replaces `key` with the key at a position, and passes it on with its value.
    fn show<R>(
        &mut self,
        inner: &TableInner,
        position: &RecordPosition,
        key: &mut Vec<u8>,
        visit: impl FnOnce(&[u8], StoredValue<'_>) -> Result<R>,
    ) -> Result<R> {
        let malformed = || inner.malformed(position.block);
        let bytes = position.bytes.as_deref().ok_or_else(malformed)?;
        let opened = self.opened(inner, position.block, bytes)?;
        let view = BlockView::with_head(opened.head, bytes);
        let Some(coded) = &mut opened.coded else {
            view.key(position.index).ok_or_else(malformed)?.copy_to(key);
            return visit(key, view.value(position.index).ok_or_else(malformed)?);
        };
        coded.load(bytes, position.index).ok_or_else(malformed)?;
        key.clear();
        key.extend_from_slice(coded.key(position.index).ok_or_else(malformed)?);
        visit(key, StoredValue::Inline(coded.value(bytes, position.index).ok_or_else(malformed)?))
    }
}

impl TableRange {
    pub(in crate::table) fn new(table: Table, bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>)) -> Self {
        let (forward, backward) = (ReadAheadBuffer::default(), ReadAheadBuffer::default());
        let (ends, whole, before_move, moved) = (None, None, None, [None, None]);
        Self { table, bounds, ends, whole, before_move, moved, failed: false, forward, backward, trace: None }
    }

    /// Moves the front to the first record whose key is at or behind `key` and in the range, ahead or back:
    /// [`Self::next`] then returns it. Records are returned again if the front moves back; those that the back has
    /// returned are not. A range that was read to its end goes on. After an error it stays ended.
    ///
    /// Nothing is read before the next step, which refuses a key of another length than those of the table.
    ///
    /// ```
    /// # use ogive::io::MemoryStorage;
    /// # use ogive::table::{TableOptions, Table, TableWriter, TableWriteOptions};
    /// # let storage = std::sync::Arc::new(MemoryStorage::new());
    /// # let mut writer = TableWriter::create((storage.clone(), "t"), TableWriteOptions::default())?;
    /// # for key in ["ant", "bee", "cat", "dog"] { writer.append(key.as_bytes(), b"")?; }
    /// # writer.finish()?;
    /// # let table = Table::open((storage, "t"), &TableOptions::default())?;
    /// let mut range = table.iter();
    /// range.seek("b");
    /// assert_eq!(range.next().unwrap()?.0, b"bee");
    /// range.seek_for_prev("cow");
    /// assert_eq!(range.next_back().unwrap()?.0, b"cat");
    /// assert!(range.next().is_none());
    /// range.seek("");
    /// assert_eq!(range.next().unwrap()?.0, b"ant");
    /// # Ok::<(), ogive::Error>(())
    /// ```
    pub fn seek(&mut self, key: impl AsRef<[u8]>) {
        self.move_end(true, key.as_ref());
    }

    /// Moves the back to the last record whose key is at or before `key` and in the range, as [`Self::seek`] moves the
    /// front: [`next_back`](DoubleEndedIterator::next_back) then returns it.
    pub fn seek_for_prev(&mut self, key: impl AsRef<[u8]>) {
        self.move_end(false, key.as_ref());
    }

    fn move_end(&mut self, forward: bool, key: &[u8]) {
        self.moved[usize::from(!forward)] = Some(key.to_vec());
        self.before_move = self.ends.take().or(self.before_move);
    }

    /// Enables the trace of reads from now on; see [`Self::trace`].
    #[must_use]
    pub fn traced(mut self) -> Self {
        self.trace.get_or_insert_default();
        self
    }

    /// The reads so far, except for chunks of long values; `None` unless the range is [`traced`](Self::traced).
    ///
    /// ```
    /// # use ogive::io::MemoryStorage;
    /// # use ogive::table::{TableOptions, Table, TableWriter, TableWriteOptions};
    /// # let storage = std::sync::Arc::new(MemoryStorage::new());
    /// # let mut writer = TableWriter::create((storage.clone(), "t"), TableWriteOptions::default())?;
    /// # writer.append(b"apple", b"red")?;
    /// # writer.finish()?;
    /// # let table = Table::open((storage, "t"), &TableOptions::default())?;
    /// let mut fruit = table.iter().traced();
    /// fruit.by_ref().count();
    /// assert_eq!(fruit.trace().map(|trace| trace.reads.len()), Some(1));
    /// # Ok::<(), ogive::Error>(())
    /// ```
    #[must_use]
    pub fn trace(&self) -> Option<&ReadTrace> {
        self.trace.as_ref()
    }

    /// Returns an iterator over the keys alone, which does not read values.
    pub fn keys(mut self) -> impl Iterator<Item = Result<Vec<u8>>> {
        std::iter::from_fn(move || {
            let position = self.step(true).transpose()?;
            let mut key = Vec::new();
            let shown =
                position.and_then(|position| self.forward.show(&self.table.inner, &position, &mut key, |_, _| Ok(())));
            Some(shown.map(|()| key))
        })
    }

    /// Passes the next records from the front to `visit` until it breaks, or the range ends. Keys and short values are
    /// not allocated for each record. Visited records are consumed.
    ///
    /// ```
    /// # use ogive::io::MemoryStorage;
    /// # use ogive::table::{TableOptions, Table, TableWriter, TableWriteOptions};
    /// # use std::ops::ControlFlow;
    /// # let storage = std::sync::Arc::new(MemoryStorage::new());
    /// # let mut writer = TableWriter::create((storage.clone(), "t"), TableWriteOptions::default())?;
    /// # writer.append(b"apple", b"red")?;
    /// # writer.append(b"lemon", b"yellow")?;
    /// # writer.finish()?;
    /// # let table = Table::open((storage, "t"), &TableOptions::default())?;
    /// let mut bytes = 0;
    /// table.iter().visit(|key, value| {
    ///     bytes += key.len() + value.len();
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(bytes, 19);
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// Storage errors, and [`crate::Cause::Damaged`]; the range has then ended.
    pub fn visit(&mut self, mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) -> Result<()> {
        self.visit_stored(|inner, key, value| match value.in_block() {
            Some(value) => Ok(visit(key, value)),
            None => Ok(visit(key, &inner.value_of(value)?)),
        })
    }

    /// As [`Self::visit`], for keys alone: values are not read.
    ///
    /// # Errors
    /// As [`Self::visit`].
    pub fn visit_keys(&mut self, mut visit: impl FnMut(&[u8]) -> ControlFlow<()>) -> Result<()> {
        self.visit_stored(|_, key, _| Ok(visit(key)))
    }

    /// Passes records on, block by block.
    fn visit_stored(
        &mut self,
        mut visit: impl FnMut(&TableInner, &[u8], StoredValue<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut key = Vec::new();
        while let Some(first) = self.step(true)? {
            let (inner, back) = (&self.table.inner, self.ends.map(|(_, back)| back));
            let visited = self.forward.visit(inner, &first, back, &mut key, &mut visit);
            self.failed = visited.is_err();
            let (next, flow) = visited?;
            self.ends = back.map(|back| (BlockPosition { block: first.block, index: next }, back));
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Finds where both ends are: at the beginning, and after moves.
    fn locate(&mut self) -> Result<(BlockPosition, BlockPosition)> {
        let whole = match self.whole {
            Some(whole) => whole,
            None => self.locate_whole()?,
        };
        self.whole = Some(whole);
        let inner = &self.table.inner;
        let (mut front, mut back) = self.before_move.unwrap_or(whole);
        let mut reads = ReadContext { trace: self.trace.as_mut(), ..ReadContext::default() };
        for (end, key) in self.moved.iter().enumerate() {
            let (Some(key), after) = (key, end == 1) else { continue };
            inner.check_key(key)?;
            let RecordPosition { block, index, .. } = inner.lower_bound(KeyBound { key, after }, &mut reads)?;
            let position = BlockPosition { block, index };
            let (rows, block) = match after {
                false => {
                    front = position.max(whole.0);
                    (&mut self.forward.rows, front.block)
                }
                true => {
                    back = position.min(whole.1);
                    (&mut self.backward.rows, if back.index > 0 { back.block } else { back.block.saturating_sub(1) })
                }
            };
            if rows.in_use(block).is_none() {
                rows.forget();
            }
        }
        self.moved = [None, None];
        self.before_move = Some((front, back));
        Ok((front, back))
    }

    fn locate_whole(&mut self) -> Result<(BlockPosition, BlockPosition)> {
        let inner = &self.table.inner;
        let mut reads = ReadContext { trace: self.trace.as_mut(), ..ReadContext::default() };
        let mut place = |key: &[u8], after: bool| {
            inner.check_key(key)?;
            let RecordPosition { block, index, .. } = inner.lower_bound(KeyBound { key, after }, &mut reads)?;
            Ok(BlockPosition { block, index })
        };
        let front = match &self.bounds.0 {
            Bound::Unbounded => Ok(BlockPosition { block: 0, index: 0 }),
            Bound::Included(key) => place(key, false),
            Bound::Excluded(key) => place(key, true),
        }?;
        let back = match &self.bounds.1 {
            Bound::Unbounded => Ok(BlockPosition { block: inner.meta.blocks, index: 0 }),
            Bound::Included(key) => place(key, true),
            Bound::Excluded(key) => place(key, false),
        }?;
        Ok((front, back))
    }

    /// The next record from one end.
    fn step(&mut self, forward: bool) -> Result<Option<RecordPosition>> {
        if self.failed {
            return Ok(None);
        }
        let step = self.try_step(forward);
        self.failed = step.as_ref().is_err_and(|error| !error.is_would_block());
        step
    }

    fn try_step(&mut self, forward: bool) -> Result<Option<RecordPosition>> {
        let (mut front, mut back) = match self.ends {
            Some(ends) => ends,
            None => self.locate()?,
        };
        let inner = &self.table.inner;
        let mut reads = ReadContext { trace: self.trace.as_mut(), ..ReadContext::default() };
        let step = loop {
            if front >= back {
                break None;
            }
            if forward {
                // The last block that holds a record of the range.
                let last = if back.index == 0 { back.block.saturating_sub(1) } else { back.block };
                let bytes = self.forward.rows.block(inner, front.block, last, true, &mut reads)?;
                if front.index < self.forward.count(inner, front.block, &bytes)? {
                    let found =
                        RecordPosition { bytes: Some(bytes), ..RecordPosition::unread(front.block, front.index) };
                    front.index += 1;
                    break Some(found);
                }
                front = BlockPosition { block: front.block + 1, index: 0 };
            } else if back.index > 0 {
                let bytes = self.backward.rows.block(inner, back.block, front.block, false, &mut reads)?;
                back.index -= 1;
                break Some(RecordPosition { bytes: Some(bytes), ..RecordPosition::unread(back.block, back.index) });
            } else {
                let block = back.block - 1;
                let bytes = self.backward.rows.block(inner, block, front.block, false, &mut reads)?;
                back = BlockPosition { block, index: self.backward.count(inner, block, &bytes)? };
            }
        };
        self.ends = Some((front, back));
        Ok(step)
    }

    fn record(&mut self, forward: bool) -> Option<Result<Record>> {
        let before = self.ends;
        let record = self.step(forward).transpose()?.and_then(|position| {
            let inner = &self.table.inner;
            let buffer = if forward { &mut self.forward } else { &mut self.backward };
            let mut key = Vec::new();
            let value = buffer.show(inner, &position, &mut key, |_, value| inner.value_of(value))?;
            Ok((key, value))
        });
        if let Err(error) = &record {
            match error.is_would_block() {
                true => self.ends = before,
                false => self.failed = true,
            }
        }
        Some(record)
    }
}

impl Iterator for TableRange {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        self.record(true)
    }
}

impl DoubleEndedIterator for TableRange {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.record(false)
    }
}
