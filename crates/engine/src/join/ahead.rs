//! Prefetch for sequential readers: a worker fills buffers while the consumer uses those filled before. With prefetch
//! disabled, the consumer fills each buffer itself.

use super::task::{Spent, Task};
use crate::error::{Error, Result};
use crate::io::Worker;
use crate::io::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

/// A worker that fills buffers in turn. Dropping it ends the worker.
pub(super) struct Ahead<T> {
    shared: Arc<Shared<T>>,
    task: Arc<Task>,
    at_hand: Option<T>,
    worker: Option<Worker>,
    /// What fills buffers where there is no worker.
    fill: Option<Fill<T>>,
}

/// Fills a buffer; `false` where nothing is left.
type Fill<T> = Box<dyn FnMut(&mut T) -> Result<bool> + Send>;

struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    free: Vec<T>,
    full: VecDeque<T>,
    /// Nothing more is wanted.
    closed: bool,
    /// Nothing more comes, because of this error or because that was all.
    ended: bool,
    failed: Option<Error>,
}

impl<T: Send + 'static> Ahead<T> {
    /// Starts a worker; `fill` fills a buffer that was used before, and returns `false` where nothing is left. `path` names in errors whom it
    /// works for.
    pub(super) fn start(
        task: &Arc<Task>,
        path: &Path,
        buffers: Vec<T>,
        mut fill: impl FnMut(&mut T) -> Result<bool> + Send + 'static,
    ) -> Result<Self> {
        let state = State { free: buffers, full: VecDeque::new(), closed: false, ended: false, failed: None };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::default() });
        let task = task.clone();
        if !task.fast_paths.prefetch {
            return Ok(Self { shared, task, at_hand: None, worker: None, fill: Some(Box::new(fill)) });
        }
        let theirs = shared.clone();
        let worker = Worker::spawn("ogive-ahead", path, move || work(&theirs, &mut fill))?;
        Ok(Self { shared, task, at_hand: None, worker: Some(worker), fill: None })
    }

    /// Gives the buffer at hand back, and takes the next one that is filled; `false` at the end.
    ///
    /// # Errors
    /// What filling it met; afterwards the end.
    pub(super) fn next(&mut self) -> Result<bool> {
        if let Some(fill) = &mut self.fill {
            return fill_now(&self.shared, &self.task, &mut self.at_hand, fill);
        }
        let mut state = self.shared.state.lock();
        if let Some(used) = self.at_hand.take() {
            state.free.push(used);
            self.shared.changed.notify_all();
        }
        if state.full.is_empty() && !state.ended {
            let (shared, task) = (&self.shared, &self.task);
            state = task.spend(Spent::Reading, || {
                while state.full.is_empty() && !state.ended {
                    state = shared.changed.wait(&shared.state, state);
                }
                state
            });
        }
        self.at_hand = state.full.pop_front();
        match (self.at_hand.is_some(), state.failed.take()) {
            (false, Some(error)) => Err(error),
            (is_there, failed) => {
                state.failed = failed;
                Ok(is_there)
            }
        }
    }

    pub(super) fn at_hand(&self) -> Option<&T> {
        self.at_hand.as_ref()
    }
}

impl<T> Drop for Ahead<T> {
    fn drop(&mut self) {
        self.shared.state.lock().closed = true;
        self.shared.changed.notify_all();
        self.worker = None;
    }
}

/// Fills the buffer at hand in this thread; `false` at the end.
fn fill_now<T>(shared: &Shared<T>, task: &Task, at_hand: &mut Option<T>, fill: &mut Fill<T>) -> Result<bool> {
    let mut state = shared.state.lock();
    let buffer = at_hand.take().or_else(|| state.free.pop());
    let Some(mut buffer) = buffer.filter(|_| !state.ended) else { return Ok(false) };
    let filled = task.spend(Spent::Reading, || fill(&mut buffer));
    state.ended = !matches!(filled, Ok(true));
    *at_hand = (!state.ended).then_some(buffer);
    filled
}

fn work<T>(shared: &Shared<T>, fill: &mut dyn FnMut(&mut T) -> Result<bool>) {
    let mut state = shared.state.lock();
    while !state.closed {
        let Some(mut buffer) = state.free.pop() else {
            state = shared.changed.wait(&shared.state, state);
            continue;
        };
        drop(state);
        let filled = fill(&mut buffer);
        state = shared.state.lock();
        match filled {
            Ok(true) => state.full.push_back(buffer),
            Ok(false) => state.ended = true,
            Err(error) => {
                state.failed = Some(error);
                state.ended = true;
            }
        }
        shared.changed.notify_all();
        if state.ended {
            return;
        }
    }
}

impl<T> std::fmt::Debug for Ahead<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Ahead").finish_non_exhaustive()
    }
}
