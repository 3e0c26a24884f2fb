//! Reads of a join in flight: threads that read while other threads plan, check and join.
//!
//! ```text
//! start(read) --> queue --> lane: read, check --> StartedRead::wait, in the order of the caller
//!                   '--> or the caller itself, if it waits for a read that no lane has begun
//! ```
//!
//! The lanes belong to the join: they start when first needed, and end with it. A join without any lane still reads.

use crate::error::{Error, Result};
use crate::io::Worker;
use crate::io::local::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most lanes of a join. Their reads are long, or many: more of them saturate no further device.
const LANES_MAX: usize = 16;

/// A read that returns its outcome.
type Read<T> = Box<dyn FnOnce() -> Result<T> + Send>;

/// The reader threads of a join.
#[derive(Debug, Default)]
pub(in crate::join) struct ReadLanes {
    shared: Arc<LaneQueue>,
    lanes: Mutex<Vec<Worker>>,
}

#[derive(Default)]
struct LaneQueue {
    state: Mutex<LaneQueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct LaneQueueState {
    /// Reads that may not have begun, oldest first.
    reads: VecDeque<Arc<dyn QueuedRead>>,
    idle_lanes: usize,
    is_ended: bool,
}

impl fmt::Debug for LaneQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LaneQueue").finish_non_exhaustive()
    }
}

impl LaneQueue {
    /// Runs reads until the join ends.
    fn serve(&self) {
        while let Some(read) = self.next() {
            read.run();
        }
    }

    fn next(&self) -> Option<Arc<dyn QueuedRead>> {
        let mut state = self.state.lock();
        loop {
            if state.is_ended {
                return None;
            }
            if let Some(read) = state.reads.pop_front() {
                return Some(read);
            }
            state.idle_lanes += 1;
            state = self.changed.wait(&self.state, state);
            state.idle_lanes -= 1;
        }
    }
}

impl ReadLanes {
    /// Starts a read; `path` names its file in errors.
    pub(in crate::join) fn start<T: Send + 'static>(
        &self,
        path: &Path,
        read: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> StartedRead<T> {
        let started = StartedRead::later(path, read);
        let mut state = self.shared.state.lock();
        state.reads.push_back(started.slot.clone());
        let needs_lane = state.idle_lanes < state.reads.len();
        drop(state);
        self.shared.changed.notify_one();
        if needs_lane {
            self.add_lane(path);
        }
        started
    }

    fn add_lane(&self, path: &Path) {
        let mut lanes = self.lanes.lock();
        if lanes.len() < LANES_MAX {
            let shared = Arc::clone(&self.shared);
            // Without it, the other lanes and the caller read all.
            lanes.extend(Worker::spawn("ogive-join-lane", path, move || shared.serve()));
        }
    }
}

impl Drop for ReadLanes {
    fn drop(&mut self) {
        self.shared.state.lock().is_ended = true;
        self.shared.changed.notify_all();
        // Dropping the lanes waits for their end.
    }
}

/// A read without the type of its outcome.
trait QueuedRead: Send + Sync {
    /// Reads, unless that has begun or was given up.
    fn run(&self);
}

/// A read that was started. Dropping it gives it up, and waits for its end if it has begun: no buffer outlives it.
pub(in crate::join) struct StartedRead<T: Send + 'static> {
    slot: Arc<ReadSlot<T>>,
}

struct ReadSlot<T> {
    state: Mutex<ReadState<T>>,
    changed: Condvar,
    path: PathBuf,
}

enum ReadState<T> {
    Queued(Read<T>),
    Running,
    Done(Result<T>),
    /// Its outcome was taken, or it was given up.
    Over,
}

impl<T> ReadSlot<T> {
    /// The read, if it has not begun; it must then be run.
    fn claim(&self) -> Option<Read<T>> {
        let mut state = self.state.lock();
        match mem::replace(&mut *state, ReadState::Running) {
            ReadState::Queued(read) => Some(read),
            other => {
                *state = other;
                None
            }
        }
    }

    /// Waits for the end of a running read, and takes its outcome.
    fn take(&self) -> Option<Result<T>> {
        let mut state = self.state.lock();
        while matches!(*state, ReadState::Running) {
            state = self.changed.wait(&self.state, state);
        }
        match mem::replace(&mut *state, ReadState::Over) {
            ReadState::Done(outcome) => Some(outcome),
            _ => None,
        }
    }

    fn panicked(&self) -> Error {
        Error::io("read", &self.path, std::io::Error::other("a reader thread panicked"))
    }
}

/// Ends a running read, with an error if it panics.
struct RunningRead<'a, T> {
    slot: &'a ReadSlot<T>,
    outcome: Option<Result<T>>,
}

impl<T> Drop for RunningRead<'_, T> {
    fn drop(&mut self) {
        let outcome = self.outcome.take().unwrap_or_else(|| Err(self.slot.panicked()));
        *self.slot.state.lock() = ReadState::Done(outcome);
        self.slot.changed.notify_all();
    }
}

impl<T: Send> QueuedRead for ReadSlot<T> {
    fn run(&self) {
        if let Some(read) = self.claim() {
            let mut running = RunningRead { slot: self, outcome: None };
            running.outcome = Some(read());
        }
    }
}

