//! The prefetch thread of a planned scan: it takes outer rows in batches, looks up the blocks that may hold their
//! partners, and reads those blocks, many at a time, in key order.
//!
//! The number of buffers is fixed, and neither thread can deadlock. If the joining thread waits for inner rows and has
//! all batches, this thread reads the next block. If it waits for a batch while all block batches are in use, it needs
//! nothing more for the batches it has, except the rest of the last key's run, which is completed later: the current
//! batch is abandoned.

use super::batch::{Batch, Batches};
use super::piece::Piece;
use super::queue::{Part, Queue, Spare, Turn};
use super::stretches::{Scout, Stretch};
use super::window::{BlockIndex, Finger};
use crate::error::{Error, Result};
use crate::join::rows::RowsView;
use crate::join::source::{KeyRange, Relation};
use crate::join::task::{Share, Task};
use crate::table::Table;
use std::ops::Range;
use std::sync::Arc;

/// How much is read at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadSizes {
    pub(super) batch_bytes: u64,
    pub(super) piece_blocks: u64,
    pub(super) piece_requests: usize,
    pub(super) request_bytes: u64,
    pub(super) bridge_blocks: u64,
    /// For rows that do not lie densely in their blocks.
    pub(super) laid_out_bytes: u64,
}

/// The two relations, and what is needed to read them.
pub(super) struct Fetch {
    pub(super) queue: Arc<Queue>,
    pub(super) task: Arc<Task>,
    pub(super) outer: Arc<dyn Relation>,
    pub(super) range: KeyRange,
    pub(super) inner: Table,
    pub(super) index: Arc<dyn BlockIndex>,
    pub(super) sizes: ReadSizes,
}

/// Tells the joining thread that nothing more comes, by a panic too.
struct End<'a>(&'a Fetch);

impl Drop for End<'_> {
    fn drop(&mut self) {
        let panicked = || {
            let source = std::io::Error::other("the thread that reads ahead panicked");
            Error::io("join rows of", self.0.inner.path(), source)
        };
        self.0.queue.end(std::thread::panicking().then(panicked));
    }
}

impl Fetch {
    /// Reads to the end, or until nobody joins any more.
    pub(super) fn run(self, scan_memory: Share) {
        let end = End(&self);
        let fetched = self.outer.scan(&self.range, &self.task, scan_memory).and_then(|stream| {
            let batches = Batches::new(stream, self.sizes.batch_bytes as usize, self.task.budget.clone());
            Reading {
                fetch: &self,
                finger: Finger::default(),
                next: 0,
                last_key: None,
                growth: 1,
                is_run: false,
                owed: None,
            }
            .run(batches)
        });
        if let Err(failure) = fetched {
            self.queue.end(Some(failure));
        }
        drop(end);
    }
}

/// What became of an attempt to read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    /// The joining thread is done with the batch.
    BatchIsDone,
    /// Nobody joins any more.
    Closed,
}

/// How far the reading has come.
struct Reading<'a> {
    fetch: &'a Fetch,
    finger: Finger,
    /// The first block that was not passed yet.
    next: u64,
    /// Key of the last row that was read.
    last_key: Option<Vec<u8>>,
    /// Blocks that are read next time where it is not known how many are needed.
    growth: u64,
    /// Whether all rows that were handed on last have one key.
    is_run: bool,
    /// Last key of a batch that was left before all inner rows of that key were read.
    owed: Option<Vec<u8>>,
}

