//! The prefetch thread of a planned scan: it takes outer rows in batches, looks up the blocks that may hold their
//! partners, and reads those blocks, many at a time, in key order.
//!
//! The number of buffers is fixed, and neither thread can deadlock. If the joining thread waits for inner rows and has
//! all batches, this thread reads the next block. If it waits for a batch while all block batches are in use, it needs
//! nothing more for the batches it has, except the rest of the last key's run, which is completed later: the current
//! batch is abandoned.

use super::block_batch::BlockBatch;
use crate::error::{Error, Result};
use crate::join::methods::lookup::ahead::{PlanPosition, ReadsAhead, ranges_of};
use crate::join::methods::lookup::batch::{OuterBatch, OuterBatcher};
use crate::join::methods::lookup::queue::{BatchPart, FetchStep, PlannedQueue, SpareBatch};
use crate::join::methods::lookup::run_planner::{PlannedRun, RunPlanner};
use crate::join::methods::lookup::window::{BlockFinger, BlockIndex};
use crate::join::rows::read_lanes::StartedRead;
use crate::join::rows::relation::{KeyRange, Relation};
use crate::join::rows::stream::RowsView;
use crate::join::rows::task::{MemoryGrant, Task};
use crate::table::Table;
use std::ops::Range;
use std::sync::Arc;

/// Sizes of batches and reads.
#[derive(Clone, Copy, Debug)]
pub(in crate::join::methods::lookup) struct PlannedReadSizes {
    pub(in crate::join::methods::lookup) batch_bytes: u64,
    /// Size of the first batch of outer rows.
    pub(in crate::join::methods::lookup) first_batch_bytes: u64,
    pub(in crate::join::methods::lookup) blocks_per_batch: u64,
    pub(in crate::join::methods::lookup) requests_per_batch: usize,
    pub(in crate::join::methods::lookup) request_bytes: u64,
    pub(in crate::join::methods::lookup) bridge_blocks: u64,
    /// Memory for decoded rows.
    pub(in crate::join::methods::lookup) laid_out_bytes: u64,
    /// Block batches in flight ahead of the current one.
    pub(in crate::join::methods::lookup) batches_ahead: usize,
}

/// The work of the prefetch thread.
pub(in crate::join::methods::lookup) struct PlannedFetch {
    pub(in crate::join::methods::lookup) queue: Arc<PlannedQueue>,
    pub(in crate::join::methods::lookup) task: Arc<Task>,
    pub(in crate::join::methods::lookup) outer: Arc<dyn Relation>,
    pub(in crate::join::methods::lookup) range: KeyRange,
    pub(in crate::join::methods::lookup) inner: Table,
    pub(in crate::join::methods::lookup) index: Arc<dyn BlockIndex>,
    pub(in crate::join::methods::lookup) sizes: PlannedReadSizes,
}

/// Signals the end to the joining thread, even after a panic.
struct EndGuard<'a>(&'a PlannedFetch);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        let panicked = || {
            let source = std::io::Error::other("the prefetch thread panicked");
            Error::io("join rows of", self.0.inner.path(), source)
        };
        self.0.queue.end(std::thread::panicking().then(panicked));
    }
}

impl PlannedFetch {
    /// Reads to the end, or until the join ends.
    pub(in crate::join::methods::lookup) fn run(self, scan_memory: MemoryGrant) {
        let end = EndGuard(&self);
        let fetched = self.outer.scan(&self.range, &self.task, scan_memory).and_then(|stream| {
            let bytes = [self.sizes.first_batch_bytes, self.sizes.batch_bytes].map(|bytes| bytes as usize);
            let batches = OuterBatcher::new(stream, bytes, self.task.budget.clone());
            PrefetchProgress {
                fetch: &self,
                finger: BlockFinger::default(),
                next: 0,
                last_key: None,
                next_unknown_blocks: 1,
                is_run: false,
                unfinished_key: None,
                planned: PlanPosition::default(),
                ahead: ReadsAhead::default(),
            }
            .run(batches)
        });
        if let Err(failure) = fetched {
            self.queue.end(Some(failure));
        }
        drop(end);
    }

