//! Threads for blocking calls of futures: a bounded number of them, which start when they are needed, and end with
//! their pool.
//!
//! A call that was not begun when its future is dropped is not made; one that was begun goes on to its end. A call that
//! panics ends with an error.

use super::worker::Worker;
use crate::error::{Error, Result};
use crate::io::local::sync::{Condvar, Mutex};
use std::any::Any;
use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

thread_local! {
    /// Whether this is a thread of a pool.
    static IS_OF_POOL: Cell<bool> = const { Cell::new(false) };
}

type PooledJob = Box<dyn FnOnce() + Send>;

/// Threads for the calls of futures.
pub(crate) struct CallPool {
    queue: Arc<CallQueue>,
    threads: Mutex<Vec<Worker>>,
    threads_max: usize,
}

#[derive(Default)]
struct CallQueue {
    state: Mutex<QueuedCalls>,
    changed: Condvar,
}

#[derive(Default)]
struct QueuedCalls {
    /// Calls that were not begun, oldest first.
    jobs: VecDeque<PooledJob>,
    idle_threads: usize,
    is_ended: bool,
}

impl CallPool {
    /// A pool of at most this many threads, and at least one.
    pub(crate) fn new(threads_max: usize) -> Self {
        Self { queue: Arc::default(), threads: Mutex::default(), threads_max: threads_max.max(1) }
    }

    /// Makes a call on a thread of the pool; `path` names its file in errors. One that is made within another call is
    /// made at once, on the same thread: all threads may be waiting for such calls.
    pub(crate) fn call<T, E>(
        &self,
        path: &Path,
        work: impl FnOnce(&GivenUpFlag) -> Result<T, E> + Send + 'static,
    ) -> PooledCall<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let state = Mutex::new(OutcomeState { outcome: None, waker: None });
        let outcome = Arc::new(CallOutcome { state, given_up: GivenUpFlag::default() });
        let theirs = Arc::clone(&outcome);
        let job = move || {
            if theirs.given_up.check().is_ok() {
                let done = catch_unwind(AssertUnwindSafe(|| work(&theirs.given_up)));
                theirs.end(done.unwrap_or_else(|panic| Err(panicked(&*panic).into())));
            }
        };
        if IS_OF_POOL.get() {
            job();
        } else if let Err(error) = self.submit(path, Box::new(job)) {
            outcome.given_up.set();
            outcome.end(Err(error.into()));
        }
        PooledCall { outcome }
    }

    /// Fails if there is no thread.
    fn submit(&self, path: &Path, job: PooledJob) -> Result<()> {
        let mut state = self.queue.state.lock();
        state.jobs.push_back(job);
        let lacks_threads = state.idle_threads < state.jobs.len();
        drop(state);
        self.queue.changed.notify_one();
        let mut threads = self.threads.lock();
        if !lacks_threads || threads.len() == self.threads_max {
            return Ok(());
        }
        let queue = Arc::clone(&self.queue);
        match Worker::spawn("ogive-call", path, move || queue.serve()) {
            Ok(thread) => threads.push(thread),
            Err(error) if threads.is_empty() => return Err(error),
            Err(_) => {}
        }
        Ok(())
    }
}

impl CallQueue {
    /// The loop of a thread.
    fn serve(&self) {
        IS_OF_POOL.set(true);
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                job();
                state = self.state.lock();
            } else if state.is_ended {
                return;
            } else {
                state.idle_threads += 1;
                state = self.changed.wait(&self.state, state);
                state.idle_threads -= 1;
            }
        }
    }
}

impl Drop for CallPool {
    /// Waits for the calls, unless one of them has dropped the pool.
    fn drop(&mut self) {
        self.queue.state.lock().is_ended = true;
        self.queue.changed.notify_all();
        let threads = mem::take(self.threads.get_mut());
        if IS_OF_POOL.get() {
            mem::forget(threads);
        }
    }
}

impl fmt::Debug for CallPool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CallPool").field("threads_max", &self.threads_max).finish_non_exhaustive()
    }
}

/// The error of a call that has panicked.
fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Error::input(format!("a call has panicked: {}", text.unwrap_or("it does not say why")))
}

/// Whether the future of a call was dropped.
#[derive(Debug, Default)]
pub(crate) struct GivenUpFlag(AtomicBool);

impl GivenUpFlag {
    fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// # Errors
    /// [`Cause::Interrupted`](crate::Cause::Interrupted) if the future of the call was dropped.
    pub(crate) fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Acquire) { Err(Error::interrupted()) } else { Ok(()) }
    }
}

/// What a call and its future share.
struct CallOutcome<T, E> {
    state: Mutex<OutcomeState<T, E>>,
    given_up: GivenUpFlag,
}

struct OutcomeState<T, E> {
    outcome: Option<Result<T, E>>,
    /// Wakes the task that waits for it.
    waker: Option<Waker>,
}

impl<T, E> CallOutcome<T, E> {
    fn end(&self, outcome: Result<T, E>) {
        let mut state = self.state.lock();
        state.outcome = Some(outcome);
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }
}

/// The outcome of a call, on any runtime.
pub(crate) struct PooledCall<T, E = Error> {
    outcome: Arc<CallOutcome<T, E>>,
}

impl<T, E> Future for PooledCall<T, E> {
    type Output = Result<T, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.outcome.state.lock();
        match state.outcome.take() {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T, E> Drop for PooledCall<T, E> {
    fn drop(&mut self) {
        self.outcome.given_up.set();
    }
}