impl Reading<'_> {
    fn run(&mut self, mut batches: Batches) -> Result<()> {
        let queue = &self.fetch.queue;
        if self.is_at_end() {
            queue.end_parts();
        }
        loop {
            let mut batch = match queue.next_turn() {
                Turn::Batch(batch) => batch,
                Turn::Stop => return Ok(()),
                Turn::ReadOn => {
                    if self.read_blocks(self.next..self.next + 1)? == Outcome::Closed {
                        return Ok(());
                    }
                    continue;
                }
            };
            batches.fill(&mut batch)?;
            if batch.len() == 0 {
                queue.end_batches();
                return self.complete_run().map(drop);
            }
            let batch = Arc::new(batch);
            queue.push_batch(batch.clone());
            let mut outcome = self.complete_run()?;
            if outcome == Outcome::Done {
                outcome = self.fetch_for(&batch)?;
            }
            if outcome == Outcome::BatchIsDone {
                let rows = batch.rows();
                self.owed = Some(rows.key(rows.len() - 1).to_vec());
            }
            queue.give_batch(batch);
            if outcome == Outcome::Closed {
                return Ok(());
            }
        }
    }

    /// Reads on where a batch was left while the run of its last key went on.
    fn complete_run(&mut self) -> Result<Outcome> {
        let Some(owed) = self.owed.take() else { return Ok(Outcome::Done) };
        while !self.is_at_end() && !self.fetch.inner.is_distinct() && self.last_key.as_ref() == Some(&owed) {
            let blocks = self.grow(self.is_run).min(self.fetch.inner.blocks() - self.next);
            let outcome = self.read_blocks(self.next..self.next + blocks)?;
            if outcome != Outcome::Done {
                self.owed = Some(owed);
                return Ok(outcome);
            }
        }
        Ok(Outcome::Done)
    }

    fn is_at_end(&self) -> bool {
        self.next >= self.fetch.inner.blocks()
    }

    /// Reads what a batch needs.
    fn fetch_for(&mut self, batch: &Batch) -> Result<Outcome> {
        let rows = batch.rows();
        let mut unread = 0;
        while !self.is_at_end() {
            self.fetch.task.check()?;
            // A key whose run was left by a stretch for later keys comes again here.
            self.pass_read_keys(rows, &mut unread);
            let stretches = self.plan(rows, unread)?;
            if stretches.is_empty() {
                break;
            }
            let outcome = self.read_stretches(rows, &stretches)?;
            if outcome != Outcome::Done {
                return Ok(outcome);
            }
        }
        Ok(Outcome::Done)
    }

    /// Passes the keys all whose partners were read.
    fn pass_read_keys(&self, rows: RowsView<'_>, key: &mut usize) {
        let Some(read) = self.last_key.as_deref() else { return };
        let distinct = self.fetch.inner.is_distinct();
        let is_read = |key: &[u8]| key < read || (distinct && key == read);
        let (mut low, mut step) = (*key, 1);
        while low + step <= rows.len() && is_read(rows.key(low + step - 1)) {
            low += step;
            step *= 2;
        }
        let mut high = (low + step).min(rows.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if is_read(rows.key(middle)) { low = middle + 1 } else { high = middle }
        }
        *key = low;
    }

    /// The stretches of the next piece, for keys from number `begin` on.
    fn plan(&mut self, rows: RowsView<'_>, begin: usize) -> Result<Vec<Stretch>> {
        let sizes = &self.fetch.sizes;
        let (mut key, mut floor) = (begin, self.next);
        let mut room = sizes.piece_blocks;
        let mut stretches: Vec<Stretch> = Vec::new();
        let distinct = self.fetch.inner.is_distinct();
        if begin < rows.len() && !distinct && self.last_key.as_deref() == Some(rows.key(begin)) {
            // Its run may go on in the next block, or in many.
            let blocks = self.grow(self.is_run).min(self.fetch.inner.blocks() - floor);
            let proof = self.hints_are_proofs(rows, begin)?;
            stretches.push(Stretch { first: floor, last: floor + blocks - 1, key: begin, proof });
            floor += blocks;
            room -= blocks.min(room);
        }
        let mut scout =
            Scout { index: &*self.fetch.index, finger: &mut self.finger, rows, bridge_blocks: sizes.bridge_blocks };
        while room > 0 && stretches.len() < sizes.piece_requests {
            let Some(mut stretch) = scout.next(&mut key, floor, room)? else { break };
            if let Some(before) = stretches.last_mut()
                && before.last + 1 == stretch.first
            {
                before.last = stretch.last;
                before.proof &= stretch.proof;
            } else {
                if stretches.is_empty() {
                    stretch.key = begin;
                }
                stretches.push(stretch);
            }
            room -= stretch.blocks().min(room);
            floor = stretch.last + 1;
        }
        if stretches.is_empty() && begin < rows.len() && !self.hints_are_proofs(rows, begin)? {
            // The index leads these keys to what was read, and they were not there: the hint was wrong.
            let last = (self.next + self.grow(true)).min(self.fetch.inner.blocks()) - 1;
            stretches.push(Stretch { first: self.next, last, key: begin, proof: false });
        }
        Ok(stretches)
    }

    /// How many blocks to read where it is not known how many are needed: twice as many each time.
    fn grow(&mut self, again: bool) -> u64 {
        let blocks = if again { self.growth } else { 1 };
        self.growth = (blocks * 2).min(self.fetch.sizes.piece_blocks);
        blocks
    }

    fn hints_are_proofs(&mut self, rows: RowsView<'_>, key: usize) -> Result<bool> {
        Ok(self.fetch.index.find(rows.key(key), &mut self.finger)?.proof)
    }

    /// Reads stretches at once, and hands them on.
    fn read_stretches(&mut self, rows: RowsView<'_>, stretches: &[Stretch]) -> Result<Outcome> {
        let mut piece = match self.fetch.queue.spare_piece() {
            Spare::Piece(piece) => piece,
            Spare::BatchIsDone => return Ok(Outcome::BatchIsDone),
            Spare::Closed => return Ok(Outcome::Closed),
        };
        let ranges: Vec<Range<u64>> = stretches.iter().map(|stretch| stretch.first..stretch.last + 1).collect();
        piece.read(&self.fetch.inner, &self.fetch.task, &ranges, self.fetch.sizes.request_bytes)?;
        let piece = Arc::new(piece);
        let outcome = self.hand_on_stretches(rows, stretches, &piece);
        self.fetch.queue.give_piece(piece);
        outcome
    }

    /// Hands stretches of a piece on in order, with what else turns out to be needed between them.
    fn hand_on_stretches(&mut self, rows: RowsView<'_>, stretches: &[Stretch], piece: &Arc<Piece>) -> Result<Outcome> {
        let mut begin = 0;
        for (i, stretch) in stretches.iter().enumerate() {
            let blocks = piece.blocks.partition_point(|block| block.number < stretch.first)
                ..piece.blocks.partition_point(|block| block.number <= stretch.last);
            let Some(last) = blocks.end.checked_sub(1).filter(|_| !blocks.is_empty()) else { continue };
            let floor = if i == 0 { self.next } else { stretches[i - 1].last + 1 }.max(self.next);
            if let Some(from) =
                self.begins_too_late(piece.first_key(blocks.start), floor, stretch, rows.key(stretch.key))?
            {
                self.hand_on(piece, begin..blocks.start);
                begin = blocks.start;
                let outcome = self.read_run(from..stretch.first)?;
                if outcome != Outcome::Done {
                    return Ok(outcome);
                }
            }
            let Some(next) = stretches.get(i + 1) else { continue };
            let last_key = rows.key(next.key.saturating_sub(1));
            if self.ends_too_early(piece.last_key(last), stretch, last_key, rows, next.key) {
                self.hand_on(piece, begin..blocks.end);
                begin = blocks.end;
                let outcome = self.read_on(stretch, next, rows)?;
                if outcome != Outcome::Done {
                    return Ok(outcome);
                }
            }
        }
        self.hand_on(piece, begin..piece.blocks.len());
        if let Some(stretch) = stretches.last() {
            self.pass_blocks(stretch.last + 1);
        }
        Ok(Outcome::Done)
    }

    /// Where a hint was wrong because what it is for lies before the stretch: the block from which on to read.
    fn begins_too_late(&self, first_key: &[u8], floor: u64, stretch: &Stretch, key: &[u8]) -> Result<Option<u64>> {
        let before = |edge: &[u8]| edge < key || (edge == key && self.fetch.inner.is_distinct());
        if stretch.proof || stretch.first <= floor || before(first_key) {
            return Ok(None);
        }
        // The last block that begins before the key.
        let (mut low, mut high) = (floor, stretch.first);
        let mut single = Piece::default();
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            let block = middle..middle + 1;
            single.read(&self.fetch.inner, &self.fetch.task, std::slice::from_ref(&block), u64::MAX)?;
            let begins_before = single.blocks.is_empty() || before(single.first_key(0));
            if begins_before { low = middle } else { high = middle }
        }
        Ok(Some(low))
    }

    /// Whether a stretch that a gap follows ends before all that it is for was read: the keys up to number `end`, of which `last_key` is
    /// the last.
    fn ends_too_early(&self, read: &[u8], stretch: &Stretch, last_key: &[u8], rows: RowsView<'_>, end: usize) -> bool {
        if !stretch.proof && read < last_key {
            return true;
        }
        if self.fetch.inner.is_distinct() {
            return false;
        }
        // A run of equal keys may go on in the next block.
        let (mut low, mut high) = (stretch.key, end);
        while low < high {
            let middle = low + (high - low) / 2;
            if rows.key(middle) < read { low = middle + 1 } else { high = middle }
        }
        low < end && rows.key(low) == read
    }

    /// Reads on behind a stretch until it is complete, or the next one begins.
    fn read_on(&mut self, stretch: &Stretch, next: &Stretch, rows: RowsView<'_>) -> Result<Outcome> {
        self.pass_blocks(stretch.last + 1);
        let last_key = rows.key(next.key.saturating_sub(1));
        let mut growth = 1;
        while self.next < next.first {
            let to = (self.next + growth).min(next.first);
            let outcome = self.read_blocks(self.next..to)?;
            if outcome != Outcome::Done {
                return Ok(outcome);
            }
            growth = (growth * 2).min(self.fetch.sizes.piece_blocks);
            let is_complete = match self.last_key.as_deref() {
                Some(read) => !self.ends_too_early(read, stretch, last_key, rows, next.key),
                None => false,
            };
            if is_complete {
                break;
            }
        }
        Ok(Outcome::Done)
    }

    /// Reads blocks in pieces and hands them on.
    fn read_run(&mut self, blocks: Range<u64>) -> Result<Outcome> {
        let mut first = blocks.start;
        while first < blocks.end {
            let to = (first + self.fetch.sizes.piece_blocks).min(blocks.end);
            let outcome = self.read_blocks(first..to)?;
            if outcome != Outcome::Done {
                return Ok(outcome);
            }
            first = to;
        }
        Ok(Outcome::Done)
    }

    /// Reads blocks of one piece and hands them on.
    fn read_blocks(&mut self, blocks: Range<u64>) -> Result<Outcome> {
        let mut piece = match self.fetch.queue.spare_piece() {
            Spare::Piece(piece) => piece,
            Spare::BatchIsDone => return Ok(Outcome::BatchIsDone),
            Spare::Closed => return Ok(Outcome::Closed),
        };
        piece.read(
            &self.fetch.inner,
            &self.fetch.task,
            std::slice::from_ref(&blocks),
            self.fetch.sizes.request_bytes,
        )?;
        let piece = Arc::new(piece);
        self.hand_on(&piece, 0..piece.blocks.len());
        self.fetch.queue.give_piece(piece);
        self.pass_blocks(blocks.end);
        Ok(Outcome::Done)
    }

    /// Gives blocks of a piece to the joining thread.
    fn hand_on(&mut self, piece: &Arc<Piece>, blocks: Range<usize>) {
        let Some(last) = blocks.end.checked_sub(1).filter(|_| !blocks.is_empty()) else { return };
        let key = self.last_key.get_or_insert_default();
        key.clear();
        key.extend_from_slice(piece.last_key(last));
        self.is_run = piece.first_key(blocks.start) == piece.last_key(last);
        let next = piece.blocks[last].number + 1;
        self.fetch.queue.push_part(Part { piece: piece.clone(), blocks });
        self.pass_blocks(next);
    }

    fn pass_blocks(&mut self, next: u64) {
        self.next = self.next.max(next);
        if self.is_at_end() {
            self.fetch.queue.end_parts();
        }
    }
}