    fn start(&self, block_batch: BlockBatch, ranges: &[Range<u64>]) -> Result<StartedRead<BlockBatch>> {
        block_batch.start(&self.inner, &self.task, ranges, self.sizes.request_bytes, self.sizes.batches_ahead > 0)
    }

    /// Plans further runs of a block batch that has room for this many blocks, from a position on, which it moves.
    fn plan_on(
        &self,
        finger: &mut BlockFinger,
        rows: RowsView<'_>,
        position: &mut PlanPosition,
        mut room: u64,
        runs: &mut Vec<PlannedRun>,
    ) -> Result<()> {
        let bridge_blocks = self.sizes.bridge_blocks;
        let mut planner = RunPlanner { index: &*self.index, finger, rows, bridge_blocks };
        while room > 0 && runs.len() < self.sizes.requests_per_batch && position.floor < self.inner.blocks() {
            let Some(run) = planner.next(&mut position.key, position.floor, room)? else { break };
            position.floor = run.last + 1;
            room -= run.blocks().min(room);
            match runs.last_mut() {
                Some(before) if before.last + 1 == run.first => {
                    before.last = run.last;
                    before.is_exact &= run.is_exact;
                }
                _ => runs.push(run),
            }
        }
        Ok(())
    }
}

/// The outcome of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadOutcome {
    Done,
    /// The joining thread needs nothing more for the outer batch.
    OuterBatchIsDone,
    /// The join has ended.
    Closed,
}

/// The progress of the prefetch.
struct PrefetchProgress<'a> {
    fetch: &'a PlannedFetch,
    finger: BlockFinger,
    /// The first block not yet read or skipped.
    next: u64,
    /// Key of the last row read.
    last_key: Option<Vec<u8>>,
    /// Blocks to read next if the number needed is unknown.
    next_unknown_blocks: u64,
    /// Whether all rows handed over last have one key.
    is_run: bool,
    /// Last key of a batch that was abandoned before all inner rows of that key were read.
    unfinished_key: Option<Vec<u8>>,
    /// Where the current plan ends.
    planned: PlanPosition,
    ahead: ReadsAhead,
}