impl<T: Send + 'static> StartedRead<T> {
    /// A read that the caller runs when it waits for it.
    pub(in crate::join) fn later(path: &Path, read: impl FnOnce() -> Result<T> + Send + 'static) -> Self {
        let state = Mutex::new(ReadState::Queued(Box::new(read)));
        Self { slot: Arc::new(ReadSlot { state, changed: Condvar::default(), path: path.to_owned() }) }
    }

    /// Waits for the outcome.
    ///
    /// # Errors
    /// Errors of the read; [`Cause::Io`](crate::Cause::Io) if it panicked.
    pub(in crate::join) fn wait(self) -> Result<T> {
        match self.slot.claim() {
            Some(read) => {
                *self.slot.state.lock() = ReadState::Over;
                read()
            }
            None => self.slot.take().unwrap_or_else(|| Err(self.slot.panicked())),
        }
    }
}

impl<T: Send + 'static> Drop for StartedRead<T> {
    fn drop(&mut self) {
        match self.slot.claim() {
            Some(_) => *self.slot.state.lock() = ReadState::Over,
            None => _ = self.slot.take(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;
    use crate::io::reads::test_schedule;
    use crate::io::{FastPaths, refusing};
    use crate::join::rows::options::JoinOptions;
    use crate::join::rows::task::Task;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn read(number: u64, done: &Arc<AtomicU64>) -> impl FnOnce() -> Result<u64> + Send + 'static {
        let done = Arc::clone(done);
        move || {
            done.fetch_add(1, Ordering::Relaxed);
            if number % 7 == 3 { Err(Error::interrupted()) } else { Ok(number) }
        }
    }

    #[test]
    fn each_read_gives_its_own_outcome_with_any_number_of_lanes() {
        for (at, lasting) in [(0, true), (1, true), (3, true), (99, true)] {
            let lanes = ReadLanes::default();
            let done = Arc::new(AtomicU64::new(0));
            refusing(at, lasting, || {
                let started: Vec<_> = (0..50).map(|i| lanes.start(Path::new("f"), read(i, &done))).collect();
                for (number, started) in (0..50).zip(started) {
                    match started.wait() {
                        Ok(found) => assert!(found == number && number % 7 != 3),
                        Err(error) => {
                            assert!(matches!(error, Error { cause: Cause::Interrupted, .. }) && number % 7 == 3)
                        }
                    }
                }
            });
            assert_eq!(done.load(Ordering::Relaxed), 50);
        }
    }

    #[test]
    fn no_read_goes_on_after_it_was_given_up() {
        let lanes = ReadLanes::default();
        for round in 0..200_u64 {
            let (running, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
            let started: Vec<_> = (0..round % 20)
                .map(|_| {
                    let (running, done) = (Arc::clone(&running), Arc::clone(&done));
                    lanes.start(Path::new("f"), move || {
                        running.fetch_add(1, Ordering::SeqCst);
                        std::thread::yield_now();
                        done.fetch_add(1, Ordering::SeqCst);
                        Ok(())
                    })
                })
                .collect();
            drop(started);
            assert_eq!(running.load(Ordering::SeqCst), done.load(Ordering::SeqCst));
            // Nothing holds the buffers of reads that never began.
            assert_eq!(Arc::strong_count(&running), 1);
        }
    }

    #[test]
    fn without_reads_in_flight_the_waiting_thread_reads() {
        for in_flight in [false, true] {
            let fast_paths = FastPaths { in_flight, ..FastPaths::ALL };
            let task = Task::new(&JoinOptions::default().fast_paths(fast_paths)).unwrap();
            let started = task.start_read(Path::new("f"), || Ok(std::thread::current().id()));
            while in_flight && matches!(*started.slot.state.lock(), ReadState::Queued(_)) {
                std::thread::yield_now();
            }
            assert_eq!(started.wait().unwrap() == std::thread::current().id(), !in_flight);
        }
    }

    #[test]
    fn a_read_that_panics_is_an_error_of_its_file() {
        let lanes = ReadLanes::default();
        let started: Vec<StartedRead<()>> =
            (0..4).map(|_| lanes.start(Path::new("f"), || panic!("this panic is part of a test"))).collect();
        // Leaves all of them to the lanes, because a panic in this thread is its own.
        for started in &started {
            while matches!(*started.slot.state.lock(), ReadState::Queued(_)) {
                std::thread::yield_now();
            }
        }
        for started in started {
            assert!(matches!(started.wait(), Err(error @ Error { cause: Cause::Io(_), .. })
                    if error.path() == Some(Path::new("f"))));
        }
    }

    #[test]
    fn outcomes_arrive_whatever_the_schedule() {
        for seed in 0..200 {
            let queue = LaneQueue::default();
            let done = Arc::new(AtomicU64::new(0));
            let started: Vec<_> = (0..6).map(|i| StartedRead::later(Path::new("f"), read(i, &done))).collect();
            queue.state.lock().reads.extend(started.iter().map(|read| -> Arc<dyn QueuedRead> { read.slot.clone() }));
            let lane = || queue.serve();
            let taker = || {
                for (number, read) in started.into_iter().enumerate() {
                    match number {
                        2 => drop(read),
                        _ => assert_eq!(read.wait().is_err(), number == 3, "seed {seed}"),
                    }
                }
                queue.state.lock().is_ended = true;
                queue.changed.notify_all();
            };
            let work: Vec<Box<dyn FnOnce() + Send>> = vec![Box::new(lane), Box::new(lane), Box::new(taker)];
            test_schedule::run(seed, work);
            assert!(done.load(Ordering::Relaxed) >= 5);
        }
    }
}
