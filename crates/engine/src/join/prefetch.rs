//! Prefetch for sequential readers: a worker fills buffers while the consumer uses those filled before. With prefetch
//! disabled, the consumer fills each buffer itself.

use super::task::{Task, TimedPhase};
use crate::error::{Error, Result};
use crate::io::Worker;
use crate::io::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

/// A worker that fills buffers ahead of their consumer. Dropping it stops the worker.
pub(super) struct Prefetcher<T> {
    shared: Arc<PrefetchShared<T>>,
    task: Arc<Task>,
    current: Option<T>,
    worker: Option<Worker>,
    /// Fills buffers in the consumer's thread, if there is no worker.
    fill: Option<FillBuffer<T>>,
}

/// Fills a buffer; returns `false` at the end of the input.
type FillBuffer<T> = Box<dyn FnMut(&mut T) -> Result<bool> + Send>;

struct PrefetchShared<T> {
    state: Mutex<PrefetchState<T>>,
    changed: Condvar,
}

struct PrefetchState<T> {
    free: Vec<T>,
    full: VecDeque<T>,
    /// The consumer is gone.
    closed: bool,
    /// The input has ended, or failed with this error.
    ended: bool,
    failed: Option<Error>,
}

impl<T: Send + 'static> Prefetcher<T> {
    /// Starts a worker. `fill` fills a recycled buffer, and returns `false` at the end of the input. `path` names the
    /// input in errors.
    pub(super) fn start(
        task: &Arc<Task>,
        path: &Path,
        buffers: Vec<T>,
        mut fill: impl FnMut(&mut T) -> Result<bool> + Send + 'static,
    ) -> Result<Self> {
        let state = PrefetchState { free: buffers, full: VecDeque::new(), closed: false, ended: false, failed: None };
        let shared = Arc::new(PrefetchShared { state: Mutex::new(state), changed: Condvar::default() });
        let task = task.clone();
        if !task.fast_paths.prefetch {
            return Ok(Self { shared, task, current: None, worker: None, fill: Some(Box::new(fill)) });
        }
        let worker_shared = shared.clone();
        let worker = Worker::spawn("ogive-prefetch", path, move || work(&worker_shared, &mut fill))?;
        Ok(Self { shared, task, current: None, worker: Some(worker), fill: None })
    }

    /// Recycles the current buffer and takes the next filled one; `false` at the end.
    ///
    /// # Errors
    /// The error of `fill`; afterwards the stream is at its end.
    pub(super) fn next(&mut self) -> Result<bool> {
        if let Some(fill) = &mut self.fill {
            return fill_now(&self.shared, &self.task, &mut self.current, fill);
        }
        let mut state = self.shared.state.lock();
        if let Some(used) = self.current.take() {
            state.free.push(used);
            self.shared.changed.notify_all();
        }
        if state.full.is_empty() && !state.ended {
            let (shared, task) = (&self.shared, &self.task);
            state = task.timed(TimedPhase::Reading, || {
                while state.full.is_empty() && !state.ended {
                    state = shared.changed.wait(&shared.state, state);
                }
                state
            });
        }
        self.current = state.full.pop_front();
        match (self.current.is_some(), state.failed.take()) {
            (false, Some(error)) => Err(error),
            (is_there, failed) => {
                state.failed = failed;
                Ok(is_there)
            }
        }
    }

    pub(super) fn current(&self) -> Option<&T> {
        self.current.as_ref()
    }
}

impl<T> Drop for Prefetcher<T> {
    fn drop(&mut self) {
        self.shared.state.lock().closed = true;
        self.shared.changed.notify_all();
        self.worker = None;
    }
}

/// Fills the current buffer in this thread; `false` at the end.
fn fill_now<T>(
    shared: &PrefetchShared<T>,
    task: &Task,
    current: &mut Option<T>,
    fill: &mut FillBuffer<T>,
) -> Result<bool> {
    let mut state = shared.state.lock();
    let buffer = current.take().or_else(|| state.free.pop());
    let Some(mut buffer) = buffer.filter(|_| !state.ended) else { return Ok(false) };
    let filled = task.timed(TimedPhase::Reading, || fill(&mut buffer));
    state.ended = !matches!(filled, Ok(true));
    *current = (!state.ended).then_some(buffer);
    filled
}

fn work<T>(shared: &PrefetchShared<T>, fill: &mut dyn FnMut(&mut T) -> Result<bool>) {
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

impl<T> std::fmt::Debug for Prefetcher<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Prefetcher").finish_non_exhaustive()
    }
}
