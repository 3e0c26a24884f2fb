//! The hand-over between the prefetch thread and the joining thread: outer batches, batches of inner blocks, and a
//! fixed number of buffers for both.

use super::batch::Batch;
use super::piece::Piece;
use crate::error::Error;
use crate::io::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Some blocks of a piece.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) piece: Arc<Piece>,
    pub(super) blocks: Range<usize>,
}

#[derive(Debug, Default)]
struct State {
    batches: VecDeque<Arc<Batch>>,
    parts: VecDeque<Part>,
    spare_batches: Vec<Batch>,
    spare_pieces: Vec<Piece>,
    /// Nothing more comes.
    batches_ended: bool,
    parts_ended: bool,
    failure: Option<Error>,
    /// The joining thread waits for a part, or for a batch.
    wants_part: bool,
    wants_batch: bool,
    /// Nobody joins any more.
    is_closed: bool,
}

/// The queue between the two threads.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

/// What the reading thread may do next.
#[derive(Debug)]
pub(super) enum Turn {
    /// Fill this batch.
    Batch(Batch),
    /// Read on: the joining thread waits for rows of the inner relation, and has all batches.
    ReadOn,
    /// Stop: nobody joins any more.
    Stop,
}

/// A buffer for a piece, or why there is none.
#[derive(Debug)]
pub(super) enum Spare {
    Piece(Piece),
    /// All pieces are in use, and the joining thread waits for the next batch: but for the run of its last key, it needs nothing more for
    /// this one.
    BatchIsDone,
    /// Nobody joins any more.
    Closed,
}

impl Queue {
    pub(super) fn new(batches: usize, pieces: usize) -> Self {
        let state = State {
            spare_batches: (0..batches).map(|_| Batch::default()).collect(),
            spare_pieces: (0..pieces).map(|_| Piece::default()).collect(),
            ..State::default()
        };
        Self { state: Mutex::new(state), changed: Condvar::default() }
    }

    /// Waits until `ready` gives something.
    fn wait<T>(&self, mut ready: impl FnMut(&mut State) -> Option<T>) -> T {
        let mut state = self.state.lock();
        loop {
            if let Some(found) = ready(&mut state) {
                return found;
            }
            state = self.changed.wait(&self.state, state);
        }
    }

    fn change(&self, change: impl FnOnce(&mut MutexGuard<'_, State>)) {
        change(&mut self.state.lock());
        self.changed.notify_all();
    }

    pub(super) fn next_turn(&self) -> Turn {
        self.wait(|state| {
            if state.is_closed {
                return Some(Turn::Stop);
            }
            if let Some(batch) = state.spare_batches.pop() {
                return Some(Turn::Batch(batch));
            }
            (state.wants_part && state.parts.is_empty() && !state.parts_ended).then_some(Turn::ReadOn)
        })
    }

    /// A buffer for a piece.
    pub(super) fn spare_piece(&self) -> Spare {
        self.wait(|state| {
            if state.is_closed {
                return Some(Spare::Closed);
            }
            let starves = state.wants_batch && state.batches.is_empty() && !state.batches_ended;
            state.spare_pieces.pop().map(Spare::Piece).or(starves.then_some(Spare::BatchIsDone))
        })
    }

    pub(super) fn push_batch(&self, batch: Arc<Batch>) {
        self.change(|state| state.batches.push_back(batch));
    }

    pub(super) fn push_part(&self, part: Part) {
        self.change(|state| state.parts.push_back(part));
    }

    pub(super) fn end_batches(&self) {
        self.change(|state| state.batches_ended = true);
    }

    pub(super) fn end_parts(&self) {
        self.change(|state| state.parts_ended = true);
    }

    /// Nothing more comes, because of a failure if there is one.
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

    /// The next batch for the joining thread; `None` behind the last.
    pub(super) fn next_batch(&self) -> Result<Option<Arc<Batch>>, Error> {
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

    /// The next part for the joining thread; `None` behind the last.
    pub(super) fn next_part(&self) -> Result<Option<Part>, Error> {
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

    /// Gives a batch back; its memory is free when both threads have.
    pub(super) fn give_batch(&self, batch: Arc<Batch>) {
        if let Some(batch) = Arc::into_inner(batch) {
            self.change(|state| state.spare_batches.push(batch));
        }
    }

    /// The same of a piece.
    pub(super) fn give_piece(&self, piece: Arc<Piece>) {
        if let Some(piece) = Arc::into_inner(piece) {
            self.change(|state| state.spare_pieces.push(piece));
        }
    }
}
