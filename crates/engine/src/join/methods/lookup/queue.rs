//! The hand-over between the prefetch thread and the joining thread: outer batches, batches of inner blocks, and a
//! fixed number of buffers for both.

use super::batch::OuterBatch;
use super::blocks::block_batch::BlockBatch;
use crate::error::Error;
use crate::io::local::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// A range of blocks of a batch.
#[derive(Clone, Debug)]
pub(super) struct BatchPart {
    pub(super) block_batch: Arc<BlockBatch>,
    pub(super) blocks: Range<usize>,
}

#[derive(Debug, Default)]
struct PlannedQueueState {
    batches: VecDeque<Arc<OuterBatch>>,
    parts: VecDeque<BatchPart>,
    spare_batches: Vec<OuterBatch>,
    spare_block_batches: Vec<BlockBatch>,
    /// Whether the producer has ended.
    batches_ended: bool,
    parts_ended: bool,
    failure: Option<Error>,
    /// Whether the joining thread waits for inner blocks, or for an outer batch.
    wants_part: bool,
    wants_batch: bool,
    /// Whether the join has ended.
    is_closed: bool,
}

/// The queue between the prefetch thread and the joining thread.
#[derive(Debug, Default)]
pub(super) struct PlannedQueue {
    state: Mutex<PlannedQueueState>,
    changed: Condvar,
}

/// The next step of the prefetch thread.
#[derive(Debug)]
pub(super) enum FetchStep {
    /// Fill this batch.
    OuterBatch(OuterBatch),
    /// Read the next block: the joining thread waits for inner rows, and has all outer batches.
    ReadOn,
    /// Stop: the join has ended.
    Stop,
}

/// A buffer for a block batch, or the reason why there is none.
#[derive(Debug)]
pub(super) enum SpareBatch {
    BlockBatch(BlockBatch),
    /// All block batches are in use, and the joining thread waits for the next outer batch: except for the run of its
    /// last key, it needs nothing more for this one.
    OuterBatchIsDone,
    /// The join has ended.
    Closed,
}

impl PlannedQueue {
    pub(super) fn new(batches: usize, pieces: usize) -> Self {
        let state = PlannedQueueState {
            spare_batches: (0..batches).map(|_| OuterBatch::default()).collect(),
            spare_block_batches: (0..pieces).map(|_| BlockBatch::default()).collect(),
            ..PlannedQueueState::default()
        };
        Self { state: Mutex::new(state), changed: Condvar::default() }
    }

    /// Waits until `ready` returns a value.
    fn wait<T>(&self, mut ready: impl FnMut(&mut PlannedQueueState) -> Option<T>) -> T {
        let mut state = self.state.lock();
        loop {
            if let Some(found) = ready(&mut state) {
                return found;
            }
            state = self.changed.wait(&self.state, state);
        }
    }

    fn change(&self, change: impl FnOnce(&mut MutexGuard<'_, PlannedQueueState>)) {
        change(&mut self.state.lock());
        self.changed.notify_all();
    }

    pub(super) fn next_turn(&self) -> FetchStep {
        self.wait(|state| {
            if state.is_closed {
                return Some(FetchStep::Stop);
            }
            if let Some(batch) = state.spare_batches.pop() {
                return Some(FetchStep::OuterBatch(batch));
            }
            (state.wants_part && state.parts.is_empty() && !state.parts_ended).then_some(FetchStep::ReadOn)
        })
    }

    /// A buffer for a block batch.
    pub(super) fn spare_block_batch(&self) -> SpareBatch {
        self.wait(|state| {
            if state.is_closed {
                return Some(SpareBatch::Closed);
            }
            let starves = state.wants_batch && state.batches.is_empty() && !state.batches_ended;
            state
                .spare_block_batches
                .pop()
                .map(SpareBatch::BlockBatch)
                .or(starves.then_some(SpareBatch::OuterBatchIsDone))
        })
    }

    /// A buffer for a block batch, if there is one.
    pub(super) fn take_spare_block_batch(&self) -> Option<BlockBatch> {
        self.state.lock().spare_block_batches.pop()
    }

    pub(super) fn push_batch(&self, batch: Arc<OuterBatch>) {
        self.change(|state| state.batches.push_back(batch));
    }

    pub(super) fn push_part(&self, part: BatchPart) {
        self.change(|state| state.parts.push_back(part));
    }

    pub(super) fn end_batches(&self) {
        self.change(|state| state.batches_ended = true);
    }

    pub(super) fn end_parts(&self) {
        self.change(|state| state.parts_ended = true);
    }

    /// Ends the production, with an error if there is one.
    pub(super) fn end(&self, failure: Option<Error>) {
        self.change(|state| {
            state.batches_ended = true;
            state.parts_ended = true;
            state.failure = failure.or(state.failure.take());
        });
    }

    pub(super) fn close(&self) {
        self.change(|state| state.is_closed = true);
    }

    /// The next outer batch for the joining thread; `None` at the end.
    pub(super) fn next_batch(&self) -> Result<Option<Arc<OuterBatch>>, Error> {
        let mut state = self.state.lock();
        loop {
            if let Some(failure) = state.failure.take() {
                return Err(failure);
            }
            if let Some(batch) = state.batches.pop_front() {
                state.wants_batch = false;
                return Ok(Some(batch));
            }
            if state.batches_ended {
                return Ok(None);
            }
            if !state.wants_batch {
                state.wants_batch = true;
                self.changed.notify_all();
            }
            state = self.changed.wait(&self.state, state);
        }
    }

    /// The next inner blocks for the joining thread; `None` at the end.
    pub(super) fn next_part(&self) -> Result<Option<BatchPart>, Error> {
        let mut state = self.state.lock();
        loop {
            if let Some(failure) = state.failure.take() {
                return Err(failure);
            }
            if let Some(part) = state.parts.pop_front() {
                state.wants_part = false;
                return Ok(Some(part));
            }
            if state.parts_ended {
                return Ok(None);
            }
            if !state.wants_part {
                state.wants_part = true;
                self.changed.notify_all();
            }
            state = self.changed.wait(&self.state, state);
        }
    }

    /// Whether [`Self::next_batch`] does not wait.
    pub(super) fn has_batch(&self) -> bool {
        let state = self.state.lock();
        !state.batches.is_empty() || state.batches_ended || state.failure.is_some()
    }

    /// Whether [`Self::next_part`] does not wait.
    pub(super) fn has_part(&self) -> bool {
        let state = self.state.lock();
        !state.parts.is_empty() || state.parts_ended || state.failure.is_some()
    }

    /// Returns an outer batch; it is reused when both threads have returned it.
    pub(super) fn return_outer_batch(&self, batch: Arc<OuterBatch>) {
        if let Some(batch) = Arc::into_inner(batch) {
            self.change(|state| state.spare_batches.push(batch));
        }
    }

    /// Returns a block batch; it is reused when all its parts have been returned.
    pub(super) fn return_block_batch(&self, block_batch: Arc<BlockBatch>) {
        if let Some(block_batch) = Arc::into_inner(block_batch) {
            self.change(|state| state.spare_block_batches.push(block_batch));
        }
    }
}
