//! Write-behind: a worker thread appends filled buffers to a file and syncs it at intervals.
//!
//! ```text
//! caller: fill A | fill B | fill C | ...
//! worker:        | write A | write B, sync | write C | ...
//! ```
//!
//! A file that is synced only at its end leaves all its pages to a single flush. With a sync every few MiB, the device
//! writes while the caller computes, and the last sync is short.

use super::clock::Timer;
use super::storage::WritableFile;
use super::sync::{Condvar, Mutex};
use super::worker::Worker;
use crate::error::{Error, Result};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{SendError, channel};

/// Buffer and sync sizes of a write-behind worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BehindOptions {
    /// Capacity of a buffer in bytes.
    pub(crate) buffer_bytes: usize,
    /// Limit for the number of buffers: those waiting, the one being written, and the caller's.
    pub(crate) buffers: usize,
    /// Bytes between syncs; 0 for none before the end.
    pub(crate) sync_every_bytes: u64,
}

/// A file with a worker thread that appends to it.
#[derive(Debug)]
pub(crate) struct WriteBehind {
    shared: Arc<Shared>,
    options: BehindOptions,
    /// Number of buffers allocated, including the caller's.
    made: usize,
    waited_us: f64,
    path: PathBuf,
    worker: Option<Worker>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    full: VecDeque<Vec<u8>>,
    free: Vec<Vec<u8>>,
    /// No more buffers will come: the worker writes those waiting and ends.
    closed: bool,
    /// Waiting buffers are not to be written.
    abandoned: bool,
    failed: Option<Error>,
    /// The file, once the worker has ended.
    file: Option<Box<dyn WritableFile>>,
}

impl WriteBehind {
    /// Starts the worker. The caller already has one buffer. Returns the file if the system cannot start a thread.
    pub(crate) fn start(file: Box<dyn WritableFile>, options: BehindOptions) -> Result<Self, Box<dyn WritableFile>> {
        let path = file.path().to_owned();
        let (giver, taker) = channel();
        let shared = Arc::new(Shared::default());
        let theirs = shared.clone();
        let worker = Worker::spawn("ogive-behind", &path, move || {
            if let Ok(file) = taker.recv() {
                work(&theirs, file, options.sync_every_bytes);
            }
        });
        let Ok(worker) = worker else { return Err(file) };
        if let Err(SendError(file)) = giver.send(file) {
            return Err(file);
        }
        Ok(Self { shared, options, made: 1, waited_us: 0.0, path, worker: Some(worker) })
    }

    /// Queues a full buffer for appending, and returns an empty one.
    ///
    /// # Errors
    /// The error of an earlier append or sync, once; [`Error::Poisoned`] after that.
    pub(crate) fn append(&mut self, full: Vec<u8>) -> Result<Vec<u8>> {
        let mut state = self.shared.state.lock();
        if let Some(error) = state.failed.take() {
            state.abandoned = true;
            return Err(error);
        }
        if state.abandoned {
            return Err(Error::Poisoned { path: self.path.clone() });
        }
        state.full.push_back(full);
        self.shared.changed.notify_all();
        loop {
            if let Some(empty) = state.free.pop() {
                return Ok(empty);
            }
            if self.made < self.options.buffers.max(2) {
                self.made += 1;
                return Ok(Vec::with_capacity(self.options.buffer_bytes));
            }
            let timer = Timer::start();
            state = self.shared.changed.wait(&self.shared.state, state);
            self.waited_us += timer.elapsed_us();
        }
    }

    /// Time that the caller spent waiting for buffers, in microseconds.
    pub(crate) fn waited_us(&self) -> f64 {
        self.waited_us
    }

    /// Waits until all buffers are appended, and returns the file; the last bytes are not synced yet.
    ///
    /// # Errors
    /// The error of an append or sync.
    pub(crate) fn finish(mut self) -> Result<Box<dyn WritableFile>> {
        self.close(false);
        let mut state = self.shared.state.lock();
        match (state.failed.take(), state.file.take()) {
            (None, Some(file)) if !state.abandoned => Ok(file),
            (Some(error), _) => Err(error),
            _ => Err(Error::Poisoned { path: self.path.clone() }),
        }
    }

