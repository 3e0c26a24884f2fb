//! Write-behind: a worker thread appends filled buffers to a file and syncs it at intervals.
//!
//! ```text
//! caller: fill A | fill B | fill C | ...
//! worker:        | write A | write B, sync | write C | ...
//! ```
//!
//! A file that is synced only at its end leaves all its pages to a single flush. With a sync every few MiB, the device
//! writes while the caller computes, and the last sync is short.

use super::handoff::Handoff;
use super::worker::Worker;
use crate::error::{Error, Result};
use crate::io::local::sync::Mutex;
use crate::io::storage::traits::WritableFile;
use std::path::PathBuf;
use std::sync::Arc;

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
    waited_us: f64,
    path: PathBuf,
    worker: Option<Worker>,
}

#[derive(Debug)]
struct Shared {
    buffers: Handoff<Vec<u8>>,
    /// The file before the worker starts, and after it has appended everything.
    file: Mutex<Option<Box<dyn WritableFile>>>,
}

impl WriteBehind {
    /// Starts the worker. The caller already has one buffer. Returns the file if the system cannot start a thread.
    pub(crate) fn start(file: Box<dyn WritableFile>, options: BehindOptions) -> Result<Self, Box<dyn WritableFile>> {
        let path = file.path().to_owned();
        // Memory is allocated when no used buffer is free.
        let buffers = Handoff::new(vec![Vec::new(); options.buffers.max(2) - 1]);
        let shared = Arc::new(Shared { buffers, file: Mutex::new(Some(file)) });
        let theirs = Arc::clone(&shared);
        let worker = Worker::spawn("ogive-behind", &path, move || work(&theirs, options.sync_every_bytes)).ok();
        let refused = if worker.is_none() { shared.file.lock().take() } else { None };
        match refused {
            Some(file) => Err(file),
            None => Ok(Self { shared, options, waited_us: 0.0, path, worker }),
        }
    }

    /// Queues a full buffer for appending, and returns an empty one.
    ///
    /// # Errors
    /// The error of an earlier append or sync, once; [`Cause::Poisoned`](crate::Cause::Poisoned) after that.
    pub(crate) fn append(&mut self, full: Vec<u8>) -> Result<Vec<u8>> {
        self.shared.buffers.put(full);
        match self.shared.buffers.empty(&mut self.waited_us)? {
            Some(mut empty) => {
                empty.reserve_exact(self.options.buffer_bytes);
                Ok(empty)
            }
            None => Err(self.poisoned()),
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
        self.shared.buffers.end(Ok(()));
        self.worker = None;
        self.shared.buffers.close(Ok(()));
        self.shared.buffers.empty(&mut 0.0)?;
        let file = self.shared.file.lock().take();
        file.ok_or_else(|| self.poisoned())
    }

    fn poisoned(&self) -> Error {
        Error::poisoned(self.path.clone())
    }
}

impl Drop for WriteBehind {
    fn drop(&mut self) {
        self.shared.buffers.close(Ok(()));
    }
}

fn work(shared: &Shared, sync_every_bytes: u64) {
    let Some(mut file) = shared.file.lock().take() else { return };
    match append_all(&shared.buffers, &mut *file, sync_every_bytes) {
        Ok(()) => *shared.file.lock() = Some(file),
        Err(error) => shared.buffers.close(Err(error)),
    }
}

fn append_all(buffers: &Handoff<Vec<u8>>, file: &mut dyn WritableFile, sync_every_bytes: u64) -> Result<()> {
    let mut synced_bytes = file.len();
    while let Some(mut buffer) = buffers.take(&mut 0.0)? {
        let appended = file.append(&buffer);
        buffer.clear();
        buffers.give_back(buffer);
        appended?;
        if sync_every_bytes > 0 && file.len() - synced_bytes >= sync_every_bytes {
            file.sync()?;
            synced_bytes = file.len();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;
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
        assert!(matches!(refused, Some(Error { cause: Cause::Io(_), .. })), "{refused:?}");
        assert!(matches!(behind.append(vec![7; 16]), Err(Error { cause: Cause::Poisoned, .. })));
        assert!(behind.finish().is_err());
    }

    #[test]
    fn dropping_it_ends_the_worker() {
        let (mut behind, _) = behind(usize::MAX);
        behind.append(vec![7; 16]).unwrap();
        drop(behind);
    }
}
