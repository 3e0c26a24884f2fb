//! Storage under watch: shows how much is written, and fails once somebody asked to stop, in the middle of work that the
//! engine does in one go.

use crate::interrupt::Interrupt;
use crate::progress::Progress;
use ogive::io::{FileLock, ReadRequest, ReadableFile, Storage, WritableFile};
use ogive::{Error, Result};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Another storage, watched.
#[derive(Debug)]
pub(crate) struct Watched {
    inner: Arc<dyn Storage>,
    watch: Arc<Watch>,
}

/// What the files of a watched storage share.
struct Watch {
    interrupt: Interrupt,
    shown: Mutex<Shown>,
}

#[derive(Default)]
struct Shown {
    done_bytes: u64,
    progress: Option<Progress>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Watch").field("interrupt", &self.interrupt).finish_non_exhaustive()
    }
}

impl Watch {
    fn check(&self) -> Result<()> {
        if self.interrupt.is_asked() { Err(Error::Interrupted) } else { Ok(()) }
    }

    fn note(&self, bytes: usize) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.done_bytes += bytes as u64;
        let done_bytes = shown.done_bytes;
        if let Some(progress) = &mut shown.progress {
            progress.reach(done_bytes);
        }
    }
}

impl Watched {
    /// Watches `inner`.
    pub(crate) fn new(inner: Arc<dyn Storage>, interrupt: &Interrupt) -> Arc<Self> {
        let watch = Arc::new(Watch { interrupt: interrupt.clone(), shown: Mutex::default() });
        Arc::new(Self { inner, watch })
    }

    /// From now on, shows the bytes written, counted from here.
    pub(crate) fn show(&self, progress: Progress) {
        let mut shown = self.watch.shown.lock().unwrap_or_else(PoisonError::into_inner);
        *shown = Shown { done_bytes: 0, progress: Some(progress) };
    }
}

impl Storage for Watched {
    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        Ok(Arc::new(WatchedReader { inner: self.inner.open(name)?, watch: Arc::clone(&self.watch) }))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        Ok(Box::new(WatchedWriter { inner: self.inner.create(name)?, watch: Arc::clone(&self.watch) }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.inner.remove(name)
    }

    fn exists(&self, name: &str) -> Result<bool> {
        self.inner.exists(name)
    }

    fn list(&self) -> Result<Vec<String>> {
        self.inner.list()
    }

    fn sync_directory(&self) -> Result<()> {
        self.inner.sync_directory()
    }

    fn lock(&self, name: &str) -> Result<Box<dyn FileLock>> {
        self.inner.lock(name)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.inner.path(name)
    }
}

#[derive(Debug)]
struct WatchedReader {
    inner: Arc<dyn ReadableFile>,
    watch: Arc<Watch>,
}

impl ReadableFile for WatchedReader {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.watch.check()?;
        self.inner.read(request)
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        self.watch.check()?;
        self.inner.read_many(requests)
    }

    fn modified_ns(&self) -> Option<u64> {
        self.inner.modified_ns()
    }

    fn is_direct(&self) -> bool {
        self.inner.is_direct()
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }
}

#[derive(Debug)]
struct WatchedWriter {
    inner: Box<dyn WritableFile>,
    watch: Arc<Watch>,
}

impl WritableFile for WatchedWriter {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.watch.check()?;
        self.inner.append(bytes)?;
        self.watch.note(bytes.len());
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.watch.check()?;
        self.inner.write_at(offset, bytes)
    }

    fn sync(&mut self) -> Result<()> {
        self.inner.sync()
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }
}