    /// Stops the worker and waits for its end.
    fn close(&mut self, abandoned: bool) {
        let mut state = self.shared.state.lock();
        state.closed = true;
        state.abandoned |= abandoned;
        drop(state);
        self.shared.changed.notify_all();
        self.worker = None;
    }
}

impl Drop for WriteBehind {
    fn drop(&mut self) {
        if self.worker.is_some() {
            self.close(true);
        }
    }
}

fn work(shared: &Shared, mut file: Box<dyn WritableFile>, sync_every_bytes: u64) {
    let mut synced_bytes = file.len();
    let mut state = shared.state.lock();
    loop {
        if state.failed.is_some() || state.abandoned {
            // Buffers that arrive before the caller learns of the error are discarded.
            let waiting: Vec<_> = state.full.drain(..).collect();
            state.free.extend(waiting.into_iter().map(emptied));
            shared.changed.notify_all();
        }
        let Some(buffer) = state.full.pop_front() else {
            if state.closed {
                state.file = Some(file);
                return;
            }
            state = shared.changed.wait(&shared.state, state);
            continue;
        };
        drop(state);
        let mut outcome = file.append(&buffer);
        let is_due = sync_every_bytes > 0 && file.len() - synced_bytes >= sync_every_bytes;
        state = shared.state.lock();
        state.free.push(emptied(buffer));
        shared.changed.notify_all();
        if outcome.is_ok() && is_due {
            drop(state);
            outcome = file.sync();
            synced_bytes = file.len();
            state = shared.state.lock();
        }
        if let Err(error) = outcome {
            state.failed = Some(error);
        }
    }
}

fn emptied(mut buffer: Vec<u8>) -> Vec<u8> {
    buffer.clear();
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use std::path::Path;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A file in memory that accepts a limited number of bytes.
    #[derive(Debug)]
    struct Small {
        bytes: Vec<u8>,
        most: usize,
        syncs: Arc<AtomicU64>,
    }

    impl WritableFile for Small {
        fn len(&self) -> u64 {
            self.bytes.len() as u64
        }

        fn write_at(&mut self, _offset: u64, bytes: &[u8]) -> Result<()> {
            if self.bytes.len() + bytes.len() > self.most {
                return Err(Error::io("write", "small", ErrorKind::StorageFull.into()));
            }
            self.bytes.extend_from_slice(bytes);
            Ok(())
        }

        fn sync(&mut self) -> Result<()> {
            self.syncs.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }

        fn path(&self) -> &Path {
            Path::new("small")
        }
    }

    fn behind(most: usize) -> (WriteBehind, Arc<AtomicU64>) {
        let syncs = Arc::new(AtomicU64::new(0));
        let file = Small { bytes: Vec::new(), most, syncs: syncs.clone() };
        let options = BehindOptions { buffer_bytes: 16, buffers: 3, sync_every_bytes: 64 };
        (WriteBehind::start(Box::new(file), options).unwrap(), syncs)
    }

    #[test]
    fn all_buffers_arrive_in_order_and_are_synced_on_the_way() {
        let (mut behind, syncs) = behind(usize::MAX);
        let mut buffer = Vec::new();
        for i in 0..100_u8 {
            buffer.extend_from_slice(&[i; 16]);
            buffer = behind.append(buffer).unwrap();
            assert!(buffer.is_empty());
        }
        assert!(behind.made <= 3);
        let file = behind.finish().unwrap();
        assert_eq!(file.len(), 1600);
        assert_eq!(syncs.load(Ordering::Relaxed), 25);
    }

    #[test]
    fn a_full_disk_is_reported_and_nothing_more_is_taken() {
        let (mut behind, _) = behind(100);
        let mut refused = None;
        for _ in 0..100 {
            if let Err(error) = behind.append(vec![7; 16]) {
                refused = Some(error);
                break;
            }
        }
        assert!(matches!(refused, Some(Error::Io { .. })), "{refused:?}");
        assert!(matches!(behind.append(vec![7; 16]), Err(Error::Poisoned { .. })));
        assert!(behind.finish().is_err());
    }

    #[test]
    fn dropping_it_ends_the_worker() {
        let (mut behind, _) = behind(usize::MAX);
        behind.append(vec![7; 16]).unwrap();
        drop(behind);
    }
}