impl PrefetchProgress<'_> {
    fn run(&mut self, mut batches: OuterBatcher) -> Result<()> {
        let queue = &self.fetch.queue;
        if self.is_at_end() {
            queue.end_parts();
        }
        loop {
            let mut batch = match queue.next_turn() {
                FetchStep::OuterBatch(batch) => batch,
                FetchStep::Stop => return Ok(()),
                FetchStep::ReadOn => {
                    if self.read_blocks(self.next..self.next + 1)? == ReadOutcome::Closed {
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
            if outcome == ReadOutcome::Done {
                outcome = self.fetch_for(&batch)?;
                self.ahead.give_up(queue);
            }
            if outcome == ReadOutcome::OuterBatchIsDone {
                let rows = batch.rows();
                self.unfinished_key = Some(rows.key(rows.len() - 1).to_vec());
            }
            queue.return_outer_batch(batch);
            if outcome == ReadOutcome::Closed {
                return Ok(());
            }
        }
    }

    /// Continues the run of the last key of an abandoned batch.
    fn complete_run(&mut self) -> Result<ReadOutcome> {
        let Some(unfinished_key) = self.unfinished_key.take() else { return Ok(ReadOutcome::Done) };
        while !self.is_at_end() && !self.fetch.inner.is_distinct() && self.last_key.as_ref() == Some(&unfinished_key) {
            let blocks = self.grow(self.is_run).min(self.fetch.inner.blocks() - self.next);
            let outcome = self.read_blocks(self.next..self.next + blocks)?;
            if outcome != ReadOutcome::Done {
                self.unfinished_key = Some(unfinished_key);
                return Ok(outcome);
            }
        }
        Ok(ReadOutcome::Done)
    }

    fn is_at_end(&self) -> bool {
        self.next >= self.fetch.inner.blocks()
    }

    /// Reads the blocks that a batch needs.
    fn fetch_for(&mut self, batch: &OuterBatch) -> Result<ReadOutcome> {
        let rows = batch.rows();
        let mut unread = 0;
        while !self.is_at_end() {
            self.fetch.task.check()?;
            // A key whose run was interrupted comes again here.
            self.skip_read_keys(rows, &mut unread);
            let runs = self.plan(rows, unread)?;
            if runs.is_empty() {
                break;
            }
            let outcome = self.read_runs(rows, &runs)?;
            if outcome != ReadOutcome::Done {
                return Ok(outcome);
            }
        }
        Ok(ReadOutcome::Done)
    }

    /// Skips keys whose partners have all been read.
    fn skip_read_keys(&self, rows: RowsView<'_>, key: &mut usize) {
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

    /// Plans the runs of the next block batch, for keys from number `begin` on.
    fn plan(&mut self, rows: RowsView<'_>, begin: usize) -> Result<Vec<PlannedRun>> {
        let sizes = &self.fetch.sizes;
        let (key, mut floor) = (begin, self.next);
        let mut room = sizes.blocks_per_batch;
        let mut runs: Vec<PlannedRun> = Vec::new();
        let distinct = self.fetch.inner.is_distinct();
        if begin < rows.len() && !distinct && self.last_key.as_deref() == Some(rows.key(begin)) {
            // Its run may continue in the next block, or in many.
            let blocks = self.grow(self.is_run).min(self.fetch.inner.blocks() - floor);
            let is_exact = self.window_is_exact(rows, begin)?;
            runs.push(PlannedRun { first: floor, last: floor + blocks - 1, key: begin, is_exact });
            floor += blocks;
            room -= blocks.min(room);
        }
        let mut position = PlanPosition { key, floor };
        self.fetch.plan_on(&mut self.finger, rows, &mut position, room, &mut runs)?;
        self.planned = position;
        if let Some(first) = runs.first_mut() {
            first.key = begin;
        }
        if runs.is_empty() && begin < rows.len() && !self.window_is_exact(rows, begin)? {
            // The index leads these keys to blocks already read, which did not hold them: the approximate window was
            // wrong.
            let last = (self.next + self.grow(true)).min(self.fetch.inner.blocks()) - 1;
            runs.push(PlannedRun { first: self.next, last, key: begin, is_exact: false });
        }
        Ok(runs)
    }

    /// Number of blocks to read if the number needed is unknown: doubles each time.
    fn grow(&mut self, again: bool) -> u64 {
        let blocks = if again { self.next_unknown_blocks } else { 1 };
        self.next_unknown_blocks = (blocks * 2).min(self.fetch.sizes.blocks_per_batch);
        blocks
    }

    fn window_is_exact(&mut self, rows: RowsView<'_>, key: usize) -> Result<bool> {
        Ok(self.fetch.index.find(rows.key(key), &mut self.finger)?.is_exact)
    }

    /// Reads runs of blocks together, and hands them over.
    fn read_runs(&mut self, rows: RowsView<'_>, runs: &[PlannedRun]) -> Result<ReadOutcome> {
        let ranges = ranges_of(runs);
        let read = match self.ahead.take(&ranges, self.planned, &self.fetch.queue) {
            Some(read) => read,
            None => match self.fetch.queue.spare_block_batch() {
                SpareBatch::BlockBatch(block_batch) => self.fetch.start(block_batch, &ranges)?,
                SpareBatch::OuterBatchIsDone => return Ok(ReadOutcome::OuterBatchIsDone),
                SpareBatch::Closed => return Ok(ReadOutcome::Closed),
            },
        };
        self.read_ahead(rows)?;
        let block_batch = read.wait()?;
        let block_batch = Arc::new(block_batch);
        let outcome = self.hand_over_runs(rows, runs, &block_batch);
        self.fetch.queue.return_block_batch(block_batch);
        outcome
    }

    /// Starts to read the block batches that follow.
    fn read_ahead(&mut self, rows: RowsView<'_>) -> Result<()> {
        let fetch = self.fetch;
        while self.ahead.len() < fetch.sizes.batches_ahead {
            let Some(block_batch) = fetch.queue.take_spare_block_batch() else { return Ok(()) };
            let (mut runs, mut position) = (Vec::new(), self.ahead.position);
            let room = fetch.sizes.blocks_per_batch;
            fetch.plan_on(&mut self.ahead.finger, rows, &mut position, room, &mut runs)?;
            if runs.is_empty() {
                fetch.queue.return_block_batch(Arc::new(block_batch));
                return Ok(());
            }
            let ranges = ranges_of(&runs);
            let read = fetch.start(block_batch, &ranges)?;
            self.ahead.push(ranges, read);
            self.ahead.position = position;
        }
        Ok(())
    }

    /// Hands over the runs of a block batch in order, together with blocks that turn out to be needed between them.
    fn hand_over_runs(
        &mut self,
        rows: RowsView<'_>,
        runs: &[PlannedRun],
        block_batch: &Arc<BlockBatch>,
    ) -> Result<ReadOutcome> {
        let mut begin = 0;
        for (i, run) in runs.iter().enumerate() {
            let blocks = block_batch.blocks.partition_point(|block| block.number < run.first)
                ..block_batch.blocks.partition_point(|block| block.number <= run.last);
            let Some(last) = blocks.end.checked_sub(1).filter(|_| !blocks.is_empty()) else { continue };
            let floor = if i == 0 { self.next } else { runs[i - 1].last + 1 }.max(self.next);
            if let Some(from) =
                self.begins_too_late(block_batch.first_key(blocks.start), floor, run, rows.key(run.key))?
            {
                self.hand_on(block_batch, begin..blocks.start);
                begin = blocks.start;
                let outcome = self.read_run(from..run.first)?;
                if outcome != ReadOutcome::Done {
                    return Ok(outcome);
                }
            }
            let Some(next) = runs.get(i + 1) else { continue };
            let last_key = rows.key(next.key.saturating_sub(1));
            if self.ends_too_early(block_batch.last_key(last), run, last_key, rows, next.key) {
                self.hand_on(block_batch, begin..blocks.end);
                begin = blocks.end;
                let outcome = self.read_on(run, next, rows)?;
                if outcome != ReadOutcome::Done {
                    return Ok(outcome);
                }
            }
        }
        self.hand_on(block_batch, begin..block_batch.blocks.len());
        if let Some(run) = runs.last() {
            self.pass_blocks(run.last + 1);
        }
        Ok(ReadOutcome::Done)
    }

    /// If an approximate window was wrong because the key precedes the run: the block from which to read.
    fn begins_too_late(&self, first_key: &[u8], floor: u64, run: &PlannedRun, key: &[u8]) -> Result<Option<u64>> {
        let before = |edge: &[u8]| edge < key || (edge == key && self.fetch.inner.is_distinct());
        if run.is_exact || run.first <= floor || before(first_key) {
            return Ok(None);
        }
        // The last block that begins before the key.
        let (mut low, mut high) = (floor, run.first);
        let mut single = BlockBatch::default();
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            let block = middle..middle + 1;
            single.read(&self.fetch.inner, &self.fetch.task, std::slice::from_ref(&block), u64::MAX)?;
            let begins_before = single.blocks.is_empty() || before(single.first_key(0));
            if begins_before { low = middle } else { high = middle }
        }
        Ok(Some(low))
    }

    /// Whether a run followed by a gap ends before all partners of its keys were read: the keys up to number `end`, of
    /// which `last_key` is the last.
    fn ends_too_early(&self, read: &[u8], run: &PlannedRun, last_key: &[u8], rows: RowsView<'_>, end: usize) -> bool {
        if !run.is_exact && read < last_key {
            return true;
        }
        if self.fetch.inner.is_distinct() {
            return false;
        }
        // A run of equal keys may go on in the next block.
        let (mut low, mut high) = (run.key, end);
        while low < high {
            let middle = low + (high - low) / 2;
            if rows.key(middle) < read { low = middle + 1 } else { high = middle }
        }
        low < end && rows.key(low) == read
    }

    /// Reads on after a run until it is complete, or the next one begins.
    fn read_on(&mut self, run: &PlannedRun, next: &PlannedRun, rows: RowsView<'_>) -> Result<ReadOutcome> {
        self.pass_blocks(run.last + 1);
        let last_key = rows.key(next.key.saturating_sub(1));
        let mut next_unknown_blocks = 1;
        while self.next < next.first {
            let to = (self.next + next_unknown_blocks).min(next.first);
            let outcome = self.read_blocks(self.next..to)?;
            if outcome != ReadOutcome::Done {
                return Ok(outcome);
            }
            next_unknown_blocks = (next_unknown_blocks * 2).min(self.fetch.sizes.blocks_per_batch);
            let is_complete = match self.last_key.as_deref() {
                Some(read) => !self.ends_too_early(read, run, last_key, rows, next.key),
                None => false,
            };
            if is_complete {
                break;
            }
        }
        Ok(ReadOutcome::Done)
    }

    /// Reads blocks in pieces and hands them on.
    fn read_run(&mut self, blocks: Range<u64>) -> Result<ReadOutcome> {
        let mut first = blocks.start;
        while first < blocks.end {
            let to = (first + self.fetch.sizes.blocks_per_batch).min(blocks.end);
            let outcome = self.read_blocks(first..to)?;
            if outcome != ReadOutcome::Done {
                return Ok(outcome);
            }
            first = to;
        }
        Ok(ReadOutcome::Done)
    }

    /// Reads blocks of one piece and hands them on.
    fn read_blocks(&mut self, blocks: Range<u64>) -> Result<ReadOutcome> {
        let mut block_batch = match self.fetch.queue.spare_block_batch() {
            SpareBatch::BlockBatch(block_batch) => block_batch,
            SpareBatch::OuterBatchIsDone => return Ok(ReadOutcome::OuterBatchIsDone),
            SpareBatch::Closed => return Ok(ReadOutcome::Closed),
        };
        block_batch.read(
            &self.fetch.inner,
            &self.fetch.task,
            std::slice::from_ref(&blocks),
            self.fetch.sizes.request_bytes,
        )?;
        let block_batch = Arc::new(block_batch);
        self.hand_on(&block_batch, 0..block_batch.blocks.len());
        self.fetch.queue.return_block_batch(block_batch);
        self.pass_blocks(blocks.end);
        Ok(ReadOutcome::Done)
    }

    /// Gives blocks of a piece to the joining thread.
    fn hand_on(&mut self, block_batch: &Arc<BlockBatch>, blocks: Range<usize>) {
        let Some(last) = blocks.end.checked_sub(1).filter(|_| !blocks.is_empty()) else { return };
        let key = self.last_key.get_or_insert_default();
        key.clear();
        key.extend_from_slice(block_batch.last_key(last));
        self.is_run = block_batch.first_key(blocks.start) == block_batch.last_key(last);
        let next = block_batch.blocks[last].number + 1;
        self.fetch.queue.push_part(BatchPart { block_batch: block_batch.clone(), blocks });
        self.pass_blocks(next);
    }

    fn pass_blocks(&mut self, next: u64) {
        self.next = self.next.max(next);
        if self.is_at_end() {
            self.fetch.queue.end_parts();
        }
    }
}
